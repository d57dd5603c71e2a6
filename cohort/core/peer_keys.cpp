#include "cohort/core/peer_keys.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

namespace cohort {
namespace {

constexpr const char* kBatch =
    "rollout.prompts_per_step train.sequences_per_step train.pairs_per_step train.rows_per_step";
constexpr const char* kOwnEngine = "Cohort samples with an engine of its own; remove the key";
constexpr const char* kOneProcess = "Cohort trains in one process; remove the key";
constexpr const char* kLogs = "every step goes to metrics.jsonl and TensorBoard in run.dir; remove the key";
constexpr const char* kRewardTables = "add a [[reward]] table for each reward function";
constexpr const char* kPenalties =
    "training would draw from another distribution than the trained one; sample, eval and chat take it "
    "(docs/chat.md)";
constexpr const char* kPlan = "the memory plan chooses it; remove the key";

constexpr PeerKey kPeerKeys[] = {
    // The model.
    {"model_name_or_path", "model.path"},
    {"model_name", "model.path"},
    {"model_path", "model.path"},
    {"model_id", "model.path"},
    {"pretrain", "model.path"},
    {"base_model", "model.path"},
    {"torch_dtype", "model.dtype"},
    {"bf16", "model.dtype"},
    {"fp16", "model.dtype"},
    {"precision", "model.dtype"},
    {"mixed_precision", "model.dtype"},
    {"use_cpu", "model.device"},
    {"chat_template_path", "model.chat_template"},
    {"attn_implementation", "", "Cohort has one attention; remove the key"},
    {"flash_attn*", "", "Cohort has one attention; remove the key"},
    {"trust_remote_code", "", "Cohort runs no code of a model's directory; remove the key"},
    {"load_in_4bit", "", "weights are not quantized; set model.dtype = \"bfloat16\" and lora.r"},
    {"load_in_8bit", "", "weights are not quantized; set model.dtype = \"bfloat16\" and lora.r"},
    {"reward_model_path", "", "add a [[reward]] with type = \"model\" and its path"},
    {"reward_pretrain", "", "add a [[reward]] with type = \"model\" and its path"},
    // Adapters.
    {"use_peft", "lora.r"},
    {"lora_rank", "lora.r"},
    {"lora_r", "lora.r"},
    {"rank", "lora.r"},
    {"lora_alpha", "lora.alpha"},
    {"lora_dropout", "lora.dropout"},
    {"lora_target_modules", "lora.target_modules"},
    {"lora_modules_to_save", "lora.modules_to_save"},
    {"use_dora", "lora.use_dora"},
    // The data.
    {"dataset", "data.path"},
    {"dataset_name", "data.path"},
    {"dataset_path", "data.path"},
    {"train_files", "data.path"},
    {"train_file", "data.path"},
    {"prompt_data", "data.path"},
    {"val_files", "data.eval_path"},
    {"eval_dataset", "data.eval_path"},
    {"eval_file", "data.eval_path"},
    {"dataset_test_split", "data.test_split_size"},
    {"test_size", "data.test_split_size"},
    {"val_size", "data.test_split_size"},
    {"prompt_key", "data.columns"},
    {"input_key", "data.columns"},
    {"label_key", "data.columns"},
    {"answer_key", "data.columns"},
    {"column_mapping", "data.columns"},
    {"dataset_text_field", "data.columns"},
    {"prompt_max_len", "data.max_prompt_length"},
    {"max_length", "data.max_prompt_length"},
    {"max_seq_length", "data.max_prompt_length"},
    {"filter_overlong", "data.filter_overlong_prompts"},
    {"truncation", "data.filter_overlong_prompts"},
    {"shuffle", "data.shuffle_dataset"},
    {"system", "data.system_prompt"},
    {"template_kwargs", "data.chat_template_kwargs"},
    {"enable_thinking", "data.chat_template_kwargs"},
    {"apply_chat_template", "", "a prompt that is a list of messages is rendered; remove the key"},
    {"packing*", "", "rows are always packed; remove the key"},
    {"completion_only_loss", "", "the loss is always on completions alone; remove the key"},
    // How completions are drawn.
    {"repetition_penalty", "", kPenalties},
    {"presence_penalty", "", kPenalties},
    {"frequency_penalty", "", kPenalties},
    {"logit_bias", "", kPenalties},
    {"per_device_train_batch_size", kBatch},
    {"train_batch_size", kBatch},
    {"batch_size", kBatch},
    {"rollout_batch_size", kBatch},
    {"generation_batch_size", kBatch},
    {"global_batch_size", kBatch},
    {"groups_per_batch", kBatch},
    {"n", "rollout.num_generations"},
    {"n_samples_per_prompt", "rollout.num_generations"},
    {"num_return_sequences", "rollout.num_generations"},
    {"rollouts_per_example", "rollout.num_generations"},
    {"group_size", "rollout.num_generations"},
    {"samples_per_prompt", "rollout.num_generations"},
    {"max_tokens", "rollout.max_completion_length max_completion_length"},
    {"max_new_tokens", "rollout.max_completion_length max_completion_length"},
    {"max_response_length", "rollout.max_completion_length max_completion_length"},
    {"response_length", "rollout.max_completion_length max_completion_length"},
    {"generate_max_len", "rollout.max_completion_length max_completion_length"},
    {"max_gen_len", "rollout.max_completion_length max_completion_length"},
    {"stop", "rollout.stop_strings stop_strings"},
    {"stop_sequences", "rollout.stop_strings stop_strings"},
    {"do_sample", "rollout.temperature temperature"},
    {"length_penalty", "", "completions are sampled, not searched by beams; remove the key"},
    {"num_beams", "", "completions are sampled, not searched by beams; remove the key"},
    {"filter_groups", "rollout.dynamic_sampling"},
    {"use_vllm", "", kOwnEngine},
    {"vllm_*", "", kOwnEngine},
    {"sglang_*", "", kOwnEngine},
    {"gpu_memory_utilization", "rollout.cache_tokens"},
    {"max_num_batched_tokens", "rollout.cache_tokens"},
    {"max_num_seqs", "rollout.cache_tokens"},
    {"enforce_eager", "", kOwnEngine},
    {"free_cache_engine", "", kOwnEngine},
    {"cache_implementation", "", kOwnEngine},
    // Rewards.
    {"reward_funcs", "", kRewardTables},
    {"reward_functions", "", kRewardTables},
    {"reward_fn", "", kRewardTables},
    {"custom_reward_function", "", "add a [[reward]] with type = \"python\" and function = \"FILE.py:NAME\""},
    {"remote_rm_url", "", "add a [[reward]] with type = \"http\""},
    {"reward_weights", "reward.0.weight"},
    // The objective.
    {"adv_estimator", "objective.preset"},
    {"advantage_estimator", "objective.preset"},
    {"algorithm", "objective.preset"},
    {"use_expert_completion", "objective.use_demonstrations"},  // Cohort's own, up to 0.1
    {"expert_mask", "", "the argument is demonstration_mask"},
    {"loss_agg_mode", "objective.aggregation"},
    {"loss_mode", "objective.surrogate"},
    {"policy_loss", "objective.surrogate"},
    {"clip_ratio", "objective.epsilon"},
    {"clip_ratio_low", "objective.epsilon"},
    {"clip_range", "objective.epsilon"},
    {"clip_eps", "objective.epsilon"},
    {"eps_clip", "objective.epsilon"},
    {"cliprange", "objective.epsilon"},
    {"epsilon_low", "objective.epsilon"},
    {"clip_ratio_high", "objective.epsilon_high"},
    {"clip_ratio_c", "objective.delta"},
    {"kl_loss_coef", "objective.beta"},
    {"kl_coef", "objective.beta"},
    {"kl", "objective.beta"},
    {"warmup", "optimizer.warmup_steps"},
    {"kl_beta", "objective.beta"},
    {"init_kl_coef", "objective.beta"},
    {"use_kl_loss", "objective.beta"},
    {"kl_penalty", "objective.kl_estimator"},
    {"kl_loss_type", "objective.kl_estimator"},
    {"use_kl_in_reward", "objective.kl_place"},
    {"entropy_coeff", "objective.entropy_coef"},
    {"entropy_bonus", "objective.entropy_coef"},
    {"norm_adv_by_std_in_grpo", "objective.scale_rewards"},
    {"normalize_reward", "objective.scale_rewards"},
    {"num_ppo_epochs", "objective.num_iterations"},
    {"ppo_epochs", "objective.num_iterations"},
    {"mu", "objective.num_iterations"},
    {"lam", "objective.gae_lambda"},
    {"lambda", "objective.gae_lambda"},
    {"gae_lambd", "objective.gae_lambda"},
    {"vf_coef", "objective.value_coef"},
    {"overlong_filter", "objective.mask_truncated_completions"},
    {"critic_learning_rate", "critic.lr"},
    // The optimizer.
    {"lr", "optimizer.learning_rate"},
    {"actor_learning_rate", "optimizer.learning_rate"},
    {"max_lr", "optimizer.learning_rate"},
    {"peak_lr", "optimizer.learning_rate"},
    {"lr_scheduler", "optimizer.lr_scheduler_type"},
    {"lr_schedule", "optimizer.lr_scheduler_type"},
    {"scheduler", "optimizer.lr_scheduler_type"},
    {"lr_warmup_steps", "optimizer.warmup_steps"},
    {"num_warmup_steps", "optimizer.warmup_steps"},
    {"lr_warmup_ratio", "optimizer.warmup_ratio"},
    {"lr_warmup_steps_ratio", "optimizer.warmup_ratio"},
    {"l2", "optimizer.weight_decay"},
    {"wd", "optimizer.weight_decay"},
    {"betas", "optimizer.adam_beta1 optimizer.adam_beta2"},
    {"beta1", "optimizer.adam_beta1"},
    {"beta2", "optimizer.adam_beta2"},
    {"eps", "optimizer.adam_epsilon"},
    {"grad_clip", "optimizer.max_grad_norm"},
    {"clip_grad", "optimizer.max_grad_norm"},
    {"max_norm", "optimizer.max_grad_norm"},
    {"gradient_clipping", "optimizer.max_grad_norm"},
    {"optim", "", "the optimizer is AdamW; remove the key"},
    {"optimizer", "", "the optimizer is AdamW; remove the key"},
    // The loop.
    {"total_training_steps", "train.max_steps"},
    {"num_steps", "train.max_steps"},
    {"steps", "train.max_steps"},
    {"max_iters", "train.max_steps"},
    {"epochs", "train.num_train_epochs"},
    {"num_epochs", "train.num_train_epochs"},
    {"total_epochs", "train.num_train_epochs"},
    {"max_epochs", "train.num_train_epochs"},
    {"num_episodes", "train.num_train_epochs"},
    {"ppo_mini_batch_size", "train.steps_per_generation"},
    {"mini_batch_size", "train.steps_per_generation"},
    {"num_mini_batches", "train.steps_per_generation"},
    {"gradient_accumulation_steps", "train.tokens_per_microbatch"},
    {"micro_batch_size*", "train.tokens_per_microbatch"},
    {"micro_train_batch_size", "train.tokens_per_microbatch"},
    {"ppo_micro_batch_size*", "train.tokens_per_microbatch"},
    {"ppo_max_token_len_per_gpu", "train.tokens_per_microbatch"},
    {"log_prob_micro_batch_size*", "", kPlan},
    {"per_device_eval_batch_size", "", kPlan},
    {"dataloader_*", "", "rows are read when they are drawn; remove the key"},
    {"gradient_checkpointing*", "train.recompute"},
    {"enable_gradient_checkpointing", "train.recompute"},
    {"activation_checkpointing", "train.recompute"},
    {"save_freq", "train.save_steps"},
    {"save_interval", "train.save_steps"},
    {"save_strategy", "train.save_steps"},
    {"test_freq", "train.eval_steps"},
    {"eval_freq", "train.eval_steps"},
    {"eval_strategy", "train.eval_steps"},
    {"max_ckpt_to_keep", "train.save_total_limit"},
    {"resume_from_checkpoint", "resume"},
    {"resume_mode", "resume"},
    {"num_threads", "threads"},
    {"logging_*", "", kLogs},
    {"log_level", "", kLogs},
    {"report_to", "", kLogs},
    {"logger", "", kLogs},
    {"wandb*", "", kLogs},
    {"use_wandb", "", kLogs},
    {"project_name", "", kLogs},
    {"experiment_name", "run.dir"},
    {"output_dir", "run.dir"},
    {"save_path", "run.dir"},
    {"default_local_dir", "run.dir"},
    {"push_to_hub", "", "`final` in run.dir is a directory to upload; remove the key"},
    {"hub_*", "", "`final` in run.dir is a directory to upload; remove the key"},
    {"deepspeed", "", kOneProcess},
    {"ds3_*", "", kOneProcess},
    {"zero_stage", "", kOneProcess},
    {"fsdp*", "", kOneProcess},
    {"ddp_*", "", kOneProcess},
    {"ray_*", "", kOneProcess},
    {"nnodes", "", kOneProcess},
    {"n_gpus_per_node", "", kOneProcess},
    {"tensor_model_parallel_size", "", kOneProcess},
    {"tensor_parallel_size", "", kOneProcess},
    {"accelerator_config", "", kOneProcess},
    {"use_liger*", "", "the loss never makes all logits at once; remove the key"},
    {"torch_compile*", "", "the kernels are compiled with the program; remove the key"},
    {"disable_dropout", "", "the forward has no dropout; remove the key"},
};

constexpr std::pair<const char*, const char*> kPeerSections[] = {
    {"trainer", "train"},
    {"training", "train"},
    {"eval", "train"},
    {"evaluation", "train"},
    {"algorithm", "objective"},
    {"loss", "objective"},
    {"grpo", "objective"},
    {"dataset", "data"},
    {"datasets", "data"},
    {"peft", "lora"},
    {"adapter", "lora"},
    {"generation", "rollout"},
    {"sampling", "rollout"},
    {"vllm", "rollout"},
    {"actor_rollout_ref", "model"},
    {"actor", "model"},
    {"policy", "model"},
    {"optim", "optimizer"},
    {"adam", "optimizer"},
    {"adamw", "optimizer"},
    {"scheduler", "optimizer"},
    {"lr_scheduler", "optimizer"},
    {"reward_model", "reward"},
    {"reward_manager", "reward"},
    {"logging", "run"},
    {"output", "run"},
};

bool matches(const PeerKey& peer, const std::string& name) {
  const std::string_view pattern = peer.name;
  if (!pattern.ends_with('*')) return name == pattern;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

}  // namespace

std::optional<PeerKey> find_peer_key(const std::string& key) {
  const std::string name = key.substr(key.rfind('.') + 1);
  const auto* found = std::find_if(std::begin(kPeerKeys), std::end(kPeerKeys),
                                   [&](const PeerKey& peer) { return matches(peer, name); });
  return found == std::end(kPeerKeys) ? std::nullopt : std::optional(*found);
}

std::vector<std::string> present_peer_keys(const PeerKey& peer, const std::vector<std::string>& keys) {
  std::vector<std::string> present;
  std::istringstream words(peer.keys);
  for (std::string key; words >> key;) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) present.push_back(key);
  }
  return present;
}

std::string peer_section(const std::string& name) {
  for (const auto& [peer, section] : kPeerSections) {
    if (name == peer) return section;
  }
  return "";
}

}  // namespace cohort
