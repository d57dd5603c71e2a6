"""The recipe of `cohort train` (docs/configuration.md) that the settings of a trainer stand for."""

import json
import logging
import os
from collections.abc import Mapping
from typing import Any

from cohort.trainer.grpo_config import GRPOConfig

logger = logging.getLogger(__name__)

_NEVER = 1_000_000_000  # steps between what only a caller asks for

#: Settings that have the same name in [objective] and the same default there.
_OBJECTIVE = (
    "num_iterations", "mask_truncated_completions", "importance_sampling_level", "epsilon", "epsilon_high", "delta",
    "sapo_temperature_pos", "sapo_temperature_neg", "vespo_k_pos", "vespo_lambda_pos", "vespo_k_neg", "vespo_lambda_neg",
    "beta", "off_policy_mask_threshold", "top_entropy_quantile", "entropy_coef", "scale_rewards",
    "multi_objective_aggregation", "use_adaptive_entropy", "entropy_coef_min", "entropy_coef_max", "entropy_coef_delta",
    "entropy_target", "sync_ref_model", "ref_model_mixup_alpha", "ref_model_sync_steps",
)  # fmt: skip
_OPTIMIZER = ("learning_rate", "weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon", "max_grad_norm")
_GENERATION = {
    "stop": "stop_strings", "stop_strings": "stop_strings", "stop_token_ids": "stop_token_ids",
    "min_tokens": "min_tokens", "min_new_tokens": "min_tokens", "ignore_eos": "ignore_eos", "temperature": "temperature",
    "top_p": "top_p", "top_k": "top_k", "min_p": "min_p", "include_stop_str_in_output": "include_stop_str_in_output",
    "max_tokens": "max_completion_length", "max_new_tokens": "max_completion_length",
}  # fmt: skip
#: Keys of PEFT's LoraConfig that act, and those that must be at one of these values.
_LORA = {"r": "r", "lora_alpha": "alpha", "use_rslora": "use_rslora", "use_dora": "use_dora"}
_LORA_REFUSED = {
    "bias": ("none",), "fan_in_fan_out": (False,), "layers_to_transform": (None,), "layer_replication": (None,),
    "megatron_config": (None,), "target_parameters": (None, []), "trainable_token_indices": (None,),
    "lora_bias": (False,), "use_qalora": (False,),
}  # fmt: skip


def recipe_of(
    args: GRPOConfig,
    rewards: list[dict[str, Any]],
    model: str,
    train: str,
    evaluation: list[str] | None,
    peft: Any = None,
) -> dict[str, Any]:
    """Sections of a recipe, each a dict of its keys; `reward` is a list of them. ValueError for what has no place in it."""
    recipe: dict[str, Any] = {
        "seed": args.seed,
        "model": {"path": model, "dtype": _dtype(args)},
        "lora": _lora(peft, model),
        "data": _data(args, train, evaluation),
        "rollout": _rollout(args),
        "reward": rewards,
        "objective": _objective(args),
        "optimizer": _optimizer(args),
        "train": _train(args, evaluation),
        "run": {"dir": args.output_dir},
    }
    for key, value in (args.recipe or {}).items():
        section, _, name = key.rpartition(".")
        if section not in recipe or section == "reward":
            raise ValueError(
                f"recipe: {key!r} is no key of a recipe: give 'section.key', such as 'objective.preset'"
            )
        recipe[section][name] = value
    if "preset" in recipe["objective"] and args.loss_type == GRPOConfig.loss_type:
        del recipe["objective"]["loss_type"]  # the preset says it
    return recipe


def to_toml(recipe: Mapping[str, Any]) -> str:
    """The recipe as TOML."""
    text = "".join(
        f"{key} = {_value(value)}\n" for key, value in recipe.items() if not isinstance(value, dict | list)
    )
    for name, section in recipe.items():
        tables = section if isinstance(section, list) else [section] if isinstance(section, dict) else []
        for table in tables:
            if table:
                text += f"\n[[{name}]]\n" if isinstance(section, list) else f"\n[{name}]\n"
                text += "".join(f"{key} = {_value(value)}\n" for key, value in table.items())
    return text


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return (
            "{" + ", ".join(f"{json.dumps(str(key))} = {_value(item)}" for key, item in value.items()) + "}"
        )
    if isinstance(value, list | tuple | set):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str | os.PathLike):
        return json.dumps(os.fspath(value), ensure_ascii=False)
    raise ValueError(f"{value!r} has no place in a recipe")


def _dtype(args: GRPOConfig) -> str:
    wanted = (args.model_init_kwargs or {}).get("dtype", (args.model_init_kwargs or {}).get("torch_dtype"))
    name = str(wanted).removeprefix("torch.")
    if name in ("bfloat16", "float32") and not (name == "float32" and args.bf16):
        return name
    return "bfloat16" if args.bf16 else "float32"


def _lora(peft: Any, model: str) -> dict[str, Any]:
    if peft is None:
        return {}
    kind = str(getattr(getattr(peft, "peft_type", None), "value", getattr(peft, "peft_type", None)))
    if kind != "LORA":
        raise ValueError(
            f"peft_config is a {type(peft).__name__}: the engine has LoRA; give a peft.LoraConfig"
        )
    for key, allowed in _LORA_REFUSED.items():
        if hasattr(peft, key) and getattr(peft, key) not in allowed:
            raise ValueError(f"peft_config.{key} = {getattr(peft, key)!r} is not supported; leave it out")
    if peft.init_lora_weights is not True:
        raise ValueError(
            f"peft_config.init_lora_weights = {peft.init_lora_weights!r} is not supported; leave it out"
        )
    section = {ours: getattr(peft, theirs) for theirs, ours in _LORA.items() if hasattr(peft, theirs)}
    section["alpha"] = float(section["alpha"])
    if peft.lora_dropout:
        logger.warning(
            "peft_config.lora_dropout has no effect: sampler and trainer share one forward, without dropout"
        )
    for theirs in ("target_modules", "exclude_modules", "modules_to_save"):
        names = getattr(peft, theirs, None)
        if names is None and theirs == "target_modules":
            names = _default_targets(model)
        if names:
            section[theirs] = sorted([names] if isinstance(names, str) else names)
    for theirs in ("rank_pattern", "alpha_pattern"):
        if getattr(peft, theirs, None):
            section[theirs] = dict(getattr(peft, theirs))
    return section


def _default_targets(model: str) -> list[str]:
    """PEFT's for the type of the model."""
    from peft.utils import TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING as DEFAULTS

    with open(os.path.join(model, "config.json"), encoding="utf-8") as file:
        model_type = json.load(file).get("model_type")
    if model_type not in DEFAULTS:
        raise ValueError(
            f"peft_config.target_modules is missing, and PEFT has none for {model_type}: set 'all-linear'"
        )
    return DEFAULTS[model_type]


def _data(args: GRPOConfig, train: str, evaluation: list[str] | None) -> dict[str, Any]:
    section: dict[str, Any] = {"path": train, "shuffle_dataset": bool(args.shuffle_dataset)}
    if evaluation is not None:
        section["eval_path"] = evaluation
    if args.chat_template_kwargs:
        section["chat_template_kwargs"] = args.chat_template_kwargs
    return section


def _rollout(args: GRPOConfig) -> dict[str, Any]:
    section = {
        "prompts_per_step": args.prompts_per_step,
        "num_generations": args.num_generations,
        "temperature": args.temperature,
        "top_k": max(args.top_k or 0, 0),
        "top_p": args.top_p,
        "min_p": args.min_p or 0.0,
    }
    if args.max_completion_length is not None:
        section["max_completion_length"] = args.max_completion_length
    for key, value in (args.generation_kwargs or {}).items():
        if key not in _GENERATION:
            raise ValueError(
                f"generation_kwargs[{key!r}] is not supported; there are {', '.join(sorted(_GENERATION))}"
            )
        section[_GENERATION[key]] = value
    return section


def _objective(args: GRPOConfig) -> dict[str, Any]:
    defaults = GRPOConfig.__dataclass_fields__
    section = {"loss_type": _loss_type(args)}
    for name in _OBJECTIVE:
        if getattr(args, name) != defaults[name].default:
            section[name] = getattr(args, name)
    if args.use_bias_correction_kl and args.beta != 0.0:
        section["use_bias_correction_kl"] = True
    return section


def _loss_type(args: GRPOConfig) -> str:
    if args.loss_type != "bnpo":
        return args.loss_type
    if args.gradient_accumulation_steps > 1:
        raise ValueError(
            "loss_type = 'bnpo' with gradient_accumulation_steps > 1 makes the gradient depend on how the batch is cut: "
            "set loss_type = 'dapo', the mean over all tokens of the batch"
        )
    return "dapo"  # of one batch the same


def _optimizer(args: GRPOConfig) -> dict[str, Any]:
    section: dict[str, Any] = {name: float(getattr(args, name)) for name in _OPTIMIZER}
    section["lr_scheduler_type"] = str(getattr(args.lr_scheduler_type, "value", args.lr_scheduler_type))
    if args.lr_scheduler_kwargs:
        section["lr_scheduler_kwargs"] = args.lr_scheduler_kwargs
    if 0 < args.warmup_steps < 1:
        section["warmup_ratio"] = args.warmup_steps
    elif args.warmup_steps:
        section["warmup_steps"] = int(args.warmup_steps)
    return section


def _train(args: GRPOConfig, evaluation: list[str] | None) -> dict[str, Any]:
    section: dict[str, Any] = {
        "steps_per_generation": args.mini_batches_per_step,
        "save_steps": _NEVER,  # the trainer says when
        "save_total_limit": args.save_total_limit or _NEVER,
        "preflight": args.preflight,
    }
    if args.max_steps > 0:
        section["max_steps"] = -(-args.max_steps // args.updates_per_step)
    else:
        section["num_train_epochs"] = float(args.num_train_epochs)
    if args.router_aux_loss_coef is not None:
        section["router_aux_loss_coef"] = args.router_aux_loss_coef
    if evaluation is not None:
        section["eval_steps"] = _NEVER
        if args.num_generations_eval is not None:
            section["num_generations_eval"] = args.num_generations_eval
    if args.reward_error == "mask":
        section["max_failed_share"] = 1.0
    return section
