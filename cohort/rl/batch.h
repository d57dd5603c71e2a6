// A training step as a value: a batch of groups of samples. It owns all that it holds, so it can be copied,
// moved, written to disk and sent; nothing in it points to anything else in it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cohort/rl/types.h"

namespace cohort {

constexpr double kNoReward = std::numeric_limits<double>::quiet_NaN();

/// Why a sample of a batch carries no loss. It still counts in every normalizer.
enum class LossMask : uint8_t {
  kNone,       ///< it carries loss
  kTruncated,  ///< it was cut, under mask_truncated_completions
  kMonitor,    ///< a monitor with the action "mask" masked it
  kFailed,     ///< its environment failed
};

/// Where a completion of a tree left another one, whose tokens before this place it has, too (TreePO,
/// arXiv:2508.17445).
struct ForkPlace {
  int64_t of = 0;            ///< the place of the other in its group, before its own
  int64_t num_segments = 0;  ///< of the tree that both have
  int64_t num_tokens = 0;    ///< of these segments

  bool operator==(const ForkPlace&) const = default;
};

/// One completion with all columns of a step. Columns have a value for each sampled token.
struct Sample {
  Completion completion;
  std::vector<int32_t> prompt_ids{};    ///< of a branch that does not continue its group's prompt; else empty
  std::vector<RewardResult> rewards{};  ///< a cell per reward function, in the order of Batch::reward_names
  double reward = kNoReward;            ///< weighted sum; nan if a function failed or none applied
  double advantage = 0.0;
  std::vector<float> token_advantages{};  ///< replace `advantage`; empty: all tokens have that
  LossMask mask = LossMask::kNone;
  bool is_demonstration = false;      ///< another policy wrote it: its sampler_logprobs are meaningless
  std::vector<float> old_logprobs{};  ///< of the policy before the update; empty: the sampler's are the same
  std::vector<float> ref_logprobs{};  ///< of the reference; empty without one
  std::vector<float> entropies{};     ///< of the policy that sampled; empty if nothing reads them
  std::vector<float> values{};        ///< the critic's before the update; empty without a critic
  std::vector<float> returns{};       ///< what the critic learns; empty without a critic
  /// The other conversations of the completion's episode, in the order in which they began, with its rewards
  /// and its advantage. What they share with it or with one another is sampled in the first of them and
  /// injected in the others.
  std::vector<Sample> branches{};
  std::optional<ForkPlace> fork{};  ///< of a completion of a tree that did not begin at the prompt

  bool has_reward() const { return reward == reward; }

  /// Of the policy before the update.
  const std::vector<float>& policy_logprobs() const {
    return old_logprobs.empty() ? completion.sampler_logprobs : old_logprobs;
  }

  /// Tokens with loss.
  int64_t loss_length() const { return mask == LossMask::kNone ? completion.num_sampled() : 0; }
};

/// What the samples of a group draw anew: the end of another group's sample, from its first tool call on
/// (AXPO, arXiv:2605.28774).
struct RerolledCall {
  int64_t group = 0;       ///< its place in Batch::groups
  int64_t sample = 0;      ///< its place in that group
  int64_t num_frozen = 0;  ///< sampled tokens of it that the group's prompt ends with
  double recovery = 0.0;   ///< the reward of these tokens: 1 if a sample of the group succeeded, else 0
};

/// The samples of one prompt, in the order in which they were drawn; a demonstration is last.
struct Group {
  Prompt prompt;
  std::vector<Sample> samples{};
  std::optional<double> beta{};    ///< weight of the KL instead of the setting's; all groups have it or none
  int64_t num_kept = 0;            ///< samples that GFPO keeps, by the prompt's difficulty; 0: the setting's
  bool has_no_difference = false;  ///< all rewards of the group are the same number
  std::optional<RerolledCall> rerolls{};  ///< of a group of re-rolls; these are a batch's last groups
};

/// Why samples that were drawn for a step are not trained on.
enum class Untrained : uint8_t {
  kGreedy,        ///< the greedy completion, whose reward is the baseline of the others
  kNotKept,       ///< more samples than keep_generations
  kNoDifference,  ///< of a group whose rewards are all the same number
  kSurplus,       ///< of a group with difference, after prompts_per_step such groups
};

/// Samples of one prompt that were drawn and are not trained on.
struct UntrainedGroup {
  Group group;
  Untrained reason{};
  int64_t of = -1;  ///< the index in Batch::groups of the group whose statistics count it; -1: none
};

/// The samples of a step.
struct Batch {
  int64_t step = 0;                         ///< counts from 1
  std::vector<std::string> reward_names{};  ///< [C]
  std::vector<double> reward_weights{};     ///< [C] at this step
  std::vector<uint8_t> gives_steps{};       ///< [C] 1 if the function judges step by step
  std::vector<Group> groups{};              ///< trained on, in the order of their prompts
  std::vector<UntrainedGroup> untrained{};  ///< drawn but not trained on
};

const char* to_string(LossMask mask);
const char* to_string(Untrained reason);

/// Calls f(sample) for all samples of `groups`, in order.
template <typename Groups, typename F>
void for_each_sample(Groups&& groups, F f) {
  for (auto& group : groups) {
    for (auto& sample : group.samples) f(sample);
  }
}

/// Calls f(sequence) for a sample and then its branches.
template <typename S, typename F>
void for_each_sequence_of(S& sample, F f) {
  f(sample);
  for (auto& branch : sample.branches) f(branch);
}

/// Calls f(sequence) for all that is trained on, in order: each sample and, behind it, its branches.
template <typename Groups, typename F>
void for_each_sequence(Groups&& groups, F f) {
  for_each_sample(groups, [&](auto& sample) { for_each_sequence_of(sample, f); });
}

int64_t num_samples(std::span<const Group> groups);

/// Whether the completions of a group are a tree.
bool is_tree(const Group& group);

/// The groups that are no re-rolls.
std::span<const Group> first_groups(std::span<const Group> groups);

/// Samples and their branches.
int64_t num_sequences(std::span<const Group> groups);

/// The sequences of a group, in the order of for_each_sequence(). Borrows `group`.
std::vector<const Sample*> sequences_of(const Group& group);

/// [P] with all sequences in one list, the index after each group's last one.
std::vector<int64_t> group_ends_of(std::span<const Group> groups);

/// The KL's weight of each sequence; empty if the groups have none of their own.
std::vector<double> betas_of(std::span<const Group> groups);

/// Masks a sample with its branches.
void set_mask(Sample& sample, LossMask mask);

/// The prompt that a sequence continues: its group's `prompt`, or a branch's own. Borrows both.
const std::vector<int32_t>& prompt_ids_of(const Prompt& prompt, const Sample& sequence);

/// The total rewards of a group's samples; nan if there is none.
std::vector<double> rewards_of(const Group& group);

/// Prompt and completion tokens, a prompt once per sequence.
int64_t total_tokens(std::span<const Group> groups);

/// The same with the untrained samples.
int64_t total_tokens(const Batch& batch);

/// The weighted sum of a sample's rewards. A sample has one if every reward that applies to it (any status
/// but skipped, and a weight other than 0) is ok and finite, and at least one does; else it is nan: a reward
/// that failed never counts as 0.
double total_reward(std::span<const RewardResult> rewards, std::span<const double> weights);

/// Sets the total reward of every sequence, also of untrained ones.
void add_up_rewards(Batch& batch);

}  // namespace cohort
