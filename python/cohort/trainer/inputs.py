"""What a trainer writes for the engine before a run: `output_dir/inputs`."""

import os
from collections.abc import Callable
from typing import Any

from cohort.trainer.data import Rows
from cohort.trainer.recipe import drop_dropout, to_toml


def recipe_path(output_dir: str) -> str:
    """Where the recipe of a trainer's run is."""
    return os.path.join(output_dir, "inputs", "recipe.toml")


def write_inputs(
    output_dir: str,
    source: Any,
    train: Rows,
    evaluation: dict[str, Rows],
    recipe_of: Callable[[str, str, list[str] | None], dict[str, Any]],
    resume: bool,
    has_dropout: bool,
) -> None:
    """Writes rows, model and recipe. ValueError if a run is there and does not go on, or if one goes on with other rows."""
    if not resume and os.path.exists(os.path.join(output_dir, "config.toml")):
        raise ValueError(
            f"{output_dir} holds a run already: continue it with train(resume_from_checkpoint=True) or choose another "
            "output_dir"
        )
    inputs = os.path.join(output_dir, "inputs")
    train_file = train.write(os.path.join(inputs, "train.jsonl"), resume)
    files = [rows.write(os.path.join(inputs, rows.name + ".jsonl"), resume) for rows in evaluation.values()]
    recipe = recipe_of(source.directory(inputs), train_file, files or None)
    adapter = source.adapter_keys(inputs)
    if adapter and "lora" not in recipe:
        raise ValueError("model has adapters, and this trainer trains none: give its base model")
    if adapter:
        recipe["lora"].update(adapter)
    if not has_dropout:
        drop_dropout(recipe.get("lora", {}))
    with open(recipe_path(output_dir), "w", encoding="utf-8") as file:
        file.write(to_toml(recipe))
