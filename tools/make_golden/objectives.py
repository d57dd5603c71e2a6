"""Writes tests/objectives/golden/trl.json: advantages, losses, gradients and metrics of TRL 1.16's own code.

Runs `GRPOTrainer._compute_loss` on a stub and the advantage block of `_generate_and_score_completions`, all in
float64. Needs trl==1.16.0 and torch:  python tools/make_golden/objectives.py
"""

import inspect
import json
import textwrap
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import torch
import trl
from trl.trainer import grpo_trainer
from trl.trainer.grpo_trainer import GRPOTrainer

LENGTHS = [5, 1, 0, 4]
MAX_COMPLETION_LENGTH = 6
ADVANTAGES = [0.9, -1.3, 0.4, -0.7]


def padded(rows):
    width = max(LENGTHS)
    return torch.stack([torch.cat([row, torch.zeros(width - len(row), dtype=torch.float64)]) for row in rows])


def stub(case, policy, micro_batches):
    trainer = SimpleNamespace(
        _get_per_token_logps_and_entropies=lambda *a, **k: (policy, torch.zeros_like(policy), None),
        accelerator=SimpleNamespace(gather=lambda x: x, reduce=lambda x, reduction: x, num_processes=1),
        args=SimpleNamespace(delta=None, use_bias_correction_kl=False, steps_per_generation=micro_batches),
        model=SimpleNamespace(training=True),
        _metrics={"train": defaultdict(list)},
        _entropy_bonus_enabled=False,
        aux_loss_enabled=False,
        beta=case["beta"],
        current_gradient_accumulation_steps=micro_batches,
        epsilon_high=case["epsilon_high"],
        epsilon_low=case["epsilon"],
        importance_sampling_level="token",
        loss_type=case["loss_type"],
        max_completion_length=MAX_COMPLETION_LENGTH,
        off_policy_mask_threshold=None,
        top_entropy_quantile=1.0,
        use_vllm=False,
    )
    return trainer


def loss_of_rows(case, rows, data, micro_batches):
    policy, old, ref, mask, advantages = (x[rows] for x in data)
    inputs = {
        "prompt_ids": torch.zeros(len(rows), 1, dtype=torch.long),
        "prompt_mask": torch.ones(len(rows), 1, dtype=torch.long),
        "completion_ids": torch.zeros(policy.shape, dtype=torch.long),
        "completion_mask": mask,
        "advantages": advantages,
        "old_per_token_logps": old,
        "ref_per_token_logps": ref,
        "num_items_in_batch": torch.tensor(sum(LENGTHS)),
    }
    trainer = stub(case, policy, micro_batches)
    return GRPOTrainer._compute_loss(trainer, None, inputs), trainer._metrics["train"]


def loss_case(loss_type, beta, epsilon, epsilon_high, seed):
    case = {"loss_type": loss_type, "beta": beta, "epsilon": epsilon, "epsilon_high": epsilon_high}
    generator = torch.Generator().manual_seed(seed)
    draw = lambda scale: [scale * torch.randn(n, generator=generator, dtype=torch.float64) for n in LENGTHS]
    old_rows = [row - 2.0 for row in draw(0.5)]
    policy_rows = [old + step for old, step in zip(old_rows, draw(0.4))]
    ref_rows = [policy + step for policy, step in zip(policy_rows, draw(0.3))]
    policy = padded(policy_rows).requires_grad_()
    mask = torch.tensor([[int(t < n) for t in range(max(LENGTHS))] for n in LENGTHS])
    data = (policy, padded(old_rows), padded(ref_rows), mask, torch.tensor(ADVANTAGES, dtype=torch.float64))
    loss, metrics = loss_of_rows(case, [0, 1, 2, 3], data, 1)
    loss.backward()
    # The same step cut into two micro-batches of equal size must agree: it does when TRL's windows are whole steps.
    halves = sum(loss_of_rows(case, rows, data, 2)[0] for rows in ([0, 1], [2, 3]))
    assert torch.allclose(loss, halves, rtol=1e-12)
    flat = lambda rows: torch.cat(rows).tolist()
    gradient = [policy.grad[i, :n] for i, n in enumerate(LENGTHS)]
    return case | {
        "policy_logprobs": flat([row.detach() for row in policy_rows]),
        "old_logprobs": flat(old_rows),
        "ref_logprobs": flat(ref_rows),
        "loss": loss.item(),
        "gradient": flat(gradient),
        "metrics": {name: values[0] for name, values in metrics.items() if name != "entropy"},
    }


def advantage_case(scale, group_size, rewards):
    source = textwrap.dedent(inspect.getsource(GRPOTrainer._generate_and_score_completions))
    begin = source.index("    unscorable_mask = torch.isnan")
    end = source.index("    # Slice to keep only the local part of the data")
    values = torch.tensor([[float("nan") if r is None else r] for r in rewards], dtype=torch.float64)
    settings = SimpleNamespace(
        multi_objective_aggregation="sum_then_normalize",
        reward_weights=torch.ones(1, dtype=torch.float64),
        scale_rewards=scale,
    )
    scope = vars(grpo_trainer) | {
        "self": settings,
        "rewards_per_func": values,
        "num_generations": group_size,
        "device": "cpu",
    }
    exec(textwrap.dedent(source[begin:end]), scope)
    return {
        "scale_rewards": scale,
        "group_size": group_size,
        "rewards": rewards,
        "advantages": scope["advantages"].tolist(),
        "reward_mean": torch.nanmean(scope["rewards"]).item(),
        "reward_std": grpo_trainer.nanstd(scope["rewards"]).item(),
    }


def main():
    rewards = [1.0, 0.0, 0.25, 1.0, 0.1, None, 0.9, -2.0, 0.3, 0.2, None, 0.1]
    golden = {
        "trl": trl.__version__,
        "torch": torch.__version__,
        "lengths": LENGTHS,
        "max_completion_length": MAX_COMPLETION_LENGTH,
        "advantages": ADVANTAGES,
        "advantage_cases": [advantage_case(scale, 4, rewards) for scale in ("group", "batch", "none")],
        "loss_cases": [
            loss_case(loss_type, beta, epsilon, epsilon_high, seed)
            for seed, (beta, epsilon, epsilon_high) in enumerate([(0.0, 0.2, 0.2), (0.04, 0.2, 0.28)])
            for loss_type in ("grpo", "dapo", "dr_grpo")
        ],
    }
    path = Path(__file__).parents[2] / "tests/objectives/golden/trl.json"
    path.write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
