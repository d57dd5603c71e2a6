"""The recipes of `cohort sft`, `dpo` and `reward-train` that the settings of their trainers stand for."""

import os
from typing import Any

from cohort.trainer.dpo_config import DPOConfig
from cohort.trainer.offline_config import OfflineConfig
from cohort.trainer.recipe import NEVER, add_keys, dtype, length, lora, optimizer
from cohort.trainer.reward_config import RewardConfig
from cohort.trainer.sft_config import SFTConfig


def sft_recipe(
    args: SFTConfig, has_completions: bool, model: str, train: str, evaluation: list[str] | None, peft: Any
) -> dict[str, Any]:
    """Sections of a recipe, each a dict of its keys. `has_completions`: rows have a column `completion`, which alone is
    learnt where args.completion_only_loss is unset. ValueError for what has no place in it."""
    recipe = _recipe(args, model, train, evaluation)
    recipe["lora"] = lora(peft)
    recipe["train"]["sequences_per_step"] = args.rows_per_step
    if args.assistant_only_loss:
        recipe["train"]["assistant_only_loss"] = True
    elif not (has_completions if args.completion_only_loss is None else args.completion_only_loss):
        recipe["train"]["completion_only_loss"] = False
    if args.loss_type not in ("nll", "chunked_nll"):
        raise ValueError(f"loss_type = {args.loss_type!r} is not supported: set 'nll'")
    _balance(args, recipe)
    _template(args, recipe)
    return add_keys(recipe, args.recipe)


def dpo_recipe(
    args: DPOConfig, model: str, train: str, evaluation: list[str] | None, peft: Any
) -> dict[str, Any]:
    """As sft_recipe."""
    losses = [args.loss_type] if isinstance(args.loss_type, str) else list(args.loss_type)
    if len(losses) != 1:
        raise ValueError(f"loss_type = {losses!r} is not supported: the engine has one loss at a time")
    recipe = _recipe(args, model, train, evaluation)
    recipe["lora"] = lora(peft)
    recipe["objective"] = {"loss_type": losses[0], "beta": float(args.beta)}
    if args.label_smoothing:
        recipe["objective"]["label_smoothing"] = args.label_smoothing
    if args.ld_alpha is not None:
        recipe["objective"]["ld_alpha"] = args.ld_alpha
    recipe["train"]["pairs_per_step"] = args.rows_per_step
    recipe["train"]["precompute_ref_log_probs"] = args.precompute_ref_log_probs
    _balance(args, recipe)
    return add_keys(recipe, args.recipe)


def reward_recipe(args: RewardConfig, model: str, train: str, evaluation: list[str] | None) -> dict[str, Any]:
    """As sft_recipe."""
    recipe = _recipe(args, model, train, evaluation)
    recipe["head"] = {"type": "model"}
    if args.center_rewards_coefficient is not None:
        recipe["head"]["center_rewards_coefficient"] = args.center_rewards_coefficient
    recipe["train"]["rows_per_step"] = args.rows_per_step
    _template(args, recipe)
    return add_keys(recipe, args.recipe)


def _recipe(args: OfflineConfig, model: str, train: str, evaluation: list[str] | None) -> dict[str, Any]:
    if args.train_sampling_strategy not in ("random", "sequential"):
        raise ValueError(
            f"train_sampling_strategy = {args.train_sampling_strategy!r} is not supported: set 'random' or 'sequential'"
        )
    data: dict[str, Any] = {
        "path": train,
        "shuffle_dataset": args.train_sampling_strategy != "sequential",
    }
    loop: dict[str, Any] = {
        "save_steps": NEVER,  # the trainer says when
        "save_total_limit": args.save_total_limit or NEVER,
        **length(args),
    }
    if args.max_length is not None:
        data["max_length"] = args.max_length
    if evaluation is not None:
        data["eval_path"] = evaluation
        loop["eval_steps"] = NEVER
    return {
        "seed": args.seed,
        "model": {"path": model, "dtype": dtype(args)},
        "data": data,
        "optimizer": optimizer(args),
        "train": loop,
        "run": {"dir": args.output_dir},
    }


def _balance(args: Any, recipe: dict[str, Any]) -> None:
    if args.router_aux_loss_coef is not None:
        recipe["train"]["router_aux_loss_coef"] = args.router_aux_loss_coef


def _template(args: Any, recipe: dict[str, Any]) -> None:
    if args.chat_template_path is None:
        return
    if not os.path.isfile(args.chat_template_path):
        raise ValueError(f"chat_template_path: {args.chat_template_path} is no file with a chat template")
    recipe["model"]["chat_template"] = args.chat_template_path
