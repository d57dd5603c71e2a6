// Another value for each setting of a whole run, and the settings beside which it acts. Files are those that
// whole_run.h writes.
#pragma once

#include "tests/train/setting_samples.h"

namespace cohort {

inline const std::map<std::string, SettingSample> kTrainSamples{
    {"max_steps", {"3"}},
    {"num_train_epochs", {"0.1"}},
    {"steps_per_generation", {"2"}},
    {"tokens_per_microbatch", {"16"}},
    {"recompute", {"true"}},
    {"router_aux_loss_coef", {"0.1", {"model.path=experts"}}},
    {"eval_steps", {"1", {"data.test_split_size=0.3"}}},
    {"eval_on_start", {"true", {"data.test_split_size=0.3", "train.eval_steps=1"}}},
    {"num_generations_eval", {"2", {"data.test_split_size=0.3", "train.eval_steps=1"}}},
    {"temperature_eval", {"0", {"data.test_split_size=0.3", "train.eval_steps=1"}}},
    {"top_p_eval", {"0.1", {"data.test_split_size=0.3", "train.eval_steps=1"}}},
    {"metric_for_best_model",
     {"eval_rewards/numbers/mean", {"data.test_split_size=0.3", "train.eval_steps=1", "train.max_steps=3"}}},
    {"early_stopping_patience",
     {"1",
      {"data.test_split_size=0.3", "train.eval_steps=1", "train.temperature_eval=0", "train.max_steps=4",
       "optimizer.learning_rate=1e-12"}}},
    {"log_completions", {"false"}},
    {"save_steps", {"1"}},
    {"save_total_limit", {"1", {"train.save_steps=1"}}},
    {"max_nonfinite_steps", {"1", {"objective.nll_coef=1e38"}}},
    {"max_failed_share",
     {"1", {"data.path=unjudged.jsonl", "train.preflight=false", "train.failed_share_window=4"}}},
    {"failed_share_window", {"4", {"data.path=unjudged.jsonl", "train.preflight=false"}}},
    {"preflight", {"false", {"data.path=unjudged.jsonl"}}},
};

inline const std::map<std::string, SettingSample> kDataSamples{
    {"path", {"others.jsonl"}},
    {"eval_path", {"others.jsonl", {"train.eval_steps=1", "data.eval_path=rows.jsonl"}}},
    {"columns", {"prompt=question"}},
    {"system_prompt", {"Be brief."}},
    {"chat_template_kwargs",
     {"tone=warm", {"data.path=conversations.jsonl", "model.chat_template=template.jinja"}}},
    {"test_split_size", {"0.3"}},
    {"deduplicate", {"row"}},
    {"max_prompt_length", {"20"}},
    {"filter_overlong_prompts", {"true", {"data.max_prompt_length=20"}}},
    {"shuffle_dataset", {"false"}},
};

/// Beside two sources.
inline const std::map<std::string, SettingSample> kSourceSamples{
    {"path", {"unjudged.jsonl"}},
    {"weight", {"10", {"data.source.0.weight=1", "data.source.1.weight=1"}}},
    {"domain", {"x", {"objective.beta=0.1", "objective.domain_beta=x=0.9"}}},
    {"columns", {"prompt=question"}},
};

inline const std::map<std::string, SettingSample> kModelSamples{
    {"path", {"other"}},
    {"dtype", {"bfloat16"}},
    {"device", {"cuda"}},  // refused on a machine without one
    {"chat_template", {"template.jinja", {"data.path=conversations.jsonl"}}},
};

inline const std::map<std::string, SettingSample> kLoraSamples{
    {"path", {"adapter"}},
    {"r", {"4"}},
    {"alpha", {"64", {"lora.r=4"}}},
    {"target_modules", {"q_proj", {"lora.r=4"}}},
    {"exclude_modules", {"q_proj", {"lora.r=4"}}},
    {"use_rslora", {"true", {"lora.r=4"}}},
    {"use_dora", {"true", {"lora.r=4"}}},
    {"rank_pattern", {"q_proj=2", {"lora.r=4"}}},
    {"alpha_pattern", {"q_proj=64", {"lora.r=4"}}},
    {"modules_to_save", {"embed_tokens", {"lora.r=4"}}},
};

inline const std::map<std::string, SettingSample> kRunSamples{
    {"save_batches", {"true"}},
};

}  // namespace cohort
