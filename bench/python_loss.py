"""What a loss in Python costs: seconds of an update by it and by the built-in loss that it restates, alternating.

  PYTHONPATH=build/python .venv-test/bin/python bench/python_loss.py [WORKLOAD] [ROUNDS]

The workload (S; bench/workloads.py) is a random model, 8 prompts x 8 completions of 128 tokens. One rollout is trained on
again and again; each update is forward, loss, backward and AdamW at a learning rate of 0. Prints medians, and the ratio of
a step: the rollout and one update.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from workloads import WORKLOADS, prompt_ids

import cohort  # before torch, so that OpenMP's threads spin as in the program

ROOT = pathlib.Path(__file__).resolve().parent.parent


def dapo(policy_logprobs, old_logprobs, advantages, mask, batch):
    ratio = (policy_logprobs - old_logprobs).exp()
    losses = -torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.28) * advantages) * mask
    return losses.sum() / batch.num_loss_tokens, {"ratio_sum": (ratio * mask).sum()}


def make_model(workload, folder):
    """Weights of the workload's shape. The demo's tokenizer stands by; prompts are token ids."""
    config = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": workload.vocab_size,
        "hidden_size": workload.hidden_size,
        "num_hidden_layers": workload.num_layers,
        "num_attention_heads": workload.num_heads,
        "num_key_value_heads": workload.num_kv_heads,
        "intermediate_size": workload.intermediate_size,
        "tie_word_embeddings": workload.tied,
        "max_position_embeddings": 512,
        "eos_token_id": 0,
    }
    path = pathlib.Path(folder, "config.json")
    path.write_text(json.dumps(config))
    command = [ROOT / "build/cohort", "init", "--config", path, "--tokenizer", ROOT / "recipes/demo"]
    subprocess.run(
        list(map(str, [*command, "--output", f"{folder}/model"])), check=True, stdout=subprocess.DEVNULL
    )
    return f"{folder}/model"


def seconds(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def main():
    workload = WORKLOADS[sys.argv[1] if len(sys.argv) > 1 else "S"]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory() as folder:
        engine = cohort.Engine.load(make_model(workload, folder), dtype=workload.dtype)
    prompts = prompt_ids(workload.prompts_per_step, workload.prompt_tokens, workload.vocab_size, 0)
    params = cohort.SamplingParams(
        n=workload.num_generations, max_tokens=workload.completion_tokens, ignore_eos=True
    )
    rollout, groups = seconds(lambda: engine.generate(prompts, params))
    for group in groups:
        for i, completion in enumerate(group.completions):
            completion.advantage = i - (len(group.completions) - 1) / 2

    def update(loss, **keys):
        metrics = engine.forward_backward(groups, loss, **keys)
        return metrics | engine.optim_step(lr=0.0)

    sides = {"built in": lambda: update("dapo", epsilon_high=0.28), "in Python": lambda: update(dapo)}
    times = {name: [] for name in sides}
    for i in range(rounds + 1):  # the first round warms up
        for name, side in sides.items():
            taken, metrics = seconds(side)
            if i > 0:
                times[name].append(taken)
            print(
                f"{name:10} {taken:7.3f} s, loss {metrics['loss']:.9f}, grad_norm {metrics['grad_norm']:.9f}",
                flush=True,
            )
    built_in, python = (statistics.median(values) for values in times.values())
    print(f"medians {built_in:.3f} s and {python:.3f} s, rollout {rollout:.3f} s")
    print(f"update {python / built_in:.3f}, step {(rollout + python) / (rollout + built_in):.3f}")


if __name__ == "__main__":
    main()
