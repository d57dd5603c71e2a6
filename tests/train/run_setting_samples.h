// Another value for each setting of optimizer, critic and rollout, and the settings beside which it acts.
#pragma once

#include "tests/train/setting_samples.h"

namespace cohort {

inline const std::map<std::string, SettingSample> kOptimizerSamples{
    {"learning_rate", {"0.02"}},
    {"lr_scheduler_type", {"cosine"}},
    {"warmup_steps", {"5"}},
    {"warmup_ratio", {"0.5", {"optimizer.lr_scheduler_type=linear"}}},
    {"lr_scheduler_kwargs",
     {"min_lr_rate=0.5",
      {"optimizer.lr_scheduler_type=cosine_with_min_lr", "optimizer.lr_scheduler_kwargs=min_lr_rate=0.1"}}},
    {"weight_decay", {"0.1"}},
    {"adam_beta1", {"0.5"}},
    {"adam_beta2", {"0.9"}},
    {"adam_epsilon", {"0.1"}},
    {"max_grad_norm", {"0.01", {"optimizer.adam_epsilon=0.1"}}},
};

inline const std::map<std::string, SettingSample> kCriticSamples{
    {"kind", {"head", {"preset=ppo"}}},     {"path", {"other_critic", {"preset=ppo"}}},
    {"lr", {"0.01", {"preset=ppo"}}},       {"pretrain_steps", {"1", {"preset=ppo"}}},
    {"share_steps", {"1", {"preset=ppo"}}},
};

inline const std::map<std::string, SettingSample> kRolloutSamples{
    {"prompts_per_step", {"3"}},
    {"num_generations", {"5"}},
    {"max_completion_length", {"4"}},
    {"temperature", {"0.7"}},
    {"top_k", {"20"}},
    {"top_p", {"0.5"}},
    {"min_p", {"0.1"}},
    {"stop_token_ids", {"7"}},
    {"min_tokens", {"3"}},
    {"dynamic_sampling", {"true"}},
    {"max_num_gen_batches", {"1", {"rollout.dynamic_sampling=true"}}},
    {"keep_generations", {"3"}},
    {"generation_budget", {"knapsack"}},
    {"adaptive_sampling", {"balanced", {"rollout.keep_generations=2"}}},
    {"max_sampling_rounds", {"1", {"rollout.keep_generations=2", "rollout.adaptive_sampling=balanced"}}},
    {"tree_depth", {"3"}},
    {"prompts_ahead", {"1", {"ratio_anchor=sampler"}}},
    {"tree_branches", {"3", {"rollout.tree_depth=3"}}},
    {"tree_first_branches", {"3", {"rollout.tree_depth=3"}}},
    {"positive_reward", {"0.4", {"rollout.keep_generations=2", "rollout.adaptive_sampling=balanced"}}},
};

}  // namespace cohort
