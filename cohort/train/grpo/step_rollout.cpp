#include "cohort/train/grpo/step_rollout.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "cohort/core/log.h"
#include "cohort/objectives/baseline.h"
#include "cohort/objectives/credit_rule.h"
#include "cohort/objectives/sample_statistics.h"
#include "cohort/rl/batch_fields.h"
#include "cohort/train/grpo/credit.h"
#include "cohort/train/grpo/rerolls.h"
#include "cohort/train/grpo/rollout_selection.h"
#include "cohort/train/grpo/run_sampling.h"
#include "libs/common/random.h"

namespace cohort {
namespace {

/// What tells whether a group's rewards differ: how they would be centred, and nothing else.
AdvantageConfig difference_config(const AdvantageConfig& advantages) {
  AdvantageConfig config;
  config.scale_rewards = "none";
  config.credit = find_credit_rule(advantages.credit).sums_later_steps ? advantages.credit : "sequence";
  config.multi_objective_aggregation = advantages.multi_objective_aggregation;
  config.gfpo_k = advantages.gfpo_k;
  config.gfpo_metric = advantages.gfpo_metric;
  config.drop_truncated = advantages.drop_truncated;
  return config;
}

double mean_or_nan(const std::vector<double>& values) {
  const Spread spread = spread_of(values, 0);
  return spread.count > 0 ? spread.mean : std::numeric_limits<double>::quiet_NaN();
}

/// Where the scorer's numbers of groups that are drawn ahead begin.
constexpr int64_t kFirstAhead = int64_t{1} << 40;

std::vector<int64_t> counted_from(int64_t first, int64_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

template <typename Value>
void append_moved(std::vector<Value>& more, std::vector<Value>& values) {
  values.insert(values.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

StepRollout::StepRollout(const TrainConfig& config, const Decoder& policy, const Tokenizer* tokenizer,
                         PromptSource& prompts, RewardScorer& scorer, RecordPlan recorded,
                         dist::Group& processes)
    : config_(config.rollout),
      advantages_(resolved(config.objective, config.rollout.max_completion_length).advantages),
      run_seed_(static_cast<uint64_t>(config.seed)),
      seed_(run_seed_),
      prompts_(prompts),
      scorer_(scorer),
      processes_(processes),
      num_minibatches_(config.train.steps_per_generation),
      sampler_(policy, tokenizer, config.rollout.cache_tokens),
      policy_(policy),
      num_recorded_(recorded.rows),
      record_(recorded.parts),
      sampling_(run_sampling(config, policy.config(), tokenizer)),
      balance_(config.objective.control, config.reward) {}

void StepRollout::sample_by(RolloutFunction function) {
  rollout_function_ = std::move(function);
  stop_recording();
}

void StepRollout::begin_branch(int64_t count) {
  seed_ = random_bits(run_seed_, {static_cast<uint64_t>(count)});
}

Batch StepRollout::collect(int64_t index, int64_t policy_version, StepTimer& timer) {
  if (num_recorded_ > 0) record_.begin(policy_, num_recorded_);
  if (turns_ != nullptr) turns_->take_times();  // of an evaluation before
  Drawing drawing{index, policy_version, timer};
  Batch& batch = drawing.batch;
  batch.step = index;
  batch.reward_names = scorer_.names();
  batch.reward_weights = balance_.balanced(scorer_.weights(index));
  batch.gives_steps = scorer_.gives_steps();
  int64_t num_prompts = config_.prompts_per_step;
  std::vector<uint8_t> differs;
  for (int64_t num_batches = 1; num_prompts > 0; ++num_batches) {
    draw_batch(num_prompts, drawing);
    if (!config_.dynamic_sampling) break;
    differs = differing_groups(batch);
    if (num_batches == config_.max_num_gen_batches) break;
    num_prompts =
        prompts_to_draw(std::ssize(differs), std::ranges::count(differs, 1), config_.prompts_per_step);
  }
  if (config_.dynamic_sampling) choose_groups(differs, drawing);
  if (config_.num_rerolls > 0) reroll_calls(drawing);
  if (config_.keep_generations) keep_most_varied(*config_.keep_generations, config_.is_adaptive(), batch);
  sampler_.release_cache();  // an update takes the same memory for its activations
  if (!is_sampled_elsewhere()) {
    timer.add({{"timing_s/gen/prefill", drawing.prefill_s}, {"timing_s/gen/decode", drawing.decode_s}});
  }
  timer.add(reward_timings(scorer_.names(), drawing.reward_rounds));
  if (turns_ != nullptr) {
    if (const auto times = turns_->take_times()) timer.add(reply_timings(*times));
  }
  metrics_ = metrics_of(drawing.counts);
  return std::move(batch);
}

void StepRollout::draw_batch(int64_t num_prompts, Drawing& drawing) {
  if (config_.is_stale()) return draw_with_ahead(drawing);
  Active active{.prompts = prompts_.next(num_prompts)};
  for (int64_t i = 0; i < num_prompts; ++i) {
    active.groups.push_back(std::ssize(drawing.batch.groups) + i);
    active.address.prompts.push_back(drawing.counts.num_prompts++);
  }
  active.address.seed = seed_;
  active.address.step = static_cast<uint64_t>(drawing.step);
  const int64_t num_rounds = config_.is_adaptive() ? config_.max_sampling_rounds : 1;
  for (int64_t round = 0; round < num_rounds && !active.prompts.empty(); ++round) {
    active.address.first_sample = round * config_.num_generations;
    drawing.counts.num_rounds += std::ssize(active.prompts);
    Round drawn = sample(active, drawing);
    if (round == 0) {
      start_groups(std::move(drawn), drawing);
    } else {
      continue_groups(active.groups, std::move(drawn), drawing);
    }
    if (config_.is_adaptive()) drop_settled(active, drawing);
  }
}

void StepRollout::drop_settled(Active& active, Drawing& drawing) const {
  Active rest;
  rest.address = active.address;
  rest.address.prompts.clear();
  for (size_t i = 0; i < active.prompts.size(); ++i) {
    const Successes found = successes(drawing.batch.groups[active.groups[i]]);
    if (is_settled(config_.adaptive_sampling, found.num_positive, found.num_others, config_.num_trained())) {
      ++drawing.counts.num_settled;
      continue;
    }
    rest.prompts.push_back(std::move(active.prompts[i]));
    rest.groups.push_back(active.groups[i]);
    rest.address.prompts.push_back(active.address.prompts[i]);
  }
  active = std::move(rest);
}

std::vector<int64_t> StepRollout::group_sizes(const std::vector<Prompt>& prompts, Drawing& drawing) const {
  const int64_t total = std::ssize(prompts) * config_.num_generations;
  drawing.counts.num_completions += total;
  if (!config_.is_budgeted()) return std::vector<int64_t>(prompts.size(), config_.num_generations);
  std::vector<double> success;
  success.reserve(prompts.size());
  for (const Prompt& prompt : prompts) success.push_back(success_.estimate(prompt.id));
  std::vector<int64_t> sizes = divide_generations(success, total, config_.most_generations());
  const auto [smallest, largest] = std::ranges::minmax(sizes);
  Counts& counts = drawing.counts;
  counts.smallest_group = counts.largest_group == 0 ? smallest : std::min(counts.smallest_group, smallest);
  counts.largest_group = std::max(counts.largest_group, largest);
  return sizes;
}

ActivationRecord* StepRollout::record_for(const RolloutShare& share) {
  const int64_t rows =
      rows_of_rollout(share.prompts, share.sizes, config_.max_completion_length, policy_.config());
  return record_.has_room(rows) ? &record_ : nullptr;
}

RolloutShare StepRollout::own_share(std::vector<Prompt> prompts, std::vector<int64_t> sizes,
                                    RolloutAddress address, int64_t num_minibatches) const {
  bool keeps_groups = config_.has_trees() || has_episodes() || is_sampled_elsewhere();
  for (size_t i = 0; i < scorer_.names().size(); ++i) {
    const Reward& reward = scorer_.reward(static_cast<int64_t>(i));
    keeps_groups |= reward.compares() || reward.num_workers() == 0;  // a call of the latter sees whole groups
  }
  const RolloutShare whole = whole_rollout(std::move(prompts), std::move(sizes), std::move(address));
  return share_of(whole, num_minibatches, keeps_groups, processes_.rank(), processes_.size());
}

RolloutShare StepRollout::own_groups(std::vector<Prompt> prompts, std::vector<int64_t> sizes,
                                     RolloutAddress address) const {
  const RolloutShare whole = whole_rollout(std::move(prompts), std::move(sizes), std::move(address));
  return share_of(whole, 1, /*keeps_groups=*/true, processes_.rank(), processes_.size());
}

/// The groups of a share, submitted as groups `numbers` of the scorer.
std::vector<Group> StepRollout::draw(const RolloutShare& share, const std::vector<int64_t>& numbers,
                                     ActivationRecord* record, Drawing& drawing) {
  const auto& [prompts, sizes, address, places] = share;
  if (prompts.empty()) return {};
  const auto score = [this, &numbers, &prompts = prompts](int64_t prompt, int64_t sample,
                                                          const Completion& completion) {
    scorer_.submit(numbers[prompt], sample, prompts[prompt], completion);
  };
  if (is_sampled_elsewhere()) {
    std::vector<Group> groups = given_groups(share, drawing.policy_version);
    for (int64_t g = 0; g < std::ssize(groups); ++g) {
      for (const Sample& sample : groups[g].samples)
        scorer_.submit(numbers[g], sample.completion.sample, groups[g].prompt, sample.completion);
    }
    return groups;
  }
  std::vector<Group> groups = config_.has_trees()
                                  ? sampler_.rollout_trees(prompts, sizes, sampling_, config_.tree, address,
                                                           drawing.policy_version, score)
                                  : sampler_.rollout(prompts, sizes, sampling_, address,
                                                     drawing.policy_version, score, record, turns_);
  count_passes(drawing);
  return groups;
}

/// Adds those of the sampler's last call.
void StepRollout::count_passes(Drawing& drawing) const {
  drawing.prefill_s += sampler_.stats().prefill_s;
  drawing.decode_s += sampler_.stats().decode_s;
}

// Single turns of the next step are drawn after those of this one, whose rewards are at work meanwhile.
// Episodes wait for their environment while they are drawn, so that both steps' go on together.
void StepRollout::draw_with_ahead(Drawing& drawing) {
  Ahead due = std::exchange(ahead_, {});
  const int64_t num_due = std::ssize(due.groups), num_rest = config_.prompts_per_step - num_due;
  const int64_t num_ahead = config_.prompts_ahead;
  RolloutAddress address{seed_, static_cast<uint64_t>(drawing.step)};
  const auto sizes = [&](int64_t count) { return std::vector<int64_t>(count, config_.num_generations); };
  const RolloutShare rest = own_share(prompts_.next(num_rest), sizes(num_rest), address, num_minibatches_);
  address.first_prompt = static_cast<uint64_t>(num_rest);
  ahead_.prompts = prompts_.next(num_ahead);
  ahead_.share = own_groups(ahead_.prompts, sizes(num_ahead), address);
  ahead_.first_number = kFirstAhead * (1 + drawing.step % 2);  // what is due is in the scorer, too
  std::vector<int64_t> numbers = counted_from(0, std::ssize(rest.prompts));
  const std::vector<int64_t> later = counted_from(ahead_.first_number, std::ssize(ahead_.share.prompts));
  std::vector<Group> groups, next;
  if (has_episodes()) {
    numbers.insert(numbers.end(), later.begin(), later.end());
    groups = draw(joined(rest, ahead_.share), numbers, /*record=*/nullptr, drawing);
    next.assign(std::make_move_iterator(groups.begin() + std::ssize(rest.prompts)),
                std::make_move_iterator(groups.end()));
    groups.resize(rest.prompts.size());
    scorer_.close(0, kFirstAhead);
    drawing.timer.lap("timing_s/gen");
  } else {
    groups = draw(rest, numbers, record_for(rest), drawing);
    scorer_.close(0, kFirstAhead);
    drawing.timer.lap("timing_s/gen");
    next = draw(ahead_.share, later, /*record=*/nullptr, drawing);
    drawing.timer.lap("timing_s/gen_ahead");
  }
  scorer_.close(ahead_.first_number, ahead_.first_number + num_ahead);
  ahead_.groups = gather_groups(std::move(next), ahead_.share, num_ahead, processes_);
  drawing.reward_rounds.push_back({{}, RewardCall::Clock::now()});
  std::vector<Group> all = take_ahead(std::move(due), drawing);
  take_rewards(0, groups, drawing);
  groups = gather_groups(std::move(groups), rest, num_rest, processes_);
  drawing.timer.lap("timing_s/reward");
  append_moved(groups, all);
  for_each_sample(all, [&](const Sample& sample) {
    const int64_t num_tokens = std::ssize(sample.completion.token_ids);
    drawing.counts.num_tokens += num_tokens;
    if (sample.completion.policy_version() != drawing.policy_version)
      drawing.counts.num_stale_tokens += num_tokens;
  });
  append_moved(all, drawing.batch.groups);
}

/// The groups of all processes, each with its rewards.
std::vector<Group> StepRollout::take_ahead(Ahead ahead, Drawing& drawing) {
  std::vector<Group> own;
  for (const int64_t place : ahead.share.places) own.push_back(std::move(ahead.groups[place]));
  take_rewards(ahead.first_number, own, drawing);
  return gather_groups(std::move(own), ahead.share, std::ssize(ahead.groups), processes_);
}

// Environments add to the prompts of episodes, but rewards see them as they were given.
Json StepRollout::save() const {
  Json state = Json::object();
  if (config_.is_budgeted()) state["success_rates"] = success_.save();
  for (size_t i = 0; i < ahead_.groups.size(); ++i) {
    state["ahead"].push_back({{"group", to_hex(fields_of(ahead_.groups[i]))},
                              {"prompt", to_hex(fields_of(Group{.prompt = ahead_.prompts[i]}))}});
  }
  return state;
}

// Rewards that were given before are given again.
void StepRollout::load(const Json& state) {
  if (config_.is_budgeted()) success_.load(state.at("success_rates"));
  scorer_.drop();
  ahead_ = {.first_number = 3 * kFirstAhead};  // which no step takes
  const Json saved = state.value("ahead", Json::array());
  if (!config_.is_stale()) {
    if (!saved.empty()) log_warn(saved.size(), " prompts that were drawn ahead are left out");
    return;
  }
  if (std::ssize(saved) > config_.prompts_per_step) {
    throw ConfigError(str("rollout.prompts_per_step is ", config_.prompts_per_step,
                          ", and the checkpoint has ", saved.size(),
                          " prompts that were drawn ahead: raise it"));
  }
  std::vector<int64_t> sizes;
  for (const Json& each : saved) {
    ahead_.groups.push_back(group_from(from_hex(each.at("group").get<std::string>())));
    ahead_.prompts.push_back(group_from(from_hex(each.at("prompt").get<std::string>())).prompt);
    sizes.push_back(std::ssize(ahead_.groups.back().samples));
  }
  ahead_.share = own_groups(ahead_.prompts, std::move(sizes), {});
  const int64_t num_own = std::ssize(ahead_.share.places);
  for (int64_t i = 0; i < num_own; ++i) {
    for (const Sample& sample : ahead_.groups[ahead_.share.places[i]].samples)
      scorer_.submit(ahead_.first_number + i, sample.completion.sample, ahead_.share.prompts[i],
                     sample.completion);
  }
  scorer_.close(ahead_.first_number, ahead_.first_number + num_own);
}

std::vector<Group> StepRollout::draw_greedy(const RolloutShare& share, int64_t first, Drawing& drawing) {
  if (share.prompts.empty()) return {};
  SamplingParams greedy = sampling_;
  greedy.temperature = 0.0;
  const auto score = [&](int64_t prompt, int64_t sample, const Completion& completion) {
    scorer_.submit(first + prompt, sample, share.prompts[prompt], completion);
  };
  std::vector<Group> groups = sampler_.rollout(share.prompts, share.sizes, greedy, share.address,
                                               drawing.policy_version, score, /*record=*/nullptr, turns_);
  count_passes(drawing);
  for (Group& group : groups) group.samples.front().completion.sample = -1;  // it is no draw
  return groups;
}

StepRollout::Round StepRollout::sample(const Active& active, Drawing& drawing) {
  const auto num_prompts = std::ssize(active.prompts);
  const RolloutShare share =
      own_share(active.prompts, group_sizes(active.prompts, drawing), active.address, num_minibatches_);
  RolloutShare greedy_share;
  const bool draws_greedy =
      find_baseline(advantages_.baseline).reads_greedy && active.address.first_sample == 0;
  Round round;
  round.groups = draw(share, counted_from(0, num_prompts), record_for(share), drawing);
  if (draws_greedy) {
    greedy_share =
        own_share(active.prompts, std::vector<int64_t>(num_prompts, 1), active.address, num_minibatches_);
    round.greedy = draw_greedy(greedy_share, num_prompts, drawing);
  }
  scorer_.close(0, 2 * num_prompts);
  drawing.timer.lap("timing_s/gen");
  drawing.reward_rounds.push_back({{}, RewardCall::Clock::now()});
  take_rewards(0, round.groups, drawing);
  take_rewards(num_prompts, round.greedy, drawing);
  round.groups = gather_groups(std::move(round.groups), share, num_prompts, processes_);
  if (draws_greedy)
    round.greedy = gather_groups(std::move(round.greedy), greedy_share, num_prompts, processes_);
  drawing.timer.lap("timing_s/reward");
  if (config_.has_trees()) {
    for_each_sample(round.groups, [&](const Sample& sample) {
      drawing.counts.num_tokens += std::ssize(sample.completion.token_ids);
      drawing.counts.num_shared_tokens += sample.fork ? sample.fork->num_tokens : 0;
    });
  }
  return round;
}

std::vector<Group> StepRollout::given_groups(const RolloutShare& share, int64_t policy_version) const {
  const auto& [prompts, sizes, address, places] = share;
  std::vector<Group> groups = rollout_function_(prompts, sizes, address);
  COHORT_CHECK(groups.size() == prompts.size(), groups.size(), " groups for ", prompts.size(), " prompts");
  for (size_t g = 0; g < groups.size(); ++g) {
    std::vector<int32_t> prompt_ids = std::move(groups[g].prompt.token_ids);
    groups[g].prompt = prompts[g];
    groups[g].prompt.token_ids = std::move(prompt_ids);
    COHORT_CHECK(std::ssize(groups[g].samples) == sizes[g]);
    for (int64_t i = 0; i < sizes[g]; ++i) {
      Completion& completion = groups[g].samples[i].completion;
      const auto length = std::ssize(completion.token_ids);
      completion.sample = i;
      if (completion.spans.empty()) completion.spans = {{.first = 0, .count = length}};
      for (TokenSpan& span : completion.spans) span.policy_version = policy_version;
      const bool is_stopped =
          length > 0 && std::ranges::count(sampling_.stop_token_ids, completion.token_ids.back()) > 0;
      completion.finish_reason = is_stopped ? FinishReason::kStop : FinishReason::kLength;
    }
  }
  return groups;
}

void StepRollout::take_rewards(int64_t first, std::vector<Group>& groups, Drawing& drawing) {
  for (Group& group : groups)
    cohort::take_rewards(scorer_, first++, group, &drawing.reward_rounds.back().calls);
  for_each_sample(groups, [&](Sample& sample) {
    sample.reward = total_reward(sample.rewards, drawing.batch.reward_weights);
    for (Sample& branch : sample.branches) {
      branch.rewards = sample.rewards;
      branch.reward = sample.reward;
    }
  });
}

void StepRollout::start_groups(Round round, Drawing& drawing) {
  Batch& batch = drawing.batch;
  for (size_t g = 0; g < round.greedy.size(); ++g) {
    const auto place = static_cast<int64_t>(batch.groups.size() + g);
    drawing.counts.greedy_rewards.push_back(round.greedy[g].samples.front().reward);
    batch.untrained.push_back({std::move(round.greedy[g]), Untrained::kGreedy, place});
  }
  for (size_t g = 0; config_.selects() && g < round.groups.size(); ++g)
    note_rewards(round.groups[g], drawing);
  append_moved(round.groups, batch.groups);
}

void StepRollout::reroll_calls(Drawing& drawing) {
  std::vector<Group>& groups = drawing.batch.groups;
  const Rerolls rerolls = choose_rerolls(groups, *turns_, config_);
  RolloutAddress address{seed_, static_cast<uint64_t>(drawing.step)};
  for (const RerolledCall& call : rerolls.calls) address.prompts.push_back(call.group);
  address.first_samples = rerolls.first_samples;
  const std::vector<int64_t> sizes(rerolls.calls.size(), config_.num_rerolls);
  const RolloutShare share = own_share(rerolls.prompts, sizes, address, /*num_minibatches=*/1);
  const std::vector<int64_t> numbers = counted_from(0, std::ssize(share.prompts));
  std::vector<Group> drawn = draw(share, numbers, record_for(share), drawing);
  scorer_.close(0, std::ssize(drawn));
  drawing.timer.lap("timing_s/gen");
  drawing.reward_rounds.push_back({{}, RewardCall::Clock::now()});
  take_rewards(0, drawn, drawing);
  drawn = gather_groups(std::move(drawn), share, std::ssize(rerolls.calls), processes_);
  drawing.timer.lap("timing_s/reward");
  drawing.counts.num_wrong_calls = rerolls.num_wrong_groups;
  drawing.counts.num_rerolled = std::ssize(drawn);
  for (size_t i = 0; i < drawn.size(); ++i) {
    const Successes found = successes(drawn[i]);
    if (found.num_positive + found.num_others == 0) continue;  // nobody judged it: it teaches nothing
    const bool is_recovered = found.num_positive > 0;
    drawing.counts.num_recovered += is_recovered;
    drawn[i].rerolls = rerolls.calls[i];
    drawn[i].rerolls->recovery = is_recovered ? 1.0 : 0.0;
  }
  std::erase_if(drawn, [](const Group& group) { return !group.rerolls.has_value(); });
  append_moved(drawn, groups);
}

void StepRollout::note_rewards(const Group& group, Drawing& drawing) {
  drawing.counts.first_rewards.push_back(mean_or_nan(rewards_of(group)));
  if (!config_.is_budgeted()) return;
  const Successes counted = successes(group);
  success_.add(group.prompt.id, counted.num_positive, counted.num_positive + counted.num_others);
}

void StepRollout::continue_groups(const std::vector<int64_t>& active, Round round, Drawing& drawing) const {
  for (size_t i = 0; i < active.size(); ++i)
    append_moved(round.groups[i].samples, drawing.batch.groups[active[i]].samples);
}

StepRollout::Successes StepRollout::successes(const Group& group) const {
  Successes result;
  for (const Sample& sample : group.samples) {
    result.num_positive += sample.reward > config_.positive_reward;
    result.num_others += sample.reward <= config_.positive_reward;
  }
  return result;
}

std::vector<uint8_t> StepRollout::differing_groups(const Batch& batch) const {
  Batch judged = batch;
  judged.untrained.clear();
  assign_credit(judged, difference_config(advantages_));
  std::vector<uint8_t> differs;
  differs.reserve(judged.groups.size());
  for (const Group& group : judged.groups) differs.push_back(!group.has_no_difference);
  return differs;
}

void StepRollout::choose_groups(const std::vector<uint8_t>& differs, Drawing& drawing) const {
  leave_out_groups(differs, config_.prompts_per_step, drawing.batch);
  Counts& counts = drawing.counts;
  for (const UntrainedGroup& untrained : drawing.batch.untrained) {
    counts.num_no_difference += untrained.reason == Untrained::kNoDifference;
    counts.num_surplus += untrained.reason == Untrained::kSurplus;
  }
  counts.num_filled = std::ranges::count(differs, 0) - counts.num_no_difference;
}

Metrics StepRollout::metrics_of(const Counts& counts) const {
  Metrics metrics;
  const auto add = [&](const char* name, auto value) {
    metrics.emplace_back(str("rollout/", name), static_cast<double>(value));
  };
  if (find_baseline(advantages_.baseline).reads_greedy)
    add("greedy_reward", mean_or_nan(counts.greedy_rewards));
  if (config_.has_trees()) {
    const auto num_tokens = static_cast<double>(std::max<int64_t>(counts.num_tokens, 1));
    add("shared_tokens", static_cast<double>(counts.num_shared_tokens) / num_tokens);
  }
  if (config_.is_stale()) {
    const auto num_tokens = static_cast<double>(std::max<int64_t>(counts.num_tokens, 1));
    add("stale_tokens", static_cast<double>(counts.num_stale_tokens) / num_tokens);
  }
  if (config_.num_rerolls > 0) {
    const auto num_prompts = static_cast<double>(std::max<int64_t>(counts.num_prompts, 1));
    add("wrong_calls", static_cast<double>(counts.num_wrong_calls) / num_prompts);
    add("rerolled", counts.num_rerolled);
    add("recovered", counts.num_recovered);
  }
  if (!config_.selects()) return metrics;
  add("reward", mean_or_nan(counts.first_rewards));
  add("prompts", counts.num_prompts);
  add("completions", counts.num_completions);
  if (config_.dynamic_sampling) {
    add("no_difference", counts.num_no_difference);
    add("surplus", counts.num_surplus);
    add("filled", counts.num_filled);
  }
  if (config_.is_budgeted()) {
    add("smallest_group", counts.smallest_group);
    add("largest_group", counts.largest_group);
  }
  if (config_.is_adaptive()) {
    const auto num_prompts = static_cast<double>(std::max<int64_t>(counts.num_prompts, 1));
    add("rounds", static_cast<double>(counts.num_rounds) / num_prompts);
    add("settled", static_cast<double>(counts.num_settled) / num_prompts);
  }
  return metrics;
}

}  // namespace cohort
