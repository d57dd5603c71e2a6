"""The parts of a recipe (docs/configuration.md) that all trainers write, and its text."""

import json
import os
from collections.abc import Mapping
from typing import Any

from cohort.trainer.base_config import BaseConfig

NEVER = 1_000_000_000  # steps between what only a caller asks for

_OPTIMIZER = ("learning_rate", "weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon", "max_grad_norm")
#: Keys of PEFT's LoraConfig that act, and those that must be at one of these values.
_LORA = {"r": "r", "lora_alpha": "alpha", "use_rslora": "use_rslora", "use_dora": "use_dora"}
_LORA_REFUSED = {
    "bias": ("none",), "fan_in_fan_out": (False,), "layers_to_transform": (None,), "layer_replication": (None,),
    "megatron_config": (None,), "target_parameters": (None, []), "trainable_token_indices": (None,),
    "lora_bias": (False,), "use_qalora": (False,),
}  # fmt: skip


def add_keys(recipe: dict[str, Any], keys: Mapping[str, Any] | None) -> dict[str, Any]:
    """Sets 'section.key' in a recipe. ValueError for what is no key of one."""
    for key, value in (keys or {}).items():
        section, _, name = key.rpartition(".")
        if section not in recipe or section == "reward":
            raise ValueError(
                f"recipe: {key!r} is no key of a recipe: give 'section.key', such as 'train.recompute'"
            )
        recipe[section][name] = value
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


def dtype(args: BaseConfig) -> str:
    """What the engine computes in."""
    wanted = (args.model_init_kwargs or {}).get("dtype", (args.model_init_kwargs or {}).get("torch_dtype"))
    name = str(wanted).removeprefix("torch.")
    if name in ("bfloat16", "float32") and not (name == "float32" and args.bf16):
        return name
    return "bfloat16" if args.bf16 else "float32"


def lora(peft: Any) -> dict[str, Any]:
    """The section [lora] of a LoraConfig. ValueError for what has no place in it."""
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
        section["dropout"] = float(peft.lora_dropout)
    for theirs in ("target_modules", "exclude_modules", "modules_to_save"):
        names = getattr(peft, theirs, None)
        if names:
            section[theirs] = sorted([names] if isinstance(names, str) else names)
    for theirs in ("rank_pattern", "alpha_pattern"):
        if getattr(peft, theirs, None):
            section[theirs] = dict(getattr(peft, theirs))
    return section


def optimizer(args: BaseConfig) -> dict[str, Any]:
    """The section [optimizer]."""
    section: dict[str, Any] = {name: float(getattr(args, name)) for name in _OPTIMIZER}
    section["lr_scheduler_type"] = str(getattr(args.lr_scheduler_type, "value", args.lr_scheduler_type))
    if args.lr_scheduler_kwargs:
        section["lr_scheduler_kwargs"] = args.lr_scheduler_kwargs
    if 0 < args.warmup_steps < 1:
        section["warmup_ratio"] = args.warmup_steps
    elif args.warmup_steps:
        section["warmup_steps"] = int(args.warmup_steps)
    return section


def length(args: BaseConfig) -> dict[str, Any]:
    """The keys of [train] that end a run: max_steps or num_train_epochs."""
    if args.max_steps > 0:
        return {"max_steps": -(-args.max_steps // args.updates_per_step)}
    return {"num_train_epochs": float(args.num_train_epochs)}
