#include "cohort/sampler/prompt_batches.h"

#include <algorithm>

namespace cohort {

std::vector<PromptBatch> prompt_batches(const std::vector<Prompt>& prompts, int64_t num_generations) {
  const int64_t size = std::max<int64_t>(1, kCompletionsAtOnce / num_generations);
  const auto count = static_cast<int64_t>(prompts.size());
  std::vector<PromptBatch> batches;
  for (int64_t first = 0; first < count; first += size) {
    batches.push_back({first, {prompts.begin() + first, prompts.begin() + std::min(count, first + size)}});
  }
  return batches;
}

std::vector<int64_t> lengths_of(const std::vector<Prompt>& prompts) {
  std::vector<int64_t> lengths;
  lengths.reserve(prompts.size());
  for (const Prompt& prompt : prompts) lengths.push_back(static_cast<int64_t>(prompt.token_ids.size()));
  return lengths;
}

}  // namespace cohort
