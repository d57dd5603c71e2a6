"""The recipes of `cohort train` that the settings of GRPOTrainer and RLOOTrainer stand for."""

from collections.abc import Mapping
from typing import Any

from cohort.trainer.grpo_config import GRPOConfig
from cohort.trainer.online_config import OnlineConfig
from cohort.trainer.recipe import NEVER, add_keys, dtype, evaluation_keys, length, lora, optimizer
from cohort.trainer.rloo_config import RLOOConfig

#: Settings that have the same name in [objective] and the same default there.
_OBJECTIVE = (
    "num_iterations", "mask_truncated_completions", "importance_sampling_level", "epsilon", "epsilon_high", "delta",
    "sapo_temperature_pos", "sapo_temperature_neg", "vespo_k_pos", "vespo_lambda_pos", "vespo_k_neg", "vespo_lambda_neg",
    "beta", "off_policy_mask_threshold", "top_entropy_quantile", "entropy_coef", "scale_rewards",
    "multi_objective_aggregation", "use_adaptive_entropy", "entropy_coef_min", "entropy_coef_max", "entropy_coef_delta",
    "entropy_target", "sync_ref_model", "ref_model_mixup_alpha", "ref_model_sync_steps",
)  # fmt: skip
_GENERATION = {
    "stop": "stop_strings", "stop_strings": "stop_strings", "stop_token_ids": "stop_token_ids",
    "min_tokens": "min_tokens", "min_new_tokens": "min_tokens", "ignore_eos": "ignore_eos", "temperature": "temperature",
    "top_p": "top_p", "top_k": "top_k", "min_p": "min_p", "include_stop_str_in_output": "include_stop_str_in_output",
    "max_tokens": "max_completion_length", "max_new_tokens": "max_completion_length",
}  # fmt: skip
#: RLOO as in TRL: the clipped ratio of a completion's probabilities; the rewards pay the KL divergence.
_RLOO = {
    "baseline": "group_loo",
    "scale_rewards": "none",
    "kl_place": "reward",
    "importance_sampling_level": "sequence_product",
}


def grpo_recipe(
    args: GRPOConfig,
    rewards: list[dict[str, Any]],
    model: str,
    train: str,
    evaluation: list[str] | None,
    peft: Any = None,
    own: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Sections of a recipe, each a dict of its keys; `reward` is a list of them, and `own` are the keys of functions in place
    of the objective's. ValueError for what has no place in it."""
    objective = _grpo_objective(args, own or {})
    recipe = _recipe(args, objective, rewards, model, train, evaluation, peft)
    if "preset" in objective and args.loss_type == GRPOConfig.loss_type:
        objective.pop("loss_type", None)  # the preset says it
    return recipe


def rloo_recipe(
    args: RLOOConfig,
    rewards: list[dict[str, Any]],
    model: str,
    train: str,
    evaluation: list[str] | None,
    peft: Any = None,
) -> dict[str, Any]:
    """As grpo_recipe."""
    objective = {**_RLOO, **_changed(args, RLOOConfig), "beta": args.beta}
    if args.normalize_advantages:
        objective["batch_whiten"] = True
    return _recipe(args, objective, rewards, model, train, evaluation, peft)


def _recipe(
    args: OnlineConfig,
    objective: dict[str, Any],
    rewards: list[dict[str, Any]],
    model: str,
    train: str,
    evaluation: list[str] | None,
    peft: Any,
) -> dict[str, Any]:
    recipe: dict[str, Any] = {
        "seed": args.seed,
        "model": {"path": model, "dtype": dtype(args)},
        "lora": lora(peft, model),
        "data": _data(args, train, evaluation),
        "rollout": rollout_section(args),
        "environment": {},
        "reward": rewards,
        "objective": objective,
        "optimizer": optimizer(args),
        "train": _train(args, evaluation),
        "dist": {},
        "run": {"dir": args.output_dir},
    }
    return add_keys(recipe, args.recipe)


def _data(args: OnlineConfig, train: str, evaluation: list[str] | None) -> dict[str, Any]:
    section: dict[str, Any] = {"path": train, "shuffle_dataset": bool(args.shuffle_dataset)}
    if evaluation is not None:
        section["eval_path"] = evaluation
    if args.chat_template_kwargs:
        section["chat_template_kwargs"] = args.chat_template_kwargs
    return section


def rollout_section(args: OnlineConfig) -> dict[str, Any]:
    """[rollout] of a recipe. ValueError for keys of generation_kwargs that the engine has not."""
    section = {
        "prompts_per_step": args.rows_per_step,
        "num_generations": args.num_generations,
        "temperature": args.temperature,
        "top_k": max(args.top_k or 0, 0),
        "top_p": args.top_p,
        "min_p": args.min_p or 0.0,
    }
    if args.vllm_structured_outputs_regex is not None:
        section["structured_outputs_regex"] = args.vllm_structured_outputs_regex
    if args.max_completion_length is not None:
        section["max_completion_length"] = args.max_completion_length
    for key, value in (args.generation_kwargs or {}).items():
        if key not in _GENERATION:
            raise ValueError(
                f"generation_kwargs[{key!r}] is not supported; there are {', '.join(sorted(_GENERATION))}"
            )
        section[_GENERATION[key]] = value
    return section


def _changed(args: OnlineConfig, config: type[OnlineConfig]) -> dict[str, Any]:
    """The settings of the objective that are not at their defaults."""
    fields = config.__dataclass_fields__
    return {
        name: getattr(args, name)
        for name in _OBJECTIVE
        if name in fields and getattr(args, name) != fields[name].default
    }


def _grpo_objective(args: GRPOConfig, own: Mapping[str, str]) -> dict[str, Any]:
    section: dict[str, Any] = {**own, **_changed(args, GRPOConfig)}
    if "python" in own:
        if args.loss_type != GRPOConfig.loss_type:
            raise ValueError(
                f"loss_type = {args.loss_type!r} has no effect: loss takes its place; leave it out"
            )
        return section
    section["loss_type"] = _loss_type(args)
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


def _train(args: OnlineConfig, evaluation: list[str] | None) -> dict[str, Any]:
    section: dict[str, Any] = {
        "steps_per_generation": args.mini_batches_per_step,
        "save_steps": NEVER,  # the trainer says when
        "save_total_limit": args.save_total_limit or NEVER,
        "preflight": args.preflight,
        **length(args),
    }
    if args.router_aux_loss_coef is not None:
        section["router_aux_loss_coef"] = args.router_aux_loss_coef
    if evaluation is not None:
        section |= evaluation_keys(args)
        if args.num_generations_eval is not None:
            section["num_generations_eval"] = args.num_generations_eval
    if args.reward_error == "mask":
        section["max_failed_share"] = 1.0
    return section
