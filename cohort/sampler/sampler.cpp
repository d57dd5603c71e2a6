#include "cohort/sampler/sampler.h"

#include <algorithm>
#include <list>
#include <optional>

#include "cohort/core/error.h"
#include "cohort/core/memory.h"
#include "cohort/sampler/prompt_batches.h"
#include "cohort/sampler/tree_rollout.h"

namespace cohort {
namespace {

std::vector<Group> empty_groups(const std::vector<Prompt>& prompts, const std::vector<int64_t>& sizes) {
  std::vector<Group> groups;
  groups.reserve(prompts.size());
  for (size_t p = 0; p < prompts.size(); ++p)
    groups.push_back({.prompt = prompts[p], .samples = std::vector<Sample>(sizes[p])});
  return groups;
}

}  // namespace

int64_t default_cache_pages(const DecoderConfig& config, at::ScalarType compute,
                            const std::vector<int64_t>& prompt_lengths,
                            const std::vector<int64_t>& group_sizes, int64_t max_completion_length) {
  int64_t needed = 1, at_least = 1;
  for (size_t p = 0; p < prompt_lengths.size(); ++p) {
    const int64_t length = prompt_lengths[p];
    const int64_t longest = std::min(max_completion_length, config.context_length - length);
    needed += pages_for_group(length, group_sizes[p], longest);
    at_least = std::max(at_least, pages_for_group(length, 1, longest));
  }
  const int64_t page_bytes = kPageRows * KvCache::bytes_per_row(config, compute);
  return std::max(at_least, std::min(needed, physical_memory_bytes() / 4 / page_bytes));
}

int64_t rows_of_rollout(const std::vector<Prompt>& prompts, const std::vector<int64_t>& group_sizes,
                        int64_t max_completion_length, const DecoderConfig& config) {
  int64_t rows = 0;
  for (size_t p = 0; p < prompts.size(); ++p) {
    const auto length = static_cast<int64_t>(prompts[p].token_ids.size());
    rows += length + group_sizes[p] * (std::min(max_completion_length, config.context_length - length) - 1);
  }
  return rows;
}

Sampler::Sampler(const Decoder& decoder, const Tokenizer* tokenizer, int64_t cache_tokens)
    : decoder_(decoder), tokenizer_(tokenizer), cache_tokens_(cache_tokens) {}

Engine& Sampler::engine_for(const std::vector<int64_t>& prompt_lengths,
                            const std::vector<int64_t>& group_sizes, int64_t max_length) {
  int64_t pages = cache_tokens_ / kPageRows;
  if (cache_tokens_ == 0) {
    pages = default_cache_pages(decoder_.config(), decoder_.compute_dtype(), prompt_lengths, group_sizes,
                                max_length);
  }
  if (engine_ == nullptr || engine_->num_pages() < pages) {
    engine_.reset();
    engine_ = std::make_unique<Engine>(decoder_, tokenizer_, pages);
  }
  return *engine_;
}

std::vector<Group> Sampler::rollout(const std::vector<Prompt>& prompts, int64_t num_generations,
                                    const SamplingParams& params, const RolloutAddress& address,
                                    int64_t policy_version, const OnCompletion& on_completion) {
  return rollout(prompts, std::vector<int64_t>(prompts.size(), num_generations), params, address,
                 policy_version, on_completion);
}

std::vector<Group> Sampler::rollout(const std::vector<Prompt>& prompts,
                                    const std::vector<int64_t>& group_sizes, const SamplingParams& params,
                                    const RolloutAddress& address, int64_t policy_version,
                                    const OnCompletion& on_completion, ActivationRecord* record,
                                    TurnHandler* turns) {
  COHORT_CHECK(address.prompts.empty() || address.prompts.size() == prompts.size());
  COHORT_CHECK(address.first_samples.empty() || address.first_samples.size() == prompts.size());
  COHORT_CHECK(record == nullptr || (record->holds_for(decoder_) && turns == nullptr));
  check_stop_strings(params.stop_strings, tokenizer_, params.skip_special_tokens);
  std::vector<Group> groups = empty_groups(prompts, group_sizes);
  const auto end = [&](int64_t p, int64_t g, Completion completion, std::vector<Sample> branches) {
    Sample& sample = groups[p].samples[g];
    sample.completion = std::move(completion);
    sample.branches = std::move(branches);
    if (on_completion) on_completion(p, g, sample.completion);
  };
  Openings openings;
  std::vector<Prompt> opened = prompts;
  if (turns != nullptr) {
    openings = turns->begin({opened, group_sizes, params, address, end});
  }
  const bool adds = turns == nullptr || !turns->adds_requests();
  std::vector<int64_t> lengths = lengths_of(opened);
  if (adds) {
    check_prompts(opened, decoder_.config());
  } else {  // prompts that nobody knows yet
    std::ranges::fill(lengths,
                      std::max<int64_t>(1, decoder_.config().context_length - params.max_completion_length));
  }
  Engine& engine = engine_for(lengths, group_sizes, params.max_completion_length);
  engine.set_policy_version(policy_version);
  engine.set_record(record);
  try {
    for (size_t p = 0; adds && p < prompts.size(); ++p) {
      SamplingParams own = params;
      own.max_completion_length -= std::ssize(prompts[p].turn_ids);
      for (int64_t g = 0; g < group_sizes[p]; ++g) {
        const auto on_end = [&, p, g](RequestId id, const Completion& completion) {
          if (turns != nullptr) {
            turns->end_turn(engine, id, static_cast<int64_t>(p), g, completion);
          } else {
            end(static_cast<int64_t>(p), g, completion, {});
          }
        };
        const RequestId id = engine.add({.token_ids = opened[p].token_ids,
                                         .params = own,
                                         .address = draw_address(address, p, g),
                                         .on_end = on_end,
                                         .is_held = turns != nullptr});
        if (turns == nullptr || openings[p][g].empty()) continue;
        if (std::ssize(openings[p][g]) >= params.max_completion_length) {
          throw ConfigError(
              str(opened[p].id, ": the environment's first ", openings[p][g].size(),
                  " tokens leave no room in max_completion_length = ", params.max_completion_length));
        }
        engine.extend(id, openings[p][g]);
      }
    }
    run(engine, turns);
  } catch (...) {
    engine_.reset();  // with the requests that are left
    throw;
  }
  for (size_t p = 0; turns != nullptr && p < prompts.size(); ++p) groups[p].prompt = std::move(opened[p]);
  return groups;
}

std::vector<Group> Sampler::rollout_trees(const std::vector<Prompt>& prompts,
                                          const std::vector<int64_t>& group_sizes,
                                          const SamplingParams& params, TreeShape shape,
                                          const RolloutAddress& address, int64_t policy_version,
                                          const OnCompletion& on_completion) {
  check_stop_strings(params.stop_strings, tokenizer_, params.skip_special_tokens);
  check_prompts(prompts, decoder_.config());
  std::vector<Group> groups = empty_groups(prompts, group_sizes);
  Engine& engine = engine_for(lengths_of(prompts), group_sizes, params.max_completion_length);
  engine.set_policy_version(policy_version);
  engine.set_record(nullptr);
  std::list<CompletionTree> trees;  // the engine's callbacks point to them
  try {
    for (size_t p = 0; p < prompts.size(); ++p) {
      const auto end = [&, p](int64_t g, const Completion& completion, const std::optional<ForkPlace>& fork) {
        groups[p].samples[g].completion = completion;
        groups[p].samples[g].fork = fork;
        if (on_completion) on_completion(static_cast<int64_t>(p), g, completion);
      };
      trees.emplace_back(engine, shape, group_sizes[p], draw_address(address, p, 0), end);
      const int64_t room = decoder_.config().context_length - std::ssize(prompts[p].token_ids);
      trees.back().begin(prompts[p].token_ids, params, std::min(params.max_completion_length, room));
    }
    run(engine, [&](bool) {
      std::erase_if(trees, [](CompletionTree& tree) { return !tree.grow(); });
      return !trees.empty();
    });
  } catch (...) {
    engine_.reset();  // with the requests that are left
    throw;
  }
  return groups;
}

Completion Sampler::stream(const Prompt& prompt, const SamplingParams& params, const RolloutAddress& address,
                           const OnToken& on_token) {
  check_prompts({prompt}, decoder_.config());
  Engine& engine = engine_for({std::ssize(prompt.token_ids)}, {1}, params.max_completion_length);
  engine.set_policy_version(0);
  engine.set_record(nullptr);
  Completion result;
  try {
    engine.add({.token_ids = prompt.token_ids,
                .params = params,
                .address = draw_address(address, 0, 0),
                .on_token = on_token,
                .on_end = [&](RequestId, const Completion& completion) { result = completion; },
                .caches_completion = true});
    run(engine);
  } catch (...) {
    engine_.reset();
    throw;
  }
  return result;
}

void Sampler::run(Engine& engine, TurnHandler* turns) {
  run(engine, [&](bool has_worked) {
    return turns != nullptr && turns->take_replies(engine, /*waits=*/!has_worked);
  });
}

/// `after_pass` gets whether the pass had work, and returns whether more will come.
template <typename F>
void Sampler::run(Engine& engine, F after_pass) {
  while (true) {
    const bool has_worked = engine.step();
    const bool has_more = after_pass(has_worked);
    if (!has_worked && !has_more) break;
    if (on_pass_) on_pass_();
  }
  stats_ = engine.take_stats();
}

DrawAddress Sampler::draw_address(const RolloutAddress& address, size_t prompt, int64_t sample) {
  return {.seed = address.seed,
          .step = address.step,
          .prompt = address.prompt_number(prompt),
          .sample = address.first_sample_of(prompt) + static_cast<uint64_t>(sample)};
}

}  // namespace cohort
