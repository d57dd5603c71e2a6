"""`OnlineConfig`: the settings that GRPOConfig and RLOOConfig share."""

import warnings
from dataclasses import dataclass

from cohort.trainer.base_config import BaseConfig
from cohort.trainer.base_config import setting as _setting


@dataclass
class OnlineConfig(BaseConfig):
    """How completions are drawn, scored and trained on."""

    _VALID_DICT_FIELDS = BaseConfig._VALID_DICT_FIELDS + [
        "transformers_continuous_batching_config",
        "generation_kwargs",
        "chat_template_kwargs",
    ]

    # Of transformers, with TRL's defaults.
    learning_rate: float = _setting(1e-6, "Peak learning rate of AdamW.")
    remove_unused_columns: bool | None = _setting(False, "Reward functions see the column `prompt` alone.")

    # The model.
    router_aux_loss_coef: float | None = _setting(
        None, "Weight of the load-balancing loss of experts; unset: config.json's."
    )
    disable_dropout: bool = _setting(False, "Has no meaning here: the engine has no dropout in GRPO.")

    # The completions.
    num_generations: int | None = _setting(8, "Completions of each prompt.")
    num_generations_eval: int | None = _setting(None, "The same in evaluations; num_generations when unset.")
    max_completion_length: int | None = _setting(512, "Longest completion, in tokens.")
    shuffle_dataset: bool | None = _setting(True, "Draw a fresh order of the rows for every epoch.")
    generation_batch_size: int | None = _setting(
        None, "Completions that all processes draw at once; see steps_per_generation."
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
    cache_implementation: str | None = _setting(None, "Has no meaning here.")
    use_transformers_continuous_batching: bool = _setting(False, "Has no meaning here.")
    transformers_continuous_batching_config: dict | str | None = _setting(None, "Has no meaning here.")
    use_transformers_paged: bool = _setting(False, "Has no meaning here.")

    # vLLM, whose place the engine takes.
    use_vllm: bool = _setting(False, "Has no meaning here: the engine samples.")
    vllm_mode: str = _setting("colocate", "Has no meaning here.")
    vllm_model_impl: str = _setting("vllm", "Has no meaning here.")
    vllm_enable_sleep_mode: bool = _setting(False, "Has no meaning here.")
    vllm_structured_outputs_regex: str | None = _setting(
        None, "Regular expression that every completion matches in whole; needs no vLLM."
    )
    vllm_server_base_url: str | None = _setting(None, "Has no meaning here.")
    vllm_server_host: str = _setting("0.0.0.0", "Has no meaning here.")
    vllm_server_port: int = _setting(8000, "Has no meaning here.")
    vllm_server_timeout: float = _setting(240.0, "Has no meaning here.")
    vllm_group_port: int = _setting(51216, "Has no meaning here.")
    vllm_gpu_memory_utilization: float = _setting(0.3, "Has no meaning here.")
    vllm_max_model_length: int | None = _setting(None, "Has no meaning here.")
    vllm_tensor_parallel_size: int = _setting(1, "Has no meaning here.")

    # The objective.
    beta: float = _setting(0.0, "Weight of the KL divergence to the reference; at 0 there is none.")
    num_iterations: int = _setting(
        1, "Passes over the completions of one generation (mu of arXiv:2402.03300)."
    )
    epsilon: float = _setting(0.2, "Lower clip half-width of the ratio.")
    epsilon_high: float | None = _setting(None, "Upper clip half-width; epsilon when unset.")
    reward_weights: list[float] | None = _setting(
        None, "A weight for each reward function; all 1 when unset."
    )
    mask_truncated_completions: bool = _setting(
        False, "Leave completions that reached the length limit out of the loss."
    )
    sync_ref_model: bool = _setting(
        False, "Move the reference towards the policy every ref_model_sync_steps updates."
    )
    ref_model_mixup_alpha: float = _setting(0.6, "Share of the policy in sync_ref_model.")
    ref_model_sync_steps: int = _setting(512, "Updates between two moves of sync_ref_model.")

    # The log.
    log_completions: bool = _setting(
        False, "Print completions with the log; completions.jsonl has them all anyway."
    )
    log_multimodal: bool = _setting(True, "Has no meaning here.")
    num_completions_to_print: int | None = _setting(None, "Completions to print; all when unset.")
    log_unique_prompts: bool = _setting(False, "Print one completion of each prompt.")

    # Of Cohort.
    reward_error: str = _setting(
        "raise",
        "What an exception of a reward function does: raise, end the run; or mask, take its completions out.",
    )
    preflight: bool = _setting(
        False, "Before the first step, score a few completions and warn of what will go wrong."
    )

    def __post_init__(self) -> None:
        if self.load_best_model_at_end and self.metric_for_best_model is None:
            self.metric_for_best_model = "reward"
        if self.metric_for_best_model in ("loss", "eval_loss"):
            raise ValueError(
                f"metric_for_best_model = {self.metric_for_best_model!r}: evaluations compute rewards and no loss; set "
                "'reward'"
            )
        super().__post_init__()
        if self.use_transformers_paged:
            warnings.warn("use_transformers_paged has no meaning here", FutureWarning, stacklevel=3)
        if self.reward_error not in ("raise", "mask"):
            raise ValueError(f"reward_error is {self.reward_error!r}, but must be 'raise' or 'mask'")
        self._settle_batches()

    def _settle_batches(self) -> None:
        batch = self._batch_size
        if self.generation_batch_size is not None and self.steps_per_generation is not None:
            raise ValueError("generation_batch_size and steps_per_generation say the same: give one of them")
        if self.generation_batch_size is not None:
            if self.generation_batch_size % batch != 0:
                raise ValueError(
                    f"generation_batch_size ({self.generation_batch_size}) must be a multiple of "
                    f"per_device_train_batch_size{self._times_processes} ({batch})"
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
            eval_batch = self.per_device_eval_batch_size * self.world_size
            if eval_batch % generations != 0:
                raise ValueError(
                    f"per_device_eval_batch_size{self._times_processes} ({eval_batch}) must be divisible by the number of "
                    f"generations of an evaluation ({generations})"
                )

    @property
    def _batch_size(self) -> int:
        """Completions of a batch of all processes."""
        return self.per_device_train_batch_size * self.world_size

    @property
    def _times_processes(self) -> str:
        return f" times {self.world_size} processes" if self.world_size > 1 else ""

    @property
    def rows_per_step(self) -> int:
        """Prompts whose completions the engine draws at once."""
        return self._drawn_batches * self._batch_size // self.num_generations

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

    @property
    def samples_per_update(self) -> int:
        """Completions that train_samples_per_second counts in an update."""
        return self.generation_batch_size
