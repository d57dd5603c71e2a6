#include "cohort/rewards/reward_scorer.h"

#include <algorithm>
#include <cmath>
#include <system_error>
#include <utility>

#include "cohort/rewards/checker.h"
#include "cohort/rewards/reward_weight.h"

namespace cohort {
namespace {

constexpr const char* kOtherDomain = "the row is of another domain";

bool is_finite(const RewardResult& result) {
  return std::isfinite(result.score) &&
         std::all_of(result.steps.begin(), result.steps.end(),
                     [](const StepReward& step) { return std::isfinite(step.score); });
}

/// Results that are too few or not finite become failures.
std::vector<RewardResult> checked(std::vector<RewardResult> results, std::span<const RewardRow> rows) {
  if (results.size() != rows.size()) {
    return fail_rows(rows, RewardStatus::kError, str(results.size(), " results for ", rows.size(), " rows"));
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (results[i].status != RewardStatus::kOk || is_finite(results[i])) continue;
    results[i] = {0.0, RewardStatus::kError, str(rows[i].prompt.id, ": the reward is ", results[i].score)};
  }
  return results;
}

// Holds every reward to its contract: a failure is a status.
std::vector<RewardResult> score_safely(Reward& reward, std::span<const RewardRow> rows) {
  try {
    return checked(reward.score_batch(rows), rows);
  } catch (const std::exception& error) {
    return fail_rows(rows, RewardStatus::kError, error.what());
  }
}

void clip(const RewardConfig& config, RewardResult& result) {
  const auto clip_score = [&](double& score) {
    if (config.clip_min) score = std::max(score, *config.clip_min);
    if (config.clip_max) score = std::min(score, *config.clip_max);
  };
  clip_score(result.score);
  for (StepReward& step : result.steps) clip_score(step.score);
}

/// The place of the reward that `config` requires.
std::optional<size_t> find_required(const RewardConfig& config, const std::vector<std::string>& names) {
  if (config.required.empty()) return std::nullopt;
  const auto found = std::find(names.begin(), names.end(), config.required);
  if (found == names.end() || config.required == config.name) {
    throw ConfigError(str("reward ", config.name, ": `requires` = \"", config.required,
                          "\" must be the `name` of another [[reward]]"));
  }
  return found - names.begin();
}

}  // namespace

RewardScorer::RewardScorer(const std::vector<RewardConfig>& configs, const RewardTypes& types)
    : configs_(configs), queues_(configs.size()) {
  if (configs.empty()) throw ConfigError("no reward is given; add a [[reward]] table");
  for (const RewardConfig& config : configs) {
    if (config.name.empty()) throw ConfigError("a [[reward]] table has no `name`");
    if (std::find(names_.begin(), names_.end(), config.name) != names_.end()) {
      throw ConfigError(
          str("two rewards are named \"", config.name, "\"; give each its own `name` and set `type`"));
    }
    rewards_.push_back(make_reward(config, types));
    names_.push_back(config.name);
    weights_.push_back(last_reward_weight(config));
    if (std::string text = rewards_.back()->environment(); !text.empty())
      environments_[config.name] = std::move(text);
    gives_steps_.push_back(rewards_.back()->gives_steps());
  }
  for (const RewardConfig& config : configs) required_.push_back(find_required(config, names_));
  find_checkers(configs);  // throws where they are none
  start_workers();
}

RewardScorer::~RewardScorer() { stop_workers(); }

void RewardScorer::start_workers() {
  try {
    for (size_t reward = 0; reward < rewards_.size(); ++reward) {
      for (int64_t i = 0; i < rewards_[reward]->num_workers(); ++i)
        workers_.emplace_back([this, reward] { work(reward); });
    }
  } catch (const std::system_error& error) {
    stop_workers();
    throw ConfigError(str("no more than ", workers_.size(), " threads for rewards can be started here: ",
                          error.what(), "; set `workers` of the [[reward]] tables lower"));
  }
}

void RewardScorer::stop_workers() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

std::vector<double> RewardScorer::weights(int64_t step) const {
  std::vector<double> weights;
  weights.reserve(configs_.size());
  for (const RewardConfig& config : configs_) weights.push_back(reward_weight(config, step));
  return weights;
}

int64_t RewardScorer::memory_bytes() const {
  int64_t total = 0;
  for (const std::unique_ptr<Reward>& reward : rewards_) total += reward->memory_bytes();
  return total;
}

RewardResult RewardScorer::score_alone(size_t reward, const Prompt& prompt, const Completion& completion) {
  if (!applies(reward, prompt)) return {0.0, RewardStatus::kSkipped, kOtherDomain};
  const RewardRow row{prompt, completion};
  return score_safely(*rewards_.at(reward), {&row, 1}).front();
}

void RewardScorer::restart() {
  {
    std::lock_guard lock(mutex_);
    COHORT_CHECK(groups_.empty(), "completions are being scored");
  }
  for (const std::unique_ptr<Reward>& reward : rewards_) reward->restart();
}

void RewardScorer::submit(int64_t group, int64_t sample, const Prompt& prompt, const Completion& completion) {
  Entry entry{{group, sample}, prompt, completion, std::vector<RewardResult>(rewards_.size()), {}, 0};
  {
    std::lock_guard lock(mutex_);
    auto [place, is_new] = groups_[group].emplace(sample, std::move(entry));
    COHORT_CHECK(is_new, "sample ", sample, " of group ", group, " was submitted twice");
    Entry& added = place->second;
    const bool has_failed = completion.episode && !completion.episode->failure.empty();
    for (size_t reward = 0; reward < rewards_.size(); ++reward) {
      if (has_failed) {
        added.results[reward] = {0.0, RewardStatus::kError, completion.episode->failure};
      } else if (applies(reward, prompt)) {
        ++added.num_pending;
        if (rewards_[reward]->compares()) {
          added.comparing.push_back(reward);
        } else {
          queues_[reward].push_back(&added);
        }
      } else {
        added.results[reward] = {0.0, RewardStatus::kSkipped, kOtherDomain};
      }
    }
  }
  changed_.notify_all();
}

void RewardScorer::close(int64_t first, int64_t end) {
  {
    const std::lock_guard lock(mutex_);
    for (auto group = groups_.lower_bound(first); group != groups_.end() && group->first < end; ++group)
      close_group(group->second);
  }
  changed_.notify_all();
}

/// A group's samples are beside each other in the queue, in their order.
void RewardScorer::close_group(std::map<int64_t, Entry>& samples) {
  for (auto& [index, sample] : samples) {
    for (const size_t reward : std::exchange(sample.comparing, {})) queues_[reward].push_back(&sample);
  }
}

std::vector<std::vector<RewardResult>> RewardScorer::take(int64_t group, std::vector<RewardCall>* calls) {
  std::unique_lock lock(mutex_);
  auto entry = groups_.find(group);
  COHORT_CHECK(entry != groups_.end(), "group ", group, " has no completions");
  std::map<int64_t, Entry>& samples = entry->second;
  close_group(samples);
  changed_.notify_all();
  for (size_t reward = 0; reward < rewards_.size(); ++reward) {
    if (rewards_[reward]->num_workers() == 0 && !queues_[reward].empty()) score_here(reward, lock);
  }
  changed_.wait(lock, [&] {
    return std::all_of(samples.begin(), samples.end(),
                       [](const auto& item) { return item.second.num_pending == 0; });
  });
  auto num_completions = static_cast<int64_t>(samples.size());
  COHORT_CHECK(samples.begin()->first == 0 && samples.rbegin()->first == num_completions - 1,
               "the samples of group ", group, " are not numbered from 0");
  std::vector<std::vector<RewardResult>> cells;
  cells.reserve(samples.size());
  for (auto& [index, sample] : samples) {
    shape(sample.results);
    if (calls != nullptr) calls->insert(calls->end(), sample.calls.begin(), sample.calls.end());
    cells.push_back(std::move(sample.results));
  }
  groups_.erase(entry);
  return cells;
}

bool RewardScorer::applies(size_t reward, const Prompt& prompt) const {
  const std::vector<std::string>& domains = configs_[reward].domains;
  if (domains.empty()) return true;
  const auto domain = prompt.fields.find("domain");
  return domain != prompt.fields.end() && domain->is_string() &&
         std::find(domains.begin(), domains.end(), domain->get<std::string>()) != domains.end();
}

void RewardScorer::shape(std::vector<RewardResult>& results) const {
  const std::vector<RewardResult> raw = results;
  for (size_t i = 0; i < results.size(); ++i) {
    RewardResult& result = results[i];
    if (result.status != RewardStatus::kOk) continue;
    clip(configs_[i], result);
    if (!required_[i]) continue;
    const RewardResult& required = raw[*required_[i]];
    if (required.status == RewardStatus::kSkipped) continue;
    if (required.status != RewardStatus::kOk) {
      result = {0.0, required.status, str(names_[*required_[i]], ": ", required.detail)};
    } else if (required.score < 1.0) {
      result.score = 0.0;
      result.detail = str("counts only with ", names_[*required_[i]]);
      for (StepReward& step : result.steps) step.score = 0.0;
    }
  }
}

std::vector<RewardScorer::Entry*> RewardScorer::take_share(size_t reward) {
  std::deque<Entry*>& queue = queues_[reward];
  const int64_t num_workers = rewards_[reward]->num_workers();
  const int64_t share = (std::ssize(queue) + num_workers - 1) / num_workers;
  auto end = queue.begin() + std::min(share, rewards_[reward]->batch_size());
  if (rewards_[reward]->compares()) {
    const int64_t group = queue.front()->place.first;
    end = std::ranges::find_if(queue, [&](const Entry* entry) { return entry->place.first != group; });
  }
  std::vector<Entry*> samples(queue.begin(), end);
  queue.erase(queue.begin(), end);
  return samples;
}

void RewardScorer::work(size_t reward) {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_stopping_ || !queues_[reward].empty(); });
    if (is_stopping_) return;
    const std::vector<Entry*> samples = take_share(reward);
    std::vector<RewardRow> rows;
    rows.reserve(samples.size());
    for (const Entry* sample : samples) rows.push_back({sample->prompt, sample->completion});
    lock.unlock();
    RewardCall call{reward, RewardCall::Clock::now(), {}, std::ssize(rows)};
    std::vector<RewardResult> results = score_safely(*rewards_[reward], rows);
    call.end = RewardCall::Clock::now();
    lock.lock();
    note(reward, samples, std::move(results), call);
  }
}

void RewardScorer::score_here(size_t reward, std::unique_lock<std::mutex>& lock) {
  std::vector<Entry*> samples(queues_[reward].begin(), queues_[reward].end());
  queues_[reward].clear();
  std::ranges::sort(samples, {}, &Entry::place);
  std::vector<RewardRow> rows;
  rows.reserve(samples.size());
  for (const Entry* sample : samples) rows.push_back({sample->prompt, sample->completion});
  lock.unlock();
  RewardCall call{reward, RewardCall::Clock::now(), {}, std::ssize(rows)};
  std::vector<RewardResult> results;
  try {
    results = checked(rewards_[reward]->score_batch(rows), rows);
  } catch (...) {
    lock.lock();
    for (Entry* sample : samples) --sample->num_pending;
    drop_all(lock);
    throw;
  }
  call.end = RewardCall::Clock::now();
  lock.lock();
  note(reward, samples, std::move(results), call);
}

void RewardScorer::note(size_t reward, const std::vector<Entry*>& samples, std::vector<RewardResult> results,
                        const RewardCall& call) {
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i]->results[reward] = std::move(results[i]);
    samples[i]->calls.push_back(call);
    --samples[i]->num_pending;
  }
  changed_.notify_all();
}

void RewardScorer::drop() {
  std::unique_lock lock(mutex_);
  drop_all(lock);
}

void RewardScorer::drop_all(std::unique_lock<std::mutex>& lock) {
  for (std::deque<Entry*>& queue : queues_) {
    for (Entry* entry : queue) --entry->num_pending;
    queue.clear();
  }
  for (auto& [number, samples] : groups_) {
    for (auto& [index, sample] : samples)
      sample.num_pending -= std::ssize(std::exchange(sample.comparing, {}));
  }
  changed_.wait(lock, [&] {
    return std::all_of(groups_.begin(), groups_.end(), [](const auto& group) {
      return std::all_of(group.second.begin(), group.second.end(),
                         [](const auto& sample) { return sample.second.num_pending == 0; });
    });
  });
  groups_.clear();
}

void take_rewards(RewardScorer& scorer, int64_t number, Group& group, std::vector<RewardCall>* calls) {
  std::vector<std::vector<RewardResult>> cells = scorer.take(number, calls);
  COHORT_CHECK(cells.size() == group.samples.size());
  for (size_t i = 0; i < cells.size(); ++i) group.samples[i].rewards = std::move(cells[i]);
}

}  // namespace cohort
