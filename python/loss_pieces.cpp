#include <optional>
#include <string>

#include "cohort/core/error.h"
#include "cohort/objectives/batch_filters.h"
#include "cohort/objectives/cispo.h"
#include "cohort/objectives/clip.h"
#include "cohort/objectives/completion_weights.h"
#include "cohort/objectives/demonstration.h"
#include "cohort/objectives/discriminative.h"
#include "cohort/objectives/dppo.h"
#include "cohort/objectives/drpo.h"
#include "cohort/objectives/filters.h"
#include "cohort/objectives/gmpo.h"
#include "cohort/objectives/kl.h"
#include "cohort/objectives/mismatch.h"
#include "cohort/objectives/pairs.h"
#include "cohort/objectives/preference.h"
#include "cohort/objectives/ratio.h"
#include "cohort/objectives/ratio_level.h"
#include "cohort/objectives/regression.h"
#include "cohort/objectives/sapo.h"
#include "cohort/objectives/value_loss.h"
#include "cohort/objectives/vespo.h"
#include "cohort/objectives/weighted.h"
#include "python/piece.h"
#include "python/pieces.h"
#include "python/settings.h"

namespace py = pybind11;
using py::arg;
using py::kw_only;

namespace cohort::python {
namespace {

using MaybeNumber = std::optional<double>;

/// Adds the function under its name with its header's documentation.
template <typename Function, typename... Extra>
void add(py::module_& module, const char* name, Function function, const Extra&... extra) {
  module.def(name, function, extra..., documentation(name));
}

void add_ratios(py::module_& m) {
  const arg log_ratio("log_ratio"), lengths("lengths");
  add(m, "importance_ratio", checked(&importance_ratio), arg("policy_logprobs"), arg("old_logprobs"));
  add(m, "token_ratio", checked(&token_ratio), log_ratio);
  add(m, "segment_mean_ratio", checked(&segment_mean_ratio), log_ratio, lengths);
  add(m, "sequence_mean_ratio", checked(&sequence_mean_ratio), log_ratio, lengths);
  add(m, "sequence_product_ratio", checked(&sequence_product_ratio), log_ratio, lengths);
  add(m, "sequence_token_ratio", checked(&sequence_token_ratio), log_ratio, lengths);
  const auto at_level = [](const std::string& level, const at::Tensor& log_ratio, const Integers& lengths,
                           const std::optional<Integers>& turn_lengths) {
    check_alike({&log_ratio});
    std::optional<Segments> turns;
    if (turn_lengths) turns.emplace(turn_lengths->values, log_ratio.device());
    return ratio_at_level(level, log_ratio, {lengths.values, log_ratio.device()}, turns ? &*turns : nullptr);
  };
  add(m, "ratio_at_level", at_level, arg("level"), log_ratio, lengths, kw_only(),
      arg("turn_lengths") = py::none());
  add(m, "mismatch_weights", checked(&mismatch_weights), arg("mode"), arg("old_logprobs"),
      arg("sampler_logprobs"), lengths, kw_only(), arg("low") = py::none(), arg("high") = py::none());
}

void add_surrogates(py::module_& m) {
  const arg ratio("ratio"), policy("policy_logprobs"), advantages("advantages"), lengths("lengths");
  const auto clipped = [](const at::Tensor& ratio, const at::Tensor& advantages, MaybeNumber low,
                          MaybeNumber high, MaybeNumber cap) {
    check_alike({&ratio, &advantages});
    return returned(clipped_surrogate(ratio, advantages, {.low = low, .high = high, .cap = cap}));
  };
  add(m, "clipped_surrogate", clipped, ratio, advantages, kw_only(), arg("low") = py::none(),
      arg("high") = py::none(), arg("cap") = py::none());
  add(m, "gmpo_surrogate", checked(&gmpo_surrogate), arg("log_ratio"), advantages, lengths, kw_only(),
      arg("low") = 0.4, arg("high") = 0.4);
  add(m, "reinforce_loss", checked(&reinforce_loss), policy, advantages);
  add(m, "cispo_loss", checked(&cispo_loss), policy, ratio, advantages, kw_only(), arg("floor") = 0.0,
      arg("cap") = 5.0);
  add(m, "sapo_loss", checked(&sapo_loss), ratio, advantages, kw_only(), arg("temperature_pos") = 1.0,
      arg("temperature_neg") = 1.05);
  const auto vespo = [](const at::Tensor& log_ratio, const at::Tensor& advantages, const Integers& lengths,
                        const std::optional<at::Tensor>& mismatch, double k_pos, double lambda_pos,
                        double k_neg, double lambda_neg) {
    check_alike({&log_ratio, &advantages, mismatch ? &*mismatch : nullptr});
    return vespo_weights(log_ratio, advantages, mismatch.value_or(at::Tensor()),
                         {lengths.values, log_ratio.device()}, {k_pos, lambda_pos, k_neg, lambda_neg});
  };
  add(m, "vespo_weights", vespo, arg("log_ratio"), advantages, lengths, kw_only(),
      arg("mismatch_weights") = py::none(), arg("k_pos") = 2.0, arg("lambda_pos") = 3.0, arg("k_neg") = 3.0,
      arg("lambda_neg") = 2.0);
  add(m, "dppo_loss", checked(&dppo_loss), policy, ratio, advantages, arg("mask"), kw_only(),
      arg("truncation") = 20.0);
  add(m, "drpo_loss", checked(&drpo_loss), ratio, advantages, arg("anchor_logprobs"), kw_only(),
      arg("delta") = 12.5);
  add(m, "shaped_demonstration_loss", checked(&shaped_demonstration_loss), policy, advantages, kw_only(),
      arg("gamma") = 0.1);
  add(m, "regression_loss", checked(&regression_loss), arg("log_ratio"), advantages, lengths, kw_only(),
      arg("tau") = 0.1);
}

void add_masks(py::module_& m) {
  const arg policy("policy_logprobs"), advantages("advantages"), log_ratio("log_ratio");
  add(m, "divergence_mask", checked(&divergence_mask), arg("divergence"), policy, arg("anchor_logprobs"),
      advantages, kw_only(), arg("epsilon"), arg("epsilon_high"));
  add(m, "off_policy_mask", checked(&off_policy_mask), policy, arg("behaviour_logprobs"), advantages,
      arg("lengths"), kw_only(), arg("threshold"));
  add(m, "log_ratio_band", checked(&log_ratio_band), log_ratio, kw_only(), arg("low") = py::none(),
      arg("high") = py::none());
  add(m, "second_moment_mask", checked(&second_moment_mask), log_ratio, kw_only(), arg("largest_mean"));
  add(m, "top_entropy_mask", checked(&top_entropy_mask), arg("entropies"), kw_only(), arg("share"));
  add(m, "token_covariance", checked(&token_covariance), policy, advantages);
  add(m, "kl_cov_mask", checked(&kl_cov_mask), arg("covariance"), kw_only(), arg("share"));
  const auto clip_cov = [](const at::Tensor& covariance, const at::Tensor& is_clipped, double low,
                           double high, double share, uint64_t seed) {
    check_alike({&covariance});
    if (is_clipped.sizes() != covariance.sizes())
      throw UserError("is_clipped must have the shape of covariance");
    return clip_cov_mask(covariance, is_clipped, {.low = low, .high = high, .share = share, .seed = seed});
  };
  add(m, "clip_cov_mask", clip_cov, arg("covariance"), arg("is_clipped"), kw_only(), arg("low") = 1.0,
      arg("high") = 5.0, arg("share") = 2e-4, arg("seed") = 0);
}

void add_kl(py::module_& m) {
  const arg policy("policy_logprobs"), ref("ref_logprobs");
  add(m, "kl_k3", checked(&kl_k3), policy, ref);
  add(m, "kl_estimate", checked(&kl_estimate), arg("estimator"), policy, ref);
  add(m, "bias_corrected_k3", checked(&bias_corrected_k3), policy, ref, arg("ratio"));
  add(m, "clipped_value_loss", checked(&clipped_value_loss), arg("values"), arg("old_values"), arg("returns"),
      kw_only(), arg("clip") = 0.2);
}

/// The counts of a whole batch; those that are not given are counted from what is.
struct Counts {
  std::optional<int64_t> completions, loss_tokens, groups;
  int64_t micro_batches = 1;
};

at::Tensor weights_of(const Integers& lengths, const std::string& aggregation, const std::string& scope,
                      int64_t max_completion_length, const Integers& group_ends, const Counts& counts) {
  LossConfig config;
  config.aggregation = aggregation;
  config.aggregation_keys.token_mean.scope = scope;
  config.max_completion_length = max_completion_length;
  LossCounts all;
  all.num_completions = counts.completions.value_or(std::ssize(lengths.values));
  all.num_loss_tokens = counts.loss_tokens.value_or(total_length(lengths.values));
  all.num_groups = counts.groups.value_or(std::ssize(group_ends.values));
  all.num_micro_batches = counts.micro_batches;
  return completion_weights(lengths.values, group_ends.values, config, all);
}

void add_aggregation(py::module_& m) {
  const auto weights = [](const Integers& lengths, const std::string& aggregation, const std::string& scope,
                          int64_t longest, const Integers& group_ends, std::optional<int64_t> completions,
                          std::optional<int64_t> tokens, std::optional<int64_t> groups,
                          int64_t micro_batches) {
    return weights_of(lengths, aggregation, scope, longest, group_ends,
                      {completions, tokens, groups, micro_batches});
  };
  add(m, "completion_weights", weights, arg("lengths"), kw_only(), arg("aggregation"),
      arg("token_mean_scope") = "batch", arg("max_completion_length") = 0,
      arg("group_ends") = py::make_tuple(), arg("num_completions") = py::none(),
      arg("num_loss_tokens") = py::none(), arg("num_groups") = py::none(), arg("num_micro_batches") = 1);
  const auto preference = [](const Integers& lengths, const Integers& group_ends, const at::Tensor& value) {
    if (value.numel() != 1) throw UserError("preference must be one number");
    return length_preference_weights(lengths.values, group_ends.values, value.reshape({}).to(at::kDouble));
  };
  add(m, "length_preference_weights", preference, arg("lengths"), arg("group_ends"), arg("preference"));
}

LossConfig discriminative_config(double tau, double lambda, int64_t longest, double threshold) {
  LossConfig config;
  config.drpo_decoupled.tau = tau;
  config.drpo_decoupled.lambda = lambda;
  config.max_completion_length = longest;
  config.positive_threshold = threshold;
  return config;
}

void check_rewards(const at::Tensor& rewards, const Integers& lengths) {
  check_alike({&rewards});
  if (rewards.dim() != 1 || rewards.size(0) != std::ssize(lengths.values))
    throw UserError("rewards must be [N], one for each of the lengths");
}

void add_groups(py::module_& m) {
  const arg rewards("rewards"), lengths("lengths"), ends("group_ends");
  const auto loss = [](const at::Tensor& policy, const at::Tensor& rewards, const Integers& lengths,
                       const Integers& ends, int64_t longest, double tau, double lambda, double threshold) {
    check_alike({&policy});
    check_rewards(rewards, lengths);
    if (longest < 1) throw UserError("max_completion_length must be at least 1");
    return discriminative_loss_sum(policy, rewards, {lengths.values, policy.device()}, ends.values,
                                   discriminative_config(tau, lambda, longest, threshold));
  };
  add(m, "discriminative_loss_sum", loss, arg("policy_logprobs"), rewards, lengths, ends, kw_only(),
      arg("max_completion_length"), arg("drpo_decoupled_tau") = 10.0, arg("drpo_decoupled_lambda") = 0.1,
      arg("positive_threshold") = 0.0);
  const auto contrasts = [](const at::Tensor& rewards, const Integers& lengths, const Integers& ends,
                            double threshold) {
    check_rewards(rewards, lengths);
    return num_contrasts(rewards, {lengths.values, rewards.device()}, ends.values,
                         discriminative_config(1.0, 1.0, 1, threshold));
  };
  add(m, "num_contrasts", contrasts, rewards, lengths, ends, kw_only(), arg("positive_threshold") = 0.0);
}

void add_pairs(py::module_& m) {
  const auto pairs = [](const at::Tensor& rewards, const Integers& lengths, const Integers& ends,
                        double margin, const std::string& kind) {
    check_rewards(rewards, lengths);
    if (kind != "all" && kind != "best_worst") throw UserError("dpo_pairs must be all or best_worst");
    LossConfig config;
    config.dpo_margin = margin;
    config.dpo_pairs = kind;
    const PreferencePairs found = preference_pairs(rewards, lengths.values, ends.values, config);
    return std::pair(at::tensor(found.winners, at::kLong), at::tensor(found.losers, at::kLong));
  };
  add(m, "preference_pairs", pairs, arg("rewards"), arg("lengths"), arg("group_ends"), kw_only(),
      arg("dpo_margin") = 0.0, arg("dpo_pairs") = "all");
  const auto logprobs = [](const at::Tensor& policy, const Integers& lengths,
                           const std::optional<at::Tensor>& ref, bool is_normalized) {
    check_alike({&policy, ref ? &*ref : nullptr});
    LossConfig config;
    config.dpo_reference_free = !ref;
    config.dpo_length_normalized = is_normalized;
    return pair_logprobs(policy, ref.value_or(at::Tensor()), {lengths.values, policy.device()}, config);
  };
  add(m, "pair_logprobs", logprobs, arg("policy_logprobs"), arg("lengths"), kw_only(),
      arg("ref_logprobs") = py::none(), arg("dpo_length_normalized") = true);
  const auto loss = [](const at::Tensor& logprobs, const Integers& winners, const Integers& losers,
                       double beta) {
    check_alike({&logprobs});
    if (winners.values.size() != losers.values.size())
      throw UserError("winners and losers must be of one length");
    for (const Integers& side : {winners, losers})
      for (const int64_t index : side.values)
        if (index < 0 || index >= logprobs.numel())
          throw UserError(str("a pair names completion ", index, " of ", logprobs.numel()));
    return pair_loss_sum(logprobs, {winners.values, losers.values}, beta);
  };
  const auto sums = [](const at::Tensor& logprobs, const Integers& lengths, MaybeNumber ld_alpha) {
    check_alike({&logprobs});
    return sequence_logprobs(logprobs, lengths.values, ld_alpha).to(logprobs.scalar_type());
  };
  add(m, "sequence_logprobs", sums, arg("logprobs"), arg("lengths"), kw_only(), arg("ld_alpha") = py::none());
  const auto losses = [](const at::Tensor& lead, double beta, const std::string& type, double flipped) {
    check_alike({&lead});
    py::dict settings;
    settings["beta"] = beta;
    settings["loss_type"] = type;
    settings["label_smoothing"] = flipped;
    return pair_losses(lead, read_preference_settings(settings));
  };
  add(m, "pair_losses", losses, arg("lead"), kw_only(), arg("beta") = 0.1, arg("loss_type") = "sigmoid",
      arg("label_smoothing") = 0.0);
  add(m, "pair_loss_sum", loss, arg("logprobs"), arg("winners"), arg("losers"), kw_only(), arg("beta"));
}

}  // namespace

void add_loss_pieces(py::module_& module) {
  add_ratios(module);
  add_surrogates(module);
  add_masks(module);
  add_kl(module);
  add_aggregation(module);
  add_groups(module);
  add_pairs(module);
}

}  // namespace cohort::python
