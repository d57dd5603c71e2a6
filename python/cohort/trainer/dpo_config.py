"""`DPOConfig`: the settings of TRL 1.16's class of that name, with its defaults."""

from dataclasses import dataclass, field

from cohort.trainer.base_config import setting as _setting
from cohort.trainer.offline_config import OfflineConfig


@dataclass
class DPOConfig(OfflineConfig):
    """How `DPOTrainer` trains."""

    learning_rate: float = _setting(1e-6, "Peak learning rate of AdamW.")
    router_aux_loss_coef: float | None = _setting(
        None, "Weight of the load-balancing loss of experts; unset: config.json's."
    )
    disable_dropout: bool = _setting(True, "Has no meaning here: DPO has no dropout.")
    truncation_mode: str = _setting("keep_start", "Refused unless keep_start.")
    padding_free: bool = _setting(False, "Has no meaning here: nothing is padded.")
    precompute_ref_log_probs: bool = _setting(
        False, "Compute the reference's log-probabilities before the first step."
    )
    precompute_ref_batch_size: int | None = _setting(None, "Has no meaning here.")
    loss_type: list[str] | str = field(
        default_factory=lambda: ["sigmoid"],
        metadata={"help": "sigmoid, sigmoid_norm, hinge, ipo or robust; one of them."},
    )
    loss_weights: list[float] | None = _setting(None, "Refused.")
    ld_alpha: float | None = _setting(None, "Weight of the longer completion's surplus (arXiv:2409.06411).")
    f_divergence_type: str = _setting("reverse_kl", "Refused unless reverse_kl.")
    f_alpha_divergence_coef: float = _setting(0.5, "Has no meaning here.")
    label_smoothing: float = _setting(0.0, "Share of wrong labels that `robust` expects.")
    beta: float = _setting(0.1, "Weight of the log-ratios (arXiv:2305.18290 eq. 7).")
    use_weighting: bool = _setting(False, "Refused.")
    discopop_tau: float = _setting(0.05, "Has no meaning here.")
    sync_ref_model: bool = _setting(False, "Refused.")
    ref_model_mixup_alpha: float = _setting(0.6, "Has no meaning here.")
    ref_model_sync_steps: int = _setting(512, "Has no meaning here.")
