#include "cohort/train/grpo/own_functions.h"

#include <cmath>
#include <limits>
#include <set>

#include "cohort/core/config_io.h"
#include "cohort/core/error.h"
#include "cohort/train/critic/critic_config.h"

namespace cohort {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Refuses the keys that are not at their defaults, apart from those in `kept`.
template <typename Config>
void refuse_changed(Config given, const std::set<std::string>& kept, const char* key, const char* what) {
  Config defaults;
  for (const SettingChange& change : changed_settings(settings_of(defaults), settings_of(given))) {
    if (kept.contains(change.key)) continue;
    throw ConfigError(str("objective.", change.key, " = ", change.now, " has no effect: objective.", key,
                          " takes the place of the ", what, "; remove one of them"));
  }
}

/// Two groups of two completions, as they were sampled: the ratio is 1.
LossInput made_up_batch(bool has_reference) {
  LossInput input;
  input.lengths = {3, 2, 1, 3};
  input.group_ends = {2, 4};
  input.advantages = at::tensor(std::vector<float>{1.0f, -1.0f, 0.5f, -0.5f});
  input.rewards = at::tensor(std::vector<float>{1.0f, 0.0f, 0.75f, 0.25f});
  input.old_logprobs = at::linspace(-2.0, -0.4, 9, at::kFloat);
  input.sampler_logprobs = input.old_logprobs.clone();
  if (has_reference) input.ref_logprobs = input.old_logprobs - 0.1;
  input.policy_logprobs = input.old_logprobs.clone().requires_grad_();
  input.entropies = at::linspace(0.5, 1.3, 9, at::kFloat).requires_grad_();
  input.whole.emplace();
  input.whole->counts.num_completions = 4;
  input.whole->counts.num_loss_tokens = 9;
  input.whole->counts.num_groups = 2;
  return input;
}

void check_gradient(const LossInput& input) {
  bool has_gradient = false;
  for (const at::Tensor& leaf : {input.policy_logprobs, input.entropies}) {
    if (!leaf.grad().defined()) continue;
    has_gradient = true;
    if (!at::isfinite(leaf.grad()).all().item<bool>())
      throw ConfigError(
          "objective.python: the gradient of the loss of a made-up batch, whose ratios are all 1, is not "
          "finite");
  }
  if (!has_gradient)
    throw ConfigError(
        "objective.python: the loss carries no gradient: it must be computed from policy_logprobs");
}

/// The metrics of the loss of a made-up batch, at 0.
LossMetrics try_loss(const LossFunction& loss, bool has_reference) {
  const at::AutoGradMode with_gradient(true);
  const LossInput input = made_up_batch(has_reference);
  const LossOutput output = loss(input);
  const auto value = output.loss.item<double>();
  if (!std::isfinite(value)) {
    throw ConfigError(str("objective.python: the loss of a made-up batch, whose ratios are all 1, is ", value,
                          ": it must be a finite number"));
  }
  output.loss.backward();
  check_gradient(input);
  LossMetrics metrics;
  for (const auto& [name, ignored] : output.metrics.values()) metrics.add_total(name, 0.0);
  return metrics;
}

void check_is_there(const std::string& setting, bool is_given, const char* key) {
  if (setting.empty() || is_given) return;
  throw ConfigError(str("objective.", key, " = \"", setting,
                        "\" is a function of Python, which this program does not call: use `cohort train`"));
}

}  // namespace

void check_replaced_keys(const ObjectiveConfig& config) {
  const ObjectiveSettings settings = resolved(config, 0);
  if (!config.python_advantages.empty())
    refuse_changed(settings.advantages, {"beta"}, "python_advantages", "advantages");
  if (config.python.empty()) return;
  refuse_changed(settings.loss, {"beta", "kl_place", "max_completion_length"}, "python", "loss");
  refuse_changed(config.control, {"sync_ref_model", "ref_model_mixup_alpha", "ref_model_sync_steps"},
                 "python", "loss");
  if (needs_critic(settings)) {
    throw ConfigError(
        "objective.baseline = \"critic\": a loss in Python (objective.python) teaches no critic; choose "
        "another baseline");
  }
}

OwnFunctions tried(OwnFunctions functions, const ObjectiveConfig& config) {
  check_is_there(config.python, static_cast<bool>(functions.loss), "python");
  check_is_there(config.python_advantages, static_cast<bool>(functions.advantages), "python_advantages");
  if (functions.loss) functions.metrics = try_loss(functions.loss, needs_reference(resolved(config, 1)));
  if (functions.advantages) {
    const at::Tensor rewards = at::tensor(std::vector<double>{1.0, 0.0, 0.5, kNone, 0.25, 0.25}, at::kDouble);
    const at::Tensor groups = at::tensor(std::vector<int64_t>{0, 0, 0, 1, 1, 1}, at::kLong);
    own_advantages(functions.advantages, rewards, groups);
  }
  return functions;
}

AdvantageFunction called_once(AdvantageFunction function, dist::Group& processes) {
  if (!function || processes.size() == 1) return function;
  return [function = std::move(function), &processes](const at::Tensor& rewards, const at::Tensor& groups) {
    at::Tensor values;
    std::string bytes;
    if (processes.is_first()) {
      values = function(rewards, groups).to(at::kDouble).contiguous();
      bytes.assign(static_cast<const char*>(values.const_data_ptr()), values.nbytes());
    }
    bytes = processes.broadcast(std::move(bytes), "the advantages of a function");
    if (processes.is_first()) return values;
    const auto count = static_cast<int64_t>(bytes.size() / sizeof(double));
    return at::from_blob(bytes.data(), {count}, at::kDouble).clone();
  };
}

at::Tensor own_advantages(const AdvantageFunction& function, const at::Tensor& rewards,
                          const at::Tensor& groups) {
  const at::Tensor values = function(rewards, groups);
  if (values.sizes() != rewards.sizes()) {
    throw UserError(cohort::str("objective.python_advantages: the function returned a tensor of shape ",
                                values.sizes(), " for the rewards of ", rewards.size(0),
                                " completions: it must return a number for each"));
  }
  const at::Tensor is_wrong = ~at::isnan(rewards) & ~at::isfinite(values);
  if (!is_wrong.any().item<bool>()) return at::where(at::isnan(rewards), 0.0, values);
  const auto first = is_wrong.to(at::kByte).argmax().item<int64_t>();
  throw UserError(str("objective.python_advantages: the advantage of completion ", first, " of ",
                      rewards.size(0), " is ", values[first].item<double>(), ", and its reward is ",
                      rewards[first].item<double>(),
                      ": leave rewards that are nan, those of completions that failed, out of the group's "
                      "statistics (torch.nanmean)"));
}

}  // namespace cohort
