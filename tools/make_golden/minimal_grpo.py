"""Writes tests/examples/golden/<family>.json: one GRPO step on tiny models, computed by transformers and TRL.

Log-probabilities come from transformers in float32, one sequence at a time without padding; the loss is
`GRPOTrainer._compute_loss` of TRL 1.16. Weights: see hashed_model.py. Needs torch, transformers and trl==1.16.0:
    python tools/make_golden/minimal_grpo.py
"""

import json
from pathlib import Path

import objectives
import torch
import transformers
import trl
from hashed_model import COMMON, THETA, fill, gradients_of, hashed, whole_norm
from trl.trainer.grpo_trainer import GRPOTrainer

PROMPTS = [[3, 1, 4, 1, 5], [9, 2]]
COMPLETIONS = [[6, 5, 3], [5, 8, 9, 7, 9, 3, 2], [3, 8, 4, 6, 2], [6]]
REWARDS = [1.0, 0.25, -0.5, 2.0]

FAMILIES = {
    "llama": {"tie_word_embeddings": False},
    "qwen2": {"tie_word_embeddings": True},
    "qwen3": {"tie_word_embeddings": False, "head_dim": 10},
}
OBJECTIVES = {
    "llama": {
        "loss_type": "grpo",
        "scale_rewards": "group",
        "beta": 0.04,
        "epsilon": 0.2,
        "epsilon_high": 0.2,
    },
    "qwen2": {
        "loss_type": "dapo",
        "scale_rewards": "none",
        "beta": 0.0,
        "epsilon": 0.2,
        "epsilon_high": 0.28,
    },
    "qwen3": {
        "loss_type": "dr_grpo",
        "scale_rewards": "batch",
        "beta": 0.1,
        "epsilon": 0.1,
        "epsilon_high": 0.3,
    },
}


def logprobs_of(model, temperature):
    rows = []
    for i, completion in enumerate(COMPLETIONS):
        prompt = PROMPTS[i // 2]
        logits = model(torch.tensor([prompt + completion])).logits[0, len(prompt) - 1 : -1] / temperature
        rows.append(logits.log_softmax(-1).gather(1, torch.tensor(completion).unsqueeze(1)).squeeze(1))
    return rows


def padded(rows):
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)


def assert_features_matter(model, temperature):
    """Every part of the model that a reader could forget moves some log-probability by more than 1e-2."""
    reference = torch.cat(logprobs_of(model, temperature))
    for part in ("q_norm", "k_norm", "q_proj.bias", "k_proj.bias", "v_proj.bias", "layernorm", "model.norm"):
        weights = [p for name, p in model.named_parameters() if part in name]
        saved = [p.data for p in weights]
        for p in weights:
            p.data = torch.full_like(p, 0.0 if "bias" in part else 1.0)
        change = (torch.cat(logprobs_of(model, temperature)) - reference).abs().max()
        assert not weights or change > 1e-2, part
        for p, data in zip(weights, saved):
            p.data = data


def golden(family):
    theta = {"rope_parameters": {"rope_theta": THETA, "rope_type": "default"}}
    config = COMMON | FAMILIES[family] | {"model_type": family}
    built = transformers.AutoConfig.for_model(**(config | theta))
    model = transformers.AutoModelForCausalLM.from_config(
        built, attn_implementation="eager", dtype=torch.float32
    )
    parameters = fill(model)
    objective = OBJECTIVES[family] | {"temperature": 0.8, "max_completion_length": 9}
    with torch.no_grad():
        assert_features_matter(model, objective["temperature"])
    policy_rows = logprobs_of(model, objective["temperature"])
    shifted = lambda key: [
        row.detach() + 0.3 * hashed(key + i, len(row)).float() for i, row in enumerate(policy_rows)
    ]
    old_rows, ref_rows = shifted(900), shifted(950)

    advantages = objectives.advantage_case(objective["scale_rewards"], 2, REWARDS)["advantages"]
    policy = padded(policy_rows)
    trainer = objectives.stub(objective, policy, 1)
    trainer.max_completion_length = objective["max_completion_length"]
    inputs = {
        "prompt_ids": torch.zeros(4, 1, dtype=torch.long),
        "prompt_mask": torch.ones(4, 1, dtype=torch.long),
        "completion_ids": torch.zeros(policy.shape, dtype=torch.long),
        "completion_mask": padded([torch.ones(len(c), dtype=torch.long) for c in COMPLETIONS]),
        "advantages": torch.tensor(advantages, dtype=torch.float32),
        "old_per_token_logps": padded(old_rows),
        "ref_per_token_logps": padded(ref_rows),
        "num_items_in_batch": torch.tensor(sum(map(len, COMPLETIONS))),
    }
    loss = GRPOTrainer._compute_loss(trainer, None, inputs)
    loss.backward()
    gradients = gradients_of(model)
    as_lists = lambda rows: [row.tolist() for row in rows]
    return {
        "versions": {
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "trl": trl.__version__,
        },
        "config": config | (theta if family != "llama" else {"rope_theta": THETA}),
        "parameters": parameters,
        "job": objective
        | {
            "prompts": PROMPTS,
            "num_generations": 2,
            "completions": COMPLETIONS,
            "rewards": REWARDS,
            "old_logprobs": as_lists(old_rows),
            "ref_logprobs": as_lists(ref_rows),
        },
        "advantages": advantages,
        "policy_logprobs": as_lists(policy_rows),
        "loss": loss.item(),
        "grad_norm": whole_norm(gradients),
        "gradients": gradients,
    }


def main():
    folder = Path(__file__).parents[2] / "tests/examples/golden"
    for family in FAMILIES:
        (folder / f"{family}.json").write_text(json.dumps(golden(family), indent=1) + "\n")


if __name__ == "__main__":
    main()
