"""TRL's own loss, correction and advantage code, cut out of its source file and run on given log-probabilities.

Importing GRPOTrainer would need all that TRL depends on; only the code that computes is wanted, word for word.
"""

import ast
import importlib.util
import math
import pathlib
from collections import defaultdict
from types import SimpleNamespace

import torch

FOLDER = pathlib.Path(importlib.util.find_spec("trl").submodule_search_locations[0]) / "trainer"


def parse(name):
    return ast.parse((FOLDER / name).read_text())


def find(tree, kind, name):
    return next(node for node in ast.walk(tree) if isinstance(node, kind) and node.name == name)


def run(statements, names):
    """Runs statements in `names`, which keeps what they assign."""
    exec(compile(ast.Module(body=statements, type_ignores=[]), "grpo_trainer.py", "exec"), names)
    return names


def names_for(statements):
    return run(statements, {"torch": torch, "math": math})


TRAINER = find(parse("grpo_trainer.py"), ast.ClassDef, "GRPOTrainer")
HELPERS = [find(parse("utils.py"), ast.FunctionDef, name) for name in ("nanmin", "nanmax", "nanstd")]
METHODS = ("_compute_loss", "get_off_policy_mask", "get_gamma_weights", "get_high_entropy_mask")


def make_class():
    methods = [find(TRAINER, ast.FunctionDef, name) for name in METHODS]
    cut = ast.ClassDef(name="Cut", bases=[], keywords=[], body=methods, decorator_list=[], type_params=[])
    return names_for([*HELPERS, ast.fix_missing_locations(cut)])["Cut"]


CUT = make_class()
SCORING = find(TRAINER, ast.FunctionDef, "_generate_and_score_completions")


def assigns(statement, name):
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for node in ast.walk(statement)
    )


def statements_between(first, last):
    """The statements of one block from the one that first assigns `first` to the last that assigns `last`."""
    for node in ast.walk(SCORING):
        block = getattr(node, "body", None)
        if not isinstance(block, list):
            continue
        starts = [i for i, line in enumerate(block) if isinstance(line, ast.Assign) and assigns(line, first)]
        ends = [i for i, line in enumerate(block) if assigns(line, last)]
        if starts and ends:
            return block[starts[0] : ends[-1] + 1]
    raise LookupError(f"no block assigns {first} and {last}")


CORRECTION = statements_between("per_token_logps_diff", "vllm_importance_sampling_ratio")
ADVANTAGES = statements_between("unscorable_mask", "is_std_zero")


class Accelerator:
    num_processes = 1
    sync_gradients = True

    def gather(self, tensor):
        return tensor

    def pad_across_processes(self, tensor, dim, pad_index):
        return tensor

    def reduce(self, tensor, reduction):
        return tensor


class Trainer(CUT):
    """The state that `_compute_loss` reads, for one process and one micro-batch."""

    def __init__(
        self, loss_type, level="token", beta=0.0, epsilon=0.2, epsilon_high=None, mode="none", **settings
    ):
        self.loss_type, self.importance_sampling_level, self.beta = loss_type, level, beta
        self.epsilon_low, self.epsilon_high = epsilon, epsilon if epsilon_high is None else epsilon_high
        self.use_vllm = self.vllm_importance_sampling_correction = mode != "none"
        self.vllm_importance_sampling_mode = mode
        self.vllm_importance_sampling_clip_min = settings.get("clip_min")
        self.vllm_importance_sampling_clip_max = settings.get("clip_max", 3.0)
        self.top_entropy_quantile = settings.get("top_entropy_quantile", 1.0)
        self.off_policy_mask_threshold = settings.get("off_policy_mask_threshold")
        self.entropy_coef = settings.get("entropy_coef", 0.0)
        self._entropy_bonus_enabled = self.entropy_coef != 0.0
        self.max_completion_length = settings.get("max_completion_length")
        self.use_adaptive_entropy = self.aux_loss_enabled = False
        self.current_gradient_accumulation_steps = 1
        self.accelerator, self.model = Accelerator(), SimpleNamespace(training=True)
        self._metrics = defaultdict(lambda: defaultdict(list))
        self.args = SimpleNamespace(
            use_bias_correction_kl=settings.get("use_bias_correction_kl", False),
            delta=settings.get("delta"),
            sapo_temperature_pos=1.0,
            sapo_temperature_neg=1.05,
            vespo_k_pos=2.0,
            vespo_lambda_pos=3.0,
            vespo_k_neg=3.0,
            vespo_lambda_neg=2.0,
            steps_per_generation=1,
        )

    def _get_per_token_logps_and_entropies(self, *args, **kwargs):
        return self.policy, self.entropies, None

    def correction(self, mask, old, sampler):
        names = {
            "torch": torch,
            "math": math,
            "self": self,
            "mask": mask,
            "old_per_token_logps": old,
            "sampling_per_token_logps": sampler,
        }
        return run(CORRECTION, names)["vllm_importance_sampling_ratio"]

    def loss(self, policy, mask, advantages, old, ref, sampler, entropies, num_items_in_batch):
        self.policy, self.entropies = policy, entropies
        ids = torch.zeros_like(mask)
        inputs = {
            "prompt_ids": ids[:, :1],
            "prompt_mask": ids[:, :1],
            "completion_ids": ids,
            "completion_mask": mask,
            "advantages": advantages,
            "old_per_token_logps": old,
            "ref_per_token_logps": ref,
            "num_items_in_batch": num_items_in_batch,
        }
        if sampler is not None:
            inputs["sampling_per_token_logps"] = sampler
            if self.use_vllm:
                inputs["importance_sampling_ratio"] = self.correction(mask, old, sampler)
        return self._compute_loss(None, inputs)


def advantages(rewards, group_size, scale_rewards="group", weights=None, aggregation="sum_then_normalize"):
    """`rewards` [N, C]."""
    count = rewards.shape[1]
    self = SimpleNamespace(
        multi_objective_aggregation=aggregation,
        scale_rewards=scale_rewards,
        reward_funcs=[None] * count,
        reward_weights=torch.ones(count) if weights is None else weights,
    )
    names = names_for([*HELPERS])
    names.update(self=self, rewards_per_func=rewards, num_generations=group_size, device="cpu")
    return torch.nan_to_num(run(ADVANTAGES, names)["advantages"], nan=0.0)
