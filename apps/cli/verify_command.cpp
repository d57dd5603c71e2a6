// cohort verify: what rewards make of given completions, before a run.
#include <deque>
#include <iostream>

#include "apps/cli/command.h"
#include "apps/cli/reward_tables.h"
#include "apps/cli/rows.h"
#include "cohort/core/time_text.h"
#include "cohort/reward_models/all_rewards.h"
#include "cohort/rewards/explanation.h"
#include "cohort/rewards/prompt_column.h"
#include "cohort/rewards/reward_scorer.h"

namespace cohort::cli {
namespace {

struct VerifyConfig {
  std::string reward, reward_config, input, output;
  bool explain = false;

  void describe(FieldVisitor& f) {
    f("reward", reward,
      "A built-in reward with its defaults, or one table of `reward_config`; all of its tables when empty.");
    f("reward_config", reward_config, "TOML with `[[reward]]` tables, as in a recipe.");
    f("input", input,
      "JSONL with a `completion` (a string, or messages) or `messages` (the last one is judged) per line, "
      "`completion_ids` "
      "where a reward counts tokens; other columns reach the reward.");
    f("output", output,
      "JSONL: {\"score\", \"status\", \"detail\"} per line, in order; for several rewards their weighted sum "
      "and `rewards`.");
    f("explain", explain,
      "Prints for each row what was taken of the completion, how it was read and why it was judged so; "
      "`output` may then be left out.");
  }
};

/// The text of a string, or of the last of a list of messages.
std::string read_text(const Json& value, const char* key, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array() && !value.empty() && value.back().is_object()) {
    const auto content = value.back().find("content");
    if (content != value.back().end() && content->is_string()) return content->get<std::string>();
  }
  throw FormatError(str(where, ": \"", key, "\" must be a string or a list of messages with a \"content\""));
}

struct Judged {
  Prompt prompt;
  Completion completion;
};

Judged read_row(const Json& row, const std::string& where) {
  if (row.contains("completion") == row.contains("messages"))
    throw FormatError(str(where, ": give either \"completion\" or \"messages\""));
  Judged judged;
  judged.prompt.id = where;
  judged.completion.finish_reason =
      row.value("finish_reason", Json()) == "length" ? FinishReason::kLength : FinishReason::kStop;
  for (const auto& [key, value] : row.items()) {
    if (key == "completion") {
      judged.completion.text = read_text(value, "completion", where);
      if (value.is_array() && !row.contains("prompt")) read_prompt_column(Json::array(), judged.prompt);
    } else if (key == "messages") {
      judged.completion.text = read_text(value, "messages", where);
      if (value.is_array()) read_prompt_column(Json(value.begin(), value.end() - 1), judged.prompt);
    } else if (key == "prompt") {
      read_prompt_column(value, judged.prompt);
    } else if (key == "completion_ids") {
      judged.completion.token_ids = read_ids(row, "completion_ids", where);
    } else {
      judged.prompt.fields[key] = value;
    }
  }
  return judged;
}

Json to_json(const RewardResult& result) {
  const bool is_ok = result.status == RewardStatus::kOk;
  Json line{{"score", is_ok ? Json(result.score) : Json()},
            {"status", to_string(result.status)},
            {"detail", result.detail}};
  for (const StepReward& step : result.steps)
    line["steps"].push_back(Json{{"end", step.end}, {"score", step.score}});
  return line;
}

/// One reward's own result; of several the weighted sum, masked when one of them is.
Json to_json(const std::vector<RewardResult>& cells, const RewardScorer& scorer) {
  if (cells.size() == 1) return to_json(cells.front());
  RewardResult total;
  Json rewards = Json::object();
  for (size_t i = 0; i < cells.size(); ++i) {
    const RewardResult& result = cells[i];
    rewards[scorer.names()[i]] = to_json(result);
    total.score += scorer.weights()[i] * result.score;
    if (result.status == RewardStatus::kOk || total.status != RewardStatus::kOk) continue;
    total.status = result.status;
    total.detail = scorer.names()[i] + ": " + result.detail;
  }
  Json line = to_json(total);
  line["rewards"] = std::move(rewards);
  return line;
}

/// Rewards work on many rows at once; results leave in the order of the rows.
class Verifier {
 public:
  Verifier(const std::vector<RewardConfig>& rewards, const VerifyConfig& config)
      : scorer_(rewards, all_rewards({{}, present_time()})),
        output_path_(config.output),
        explains_(config.explain) {}

  void submit(const Judged& row) {
    scorer_.submit(num_submitted_++, 0, row.prompt, row.completion);
    if (explains_) rows_.push_back(row);
    if (num_submitted_ - num_written_ == kWindow) write();
  }

  void finish() {
    while (num_written_ < num_submitted_) write();
    if (!output_path_.empty()) output().flush();
  }

 private:
  static constexpr int64_t kWindow = 1024;

  void write() {
    const std::vector<RewardResult> results = std::move(scorer_.take(num_written_++).front());
    if (!output_path_.empty()) output().write(to_json(results, scorer_));
    if (!explains_) return;
    write_explanation(std::cout, scorer_, rows_.front().prompt, rows_.front().completion, results);
    rows_.pop_front();
  }

  /// Opened with the first result: an old file stays where the first rows are wrong.
  JsonlWriter& output() {
    if (!output_) output_.reset(new JsonlWriter(open_output(output_path_)));
    return *output_;
  }

  RewardScorer scorer_;
  std::string output_path_;
  std::unique_ptr<JsonlWriter> output_;
  bool explains_;
  std::deque<Judged> rows_;  // that wait for their explanation
  int64_t num_submitted_ = 0, num_written_ = 0;
};

}  // namespace

int verify_command(const Command& self, const Arguments& arguments) {
  VerifyConfig config;
  if (!read_flags(self, arguments, config)) return 0;
  require(config.input, "input");
  if (!config.explain) require(config.output, "output");
  const std::vector<RewardConfig> rewards = choose_rewards(config.reward, config.reward_config);
  if (!config.output.empty()) check_output(config.output);
  Verifier verifier(rewards, config);
  for_each_row(config.input,
               [&](const Json& row, const std::string& where) { verifier.submit(read_row(row, where)); });
  verifier.finish();
  return 0;
}

}  // namespace cohort::cli
