#include "cohort/train/experts.h"

#include <limits>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/objectives/sample_statistics.h"

namespace cohort {
namespace {

constexpr const char* kExpertColumn = "expert_completion";

/// The column as the assistant's turns of a conversation.
Json expert_messages(const Json& value) {
  if (value.is_string()) return Json::array({{{"role", "assistant"}, {"content", value}}});
  return value.is_object() ? Json::array({value}) : value;
}

/// The text that rewards judge: the string, or the content of the last message.
std::string expert_text(const Json& value) {
  const Json& last = value.is_array() && !value.empty() ? value.back() : value;
  const Json text = last.is_object() ? last.value("content", Json()) : last;
  return text.is_string() ? text.get<std::string>() : "";
}

}  // namespace

Completion to_expert(const Prompt& prompt, const SftFormat& format) {
  const auto found = prompt.fields.find(kExpertColumn);
  if (found == prompt.fields.end()) {
    throw FormatError(str(prompt.id, ": the column \"", kExpertColumn,
                          "\" is missing, which objective.use_expert_completion takes (data.columns gives "
                          "columns other names)"));
  }
  Row row{prompt.fields, prompt.id, prompt.id};
  const auto messages = prompt.fields.find("prompt_messages");
  const bool is_chat = messages != prompt.fields.end();
  if (!found->is_string() && !is_chat) {
    throw FormatError(str(prompt.id, ": \"", kExpertColumn, "\" must be a string, as the prompt is"));
  }
  row.columns["prompt"] = is_chat ? *messages : Json(prompt.text);
  row.columns["completion"] = is_chat ? expert_messages(*found) : *found;
  Completion expert = to_sft_example(row, format).completion;
  expert.sampler_logprobs.assign(expert.token_ids.size(), 0.0f);
  expert.origin.assign(expert.token_ids.size(), TokenOrigin::kSampled);
  expert.finish_reason = FinishReason::kStop;
  expert.sample = -1;  // it is no draw
  expert.text = expert_text(*found);
  return expert;
}

ExpertIds expert_ids(const SftFormat& format) {
  return [format](const Prompt& prompt) { return to_expert(prompt, format).token_ids; };
}

void join_experts(const SftFormat& format, RewardScorer& scorer, ScoredRollout& rollout) {
  for (size_t g = 0; g < rollout.groups.size(); ++g) {
    RolloutGroup& group = rollout.groups[g];
    group.completions.push_back(to_expert(group.prompt, format));
    scorer.submit(static_cast<int64_t>(g), 0, group.prompt, group.completions.back());
    rollout.num_tokens += std::ssize(group.prompt.token_ids) + std::ssize(group.completions.back().token_ids);
  }
  for (size_t g = 0; g < rollout.groups.size(); ++g)
    append_rows(scorer.take(static_cast<int64_t>(g)), rollout.rewards[g]);
}

OwnCompletions own_completions(const ScoredRollout& rollout, const TotalRewards& totals,
                               const Advantages& advantages) {
  OwnCompletions own;
  own.advantages = advantages;
  if (rollout.groups.empty()) own.rewards = rollout.rewards;  // their names
  std::vector<double> scores, expert_scores;
  size_t index = 0;
  for (size_t g = 0; g < rollout.groups.size(); ++g) {
    own.groups.push_back({rollout.groups[g].prompt, {}});
    std::vector<int64_t> rows;
    for (const Completion& completion : rollout.groups[g].completions) {
      const bool is_expert = &completion == &rollout.groups[g].completions.back();
      if (totals.valid[index]) (is_expert ? expert_scores : scores).push_back(totals.values[index]);
      if (!is_expert) {
        rows.push_back(std::ssize(rows));
        own.groups.back().completions.push_back(completion);
        own.totals.values.push_back(totals.values[index]);
        own.totals.valid.push_back(totals.valid[index]);
      }
      ++index;
    }
    own.rewards.push_back(select_rows(rollout.rewards[g], rows));
  }
  const Spread spread = spread_of(scores, 1), of_experts = spread_of(expert_scores, 1);
  own.advantages.reward_mean = spread.mean;
  own.advantages.reward_std = spread.std;
  own.expert_reward = expert_scores.empty() ? std::numeric_limits<double>::quiet_NaN() : of_experts.mean;
  return own;
}

}  // namespace cohort
