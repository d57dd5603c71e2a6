#include "cohort/train/run/influence.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "cohort/core/error.h"
#include "cohort/core/json.h"
#include "cohort/objectives/sample_statistics.h"
#include "cohort/records/completions_log.h"
#include "cohort/records/record_lines.h"
#include "libs/common/random.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kFewestIntervals = 4;
constexpr int64_t kNumPermutations = 199;
constexpr int64_t kMostAbove = 9;  // with the score itself 10 of 200: chance makes it in one run of 20

/// The changes of an evaluation from one to the next.
struct Changes {
  /// The interval that a step is in; nothing before the first evaluation and after the last one.
  std::optional<int64_t> interval_of(int64_t step) const {
    const auto end = std::ranges::lower_bound(ends, step);
    return end != ends.end() && step > begin ? std::optional(end - ends.begin()) : std::nullopt;
  }

  /// Less their mean, with variance 1; empty if they are all the same.
  std::vector<double> standardised() const {
    const Spread spread = spread_of(values, 1);
    std::vector<double> result;
    for (const double value : values) {
      if (spread.differs()) result.push_back((value - spread.mean) / spread.std);
    }
    return result;
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
  bool has_updates = false;
  for_each_line(path, [&](const std::string& line, int64_t) {
    const Json row = Json::parse(line);
    const int64_t step = row.value("step", int64_t{0});
    const auto number = [&](const std::string& name) {
      const auto value = row.find(name);
      return value != row.end() && value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
    };
    has_updates |= row.contains("grad_norm");
    metrics.learning_rates[step] = number("grad_norm") ? number("learning_rate").value_or(1.0) : 0.0;
    if (const auto value = metric.empty() ? std::nullopt : number(metric))
      evaluations.emplace_back(step, *value);
  });
  if (!has_updates)
    throw FormatError(str(path.string(), ": has no grad_norm: name a run of `cohort train` with steps"));
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
  explicit Ledger(RunMetrics metrics)
      : metrics_(std::move(metrics)), totals_(metrics_.changes.values.size()) {}

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
    const bool is_branch = row.value("branch", int64_t{0}) > 0;  // of an episode that has a line already
    if (const Json& reward = row.at("reward"); reward.is_number() && !is_branch) {
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
    std::vector<Parts> parts;
    for (auto& [id, prompt] : prompts_) {
      PromptInfluence& found = prompt.found;
      found.prompt_id = id;
      if (found.num_completions > 0) found.mean_reward /= static_cast<double>(found.num_completions);
      if (total_ > 0.0) found.share /= total_;
      result.push_back(found);
      parts.push_back(relative(prompt.parts));
    }
    score(parts, result);
    std::ranges::sort(result, [](const PromptInfluence& a, const PromptInfluence& b) {
      return a.share != b.share ? a.share > b.share : a.prompt_id < b.prompt_id;
    });
    return result;
  }

 private:
  using Parts = std::vector<std::pair<int64_t, double>>;  // of intervals: number and part

  struct Prompt {
    PromptInfluence found;
    int64_t last_step = -1;
    double mass = 0.0;  // of advantages in the step
    double part = 0.0;  // of the updates in the interval
    Parts parts{};
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
      prompt->parts.emplace_back(*interval_, prompt->part);
      totals_.at(*interval_) += prompt->part;
      prompt->part = 0.0;
    }
    parts_.clear();
  }

  /// Parts of the whole of their intervals; none of a prompt that is in one alone.
  Parts relative(Parts parts) const {
    if (parts.size() < 2) return {};
    for (auto& [interval, part] : parts) part /= totals_.at(interval);
    return parts;
  }

  /// The parts' correlation with `changes`, which have mean 0 and variance 1; 0 if all parts are the same.
  static double correlation(const Parts& parts, const std::vector<double>& changes) {
    double sum = 0.0, squares = 0.0, products = 0.0;
    for (const auto& [interval, part] : parts) {
      sum += part;
      squares += part * part;
      products += part * changes[interval];
    }
    const double spread = squares - sum * sum / static_cast<double>(changes.size());
    return spread > 1e-12 * squares ? products / std::sqrt(spread) : 0.0;
  }

  /// Scores are told by the largest ones of all prompts when the changes are shuffled, which takes changes as
  /// they are: a single jump makes large scores for whoever was there.
  void score(const std::vector<Parts>& parts, std::vector<PromptInfluence>& result) const {
    std::vector<double> changes = metrics_.changes.standardised();
    if (std::ssize(changes) < kFewestIntervals) return;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i].empty()) result[i].score = correlation(parts[i], changes);
    }
    std::vector<double> largest;
    for (int64_t n = 0; n < kNumPermutations; ++n) {
      for (size_t i = changes.size(); i > 1; --i) {
        const double draw = random_unit(0, {static_cast<uint64_t>(n), i});
        std::swap(changes[i - 1], changes[static_cast<size_t>(draw * static_cast<double>(i))]);
      }
      double most = 0.0;
      for (const Parts& each : parts) most = std::max(most, std::abs(correlation(each, changes)));
      largest.push_back(most);
    }
    for (PromptInfluence& found : result) {
      found.is_telling = found.score && std::ranges::count_if(largest, [&](double most) {
                                          return most >= std::abs(*found.score);
                                        }) <= kMostAbove;
    }
  }

  RunMetrics metrics_;
  std::vector<double> totals_;  // of the parts in each interval
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
