"""Writes tests/examples/golden/<family>.json: one GRPO step on tiny models, computed by transformers and TRL.

Log-probabilities come from transformers in float32, one sequence at a time without padding; the loss is
`GRPOTrainer._compute_loss` of TRL 1.16. Weights are a hash of parameter and element index, so that a test can make
the same model from names and shapes. Needs torch, transformers and trl==1.16.0:
    python tools/make_golden/minimal_grpo.py
"""

import json
import math
from pathlib import Path

import numpy as np
import objectives
import torch
import transformers
import trl
from trl.trainer.grpo_trainer import GRPOTrainer

PROMPTS = [[3, 1, 4, 1, 5], [9, 2]]
COMPLETIONS = [[6, 5, 3], [5, 8, 9, 7, 9, 3, 2], [3, 8, 4, 6, 2], [6]]
REWARDS = [1.0, 0.25, -0.5, 2.0]
THETA = 500.0

COMMON = {
    "vocab_size": 29,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 64,
}
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


def hashed(key, count):
    """`count` multiples of 2^-23 in [-1, 1): the upper 24 bits of splitmix64 at key * 2^32 + index."""
    z = np.arange(count, dtype=np.uint64) + (np.uint64(key) << np.uint64(32)) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return torch.from_numpy((z >> np.uint64(40)).astype(np.float64) / 2.0**23 - 1.0)


def fill(model):
    parameters = []
    for key, (name, weight) in enumerate(sorted(model.named_parameters())):
        values = hashed(key, weight.numel()).view(weight.shape)
        is_norm = "norm" in name
        scale = 0.5 if weight.dim() == 1 else math.sqrt(6.0 / weight.shape[1])
        weight.data = ((1.0 if is_norm else 0.0) + scale * values).float()
        parameters.append(
            {"name": name, "shape": list(weight.shape), "scale": scale, "offset": float(is_norm)}
        )
    return parameters


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
    gradients = {}
    for key, (name, weight) in enumerate(sorted(model.named_parameters())):
        gradient = weight.grad.double().flatten()
        projection = (gradient * hashed(1000 + key, len(gradient))).sum().item()
        gradients[name] = {"norm": gradient.norm().item(), "projection": projection}
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
        "grad_norm": math.sqrt(sum(g["norm"] ** 2 for g in gradients.values())),
        "gradients": gradients,
    }


def main():
    folder = Path(__file__).parents[2] / "tests/examples/golden"
    for family in FAMILIES:
        (folder / f"{family}.json").write_text(json.dumps(golden(family), indent=1) + "\n")


if __name__ == "__main__":
    main()
