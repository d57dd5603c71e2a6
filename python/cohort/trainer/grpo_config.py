"""`GRPOConfig`: the settings of TRL 1.16's class of that name, with its defaults."""

from dataclasses import dataclass

from cohort.trainer.base_config import setting as _setting
from cohort.trainer.online_config import OnlineConfig


@dataclass
class GRPOConfig(OnlineConfig):
    """How `GRPOTrainer` trains. docs/python/trainer-settings.md says of each setting whether it acts, has no meaning here
    or is refused; `recipe` sets what only Cohort has. ValueError for values that contradict each other."""

    cast_lm_head_to_fp32: bool = _setting(
        False, "Needs bf16=False, with which everything is computed in float32."
    )

    # vLLM, whose place the engine takes.
    vllm_importance_sampling_correction: bool = _setting(
        True, "Has no meaning here: sampler and trainer agree exactly."
    )
    vllm_importance_sampling_mode: str = _setting("sequence_mask", "Has no meaning here.")
    vllm_importance_sampling_clip_max: float | None = _setting(3.0, "Has no meaning here.")
    vllm_importance_sampling_clip_min: float | None = _setting(None, "Has no meaning here.")
    vllm_importance_sampling_cap: float | None = _setting(None, "Has no meaning here.")

    # The objective.
    delta: float | None = _setting(
        None, "Cap of the ratio where the advantage is negative (arXiv:2505.07291)."
    )
    sapo_temperature_neg: float = _setting(1.05, "SAPO's temperature where the advantage is not positive.")
    sapo_temperature_pos: float = _setting(1.0, "SAPO's temperature where the advantage is positive.")
    vespo_k_pos: float = _setting(2.0, "VESPO's exponent where the advantage is positive.")
    vespo_lambda_pos: float = _setting(3.0, "VESPO's decay where the advantage is positive.")
    vespo_k_neg: float = _setting(3.0, "VESPO's exponent where the advantage is negative.")
    vespo_lambda_neg: float = _setting(2.0, "VESPO's decay where the advantage is negative.")
    importance_sampling_level: str = _setting("token", "What a ratio is taken over: token or sequence.")
    multi_objective_aggregation: str = _setting("sum_then_normalize", "Or normalize_then_sum.")
    scale_rewards: str = _setting(  # or a bool; the annotation is for command lines
        "group", "What centred rewards are divided by: group, batch or none."
    )
    loss_type: str = _setting("dapo", "grpo, dr_grpo, dapo, bnpo, cispo, sapo, luspo or vespo.")
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
    max_tool_calling_iterations: int | None = _setting(
        None, "How often a completion may call tools; the calls after that are not made. None: no limit."
    )

    # The log.
    log_completions_hub_repo: str | None = _setting(None, "Refused.")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.scale_rewards = {True: "group", False: "none"}.get(self.scale_rewards, self.scale_rewards)
