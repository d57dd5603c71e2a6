"""What the settings mean that SFTConfig, DPOConfig, RewardConfig and RLOOConfig have besides those of settings.py."""

from cohort.trainer.setting_lists import SettingLists

_PACKED = "rows are packed, not padded"
_ROWS = "the engine reads and tokenizes rows itself"
_MEMORY = "the engine plans its memory; recipe={'train.recompute': True} trades time for it"
_OFFLINE = SettingLists(
    acts={"the data": ("max_length", "train_sampling_strategy")},
    ignored={
        "dataset_num_proc": _ROWS,
        "activation_offloading": _MEMORY,
        "pad_token": _PACKED,
        "padding_free": _PACKED,
    },
    refused={"truncation_mode": "sequences keep their start"},
)

#: Lists of each config besides those of settings.py.
OWN: dict[str, SettingLists] = {
    "SFTConfig": _OFFLINE
    + SettingLists(
        acts={
            "the data": ("dataset_text_field", "chat_template_path"),
            "the objective": ("completion_only_loss", "assistant_only_loss", "loss_type"),
        },
        ignored={
            "shuffle_dataset": "train_sampling_strategy shuffles",
            "packing_strategy": "there is no packing into blocks",
            "eval_packing": "there is no packing into blocks",
        },
        refused={
            "packing": "rows are packed without padding anyway; a batch has per_device_train_batch_size rows",
            "dataset_kwargs": "give rows that are ready: prompt and completion, messages or text",
            "eos_token": "the model's own token ends a completion",
        },
    ),
    "DPOConfig": _OFFLINE
    + SettingLists(
        acts={
            "the objective": (
                "loss_type",
                "beta",
                "label_smoothing",
                "ld_alpha",
                "precompute_ref_log_probs",
            )
        },
        ignored={
            "precompute_ref_batch_size": "the engine cuts batches by tokens",
            "f_alpha_divergence_coef": "f_divergence_type is refused",
            "discopop_tau": "loss_type 'discopop' is not in the engine",
            "ref_model_mixup_alpha": "sync_ref_model is refused",
            "ref_model_sync_steps": "sync_ref_model is refused",
        },
        refused={
            "loss_weights": "the engine has one loss at a time",
            "f_divergence_type": "the engine has the reverse KL divergence",
            "use_weighting": "WPO is not in the engine",
            "sync_ref_model": "the reference is the model as it is before the first step",
        },
    ),
    "RewardConfig": _OFFLINE
    + SettingLists(
        acts={"the objective": ("center_rewards_coefficient",), "the data": ("chat_template_path",)},
        ignored={},
        refused={"eos_token": "the model's own token ends a completion"},
    ),
    "RLOOConfig": SettingLists(
        acts={"the objective": ("normalize_advantages",)},
        ignored={},
        refused={"reward_clip_range": "clip in the reward function"},
    ),
}
