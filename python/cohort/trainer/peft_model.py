"""PEFT models whose adapters are trained: their base weights, their adapters and the names of both."""

import os
import shutil
from typing import Any

from cohort.trainer.recipe import check_lora

_PARTS = ("lora_A", "lora_B", "lora_embedding_A", "lora_embedding_B", "lora_magnitude_vector")


def adapter_name(model: Any) -> str:
    """The adapter of a PeftModel that is on. ValueError for several."""
    names = model.active_adapters
    names = names() if callable(names) else names
    if len(names) != 1:
        raise ValueError(
            f"model has {len(names)} active adapters, but one is trained: call set_adapter() first"
        )
    return names[0]


def adapter_config(model: Any) -> Any:
    """The PEFT config of the adapter that is on. ValueError for one that is not LoRA."""
    config = model.peft_config[adapter_name(model)]
    check_lora(config)
    return config


def base_weights(model: Any) -> tuple[Any, dict[str, Any]]:
    """The model under the adapters of a PeftModel, and its weights, shared, by their names without adapters."""
    base, weights = model.get_base_model(), {}
    for name, weight in base.state_dict().items():
        if "lora_" in name or ".modules_to_save." in name:
            continue
        weights[name.replace(".base_layer.", ".").replace(".original_module.", ".")] = weight
    return base, weights


def save_adapter(model: Any, path: str) -> None:
    """Writes the adapter that is on as a PEFT directory, whole or not at all."""
    name, staged = adapter_name(model), path + ".tmp"
    model.save_pretrained(staged, selected_adapters=[name])
    inner = os.path.join(staged, name)  # where PEFT writes all but `default`
    os.replace(inner if os.path.isdir(inner) else staged, path)
    shutil.rmtree(staged, ignore_errors=True)


def weight_names(name: str, adapter: str) -> list[str]:
    """The names that a weight of a PEFT file may have in a model where its adapter is called `adapter`."""
    for part in _PARTS:
        if f".{part}" in name:
            full = name.replace(f".{part}", f".{part}.{adapter}")
            return [full, full + ".weight"]
    module, _, leaf = name.rpartition(".")
    return [f"{module}.modules_to_save.{adapter}.{leaf}", name]
