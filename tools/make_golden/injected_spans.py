"""Writes tests/train/golden/injected_spans.json: the gradient of completions with injected spans, under a mask.

Log-probabilities come from transformers in float32, one sequence at a time without padding, for every token of a
completion. The loss is TRL 1.16's `_compute_loss` with a mask that is 0 at injected tokens, one `loss_type` for each
`objective.aggregation`; the mean over the tokens of each group, which TRL lacks, is written out. Weights: see
hashed_model.py. Needs .venv-test:
    PYTHONPATH=tests/python .venv-test/bin/python tools/make_golden/injected_spans.py
"""

import json
from pathlib import Path

import torch
import transformers
import trl_source
from hashed_model import COMMON, THETA, fill, gradients_of, hashed, whole_norm

PROMPTS = [[3, 1, 4, 1, 5], [9, 2]]
GROUP_SIZE = 3
# Under each token s where it was sampled and i where it was injected.
COMPLETIONS = [
    ([6, 5, 3, 8, 8, 2, 7], "sssiiss"),
    ([5, 8, 9], "sss"),
    ([4, 4, 7, 9, 3], "iisss"),
    ([3, 8, 4, 6, 2, 2, 1, 1, 0, 5, 6], "sisiisssiis"),
    ([6, 1, 7], "sii"),
    ([11, 12], "ii"),
]
FILTERED = 3  # the completion whose tokens were drawn from kept sets
REWARDS = [1.0, 0.25, -0.5, 2.0, 0.0, 0.5]
TEMPERATURE = 0.8
MAX_COMPLETION_LENGTH = 9
OBJECTIVE = {"beta": 0.04, "epsilon": 0.2, "epsilon_high": 0.28}
LOSS_TYPES = {
    ("seq_mean_token_mean", "batch"): "grpo",
    ("token_mean", "batch"): "dapo",
    ("token_mean", "micro_batch"): "bnpo",
    ("seq_mean_token_sum", "batch"): "luspo",
    ("seq_mean_token_sum_norm", "batch"): "dr_grpo",
}


def is_sampled(row):
    return torch.tensor([origin == "s" for origin in COMPLETIONS[row][1]])


def kept_ids(row):
    """The kept set of each sampled token, with the token itself."""
    tokens, origins = COMPLETIONS[row]
    return [
        [i for i in range(COMMON["vocab_size"]) if i == token or (7 * i + place) % 3 != 0]
        for place, (token, origin) in enumerate(zip(tokens, origins))
        if origin == "s"
    ]


def rows_of(model):
    """Log-probabilities and entropies of all completions' tokens, injected ones included."""
    logprobs, entropies = [], []
    for row, (tokens, _) in enumerate(COMPLETIONS):
        prompt = PROMPTS[row // GROUP_SIZE]
        logits = model(torch.tensor([prompt + tokens])).logits[0, len(prompt) - 1 : -1] / TEMPERATURE
        if row == FILTERED:
            for place, kept in zip(is_sampled(row).nonzero().flatten().tolist(), kept_ids(row)):
                left_out = [i for i in range(COMMON["vocab_size"]) if i not in kept]
                logits = logits.index_put((torch.tensor(place), torch.tensor(left_out)), torch.tensor(-1e30))
        distribution = logits.log_softmax(-1)
        logprobs.append(distribution.gather(1, torch.tensor(tokens).unsqueeze(1)).squeeze(1))
        entropies.append(-(distribution.exp() * distribution).sum(-1).detach())
    return logprobs, entropies


def padded(rows):
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)


def sampled(rows):
    return [row.detach()[is_sampled(i)].tolist() for i, row in enumerate(rows)]


def group_mean_loss(policy, old, ref, mask, advantages):
    """Mean over groups of the mean over a group's sampled tokens."""
    ratio = (policy - old).exp()
    clipped = ratio.clamp(1 - OBJECTIVE["epsilon"], 1 + OBJECTIVE["epsilon_high"])
    advantage = advantages.unsqueeze(1)
    kl = (ref - policy).exp() - (ref - policy) - 1
    loss = (-torch.min(ratio * advantage, clipped * advantage) + OBJECTIVE["beta"] * kl) * mask
    by_group = lambda values: values.view(len(PROMPTS), -1).sum(1)
    return (by_group(loss) / by_group(mask)).mean()


def loss_of(aggregation, scope, batch):
    if scope == "group":
        return group_mean_loss(**batch)
    trainer = trl_source.Trainer(
        LOSS_TYPES[aggregation, scope], max_completion_length=MAX_COMPLETION_LENGTH, **OBJECTIVE
    )
    count = batch["mask"].sum()
    nothing = torch.zeros_like(batch["policy"])
    return trainer.loss(**batch, sampler=None, entropies=nothing, num_items_in_batch=count)


def make_model():
    """The model, its config.json and what describes its parameters."""
    config = COMMON | {"tie_word_embeddings": False, "model_type": "llama"}
    built = transformers.AutoConfig.for_model(
        **config, rope_parameters={"rope_theta": THETA, "rope_type": "default"}
    )
    model = transformers.AutoModelForCausalLM.from_config(
        built, attn_implementation="eager", dtype=torch.float32
    )
    return model, config | {"rope_theta": THETA}, fill(model)


def aggregation_case(model, aggregation, scope, columns):
    """Loss and gradient under one aggregation; `columns`: old, ref, mask and advantages of the batch."""
    model.zero_grad()
    loss = loss_of(aggregation, scope, {"policy": padded(rows_of(model)[0])} | columns)
    loss.backward()
    gradients = gradients_of(model)
    return {
        "aggregation": aggregation,
        "token_mean_scope": scope,
        "loss": loss.item(),
        "grad_norm": whole_norm(gradients),
        "projections": {name: gradient["projection"] for name, gradient in gradients.items()},
    }


def settings_and_batch():
    return {
        "objective": OBJECTIVE | {"max_completion_length": MAX_COMPLETION_LENGTH},
        "temperature": TEMPERATURE,
        "prompts": PROMPTS,
        "group_size": GROUP_SIZE,
        "completions": [tokens for tokens, _ in COMPLETIONS],
        "origins": [origins for _, origins in COMPLETIONS],
        "kept_ids": [kept_ids(i) if i == FILTERED else [] for i in range(len(COMPLETIONS))],
        "rewards": REWARDS,
    }


def main():
    model, config, parameters = make_model()
    policy_rows, entropy_rows = rows_of(model)
    shifted = lambda key: [
        row.detach() + 0.3 * hashed(key + i, len(row)).float() for i, row in enumerate(policy_rows)
    ]
    old_rows, ref_rows = shifted(900), shifted(950)
    advantages = trl_source.advantages(torch.tensor(REWARDS, dtype=torch.float64).unsqueeze(1), GROUP_SIZE)
    columns = {
        "old": padded(old_rows),
        "ref": padded(ref_rows),
        "mask": padded([is_sampled(i).long() for i in range(len(COMPLETIONS))]),
        "advantages": advantages.float(),
    }
    entropies = [value for row in sampled(entropy_rows) for value in row]
    golden = {
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__, "trl": "1.16.0"},
        "config": config,
        "parameters": parameters,
        **settings_and_batch(),
        "old_logprobs": sampled(old_rows),
        "ref_logprobs": sampled(ref_rows),
        "advantages": advantages.tolist(),
        "policy_logprobs": sampled(policy_rows),
        "mean_entropy": sum(entropies) / len(entropies),
        "aggregations": [
            aggregation_case(model, aggregation, scope, columns)
            for aggregation, scope in [*LOSS_TYPES, ("token_mean", "group")]
        ],
    }
    path = Path(__file__).parents[2] / "tests/train/golden/injected_spans.json"
    path.write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
