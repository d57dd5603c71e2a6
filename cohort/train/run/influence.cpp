#include "cohort/train/run/influence.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "cohort/core/error.h"
#include "cohort/core/json.h"
#include "cohort/train/run/completions_log.h"
#include "cohort/train/run/record_lines.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kFewestIntervals = 4;
constexpr double kChance = 0.05;

/// The changes of an evaluation from one to the next.
struct Changes {
  /// The interval that a step is in; nothing before the first evaluation and after the last one.
  std::optional<int64_t> interval_of(int64_t step) const {
    const auto end = std::ranges::lower_bound(ends, step);
    return end != ends.end() && step > begin ? std::optional(end - ends.begin()) : std::nullopt;
  }

  double mean() const {
    double sum = 0.0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  }

  double variance() const {
    double sum = 0.0;
    const double center = mean();
    for (const double value : values) sum += (value - center) * (value - center);
    return sum / static_cast<double>(values.size() - 1);
  }

  int64_t begin = 0;             // step of the first evaluation
  std::vector<int64_t> ends;     // steps of those after it
  std::vector<double> values{};  // of each interval
};

struct RunMetrics {
  std::unordered_map<int64_t, double> learning_rates;  // by step
  Changes changes;
};

RunMetrics read_metrics(const fs::path& run, const std::string& metric) {
  const fs::path path = run / "metrics.jsonl";
  if (!fs::exists(path)) throw FormatError(str(path.string(), ": is missing: name the directory of a run"));
  RunMetrics metrics;
  std::vector<std::pair<int64_t, double>> evaluations;
  for_each_line(path, [&](const std::string& line, int64_t) {
    const Json row = Json::parse(line);
    const int64_t step = row.value("step", int64_t{0});
    const auto number = [&](const std::string& name) {
      const auto value = row.find(name);
      return value != row.end() && value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
    };
    metrics.learning_rates[step] = number("grad_norm") ? number("learning_rate").value_or(1.0) : 0.0;
    if (const auto value = metric.empty() ? std::nullopt : number(metric))
      evaluations.emplace_back(step, *value);
  });
  if (!metric.empty() && evaluations.empty())
    throw FormatError(str(path.string(), ": has no metric \"", metric, "\": choose another --metric"));
  for (size_t i = 1; i < evaluations.size(); ++i) {
    metrics.changes.ends.push_back(evaluations[i].first);
    metrics.changes.values.push_back(evaluations[i].second - evaluations[i - 1].second);
  }
  if (!evaluations.empty()) metrics.changes.begin = evaluations.front().first;
  return metrics;
}

/// The absolute advantage of a completion's line, over tokens their mean; 0 if it has none.
double advantage_of(const Json& row) {
  if (row.value("masked", false) || row.contains("untrained")) return 0.0;
  if (const auto tokens = row.find("token_advantages"); tokens != row.end() && !tokens->empty()) {
    double sum = 0.0;
    for (const Json& value : *tokens) sum += value.is_number() ? std::abs(value.get<double>()) : 0.0;
    return sum / static_cast<double>(tokens->size());
  }
  const auto value = row.find("advantage");
  return value != row.end() && value->is_number() ? std::abs(value->get<double>()) : 0.0;
}

/// Adds steps up, one after another.
class Ledger {
 public:
  explicit Ledger(RunMetrics metrics) : metrics_(std::move(metrics)) {}

  void add(const Json& row) {
    if (const int64_t step = row.at("step").get<int64_t>(); step != step_) {
      end_step();
      step_ = step;
    }
    Prompt& prompt = prompts_[row.at("prompt_id").get<std::string>()];
    if (prompt.last_step != step_) {
      prompt.last_step = step_;
      ++prompt.found.num_steps;
    }
    if (const Json& reward = row.at("reward"); reward.is_number()) {
      ++prompt.found.num_completions;
      prompt.found.mean_reward += reward.get<double>();  // the sum, until the end
    }
    const double advantage = advantage_of(row);
    prompt.mass += advantage;
    mass_ += advantage;
    if (advantage > 0.0) touched_.push_back(&prompt);
  }

  std::vector<PromptInfluence> end() {
    end_step();
    end_interval();
    std::vector<PromptInfluence> result;
    int64_t num_scores = 0;
    for (auto& [id, prompt] : prompts_) {
      PromptInfluence& found = prompt.found;
      found.prompt_id = id;
      found.mean_reward /= static_cast<double>(found.num_completions);
      if (total_ > 0.0) found.share /= total_;
      found.score = score_of(prompt);
      num_scores += found.score ? 1 : 0;
      result.push_back(found);
    }
    for (PromptInfluence& found : result) {
      found.is_telling =
          found.score &&
          std::erfc(std::abs(*found.score) / std::sqrt(2.0)) * static_cast<double>(num_scores) < kChance;
    }
    std::ranges::sort(result, [](const PromptInfluence& a, const PromptInfluence& b) {
      return a.share != b.share ? a.share > b.share : a.prompt_id < b.prompt_id;
    });
    return result;
  }

 private:
  struct Prompt {
    PromptInfluence found;
    int64_t last_step = -1;
    double mass = 0.0;                                // of advantages in the step
    double part = 0.0;                                // of the updates in the interval
    int64_t num_intervals = 0;                        // with a part
    double sum = 0.0, squares = 0.0, products = 0.0;  // of the parts, and of parts and changes
  };

  void end_step() {
    const auto rate = metrics_.learning_rates.find(step_);
    const double weight = rate != metrics_.learning_rates.end() ? rate->second : 0.0;
    const std::optional<int64_t> interval = metrics_.changes.interval_of(step_);
    if (interval != interval_) end_interval();
    interval_ = interval;
    if (mass_ > 0.0) total_ += weight;
    for (Prompt* prompt : touched_) {
      const double part = weight * prompt->mass / mass_;  // 0 the second time
      prompt->mass = 0.0;
      prompt->found.share += part;
      if (!interval_ || part == 0.0) continue;
      if (prompt->part == 0.0) parts_.push_back(prompt);
      prompt->part += part;
    }
    touched_.clear();
    mass_ = 0.0;
  }

  void end_interval() {
    for (Prompt* prompt : parts_) {
      ++prompt->num_intervals;
      prompt->sum += prompt->part;
      prompt->squares += prompt->part * prompt->part;
      prompt->products += prompt->part * metrics_.changes.values[*interval_];
      prompt->part = 0.0;
    }
    parts_.clear();
  }

  std::optional<double> score_of(const Prompt& prompt) const {
    const auto count = static_cast<double>(metrics_.changes.values.size());
    if (count < kFewestIntervals || prompt.num_intervals < 2) return std::nullopt;
    const double variance = metrics_.changes.variance();
    const double spread = prompt.squares - prompt.sum * prompt.sum / count;
    if (variance <= 0.0 || spread <= 1e-12 * prompt.squares) return std::nullopt;
    return (prompt.products - prompt.sum * metrics_.changes.mean()) / std::sqrt(variance * spread);
  }

  RunMetrics metrics_;
  std::map<std::string, Prompt> prompts_;
  int64_t step_ = -1;
  std::optional<int64_t> interval_;
  std::vector<Prompt*> touched_, parts_;  // with advantages in the step, with a part in the interval
  double mass_ = 0.0, total_ = 0.0;
};

}  // namespace

std::vector<PromptInfluence> prompt_influences(const fs::path& run, const std::string& metric) {
  Ledger ledger(read_metrics(run, metric));
  bool has_lines = false;
  for_each_completion(run, std::nullopt, [&](const std::string& line) {
    has_lines = true;
    ledger.add(Json::parse(line));
  });
  if (!has_lines) {
    throw FormatError(str((run / "completions.jsonl").string(),
                          ": has no lines, but influence is read from it: train with log_completions"));
  }
  return ledger.end();
}

}  // namespace cohort
