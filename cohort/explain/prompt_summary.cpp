#include "cohort/explain/prompt_summary.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace cohort {
namespace {

bool is_drawn(const CompletionEntry& entry) { return (entry.flags & kIsDemonstration) == 0; }

struct RewardSum {
  double sum = 0.0;
  int64_t count = 0;

  void add(float reward) {
    sum += static_cast<double>(reward);
    ++count;
  }

  double mean() const { return sum / static_cast<double>(count); }
};

/// A summary while it grows by entries whose steps ascend.
struct GrowingSummary {
  PromptSummary summary{};
  RewardSum first{}, last{};

  void add(const CompletionEntry& entry, uint32_t number) {
    if (summary.count++ == 0) {
      summary.first_entry = number;
      summary.prompt = entry.prompt;
      summary.first_step = entry.step;
    }
    if (first.count == 0) summary.last_step = entry.step;
    if (!has_drawn_reward(entry)) return;
    if (first.count == 0) summary.first_step = entry.step;
    if (entry.step == summary.first_step) first.add(entry.reward);
    if (entry.step != summary.last_step) last = {};
    summary.last_step = entry.step;
    last.add(entry.reward);
  }

  PromptSummary finished() const {
    PromptSummary result = summary;
    if (first.count > 0) result.first_reward = first.mean(), result.last_reward = last.mean();
    return result;
  }
};

}  // namespace

bool has_drawn_reward(const CompletionEntry& entry) { return is_drawn(entry) && std::isfinite(entry.reward); }

std::vector<PromptSummary> prompt_summaries(std::span<const CompletionEntry> entries) {
  std::unordered_map<uint64_t, size_t> places;
  std::vector<GrowingSummary> growing;
  for (uint32_t i = 0; i < entries.size(); ++i) {
    if (!is_drawn(entries[i])) continue;
    const auto [place, is_new] = places.try_emplace(entries[i].prompt, growing.size());
    if (is_new) growing.emplace_back();
    growing[place->second].add(entries[i], i);
  }
  std::vector<PromptSummary> prompts;
  prompts.reserve(growing.size());
  for (const GrowingSummary& each : growing) prompts.push_back(each.finished());
  std::ranges::stable_sort(prompts, std::greater{}, &PromptSummary::count);
  return prompts;
}

}  // namespace cohort
