#include "cohort/rewards/gold_check.h"

#include <algorithm>

#include "cohort/rewards/prompt_column.h"
#include "libs/common/long_integers.h"

namespace cohort {
namespace {

// They say how a completion looks, not whether it is right.
constexpr const char* kTypesOfForm[] = {"format",     "language_consistency", "length",
                                        "repetition", "soft_overlong",        "tag_count"};

std::vector<int64_t> chosen_places(const std::vector<RewardConfig>& rewards, const std::string& name) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < std::ssize(rewards); ++i) {
    const RewardConfig& reward = rewards[i];
    const bool is_form =
        std::find(std::begin(kTypesOfForm), std::end(kTypesOfForm), reward.kind()) != std::end(kTypesOfForm);
    if (name.empty() ? !is_form && reward.weight > 0.0 : reward.name == name) places.push_back(i);
  }
  if (!places.empty()) return places;
  throw ConfigError(name.empty() ? "no reward of the file judges what is right; name one"
                                 : str("there is no reward \"", name, "\""));
}

// The rewards to ask: those chosen, first, and those that they require. Others may need what is not there.
std::vector<RewardConfig> asked_rewards(const std::vector<RewardConfig>& rewards,
                                        const std::vector<int64_t>& chosen) {
  std::vector<RewardConfig> asked;
  asked.reserve(chosen.size());
  for (const int64_t place : chosen) asked.push_back(rewards[place]);
  for (size_t i = 0; i < asked.size(); ++i) {
    asked[i].checks.clear();
    const auto is_required = [required = asked[i].required](const RewardConfig& reward) {
      return reward.name == required;
    };
    if (std::find_if(asked.begin(), asked.end(), is_required) != asked.end()) continue;
    const auto found = std::find_if(rewards.begin(), rewards.end(), is_required);
    if (found != rewards.end()) asked.push_back(*found);
  }
  return asked;
}

double full_score(const RewardConfig& config) { return std::min(1.0, config.clip_max.value_or(1.0)); }

// A program by itself, as data sets have it, becomes the fenced block that the reward looks for.
std::string as_completion(const std::string& program, const std::vector<RewardConfig>& rewards) {
  const auto code = std::find_if(rewards.begin(), rewards.end(),
                                 [](const RewardConfig& config) { return config.kind() == "code"; });
  if (code == rewards.end() || program.find("```") != std::string::npos) return program;
  const auto language = value_in<std::string>(code->keys, "language");
  return str("```", language.empty() ? "python" : language, "\n", program, "\n```\n");
}

// The text of a string or number, or of the last of a list of messages.
std::optional<std::string> text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || is_long_integer(value)) return to_json_text(value);
  if (!value.is_array() || value.empty() || !value.back().is_object()) return std::nullopt;
  const auto content = value.back().find("content");
  const bool is_text = content != value.back().end() && content->is_string();
  return is_text ? std::optional(content->get<std::string>()) : std::nullopt;
}

// Without a prompt of its own, what comes before the last message of a solution is the prompt.
Prompt prompt_of(const Json& columns, const Json& solution, const std::string& where) {
  Prompt prompt;
  prompt.id = where;
  prompt.fields = columns;
  if (const auto value = columns.find("prompt"); value != columns.end()) {
    prompt.fields.erase("prompt");
    read_prompt_column(*value, prompt);
  } else if (solution.is_array() && !solution.empty()) {
    read_prompt_column(Json(solution.begin(), solution.end() - 1), prompt);
  }
  return prompt;
}

Completion completion_of(const std::string& text, const GoldCheck::Tokenize& tokenize) {
  Completion completion;
  completion.text = text;
  if (tokenize) completion.token_ids = tokenize(text);
  completion.finish_reason = FinishReason::kStop;
  return completion;
}

}  // namespace

GoldCheck::GoldCheck(const std::vector<RewardConfig>& rewards, const std::string& name, std::string column,
                     std::ostream& faults, const RewardTypes& types)
    : rewards_(asked_rewards(rewards, chosen_places(rewards, name))),
      num_checked_(std::ssize(chosen_places(rewards, name))),
      column_(std::move(column)),
      faults_(faults),
      scorer_(rewards_, types) {}

const Json& GoldCheck::solution_of(const Json& columns, const std::string& where) const {
  const std::vector<std::string> names =
      column_.empty() ? std::vector<std::string>{"completion", "solution", "gold", "answer"}
                      : std::vector<std::string>{column_};
  for (const std::string& name : names) {
    const auto column = columns.find(name);
    if (column == columns.end() || column->is_null()) continue;
    if (text_of(*column)) return *column;
    throw FormatError(str(where, ": column \"", name, "\" must be a text or a list of messages"));
  }
  throw FormatError(str(where, ": has no solution in column ",
                        column_.empty() ? "completion, solution, gold or answer" : column_));
}

void GoldCheck::submit(const Json& columns, const std::string& where, int64_t line_number,
                       const Tokenize& tokenize) {
  constexpr size_t kWindow = 256;
  std::string fault;
  try {
    const Json& solution = solution_of(columns, where);
    const Prompt prompt = prompt_of(columns, solution, where);
    scorer_.submit(num_submitted_, 0, prompt,
                   completion_of(as_completion(*text_of(solution), rewards_), tokenize));
    scorer_.submit(num_submitted_++, 1, prompt, completion_of("", tokenize));
  } catch (const FormatError& error) {
    fault = error.what();
  }
  waiting_.push_back({where, line_number, fault});
  if (waiting_.size() == kWindow) judge_next();
}

void GoldCheck::finish() {
  while (!waiting_.empty()) judge_next();
}

void GoldCheck::judge_next() {
  const Waiting& row = waiting_.front();
  if (row.fault.empty()) {
    judge(row, scorer_.take(num_judged_++));
  } else {
    if (failed_.has_room()) faults_ << "cohort: " << row.fault << "\n";
    failed_.add(row.line_number);
  }
  waiting_.pop_front();
}

void GoldCheck::judge(const Waiting& row, const std::vector<std::vector<RewardResult>>& results) {
  bool is_judged = false, has_failed = false, is_empty_full = false;
  const auto say = [&](bool is_listed, const std::string& what, int64_t reward, const RewardResult& result) {
    if (!is_listed) return;
    const std::string score =
        result.status == RewardStatus::kOk ? str(result.score) : to_string(result.status);
    faults_ << "cohort: " << row.where << ": " << what << " scores " << score << " on "
            << scorer_.names()[reward] << ": " << result.detail << "\n";
  };
  for (int64_t reward = 0; reward < num_checked_; ++reward) {
    const RewardResult &solution = results.at(0).at(reward), &nothing = results.at(1).at(reward);
    if (solution.status == RewardStatus::kSkipped) continue;
    is_judged = true;
    const double full = full_score(rewards_[reward]);
    if (solution.status != RewardStatus::kOk || solution.score < full) {
      say(failed_.has_room() && !has_failed, "its solution", reward, solution);
      has_failed = true;
    }
    if (nothing.status == RewardStatus::kOk && nothing.score >= full) {
      say(empty_.has_room() && !is_empty_full, "an empty completion", reward, nothing);
      is_empty_full = true;
    }
  }
  num_skipped_ += !is_judged;
  if (has_failed) failed_.add(row.line_number);
  if (is_empty_full) empty_.add(row.line_number);
}

std::vector<std::pair<std::string, std::string>> GoldCheck::report() const {
  std::string names;
  for (int64_t reward = 0; reward < num_checked_; ++reward)
    names += (names.empty() ? "" : ", ") + rewards_[reward].name;
  std::vector<std::pair<std::string, std::string>> lines = {
      {"rewards checked", names},
      {"solutions", str(num_judged_ - num_skipped_, " scored; ", failed_.count(),
                        " rows whose own is not full", failed_.text())},
      {"empty completions", str(empty_.count(), " rows where nothing scores full", empty_.text())}};
  if (num_skipped_ > 0) lines.push_back({"other domains", str(num_skipped_, " rows that no reward judges")});
  return lines;
}

}  // namespace cohort
