#include "cohort/train/grpo/failure_limits.h"

#include <algorithm>

namespace cohort {
namespace {

/// A reward that failed on all of the first steps, and on at least so many completions, is broken outright.
constexpr int64_t kFirstSteps = 2;
constexpr int64_t kFirstCells = 16;

constexpr double kRounding = 1e-6;  // 0.29 of 100 cells are 29, not 28.999...

bool is_failure(RewardStatus status) {
  return status != RewardStatus::kOk && status != RewardStatus::kSkipped;
}

/// Calls f(sample) for all samples that were drawn.
template <typename F>
void for_each_drawn(const Batch& step, F f) {
  for_each_sample(step.groups, f);
  for (const UntrainedGroup& untrained : step.untrained) {
    for (const Sample& sample : untrained.group.samples) f(sample);
  }
}

/// The last failure of this reward in the step, or its last sandbox_error, in one line of its own words.
std::string last_failure(const Batch& step, size_t reward, bool only_sandbox_errors) {
  std::string text;
  for_each_drawn(step, [&](const Sample& sample) {
    const RewardResult& cell = sample.rewards.at(reward);
    const bool is_named =
        only_sandbox_errors ? cell.status == RewardStatus::kSandboxError : is_failure(cell.status);
    if (is_named) text = str("; the last one: ", to_string(cell.status), ", ", cell.detail);
  });
  return text.substr(0, text.find('\n'));
}

}  // namespace

void FailureLimits::Counts::add(const Counts& other, int64_t sign) {
  num_cells += sign * other.num_cells;
  num_failed += sign * other.num_failed;
  num_sandbox_errors += sign * other.num_sandbox_errors;
}

FailureLimits::FailureLimits(const FailureLimitsConfig& config, std::vector<std::string> names,
                             std::vector<bool> counts)
    : config_(config), names_(std::move(names)), counts_(std::move(counts)), windows_(names_.size()) {
  COHORT_CHECK(counts_.size() == names_.size());
}

std::optional<std::string> FailureLimits::observe(const Batch& step) {
  std::optional<std::string> reason;
  for (size_t reward = 0; reward < names_.size(); ++reward) {
    if (!counts_[reward]) continue;
    Counts counts;
    for_each_drawn(step, [&](const Sample& sample) {
      const RewardStatus status = sample.rewards.at(reward).status;
      counts.num_cells += status != RewardStatus::kSkipped;
      counts.num_failed += is_failure(status);
      counts.num_sandbox_errors += status == RewardStatus::kSandboxError;
    });
    is_judged_ |= counts.num_cells > 0;
    push(windows_[reward], counts);
    if (!reason) reason = find_excess(reward, step);
  }
  if (!reason) reason = find_unjudged_start(step);
  if (reason) windows_.assign(names_.size(), Window{});
  return reason;
}

void FailureLimits::push(Window& window, const Counts& step) const {
  if (step.num_cells == 0) return;
  window.steps.push_back(step);
  window.total.add(step, 1);
  while (window.total.num_cells - window.steps.front().num_cells >= config_.window) {
    window.total.add(window.steps.front(), -1);
    window.steps.pop_front();
  }
}

std::optional<std::string> FailureLimits::find_excess(size_t reward, const Batch& step) const {
  const Counts& total = windows_[reward].total;
  const int64_t num_cells = std::max(total.num_cells, config_.window);
  const struct {
    const char* key;
    double share;
    int64_t count;
    bool only_sandbox_errors;
  } limits[] = {{"max_sandbox_error_share", config_.max_sandbox_error_share, total.num_sandbox_errors, true},
                {"max_failed_share", config_.max_failed_share, total.num_failed, false}};
  for (const auto& limit : limits) {
    const auto allowed = static_cast<int64_t>(limit.share * static_cast<double>(num_cells) + kRounding);
    if (limit.count <= allowed) continue;
    return str("reward ", names_[reward], " failed on ", limit.count, " of its last ", total.num_cells,
               " completions", limit.only_sandbox_errors ? " with sandbox_error" : "", ", where train.",
               limit.key, " = ", limit.share, " allows ", allowed, " of ", num_cells,
               last_failure(step, reward, limit.only_sandbox_errors));
  }
  return find_outright_failure(reward, step);
}

std::optional<std::string> FailureLimits::find_outright_failure(size_t reward, const Batch& step) const {
  const Window& window = windows_[reward];
  const bool is_early = std::ssize(window.steps) < kFirstSteps || window.total.num_cells < kFirstCells;
  if (config_.max_failed_share >= 1.0 || is_early || window.total.num_failed < window.total.num_cells)
    return std::nullopt;
  return str("reward ", names_[reward], " failed on all of its ", window.total.num_cells, " completions in ",
             window.steps.size(), " steps", last_failure(step, reward, false));
}

std::optional<std::string> FailureLimits::find_unjudged_start(const Batch& step) {
  if (is_judged_ || config_.max_failed_share >= 1.0) return std::nullopt;
  ++num_unjudged_steps_;
  for_each_drawn(step, [&](const Sample&) { ++num_unjudged_; });
  if (num_unjudged_steps_ < kFirstSteps || num_unjudged_ < kFirstCells) return std::nullopt;
  std::string reason = str(
      "every reward skipped all ", num_unjudged_, " completions in ", num_unjudged_steps_,
      " steps, and completions that none judges teach nothing: check `domains` of the [[reward]] tables, and "
      "functions that return None");
  num_unjudged_steps_ = num_unjudged_ = 0;
  return reason;
}

Json FailureLimits::save() const {
  Json state = Json::object();
  for (size_t reward = 0; reward < names_.size(); ++reward) {
    Json steps = Json::array();
    for (const Counts& step : windows_[reward].steps)
      steps.push_back({step.num_cells, step.num_failed, step.num_sandbox_errors});
    state[names_[reward]] = std::move(steps);
  }
  return state;
}

void FailureLimits::load(const Json& state) {
  for (size_t reward = 0; reward < names_.size(); ++reward) {
    Window window;  // stays empty for a reward that the run did not have
    for (const Json& step : state.value(names_[reward], Json::array())) {
      window.steps.push_back(
          {step.at(0).get<int64_t>(), step.at(1).get<int64_t>(), step.at(2).get<int64_t>()});
      window.total.add(window.steps.back(), 1);
    }
    is_judged_ |= !window.steps.empty();
    windows_[reward] = std::move(window);
  }
}

}  // namespace cohort
