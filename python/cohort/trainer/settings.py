"""What each setting of TRL's configs means here: it acts, it has no meaning, or it is refused. The page
docs/python/trainer-settings.md is made of these lists and those of offline_settings.py: `python -m cohort.trainer`."""

from dataclasses import fields
from typing import Any

from cohort.trainer.offline_settings import OWN
from cohort.trainer.setting_lists import SettingLists

_LAYOUT = "the engine has processes of its own, and no torch module to wrap"
_LOADER = "rows are read by the engine, not by a DataLoader"
_SAMPLER = "the engine samples; there is no other inference engine"
_EXACT = "sampler and trainer agree exactly, so that every weight would be 1"
_MEMORY = "the engine plans its memory; recipe={'train.recompute': True} trades time for it"
_PACKED = "rows are packed, not padded"

#: Settings that act as they do in TRL, by the place where they act.
ACTS: dict[str, tuple[str, ...]] = {
    "the model": ("model_init_kwargs", "router_aux_loss_coef", "bf16", "cast_lm_head_to_fp32", "seed"),
    "the completions": (
        "num_generations",
        "num_generations_eval",
        "max_completion_length",
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "vllm_structured_outputs_regex",
        "generation_kwargs",
        "chat_template_kwargs",
        "max_tool_calling_iterations",
        "generation_batch_size",
        "steps_per_generation",
        "per_device_train_batch_size",
        "gradient_accumulation_steps",
        "per_device_eval_batch_size",
    ),
    "the data": ("shuffle_dataset", "remove_unused_columns"),
    "the objective": (
        "beta",
        "num_iterations",
        "epsilon",
        "delta",
        "epsilon_high",
        "sapo_temperature_neg",
        "sapo_temperature_pos",
        "vespo_k_pos",
        "vespo_lambda_pos",
        "vespo_k_neg",
        "vespo_lambda_neg",
        "importance_sampling_level",
        "reward_weights",
        "multi_objective_aggregation",
        "scale_rewards",
        "loss_type",
        "mask_truncated_completions",
        "sync_ref_model",
        "ref_model_mixup_alpha",
        "ref_model_sync_steps",
        "top_entropy_quantile",
        "entropy_coef",
        "use_adaptive_entropy",
        "entropy_coef_min",
        "entropy_coef_max",
        "entropy_coef_delta",
        "entropy_target",
        "off_policy_mask_threshold",
        "use_bias_correction_kl",
    ),
    "the optimizer": (
        "learning_rate",
        "lr_scheduler_type",
        "lr_scheduler_kwargs",
        "warmup_steps",
        "weight_decay",
        "adam_beta1",
        "adam_beta2",
        "adam_epsilon",
        "max_grad_norm",
        "optim",
    ),
    "the loop": (
        "output_dir",
        "max_steps",
        "num_train_epochs",
        "logging_strategy",
        "logging_steps",
        "logging_first_step",
        "eval_strategy",
        "eval_steps",
        "eval_delay",
        "eval_on_start",
        "save_strategy",
        "save_steps",
        "save_total_limit",
        "load_best_model_at_end",
        "metric_for_best_model",
        "greater_is_better",
        "resume_from_checkpoint",
        "restore_callback_states_from_checkpoint",
    ),
    "the log": (
        "report_to",
        "run_name",
        "project",
        "trackio_space_id",
        "trackio_bucket_id",
        "trackio_static_space_id",
        "disable_tqdm",
        "log_level",
        "log_completions",
        "num_completions_to_print",
        "log_unique_prompts",
    ),
    "the Hub": ("push_to_hub", "hub_model_id", "hub_token", "hub_private_repo", "hub_revision"),
    "only here": ("reward_error", "preflight", "recipe"),
}

#: Settings without a meaning here, with the reason. One that is not at its default is named in one line of the log.
IGNORED: dict[str, str] = {
    **dict.fromkeys(
        (
            "use_vllm",
            "vllm_mode",
            "vllm_model_impl",
            "vllm_enable_sleep_mode",
            "vllm_server_base_url",
            "vllm_server_host",
            "vllm_server_port",
            "vllm_server_timeout",
            "vllm_group_port",
            "vllm_gpu_memory_utilization",
            "vllm_max_model_length",
            "vllm_tensor_parallel_size",
            "cache_implementation",
            "use_transformers_continuous_batching",
            "transformers_continuous_batching_config",
            "use_transformers_paged",
            "use_cache",
            "ds3_gather_for_generation",
        ),
        _SAMPLER,
    ),
    **dict.fromkeys(
        (
            "vllm_importance_sampling_correction",
            "vllm_importance_sampling_mode",
            "vllm_importance_sampling_clip_max",
            "vllm_importance_sampling_clip_min",
            "vllm_importance_sampling_cap",
        ),
        _EXACT,
    ),
    **dict.fromkeys(
        (
            "dataloader_drop_last",
            "dataloader_num_workers",
            "dataloader_pin_memory",
            "dataloader_persistent_workers",
            "dataloader_prefetch_factor",
            "dataloader_multiprocessing_context",
            "dataloader_in_order",
            "label_names",
            "train_sampling_strategy",
            "length_column_name",
            "include_num_input_tokens_seen",
            "prediction_loss_only",
            "include_for_metrics",
            "batch_eval_metrics",
            "eval_do_concat_batches",
            "eval_use_gather_object",
            "eval_accumulation_steps",
        ),
        _LOADER,
    ),
    **dict.fromkeys(
        (
            "ddp_find_unused_parameters",
            "ddp_bucket_cap_mb",
            "ddp_broadcast_buffers",
            "ddp_static_graph",
            "ddp_backend",
            "ddp_timeout",
            "fsdp",
            "fsdp_config",
            "deepspeed",
            "accelerator_config",
            "parallelism_config",
            "local_rank",
            "average_tokens_across_devices",
            "log_on_each_node",
            "log_level_replica",
            "save_on_each_node",
            "torch_compile",
            "torch_compile_backend",
            "torch_compile_mode",
            "tf32",
            "use_liger_kernel",
            "liger_kernel_config",
            "use_cpu",
        ),
        _LAYOUT,
    ),
    **dict.fromkeys(
        (
            "gradient_checkpointing",
            "gradient_checkpointing_kwargs",
            "torch_empty_cache_steps",
            "skip_memory_metrics",
        ),
        _MEMORY,
    ),
    "pad_to_multiple_of": _PACKED,
    "disable_dropout": "the engine has no dropout in GRPO",
    "bf16_full_eval": "evaluations compute as training does",
    "full_determinism": "every run is deterministic",
    "enable_jit_checkpoint": "a run that is killed goes on from its last checkpoint with the same bytes",
    "logging_nan_inf_filter": "the log shows what was computed",
    "log_multimodal": "there are texts alone",
    "debug": "its choices are tools for torch modules",
    "do_train": "train() trains",
    "do_eval": "evaluate() and eval_strategy evaluate",
    "do_predict": "there is no predict()",
    "hub_strategy": "the final model is pushed, at the end",
    "hub_always_push": "the final model is pushed, at the end",
}

#: Settings that must stay at their defaults, with what to do instead.
REFUSED: dict[str, str] = {
    "trust_remote_code": "the engine has the families of docs/models.md and runs no code of a model",
    "repetition_penalty": "it is not in the engine: score repetition with the built-in reward 'repetition'",
    "log_completions_hub_repo": "upload completions.jsonl yourself",
    "optim_args": "set adam_beta1, adam_beta2, adam_epsilon and weight_decay",
    "optim_target_modules": "use peft_config to train a part of the model",
    "label_smoothing_factor": "it has no meaning for a policy's loss",
    "fp16": "use bf16, which needs no loss scaling",
    "fp16_full_eval": "use bf16",
    "neftune_noise_alpha": "sampler and trainer share one forward, without noise",
    "auto_find_batch_size": "lower per_device_train_batch_size",
    "ignore_data_skip": "a resumed run goes on with the row that comes next",
    "data_seed": "seed decides the order of the rows, too",
    "save_only_model": "a checkpoint without the optimizer cannot be resumed; save_model() writes the model alone",
}

#: Losses that sum over tokens, not over the means of sequences.
_TOKEN_SUMS = ("bnpo", "dr_grpo", "dapo", "cispo")

#: Optimizers that are AdamW.
ADAMW = ("adamw_torch", "adamw_torch_fused", "adamw_hf", "adamw_apex_fused")


def lists_of(config_class: type) -> SettingLists:
    """What each setting of a config means."""
    own = OWN.get(config_class.__name__)
    lists = SettingLists(ACTS, IGNORED, REFUSED)
    return (lists + own if own is not None else lists).of({one.name for one in fields(config_class)})


def check_settings(args: Any) -> list[str]:
    """Refuses what cannot act; returns a line for each setting that is not at its default and has no meaning here, and for
    settings that hardly anyone wants together."""
    lists = lists_of(type(args))
    default = type(args)(output_dir=args.output_dir, report_to="none")
    for name, instead in lists.refused.items():
        if getattr(args, name) != getattr(default, name):
            raise ValueError(f"{name} = {getattr(args, name)!r} is not supported: {instead}")
    if getattr(args, "cast_lm_head_to_fp32", False) and args.bf16:
        raise ValueError(
            "cast_lm_head_to_fp32 needs bf16=False, with which everything is computed in float32"
        )
    if str(getattr(args.optim, "value", args.optim)) not in ADAMW:
        raise ValueError(
            f"optim = {args.optim!s} is not supported: the engine has AdamW; set optim='adamw_torch'"
        )
    return [
        f"{name} has no effect: {why}"
        for name, why in lists.ignored.items()
        if name != "do_eval"  # eval_strategy sets it
        and getattr(args, name) != getattr(default, name)
    ] + _doubts(args)


def _doubts(args: Any) -> list[str]:
    if getattr(args, "importance_sampling_level", None) != "sequence" or args.loss_type not in _TOKEN_SUMS:
        return []
    return [
        f"importance_sampling_level = 'sequence' with loss_type = {args.loss_type!r}, which sums over tokens, weights each "
        "sequence by its completion length; for GSPO (arXiv:2507.18071) set loss_type='grpo'"
    ]


def page() -> str:
    """docs/python/trainer-settings.md."""
    from cohort.trainer import DPOConfig, GRPOConfig, RewardConfig, RLOOConfig, SFTConfig

    lines = [
        "# Settings of the trainers",
        "",
        "Made by `python -m cohort.trainer` from the lists in python/cohort/trainer/settings.py and offline_settings.py: change them",
        "there. Every field of TRL 1.16's configs and of transformers' `TrainingArguments` is in one of three lists.",
    ]
    shared = lists_of(GRPOConfig)
    lines += ["", "## `GRPOConfig`", *_section(shared)]
    for config in (RLOOConfig, SFTConfig, DPOConfig, RewardConfig):
        own = {one.name for one in fields(config)}
        changed = {name for name in own if _meaning(lists_of(config), name) != _meaning(shared, name)}
        lines += ["", f"## `{config.__name__}`", "", "As for `GRPOConfig`, but:"]
        lines += _section(lists_of(config).of(changed))
    return "\n".join(lines) + "\n"


def _meaning(lists: SettingLists, name: str) -> str | None:
    acts = any(name in names for names in lists.acts.values())
    return "acts" if acts else lists.ignored.get(name, lists.refused.get(name))


def _section(lists: SettingLists) -> list[str]:
    lines = ["", "Settings that act:", ""]
    for place, names in lists.acts.items():
        lines += [f"- {place}: " + ", ".join(f"`{name}`" for name in names)]
    if lists.ignored:
        lines += [
            "",
            "Settings without a meaning here; a value other than the default is named in one line of the log:",
            "",
        ]
        lines += ["| setting | why |", "|---|---|"]
        lines += [f"| `{name}` | {why} |" for name, why in lists.ignored.items()]
    if lists.refused:
        lines += ["", "Settings that are refused with a `ValueError` unless they are at their defaults:", ""]
        lines += ["| setting | instead |", "|---|---|"]
        lines += [f"| `{name}` | {instead} |" for name, instead in lists.refused.items()]
    return lines
