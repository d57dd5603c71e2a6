// One composition of the loss for each choice that it has.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "tests/objectives/loss_batch.h"

namespace cohort {

using ConfigChange = std::function<void(LossConfig&)>;

using Compositions = std::map<std::string, ConfigChange>;

/// Every surrogate, and every ratio that it may have.
inline void add_surrogates(Compositions& all) {
  for (const char* level :
       {"none", "token", "sequence", "sequence_token", "sequence_mean", "sequence_product", "turn"}) {
    for (const char* surrogate : {"ppo", "cispo", "sapo"}) {
      all[std::string(surrogate) + "/" + level] = [=](LossConfig& c) {
        c.surrogate = surrogate;
        c.importance_sampling_level = level;
      };
    }
  }
  for (const char* surrogate : {"vespo", "gmpo", "dppo", "drpo", "drpo_decoupled", "regression"})
    all[surrogate] = [=](LossConfig& c) { c.surrogate = surrogate; };
}

/// KL, aggregation and mismatch.
inline void add_choices(Compositions& all) {
  for (const char* estimator : {"k1", "k2", "k3", "k3_plus"}) {
    all[std::string("kl/") + estimator] = [=](LossConfig& c) {
      c.beta = 0.1;
      c.kl_estimator = estimator;
    };
  }
  for (const char* aggregation : {"token_mean", "seq_mean_token_sum", "seq_mean_token_sum_norm"})
    all[std::string("aggregation/") + aggregation] = [=](LossConfig& c) { c.aggregation = aggregation; };
  for (const char* mode : {"token_truncate", "token_mask", "sequence_truncate", "sequence_mask"}) {
    all[std::string("mismatch/") + mode] = [=](LossConfig& c) {
      c.importance_sampling_mode = mode;
      c.importance_sampling_clip_max = 1.1;
    };
  }
}

/// Keys that act together.
inline void add_combinations(Compositions& all) {
  all["kl/corrected"] = [](LossConfig& c) {
    c.beta = 0.1;
    c.kl_keys.k3.use_bias_correction = true;
  };
  all["vespo/mismatch"] = [](LossConfig& c) {
    c.surrogate = "vespo";
    c.importance_sampling_mode = "token_truncate";
  };
  all["group scope"] = [](LossConfig& c) {
    c.aggregation = "token_mean";
    c.aggregation_keys.token_mean.scope = "group";
  };
  all["lambda"] = [](LossConfig& c) {
    c.aggregation = "token_mean";
    c.length_preference = 1.5;
  };
  all["entropy"] = [](LossConfig& c) {
    c.entropy_coef = 0.1;
    c.top_entropy_quantile = 0.4;
  };
}

/// Tokens that are left out or penalised.
inline void add_filters(Compositions& all) {
  all["off-policy mask"] = [](LossConfig& c) { c.off_policy_mask_threshold = 0.0; };
  all["band"] = [](LossConfig& c) {
    c.log_ratio_min = -0.3;
    c.log_ratio_max = 0.2;
    c.log_ratio_penalty = 0.5;
  };
  all["clip-cov"] = [](LossConfig& c) {
    c.clip_cov_ratio = 0.3;
    c.clip_cov_min = 0.0;
  };
  all["kl-cov"] = [](LossConfig& c) {
    c.clip_side = "none";
    c.kl_cov_ratio = 0.3;
  };
  all["second moment"] = [](LossConfig& c) { c.second_moment_max = 0.05; };
}

/// Terms with normalisers of their own.
inline void add_terms(Compositions& all) {
  all["budget"] = [](LossConfig& c) { c.kl_budget_coef = 100; };
  all["critic"] = [](LossConfig& c) { c.value_coef = 0.5; };
  all["likelihood"] = [](LossConfig& c) { c.nll_coef = 0.1; };
  all["demonstration likelihood"] = [](LossConfig& c) {
    c.nll_coef = 0.1;
    c.nll_on = "demonstration";
  };
  all["pairs"] = [](LossConfig& c) { c.dpo_coef = 0.3; };
  all["best and worst"] = [](LossConfig& c) {
    c.dpo_coef = 0.3;
    c.dpo_pairs = "best_worst";
    c.dpo_reference_free = false;
    c.dpo_length_normalized = false;
  };
}

/// Compositions by name; together they set every key that changes a loss.
inline Compositions compositions() {
  Compositions all;
  add_surrogates(all);
  add_choices(all);
  add_combinations(all);
  add_filters(all);
  add_terms(all);
  return all;
}

inline LossConfig config_of(const ConfigChange& change) {
  LossConfig config;
  config.max_completion_length = 8;
  config.kl_budget = 0.001;
  change(config);
  return config;
}

inline LossInput batch_for(const std::string& name) {
  LossInput input = small_batch();
  if (name == "demonstration likelihood") input.is_demonstration = {0, 0, 1, 0, 0, 1};
  if (name == "budget") input.old_logprobs = input.old_logprobs + 0.2;  // so that the KL exceeds the budget
  return input;
}

}  // namespace cohort
