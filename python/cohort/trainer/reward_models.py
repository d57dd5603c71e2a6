"""Reward models among the reward functions of a trainer, as the directories that the engine reads."""

import os
from typing import Any

from cohort.trainer.model_source import write_model


def is_model(function: Any) -> bool:
    """Whether a reward function is a transformers model."""
    return hasattr(function, "save_pretrained") and hasattr(function, "config")


def model_name(model: Any) -> str:
    """The last part of the name that a transformers model was loaded by; its class if it was made."""
    return os.path.basename(os.path.normpath(model.config._name_or_path or type(model).__name__))


def give_tokenizers(tables: list[dict[str, Any]], reward_processing_classes: Any) -> list[Any]:
    """Puts the tokenizer of each reward model into its table, as `tokenizer`; returns one for each reward function, None
    where there is none. ValueError for another number of them than of functions, and for a model object without one."""
    given = reward_processing_classes
    given = (
        list(given)
        if isinstance(given, list | tuple)
        else [given] * (1 if given is not None else len(tables))
    )
    if len(given) != len(tables):
        raise ValueError(
            f"reward_processing_classes has {len(given)} tokenizers, which must match the number of reward functions, "
            f"{len(tables)}: give a list with None for each function that is no model"
        )
    for place, table in enumerate(tables):
        if table.get("type") != "model":
            continue
        if given[place] is None and "model" in table:
            given[place] = _own_tokenizer(table["model"])
        if given[place] is not None:
            table["tokenizer"] = given[place]
    return given


def _own_tokenizer(model: Any) -> Any:
    from transformers import AutoTokenizer

    path = model.config._name_or_path
    if not path:
        raise ValueError(
            f"reward_funcs: a {type(model).__name__} that was not loaded by name has no tokenizer: give it in "
            "reward_processing_classes"
        )
    return AutoTokenizer.from_pretrained(path)


def written(table: dict[str, Any], inputs: str) -> dict[str, Any]:
    """A [[reward]] table without Python objects. Models and tokenizers that are objects are written into `inputs` once."""
    plain = {key: value for key, value in table.items() if key not in ("function", "model", "tokenizer")}
    if "tokenizer" in table:
        plain["path"] = os.path.join(inputs, f"reward-{table['name']}")
        if not os.path.isdir(plain["path"]):
            write_model(plain["path"], table.get("model"), table.get("path"), table["tokenizer"])
    return plain
