#include "cohort/train/grpo/demonstrations.h"

#include <utility>

#include "cohort/core/error.h"
#include "cohort/objectives/sample_statistics.h"
#include "cohort/train/run/rollout_share.h"

namespace cohort {
namespace {

constexpr const char* kColumn = "demonstration";

/// The column as the assistant's turns of a conversation.
Json assistant_messages(const Json& value) {
  if (value.is_string()) return Json::array({{{"role", "assistant"}, {"content", value}}});
  return value.is_object() ? Json::array({value}) : value;
}

/// The text that rewards judge: the string, or the content of the last message.
std::string judged_text(const Json& value) {
  const Json& last = value.is_array() && !value.empty() ? value.back() : value;
  const Json text = last.is_object() ? last.value("content", Json()) : last;
  return text.is_string() ? text.get<std::string>() : "";
}

}  // namespace

Completion to_demonstration(const Prompt& prompt, const SftFormat& format) {
  const auto found = prompt.fields.find(kColumn);
  if (found == prompt.fields.end()) {
    throw FormatError(str(prompt.id, ": the column \"", kColumn,
                          "\" is missing, which objective.use_demonstrations takes (data.columns gives "
                          "columns other names)"));
  }
  Row row{prompt.fields, prompt.id, prompt.id};
  const auto messages = prompt.fields.find("prompt_messages");
  const bool is_chat = messages != prompt.fields.end();
  if (!found->is_string() && !is_chat) {
    throw FormatError(str(prompt.id, ": \"", kColumn, "\" must be a string, as the prompt is"));
  }
  row.columns["prompt"] = is_chat ? *messages : Json(prompt.text);
  row.columns["completion"] = is_chat ? assistant_messages(*found) : *found;
  Completion demonstration = to_sft_example(row, format).completion;
  demonstration.sampler_logprobs.assign(demonstration.num_sampled(), 0.0F);
  demonstration.finish_reason = FinishReason::kStop;
  demonstration.sample = -1;  // it is no draw
  demonstration.text = judged_text(*found);
  return demonstration;
}

DemonstrationIds demonstration_ids(const SftFormat& format) {
  return [format](const Prompt& prompt) { return to_demonstration(prompt, format).token_ids; };
}

void join_demonstrations(const SftFormat& format, RewardScorer& scorer, Batch& batch,
                         dist::Group& processes) {
  RolloutShare whole;
  for (size_t g = 0; g < batch.groups.size(); ++g) {
    whole.prompts.push_back(batch.groups[g].prompt);
    whole.sizes.push_back(1);
    whole.places.push_back(static_cast<int64_t>(g));
  }
  const RolloutShare share = share_of(whole, 1, /*keeps_groups=*/true, processes.rank(), processes.size());
  std::vector<Group> own;
  for (const Prompt& prompt : share.prompts) {
    own.push_back({prompt});
    own.back().samples.push_back({.completion = to_demonstration(prompt, format), .is_demonstration = true});
    scorer.submit(std::ssize(own) - 1, 0, prompt, own.back().samples.back().completion);
  }
  for (size_t g = 0; g < own.size(); ++g) {
    Sample& demonstration = own[g].samples.back();
    demonstration.rewards = std::move(scorer.take(static_cast<int64_t>(g)).front());
    demonstration.reward = total_reward(demonstration.rewards, batch.reward_weights);
  }
  std::vector<Group> all = gather_groups(std::move(own), share, std::ssize(batch.groups), processes);
  for (size_t g = 0; g < all.size(); ++g)
    batch.groups[g].samples.push_back(std::move(all[g].samples.front()));
}

Batch without_demonstrations(const Batch& batch) {
  Batch own = batch;
  for (Group& group : own.groups)
    std::erase_if(group.samples, [](const Sample& sample) { return sample.is_demonstration; });
  return own;
}

double mean_demonstration_reward(const Batch& batch) {
  std::vector<double> rewards;
  for_each_sample(batch.groups, [&](const Sample& sample) {
    if (sample.is_demonstration) rewards.push_back(sample.reward);
  });
  const Spread spread = spread_of(rewards, 1);
  return spread.count > 0 ? spread.mean : kNoReward;
}

RewardSummary own_summary(const Batch& own, const RewardSummary& of_all) {
  std::vector<double> rewards;
  for_each_sample(own.groups, [&](const Sample& sample) { rewards.push_back(sample.reward); });
  const Spread spread = spread_of(rewards, 1);
  return {spread.mean, spread.std, of_all.frac_zero_std};
}

}  // namespace cohort
