"""What a trainer writes for the engine before a run: `output_dir/inputs`."""

import os
from collections.abc import Mapping
from typing import Any

from cohort.trainer.data import Rows
from cohort.trainer.recipe import recipe_of, to_toml


def write_inputs(
    args: Any,
    source: Any,
    train: Rows,
    evaluation: dict[str, Rows],
    tables: list[dict[str, Any]],
    peft_config: Any,
    resume: bool,
    own: Mapping[str, str],
) -> str:
    """Writes rows, model and recipe; returns the path of the recipe. ValueError if a run is there and does not go on, or if
    one goes on with other rows."""
    if not resume and os.path.exists(os.path.join(args.output_dir, "config.toml")):
        raise ValueError(
            f"{args.output_dir} holds a run already: continue it with train(resume_from_checkpoint=True) or choose another "
            "output_dir"
        )
    inputs = os.path.join(args.output_dir, "inputs")
    train_file = train.write(os.path.join(inputs, "train.jsonl"), resume)
    files = [rows.write(os.path.join(inputs, rows.name + ".jsonl"), resume) for rows in evaluation.values()]
    rewards = [{key: value for key, value in table.items() if key != "function"} for table in tables]
    recipe = recipe_of(args, rewards, source.directory(inputs), train_file, files or None, peft_config, own)
    path = os.path.join(inputs, "recipe.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(to_toml(recipe))
    return path
