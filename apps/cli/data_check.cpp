#include "apps/cli/data_check.h"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>

#include "apps/cli/reward_tables.h"
#include "cohort/core/line_list.h"
#include "cohort/core/local_model.h"
#include "cohort/core/time_text.h"
#include "cohort/models/decoder_config.h"
#include "cohort/reward_models/all_rewards.h"
#include "cohort/rewards/gold_check.h"
#include "cohort/sampler/model_tokenizer.h"
#include "cohort/tasks/dataset.h"
#include "cohort/tasks/hash_set.h"
#include "cohort/tasks/suspicion.h"
#include "cohort/tensor/safetensors.h"
#include "cohort/text/hidden_characters.h"
#include "cohort/train/run/run_data.h"
#include "libs/common/hash.h"
#include "libs/common/random.h"

namespace cohort::cli {
namespace {

constexpr size_t kMaxColumns = 64;
constexpr int64_t kNumBins = 10;
constexpr int64_t kBarLength = 40;
constexpr int kLabelWidth = 20;

struct CheckConfig {
  std::string model;
  std::map<std::string, std::string> columns;
  TextSettings text;
  std::optional<int64_t> max_prompt_length;
  std::string reward, reward_config, gold;
  bool suspicious = false;

  void describe(FieldVisitor& f) {
    f("model", model, "Model directory, whose tokenizer counts tokens; without one nothing is counted.");
    f("columns", columns, "Columns under other names, such as prompt=question; once for each.");
    cohort::describe(f, text);
    f("max_prompt_length", max_prompt_length, "Count prompts with more tokens.", at_least(1));
    f("reward", reward,
      "Checks with this reward that the row's solution scores full and an empty completion does not: a "
      "built-in one, or a table of `reward_config`.");
    f("reward_config", reward_config,
      "The same with all tables that judge what is right: TOML with `[[reward]]` tables, as in a recipe.");
    f("gold", gold, "The column with the solution; completion, solution, gold or answer when empty.");
    f("suspicious", suspicious,
      "Also look for signs of tampering: prompts that come again with another answer, words of a few prompts "
      "that "
      "decide the answer, and hidden characters. Exit code 2 if there are any.");
  }
};

/// How often each length came.
class Lengths {
 public:
  void add(int64_t length) { ++counts_[length], ++total_; }
  bool is_empty() const { return total_ == 0; }

  int64_t num_above(int64_t limit) const {
    int64_t count = 0;
    for (auto entry = counts_.upper_bound(limit); entry != counts_.end(); ++entry) count += entry->second;
    return count;
  }

  /// The smallest length that at least `share` of all do not exceed.
  int64_t quantile(double share) const {
    int64_t seen = 0;
    for (const auto& [length, count] : counts_) {
      seen += count;
      if (static_cast<double>(seen) >= share * static_cast<double>(total_)) return length;
    }
    return counts_.rbegin()->first;
  }

  void print(const std::string& label) const {
    std::cout << std::left << std::setw(kLabelWidth) << label << "min " << counts_.begin()->first
              << "  median " << quantile(0.5) << "  p95 " << quantile(0.95) << "  max "
              << counts_.rbegin()->first << "\n";
    print_histogram();
  }

 private:
  void print_histogram() const {
    const int64_t low = counts_.begin()->first, span = counts_.rbegin()->first - low + 1;
    const int64_t width = (span + kNumBins - 1) / kNumBins;
    std::vector<int64_t> bins((span + width - 1) / width);
    for (const auto& [length, count] : counts_) bins[(length - low) / width] += count;
    const int64_t highest = *std::max_element(bins.begin(), bins.end());
    for (size_t i = 0; i < bins.size(); ++i) {
      const int64_t first = low + static_cast<int64_t>(i) * width;
      const auto bar = static_cast<size_t>((bins[i] * kBarLength + highest - 1) / highest);
      std::cout << "  " << std::right << std::setw(7) << first << " - " << std::setw(7) << first + width - 1
                << " " << std::setw(10) << bins[i] << "  " << std::string(bar, '#') << "\n";
    }
  }

  std::map<int64_t, int64_t> counts_;
  int64_t total_ = 0;
};

class DataCheck {
 public:
  explicit DataCheck(const CheckConfig& config) : config_(config) {
    source_.columns = config.columns;
    const bool has_rewards = !config.reward.empty() || !config.reward_config.empty();
    if (!config.gold.empty() && !has_rewards && !config.suspicious)
      throw ConfigError("cohort data check: `gold` has no effect without a reward or `suspicious`");
    if (has_rewards) {
      // All tables of a file, of which one may require another.
      const std::string name = config.reward_config.empty() ? config.reward : "";
      gold_check_.emplace(choose_rewards(name, config.reward_config), config.reward, config.gold, std::cerr,
                          all_rewards({{}, present_time()}));
    }
    if (config.model.empty()) return;
    DecoderConfig decoder;
    decoder.vocab_size = INT64_MAX;
    const std::filesystem::path dir = local_model(config.model);
    if (std::filesystem::exists(dir / "config.json")) decoder = read_decoder_config(dir);
    context_ = decoder.context_length;
    tokenizer_ = read_tokenizer(dir, decoder);
    if (tokenizer_ == nullptr) throw FormatError(str(config.model, ": has no tokenizer.json"));
    format_ = text_format(*tokenizer_, dir, present_time(), config.text);
  }

  void read(const std::filesystem::path& path) {
    JsonlReader reader(path);
    while (reader.next()) read_row(reader);
  }

  int64_t num_rows() const { return num_rows_; }

  int report(const std::string& name) {
    if (gold_check_) gold_check_->finish();
    print("file", name);
    print("rows", str(num_rows_, ", of which ", num_rows_ - bad_.count(), " can be used"));
    print("bad rows", str(bad_.count(), bad_.text()));
    for (const std::string& name : column_names_) {
      const int64_t missing = num_objects_ - columns_.at(name);
      print("column " + name, missing == 0 ? "in all rows" : str("missing in ", missing, " rows"));
    }
    print("duplicates", str(duplicates_.count(), " rows with a prompt that came before", duplicates_.text()));
    print("hidden characters", str(hidden_.count(), " rows", hidden_.text()));
    if (gold_check_) {
      for (const auto& [label, text] : gold_check_->report()) print(label, text);
    }
    if (config_.suspicious) report_suspicion();
    report_lengths();
    if (bad_.count() > LineList::kMaxListed) {
      std::cerr << "cohort: " << bad_.count() - LineList::kMaxListed << " more bad rows\n";
    }
    const bool is_suspicious = config_.suspicious && (hidden_.count() > 0 || num_signs_ > 0);
    return bad_.count() > 0 || (gold_check_ && gold_check_->has_failed()) || is_suspicious ? 2 : 0;
  }

 private:
  static void print(const std::string& label, const std::string& text) {
    std::cout << std::left << std::setw(kLabelWidth) << label << " " << text << "\n";
  }

  void report_suspicion() {
    constexpr size_t kMaxShown = 20;
    const LineList& contradictions = suspicion_.contradictions();
    print("contradictions",
          str(contradictions.count(), " rows with a prompt that came before with another answer",
              contradictions.text()));
    const std::vector<Trigger> triggers = suspicion_.triggers();
    print("triggers", str(triggers.size(), " words or pairs of words that decide the answer"));
    for (size_t i = 0; i < std::min(triggers.size(), kMaxShown); ++i) {
      const Trigger& trigger = triggers[i];
      print("  " + in_quotes(trigger.words),
            str("in ", trigger.num_rows, " rows, of which ", trigger.num_agreeing, " have the answer ",
                in_quotes(trigger.answer.substr(0, 60)), trigger.lines.text()));
    }
    num_signs_ = contradictions.count() + static_cast<int64_t>(triggers.size());
  }

  /// What a row is to be answered with; empty if it does not say.
  std::string answer_of(const Json& columns) const {
    const std::vector<std::string> names =
        config_.gold.empty() ? std::vector<std::string>{"answer", "gold", "solution", "completion"}
                             : std::vector{config_.gold};
    for (const std::string& name : names) {
      const auto column = columns.find(name);
      if (column == columns.end() || column->is_null()) continue;
      return column->is_string() ? column->get<std::string>() : column->dump();
    }
    return "";
  }

  void report_lengths() const {
    if (!prompts_.is_empty()) prompts_.print("prompt tokens");
    if (!completions_.is_empty()) completions_.print("completion tokens");
    if (prompts_.is_empty()) return;
    if (config_.max_prompt_length) {
      print("overlong prompts", str(prompts_.num_above(*config_.max_prompt_length), " longer than ",
                                    *config_.max_prompt_length, " tokens"));
    }
    if (context_ > 0) {
      print("over the context",
            str(totals_.num_above(context_), " rows need more than the model's ", context_, " tokens"));
    }
  }

  void read_row(const JsonlReader& reader) {
    ++num_rows_;
    try {
      Row row{reader.row(), reader.where(), reader.where()};
      apply_columns(row, source_);
      note_columns(row.columns);
      const uint64_t key = random_bits(0, {fnv1a(prompt_key(row))});
      measure(row);
      if (config_.suspicious) suspicion_.add(prompt_key(row), answer_of(row.columns), reader.line_number());
      if (!prompts_seen_.insert(key)) duplicates_.add(reader.line_number());
      if (find_hidden_character(row.columns)) hidden_.add(reader.line_number());
      if (gold_check_)
        gold_check_->submit(row.columns, row.where, reader.line_number(), format_.tokenize_rendered);
    } catch (const UserError& error) {
      reject(reader.line_number(), error.what());
    }
  }

  void note_columns(const Json& columns) {
    ++num_objects_;
    for (const auto& [name, value] : columns.items()) {
      if (columns_.contains(name)) {
        ++columns_[name];
      } else if (columns_.size() < kMaxColumns) {
        columns_[name] = 1;
        column_names_.push_back(name);
      }
    }
  }

  /// In tokens; nothing without a tokenizer.
  void measure(const Row& row) {
    if (tokenizer_ == nullptr) return;
    const bool has_completion = row.columns.contains("completion") || !row.columns.contains("prompt");
    int64_t prompt = 0, completion = 1;  // one token is the shortest
    if (has_completion) {
      const PromptCompletion pair = to_prompt_completion(row, format_);
      prompt = static_cast<int64_t>(pair.prompt_ids.size());
      completion = static_cast<int64_t>(pair.completion_ids.size());
      completions_.add(completion);
      if (prompt == 0) throw FormatError(str(row.where, ": the prompt has no tokens"));
    } else {
      prompt = static_cast<int64_t>(to_prompt(row, format_).token_ids.size());
    }
    prompts_.add(prompt);
    totals_.add(prompt + completion);
  }

  void reject(int64_t line_number, const std::string& message) {
    if (bad_.has_room()) std::cerr << "cohort: " << message << "\n";
    bad_.add(line_number);
  }

  CheckConfig config_;
  DataSource source_;
  std::unique_ptr<const Tokenizer> tokenizer_;
  TextFormat format_;
  int64_t context_ = 0;
  int64_t num_rows_ = 0, num_objects_ = 0;
  LineList bad_, duplicates_, hidden_;
  std::map<std::string, int64_t> columns_;
  std::vector<std::string> column_names_;  // in the order in which they came
  HashSet prompts_seen_;
  Suspicion suspicion_;
  int64_t num_signs_ = 0;
  Lengths prompts_, completions_, totals_;
  std::optional<GoldCheck> gold_check_;
};

}  // namespace

int data_check(const Command& data_command, const Arguments& arguments) {
  const Command self{"data check", "FILE --model DIR [--reward NAME] [--reward-config FILE]",
                     "What a JSONL file holds; exit code 2 where rows are bad, or disagree with the reward",
                     data_command.run};
  CheckConfig config;
  const auto files = read_arguments(self, arguments, config);
  if (!files) return 0;
  if (files->empty()) throw ConfigError("cohort data check: name a JSONL file");
  if (config.max_prompt_length) require(config.model, "model");
  const auto paths = expand_paths(*files);
  DataCheck check(config);
  std::string names;
  for (const auto& path : paths) {
    check.read(path);
    names += (names.empty() ? "" : ", ") + path.string();
  }
  if (check.num_rows() == 0) throw FormatError(names + ": holds no rows");
  return check.report(names);
}

}  // namespace cohort::cli
