"""`GRPOConfig`: the settings of TRL 1.16's class of that name, with its defaults."""

import warnings
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import TrainingArguments


def _setting(default: Any, meaning: str) -> Any:
    return field(default=default, metadata={"help": meaning})


@dataclass
class GRPOConfig(TrainingArguments):
    """How `GRPOTrainer` trains. docs/python/trainer-settings.md says of each setting whether it acts, has no meaning here
    or is refused; `recipe` sets what only Cohort has. ValueError for values that contradict each other."""

    _VALID_DICT_FIELDS = TrainingArguments._VALID_DICT_FIELDS + [
        "model_init_kwargs",
        "transformers_continuous_batching_config",
        "generation_kwargs",
        "chat_template_kwargs",
        "recipe",
    ]

    # Of transformers, with TRL's defaults.
    learning_rate: float = _setting(1e-6, "Peak learning rate of AdamW.")
    logging_steps: float = _setting(
        10, "Updates between two lines of the log; below 1 a share of all updates."
    )
    gradient_checkpointing: bool = _setting(True, "Has no meaning here: the engine plans its memory.")
    bf16: bool | None = _setting(
        None, "Compute in bfloat16, with weights in float32; unset: unless fp16 is set."
    )
    remove_unused_columns: bool | None = _setting(False, "Reward functions see the column `prompt` alone.")
    use_liger_kernel: bool = _setting(False, "Has no meaning here.")
    torch_empty_cache_steps: int | None = _setting(None, "Has no meaning here.")
    lr_scheduler_kwargs: dict | str | None = _setting(
        None, "Numbers of the schedule, such as {'num_cycles': 2}."
    )

    # The models.
    model_init_kwargs: dict[str, Any] | str | None = _setting(
        None, "`dtype` and `revision` of a model that is a string."
    )
    trust_remote_code: bool = _setting(False, "Refused: the engine runs no code of a model.")
    router_aux_loss_coef: float | None = _setting(
        None, "Weight of the load-balancing loss of experts; unset: config.json's."
    )
    disable_dropout: bool = _setting(False, "Has no meaning here: the engine has no dropout in GRPO.")
    cast_lm_head_to_fp32: bool = _setting(False, "Refused.")

    # The completions.
    num_generations: int | None = _setting(8, "Completions of each prompt.")
    num_generations_eval: int | None = _setting(None, "The same in evaluations; num_generations when unset.")
    max_completion_length: int | None = _setting(512, "Longest completion, in tokens.")
    shuffle_dataset: bool | None = _setting(True, "Draw a fresh order of the rows for every epoch.")
    generation_batch_size: int | None = _setting(
        None, "Completions that are drawn at once; see steps_per_generation."
    )
    steps_per_generation: int | None = _setting(
        None,
        "Batches of per_device_train_batch_size that are drawn at once; gradient_accumulation_steps when unset.",
    )
    temperature: float = _setting(1.0, "Divides the logits, in sampling and in every log-probability.")
    top_p: float = _setting(
        1.0, "Sample from the smallest set of likeliest tokens with this probability; 1 is off."
    )
    top_k: int = _setting(0, "Sample from the k likeliest tokens only; 0 is off.")
    min_p: float | None = _setting(
        None, "Sample from tokens with at least this share of the likeliest one's probability."
    )
    generation_kwargs: dict | str | None = _setting(
        None,
        "More of sampling: stop (or stop_strings), stop_token_ids, min_tokens (or min_new_tokens), ignore_eos.",
    )
    chat_template_kwargs: dict | str | None = _setting(None, "Variables of the chat template.")
    repetition_penalty: float = _setting(1.0, "Refused unless 1.")
    ds3_gather_for_generation: bool = _setting(True, "Has no meaning here.")
    pad_to_multiple_of: int | str | None = _setting("auto", "Has no meaning here: nothing is padded.")
    cache_implementation: str | None = _setting(None, "Has no meaning here.")
    use_transformers_continuous_batching: bool = _setting(False, "Has no meaning here.")
    transformers_continuous_batching_config: dict | str | None = _setting(None, "Has no meaning here.")
    use_transformers_paged: bool = _setting(False, "Has no meaning here.")

    # vLLM, whose place the engine takes.
    use_vllm: bool = _setting(False, "Has no meaning here: the engine samples.")
    vllm_mode: str = _setting("colocate", "Has no meaning here.")
    vllm_model_impl: str = _setting("vllm", "Has no meaning here.")
    vllm_enable_sleep_mode: bool = _setting(False, "Has no meaning here.")
    vllm_structured_outputs_regex: str | None = _setting(None, "Refused.")
    vllm_server_base_url: str | None = _setting(None, "Has no meaning here.")
    vllm_server_host: str = _setting("0.0.0.0", "Has no meaning here.")
    vllm_server_port: int = _setting(8000, "Has no meaning here.")
    vllm_server_timeout: float = _setting(240.0, "Has no meaning here.")
    vllm_group_port: int = _setting(51216, "Has no meaning here.")
    vllm_gpu_memory_utilization: float = _setting(0.3, "Has no meaning here.")
    vllm_max_model_length: int | None = _setting(None, "Has no meaning here.")
    vllm_tensor_parallel_size: int = _setting(1, "Has no meaning here.")
    vllm_importance_sampling_correction: bool = _setting(
        True, "Has no meaning here: sampler and trainer agree exactly."
    )
    vllm_importance_sampling_mode: str = _setting("sequence_mask", "Has no meaning here.")
    vllm_importance_sampling_clip_max: float | None = _setting(3.0, "Has no meaning here.")
    vllm_importance_sampling_clip_min: float | None = _setting(None, "Has no meaning here.")
    vllm_importance_sampling_cap: float | None = _setting(None, "Has no meaning here.")

    # The objective.
    beta: float = _setting(0.0, "Weight of the KL divergence to the reference; at 0 there is none.")
    num_iterations: int = _setting(
        1, "Passes over the completions of one generation (mu of arXiv:2402.03300)."
    )
    epsilon: float = _setting(0.2, "Lower clip half-width of the ratio.")
    delta: float | None = _setting(
        None, "Cap of the ratio where the advantage is negative (arXiv:2505.07291)."
    )
    epsilon_high: float | None = _setting(None, "Upper clip half-width; epsilon when unset.")
    sapo_temperature_neg: float = _setting(1.05, "SAPO's temperature where the advantage is not positive.")
    sapo_temperature_pos: float = _setting(1.0, "SAPO's temperature where the advantage is positive.")
    vespo_k_pos: float = _setting(2.0, "VESPO's exponent where the advantage is positive.")
    vespo_lambda_pos: float = _setting(3.0, "VESPO's decay where the advantage is positive.")
    vespo_k_neg: float = _setting(3.0, "VESPO's exponent where the advantage is negative.")
    vespo_lambda_neg: float = _setting(2.0, "VESPO's decay where the advantage is negative.")
    importance_sampling_level: str = _setting("token", "What a ratio is taken over: token or sequence.")
    reward_weights: list[float] | None = _setting(
        None, "A weight for each reward function; all 1 when unset."
    )
    multi_objective_aggregation: str = _setting("sum_then_normalize", "Or normalize_then_sum.")
    scale_rewards: str = _setting(  # or a bool; the annotation is for command lines
        "group", "What centred rewards are divided by: group, batch or none."
    )
    loss_type: str = _setting("dapo", "grpo, dr_grpo, dapo, bnpo, cispo, sapo, luspo or vespo.")
    mask_truncated_completions: bool = _setting(
        False, "Leave completions that reached the length limit out of the loss."
    )
    sync_ref_model: bool = _setting(
        False, "Move the reference towards the policy every ref_model_sync_steps updates."
    )
    ref_model_mixup_alpha: float = _setting(0.6, "Share of the policy in sync_ref_model.")
    ref_model_sync_steps: int = _setting(512, "Updates between two moves of sync_ref_model.")
    top_entropy_quantile: float = _setting(
        1.0, "Share of the tokens, those of highest entropy, that have a policy term."
    )
    entropy_coef: float = _setting(0.0, "Weight of the mean entropy, which is subtracted from the loss.")
    use_adaptive_entropy: bool = _setting(False, "Let entropy_coef follow the entropy (arXiv:2505.22312).")
    entropy_coef_min: float = _setting(0.0, "Smallest entropy_coef of use_adaptive_entropy.")
    entropy_coef_max: float = _setting(1.0, "Largest entropy_coef of use_adaptive_entropy.")
    entropy_coef_delta: float = _setting(0.005, "Step of use_adaptive_entropy.")
    entropy_target: float = _setting(
        0.2, "Mean entropy, in nats, that use_adaptive_entropy keeps the policy at."
    )
    off_policy_mask_threshold: float | None = _setting(
        None, "Leave out stale sequences (arXiv:2512.02556 eq. 9)."
    )
    use_bias_correction_kl: bool = _setting(True, "Multiply the KL term by the ratio (arXiv:2512.02556).")
    max_tool_calling_iterations: int | None = _setting(None, "Refused until there are tools.")

    # The log.
    log_completions: bool = _setting(
        False, "Print completions with the log; completions.jsonl has them all anyway."
    )
    log_multimodal: bool = _setting(True, "Has no meaning here.")
    num_completions_to_print: int | None = _setting(None, "Completions to print; all when unset.")
    log_unique_prompts: bool = _setting(False, "Print one completion of each prompt.")
    log_completions_hub_repo: str | None = _setting(None, "Refused.")

    # Of Cohort.
    reward_error: str = _setting(
        "raise",
        "What an exception of a reward function does: raise, end the run; or mask, take its completions out.",
    )
    preflight: bool = _setting(
        False, "Before the first step, score a few completions and warn of what will go wrong."
    )
    recipe: dict[str, Any] | str | None = _setting(
        None,
        "More keys of a recipe (docs/configuration.md), such as {'objective.preset': 'maxrl'}; they win.",
    )

    def __post_init__(self) -> None:
        if self.bf16 is None:
            self.bf16 = not self.fp16
        if not torch.cuda.is_available():
            self.use_cpu = True
        super().__post_init__()
        self.scale_rewards = {True: "group", False: "none"}.get(self.scale_rewards, self.scale_rewards)
        if self.use_transformers_paged:
            warnings.warn("use_transformers_paged has no meaning here", FutureWarning, stacklevel=3)
        if self.reward_error not in ("raise", "mask"):
            raise ValueError(f"reward_error is {self.reward_error!r}, but must be 'raise' or 'mask'")
        self._settle_batches()

    def _settle_batches(self) -> None:
        batch = self.per_device_train_batch_size
        if self.generation_batch_size is not None and self.steps_per_generation is not None:
            raise ValueError("generation_batch_size and steps_per_generation say the same: give one of them")
        if self.generation_batch_size is not None:
            if self.generation_batch_size % batch != 0:
                raise ValueError(
                    f"generation_batch_size ({self.generation_batch_size}) must be a multiple of "
                    f"per_device_train_batch_size ({batch})"
                )
            self.steps_per_generation = self.generation_batch_size // batch
        if self.steps_per_generation is None:
            self.steps_per_generation = self.gradient_accumulation_steps
        self.generation_batch_size = batch * self.steps_per_generation
        if self.num_generations < 2:
            raise ValueError(
                f"num_generations is {self.num_generations}, but a group needs at least 2 completions"
            )
        if self.generation_batch_size % self.num_generations != 0:
            raise ValueError(
                f"generation_batch_size ({self.generation_batch_size}) must be divisible by num_generations "
                f"({self.num_generations}), so that it holds whole groups"
            )
        small, large = sorted((self.steps_per_generation, self.gradient_accumulation_steps))
        if large % small != 0:
            raise ValueError(
                f"of steps_per_generation ({self.steps_per_generation}) and gradient_accumulation_steps "
                f"({self.gradient_accumulation_steps}) one must be a multiple of the other: the engine makes whole updates "
                "of what it drew"
            )
        if self.eval_strategy != "no":
            generations = self.num_generations_eval or self.num_generations
            if self.per_device_eval_batch_size % generations != 0:
                raise ValueError(
                    f"per_device_eval_batch_size ({self.per_device_eval_batch_size}) must be divisible by the number of "
                    f"generations of an evaluation ({generations})"
                )

    @property
    def prompts_per_step(self) -> int:
        """Prompts whose completions the engine draws at once."""
        return self._drawn_batches * self.per_device_train_batch_size // self.num_generations

    @property
    def updates_per_step(self) -> int:
        """Updates that are made of what is drawn at once."""
        return self.mini_batches_per_step * self.num_iterations

    @property
    def mini_batches_per_step(self) -> int:
        """Parts of what is drawn at once, each of which makes one update in each of num_iterations passes."""
        return self._drawn_batches // self.gradient_accumulation_steps

    @property
    def _drawn_batches(self) -> int:
        # Generations of one update have one policy, so that the engine draws them at once.
        return max(self.steps_per_generation, self.gradient_accumulation_steps)
