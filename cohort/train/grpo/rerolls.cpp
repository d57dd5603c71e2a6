#include "cohort/train/grpo/rerolls.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "cohort/train/grpo/credit.h"

namespace cohort {
namespace {

struct Candidate {
  RerolledCall call;
  std::vector<int32_t> turn_ids;
  double probability = 0.0;  // mean over the call's tokens
};

bool calls_tools(const Sample& sample) {
  return sample.completion.episode && sample.completion.episode->num_calls > 0 && sample.has_reward();
}

std::optional<Candidate> candidate_of(const Sample& sample, const TurnHandler& turns) {
  const Completion& completion = sample.completion;
  const std::optional<CallPlace> place = turns.first_call(completion);
  if (!place || place->opened >= place->end_of_turn) return std::nullopt;
  const int64_t begin = place->first - completion.num_sampled_before(place->first);  // of the first turn
  Candidate candidate{.call = {.num_frozen = place->opened - begin}, .turn_ids = {}};
  const auto ids = completion.token_ids.begin();
  candidate.turn_ids.assign(ids + begin, ids + place->opened);
  for (int64_t i = place->first; i < place->end_of_turn; ++i)
    candidate.probability += std::exp(static_cast<double>(completion.sampler_logprobs[i - begin]));
  candidate.probability /= static_cast<double>(place->end_of_turn - place->first);
  return candidate;
}

/// The candidates of a group; nothing if no sample calls tools or one that does is a success.
std::optional<std::vector<Candidate>> candidates_of(const Group& group, const TurnHandler& turns,
                                                    double positive_reward) {
  std::vector<Candidate> candidates;
  bool calls = false;
  for (size_t i = 0; i < group.samples.size(); ++i) {
    const Sample& sample = group.samples[i];
    if (!calls_tools(sample)) continue;
    if (sample.reward > positive_reward) return std::nullopt;
    calls = true;
    std::optional<Candidate> candidate = candidate_of(sample, turns);
    if (!candidate) continue;
    candidate->call.sample = static_cast<int64_t>(i);
    candidates.push_back(*std::move(candidate));
  }
  return calls ? std::optional(std::move(candidates)) : std::nullopt;
}

}  // namespace

Rerolls choose_rerolls(std::span<const Group> groups, const TurnHandler& turns, const RolloutConfig& config) {
  Rerolls rerolls;
  std::vector<Candidate> chosen;
  for (size_t g = 0; g < groups.size(); ++g) {
    std::optional<std::vector<Candidate>> candidates =
        candidates_of(groups[g], turns, config.positive_reward);
    if (!candidates) continue;
    ++rerolls.num_wrong_groups;
    for (Candidate& candidate : *candidates) {
      candidate.call.group = static_cast<int64_t>(g);
      chosen.push_back(std::move(candidate));
    }
  }
  std::ranges::stable_sort(chosen, {}, &Candidate::probability);
  chosen.resize(std::min<size_t>(chosen.size(), config.most_reroll_groups()));
  std::ranges::stable_sort(chosen, {}, [](const Candidate& each) { return each.call.group; });
  std::map<int64_t, uint64_t> num_samples;
  for (Candidate& candidate : chosen) {
    const Group& group = groups[candidate.call.group];
    uint64_t& first = num_samples.try_emplace(candidate.call.group, group.samples.size()).first->second;
    rerolls.calls.push_back(candidate.call);
    rerolls.prompts.push_back(group.prompt);
    rerolls.prompts.back().turn_ids = std::move(candidate.turn_ids);
    rerolls.first_samples.push_back(first);
    first += static_cast<uint64_t>(config.num_rerolls);
  }
  return rerolls;
}

Batch without_rerolls(const Batch& batch) {
  Batch first = batch;
  first.groups.resize(first_groups(batch.groups).size());
  return first;
}

void give_recovery(Batch& batch, const AdvantageConfig& config, const AdvantageFunction& own) {
  const size_t num_groups = first_groups(batch.groups).size();
  if (num_groups == batch.groups.size()) return;
  Batch recovered = without_rerolls(batch);
  for (size_t g = num_groups; g < batch.groups.size(); ++g) {
    const RerolledCall& call = *batch.groups[g].rerolls;
    recovered.groups[call.group].samples[call.sample].reward = call.recovery;
  }
  assign_credit(recovered, config, own);
  for (size_t g = num_groups; g < batch.groups.size(); ++g) {
    const RerolledCall& call = *batch.groups[g].rerolls;
    Sample& sample = batch.groups[call.group].samples[call.sample];
    std::vector<float>& values = sample.token_advantages;
    values.assign(sample.completion.num_sampled(), static_cast<float>(sample.advantage));
    const double of_frozen = recovered.groups[call.group].samples[call.sample].advantage;
    std::fill_n(values.begin(), call.num_frozen, static_cast<float>(of_frozen));
  }
}

}  // namespace cohort
