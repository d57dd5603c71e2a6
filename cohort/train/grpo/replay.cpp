#include "cohort/train/grpo/replay.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

#include "cohort/core/config_io.h"
#include "cohort/core/error.h"
#include "cohort/core/jsonl_reader.h"
#include "cohort/models/adapter.h"
#include "cohort/objectives/objective_config.h"
#include "cohort/records/run_directory.h"
#include "cohort/rl/batch_file.h"
#include "cohort/train/critic/critic_config.h"
#include "cohort/train/grpo/credit.h"
#include "cohort/train/grpo/policy_loss.h"
#include "cohort/train/grpo/step_metrics.h"
#include "cohort/train/run/checkpoint.h"
#include "cohort/train/run/memory_plan.h"
#include "cohort/train/run/run_setup.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

TrainConfig config_of(const fs::path& root) {
  if (!RunDirectory::holds_run(root))
    throw UserError(str(root.string(), ": holds no run of `cohort train` (there is no config.toml)"));
  TrainConfig config;
  apply_toml_file(settings_of(config), root / "config.toml");
  return config;
}

Batch batch_of(const fs::path& root, int64_t step) {
  const std::vector<int64_t> steps = RunDirectory::batch_steps(root);
  if (steps.empty()) throw UserError(str((root / "batches").string(), ": holds no batch"));
  const int64_t wanted = step == 0 ? steps.back() : step;
  if (const std::string problem = RunDirectory::missing_batch(root, wanted); !problem.empty())
    throw UserError(problem);
  ReadBatch read = read_batch(RunDirectory::batch_in(root, wanted));
  if (!read.is_finished)
    throw UserError(str(RunDirectory::batch_in(root, wanted).string(), ": the batch is not finished"));
  return std::move(read.batch);
}

/// The model with the weights after step `step`, 0 for the run's start.
std::unique_ptr<Decoder> policy_after(const TrainConfig& config, const fs::path& root, int64_t step) {
  auto policy = load_model(config.model, config.lora, config.seed);
  if (step == 0) return policy;
  const fs::path checkpoint = RunDirectory::checkpoint_in(root, step);
  if (const std::string problem = RunDirectory::missing_checkpoint(root, step); !problem.empty())
    throw UserError(problem);
  load_checkpoint(checkpoint, {{"", policy->trained_weights(), nullptr, trained_weight_file(*policy)}});
  policy->refresh();
  return policy;
}

LossOptions loss_options(const TrainConfig& config, const Decoder& policy) {
  return {.temperature = config.rollout.temperature,
          .tokens_per_microbatch =
              microbatch_rows(config.train.tokens_per_microbatch, policy, config.train.recompute),
          .recompute = config.train.recompute,
          .router_aux_loss_coef = config.train.router_aux_loss_coef};
}

void clear_gradients(const Decoder& policy) {
  for (const at::Tensor& parameter : policy.parameters()) parameter.mutable_grad() = at::Tensor();
}

std::vector<at::Tensor> gradients_of(const Decoder& policy) {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : policy.parameters())
    gradients.push_back(parameter.grad().defined() ? parameter.grad().clone() : at::zeros_like(parameter));
  return gradients;
}

double inner_product(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double sum = 0.0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += (a[i].to(at::kDouble) * b[i].to(at::kDouble)).sum().item<double>();
  return sum;
}

/// What one gradient is of another one.
GradientShare gradient_share_of(const std::vector<at::Tensor>& own, const std::vector<at::Tensor>& whole) {
  const double squares = inner_product(whole, whole);
  return {.sample_norm = std::sqrt(inner_product(own, own)),
          .batch_norm = std::sqrt(squares),
          .share = squares > 0.0 ? inner_product(own, whole) / squares : 0.0};
}

/// The parts of the gradients of parameters() that belong to each trained weight, by its name.
NamedTensors by_weight(const Decoder& policy, const std::vector<at::Tensor>& gradients) {
  const std::vector<at::Tensor>& leaves = policy.parameters();
  NamedTensors parts;
  for (const auto& [name, weight] : policy.trained_weights()) {
    const auto is_within = [&weight = weight](const at::Tensor& leaf) {
      const int64_t offset = weight.storage_offset() - leaf.storage_offset();
      return leaf.is_alias_of(weight) && offset >= 0 && offset < leaf.numel();
    };
    const auto leaf = std::ranges::find_if(leaves, is_within);
    COHORT_CHECK(leaf != leaves.end(), name);
    const at::Tensor gradient = gradients[leaf - leaves.begin()].contiguous();
    COHORT_CHECK(leaf->is_contiguous(), name);
    parts.emplace_back(name, gradient.as_strided(weight.sizes(), weight.strides(),
                                                 weight.storage_offset() - leaf->storage_offset()));
  }
  return parts;
}

/// Whether two columns hold the same bits, NaN included.
bool is_same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

bool is_same(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (a != a && b != b);
}

/// Calls differ(what, group, sequence) for each thing in which the batches' sequences differ.
template <typename F>
void compare_samples(const Batch& recorded, const Batch& computed, F differ) {
  for (size_t g = 0; g < recorded.groups.size(); ++g) {
    const std::vector<const Sample*> before = sequences_of(recorded.groups[g]),
                                     after = sequences_of(computed.groups[g]);
    for (size_t i = 0; i < before.size(); ++i) {
      const Sample &old = *before[i], &now = *after[i];
      if (!is_same(old.reward, now.reward)) differ("reward", g, i);
      if (!is_same(old.advantage, now.advantage)) differ("advantage", g, i);
      if (!is_same(old.token_advantages, now.token_advantages)) differ("token advantages", g, i);
      if (!is_same(old.returns, now.returns)) differ("returns", g, i);
      if (!is_same(old.ref_logprobs, now.ref_logprobs)) differ("reference log-probabilities", g, i);
      if (!is_same(old.entropies, now.entropies)) differ("entropies", g, i);
    }
  }
}

/// A sample's columns under a decoder: its log-probabilities and entropies.
Sample columns_of(const Decoder& decoder, const Group& group, const Sample& sample,
                  const LossOptions& options) {
  std::vector<Group> alone{{.prompt = group.prompt, .samples = {{.completion = sample.completion}}}};
  alone.front().prompt.token_ids = prompt_ids_of(group.prompt, sample);
  fill_ref_logprobs(decoder, alone, options);
  fill_entropies(decoder, alone, options);
  return std::move(alone.front().samples.front());
}

/// The line of metrics.jsonl of a step; null if the run has none.
Json metrics_of(const fs::path& root, int64_t step) {
  Json found;
  JsonlReader reader(root / "metrics.jsonl");
  while (reader.next()) {
    Json row = reader.row();
    if (row.value("step", int64_t{-1}) == step) found = std::move(row);
  }
  return found;
}

/// The metrics of the step's only update, computed anew.
Metrics update_metrics(Decoder& policy, const Batch& batch, const TrainConfig& config,
                       const LossConfig& objective) {
  AdamW optimizer(policy.parameters(), config.optimizer);
  optimizer.zero_grad();
  const LossResult loss =
      accumulate_policy_gradient(policy, batch.groups, objective, loss_options(config, policy));
  Metrics metrics = loss_metrics(loss, loss, config.train.recompute);
  metrics.emplace_back("grad_norm", optimizer.grad_norm());
  clear_gradients(policy);
  return metrics;
}

/// Names of the metrics that the row has with other numbers, or not at all.
std::vector<std::string> differing_metrics(const Metrics& metrics, const Json& row) {
  std::vector<std::string> names;
  for (const auto& [name, value] : metrics) {
    const auto recorded = row.find(name);
    const bool is_there = recorded != row.end() && (recorded->is_number() || recorded->is_null());
    const double number = is_there && recorded->is_number() ? recorded->get<double>() : kNoReward;
    if (!is_there || !is_same(number, value)) names.push_back(name);
  }
  return names;
}

/// Whether a step makes one update with the settings as they stand: no critic, no coefficient that adapts.
bool has_one_plain_update(const TrainConfig& config, const ObjectiveSettings& settings) {
  const ControlConfig& control = config.objective.control;
  return config.objective.num_iterations * config.train.steps_per_generation == 1 &&
         !needs_critic(settings) && !control.use_adaptive_beta && !control.use_adaptive_entropy &&
         !control.sync_ref_model && control.length_preference_learning_rate == 0.0;
}

}  // namespace

Replay::Replay(const fs::path& root, int64_t step, ReplayWeights weights)
    : root_(root),
      config_(config_of(root)),
      objective_(resolved(config_.objective, config_.rollout.max_completion_length)),
      batch_(batch_of(root, step)),
      weights_(weights),
      policy_(
          policy_after(config_, root, weights == ReplayWeights::kBefore ? batch_.step - 1 : batch_.step)) {
  tokenizer_ = require_tokenizer(config_.model.path, policy_->config());
  if (needs_critic(objective_)) {
    const CriticPhase phase =
        critic_phase(config_.critic, objective_.advantages.baseline_keys.critic.share, batch_.step);
    objective_ = objective_in(phase, std::move(objective_), config_.critic.is_head());
  }
  int64_t longest = 0;
  for (const Group& group : batch_.groups) longest = std::max(longest, std::ssize(group.prompt.token_ids));
  longest += config_.rollout.max_completion_length;
  policy_->plan_length(longest);
  const bool has_own_reference =
      needs_reference(objective_) && (config_.lora.r == 0 || !config_.lora.path.empty());
  if (has_own_reference) {
    own_reference_ = load_model(config_.model, config_.lora, config_.seed);
    own_reference_->plan_length(longest);
  }
}

const Group& Replay::group(int64_t group, int64_t sample) const {
  const auto num_groups = std::ssize(batch_.groups);
  if (group < 0 || group >= num_groups)
    throw UserError(
        str("the batch of step ", batch_.step, " has groups 0 to ", num_groups - 1, ", not ", group));
  const Group& found = batch_.groups[group];
  const int64_t num_samples = num_sequences({&found, 1});
  if (sample < 0 || sample >= num_samples) {
    throw UserError(str("group ", group, " of step ", batch_.step, " has samples 0 to ", num_samples - 1,
                        ", not ", sample));
  }
  return found;
}

std::vector<ReplayedToken> Replay::tokens(int64_t group_place, int64_t sample_place) const {
  const Group& owner = group(group_place, sample_place);
  const Sample& sample = *sequences_of(owner)[sample_place];
  const Sample columns = columns_of(*policy_, owner, sample, loss_options(config_, *policy_));
  const double low = 1.0 - objective_.loss.epsilon, high = 1.0 + objective_.loss.upper_epsilon();
  std::vector<ReplayedToken> tokens;
  for_each_sampled(sample.completion, [&](int64_t place) {
    const size_t t = tokens.size();
    ReplayedToken token{.place = place, .id = sample.completion.token_ids[place]};
    token.sampler_logprob = sample.completion.sampler_logprobs[t];
    token.policy_logprob = columns.ref_logprobs[t];
    if (!sample.ref_logprobs.empty()) token.ref_logprob = sample.ref_logprobs[t];
    const bool is_of_sampler = objective_.loss.is_anchored_to_sampler();
    token.ratio = std::exp(token.policy_logprob -
                           (is_of_sampler ? token.sampler_logprob : sample.policy_logprobs()[t]));
    token.advantage = sample.token_advantages.empty() ? sample.advantage : sample.token_advantages[t];
    token.is_clipped =
        (token.advantage < 0.0 && token.ratio < low) || (token.advantage > 0.0 && token.ratio > high);
    token.entropy = columns.entropies[t];
    tokens.push_back(token);
  });
  return tokens;
}

const Replay::MiniBatch& Replay::mini_batch_of(int64_t group) {
  const std::span<const Group> groups(batch_.groups);
  const auto size = std::max<int64_t>(1, std::ssize(groups) / config_.train.steps_per_generation);
  const int64_t first = group / size * size;
  const std::span<const Group> own = groups.subspan(first, std::min(size, std::ssize(groups) - first));
  if (mini_batch_.groups.data() == own.data()) return mini_batch_;
  mini_batch_ = MiniBatch();
  mini_batch_.groups = own;
  mini_batch_.tokens.resize(num_sequences(own));
  LossOptions options = loss_options(config_, *policy_);
  options.on_token_gradient = [&](int64_t place, std::span<const float> gradient) {
    mini_batch_.tokens[place].assign(gradient.begin(), gradient.end());
  };
  mini_batch_.gradient = gradient_of(own, options);
  for (const std::vector<float>& tokens : mini_batch_.tokens)
    for (const float gradient : tokens) mini_batch_.token_sum += std::abs(gradient);
  return mini_batch_;
}

/// For each of the policy's parameters().
std::vector<at::Tensor> Replay::gradient_of(std::span<const Group> mini_batch, LossOptions options) {
  clear_gradients(*policy_);
  accumulate_policy_gradient(*policy_, mini_batch, objective_.loss, options);
  std::vector<at::Tensor> gradients = gradients_of(*policy_);
  clear_gradients(*policy_);
  return gradients;
}

std::optional<SampleGradient> Replay::sample_gradient(int64_t group_place, int64_t sample_place) {
  const Sample& sample = *sequences_of(group(group_place, sample_place))[sample_place];
  if (!config_.objective.python.empty()) return std::nullopt;
  const MiniBatch& mini_batch = mini_batch_of(group_place);
  const auto groups_before = &batch_.groups[group_place] - mini_batch.groups.data();
  const int64_t place = num_sequences(mini_batch.groups.first(groups_before)) + sample_place;
  LossOptions options = loss_options(config_, *policy_);
  options.only = SampleRange{place, 1};
  SampleGradient gradient{
      .whole = gradient_share_of(gradient_of(mini_batch.groups, options), mini_batch.gradient),
      .tokens = std::vector<double>(sample.completion.num_sampled())};
  const std::vector<float>& tokens = mini_batch.tokens[place];  // empty if it was not forwarded
  for (size_t t = 0; t < tokens.size() && mini_batch.token_sum > 0.0; ++t)
    gradient.tokens[t] = -tokens[t] / mini_batch.token_sum;
  return gradient;
}

std::vector<GroupGradient> Replay::group_gradients() {
  if (!config_.objective.python.empty())
    throw UserError("--gradients calls no function of Python, and the run has objective.python");
  std::vector<GroupGradient> gradients;
  for (int64_t g = 0; g < std::ssize(batch_.groups); ++g) {
    const auto& [groups, whole, tokens, token_sum] = mini_batch_of(g);
    const auto place = static_cast<size_t>(&batch_.groups[g] - groups.data());
    LossOptions options = loss_options(config_, *policy_);
    options.only = SampleRange{num_sequences(groups.first(place)), num_sequences(groups.subspan(place, 1))};
    const std::vector<at::Tensor> own = gradient_of(groups, options);
    GroupGradient gradient{.whole = gradient_share_of(own, whole), .weights = {}};
    const NamedTensors own_weights = by_weight(*policy_, own), all_weights = by_weight(*policy_, whole);
    for (size_t w = 0; w < own_weights.size(); ++w) {
      const GradientShare part = gradient_share_of({own_weights[w].second}, {all_weights[w].second});
      gradient.weights.push_back({own_weights[w].first, part.sample_norm, part.share});
    }
    gradients.push_back(std::move(gradient));
  }
  return gradients;
}

std::vector<std::string> Replay::check() {
  if (weights_ != ReplayWeights::kBefore)
    throw UserError("--check recomputes a step from the weights before it");
  if (!config_.objective.python.empty() || !config_.objective.python_advantages.empty())
    throw UserError(
        "--check calls no function of Python, and the run has objective.python or "
        "objective.python_advantages");
  std::vector<std::string> differences;
  const auto differ = [&](const char* what, size_t group, size_t sample) {
    differences.push_back(str("group ", group, " sample ", sample, ": ", what, " differ"));
  };
  const LossOptions options = loss_options(config_, *policy_);
  Batch computed = batch_;
  add_up_rewards(computed);
  fill_ref_logprobs(*policy_, computed.groups, options, /*masked_too=*/true);
  // Those that were drawn ahead are of the weights before the update before.
  const size_t num_stale = batch_.step > 1 ? static_cast<size_t>(config_.rollout.prompts_ahead) : 0;
  for (size_t g = 0; g < computed.groups.size(); ++g) {
    const std::vector<const Sample*> sequences = sequences_of(computed.groups[g]);
    for (size_t i = 0; i < sequences.size(); ++i) {
      const Sample& sample = *sequences[i];
      if (sample.is_demonstration || (g < num_stale && sample.old_logprobs.empty())) continue;
      if (!is_same(sample.policy_logprobs(), sample.ref_logprobs))
        differ("log-probabilities of sampler and policy", g, i);
    }
  }
  for_each_sequence(computed.groups, [](Sample& sample) { sample.ref_logprobs.clear(); });
  if (needs_reference(objective_)) {
    const WeightSnapshot reference = own_reference_ != nullptr ? WeightSnapshot(*own_reference_)
                                                               : WeightSnapshot(*policy_, {.enabled = false});
    fill_ref_logprobs(reference, computed.groups, options,
                      /*masked_too=*/objective_.advantages.puts_kl_in_reward());
  }
  if (needs_entropies(objective_)) fill_entropies(*policy_, computed.groups, options);
  assign_credit(computed, objective_.advantages);
  compare_samples(batch_, computed, differ);
  if (has_one_plain_update(config_, objective_)) {
    const Json row = metrics_of(root_, batch_.step);
    for (const std::string& name :
         differing_metrics(update_metrics(*policy_, batch_, config_, objective_.loss),
                           row.is_null() ? Json::object() : row))
      differences.push_back(str("metrics.jsonl: ", name, " differs"));
  }
  return differences;
}

}  // namespace cohort
