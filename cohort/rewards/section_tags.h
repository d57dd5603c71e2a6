// The tags that a recipe asks completions to have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cohort/rewards/reward.h"

namespace cohort {

/// The keys of rewards that look for sections in tags.
struct SectionTagKeys {
  std::vector<std::string> tags;

  void describe(FieldVisitor& f);
};

/// "<think>", "</think>", "<answer>", "</answer>", or the same of the key `tags`. Throws ConfigError for a
/// name that is empty, comes twice, or has more than letters, digits, "_", "-", "|" and ":".
std::vector<std::string> section_tags(const RewardConfig& config);

/// The completion's text with the beginning of its turn that the prompt holds. That is the first of `tags`,
/// in order, where the prompt ends with them, such as the <think> of a chat template's generation prompt.
/// Where the last message is the assistant's, it is that message from the first tag on. A completion that
/// opens with the first tag itself, and a prompt that holds all of the tags there, leave the text alone.
std::string tagged_text(const Prompt& prompt, const Completion& completion,
                        const std::vector<std::string>& tags);

/// The same for <think>...</think> alone: a completion whose thinking the prompt opened is still thinking
/// until it closes it.
std::string thinking_text(const Prompt& prompt, const Completion& completion);

/// How often each tag stands in a completion, for explanations.
std::vector<Remark> count_tags(std::string_view text, const std::vector<std::string>& tags);

}  // namespace cohort
