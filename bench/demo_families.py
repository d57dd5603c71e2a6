"""The demo task on tiny models of other families, and by LoRA beside full fine-tuning.

    make build && python3 bench/demo_families.py

Every model has the demo's size, is warm-started as the demo's is, and is trained by the same recipe. Prints accuracy on
the 512 held-out problems before and after GRPO, and over all steps the largest difference between a log-probability of
the sampler and of the trainer. "lora" trains adapters on the warm model of an earlier "qwen3", the demo's own, at a
higher learning rate. Runs stay in runs/family-NAME.
"""

import argparse
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/cohort"
LORA = ["--lora.r", "64", "--lora.alpha", "64", "--learning_rate", "1e-3"]

MODELS = {
    "qwen3": {},
    "gemma3": {
        "architectures": ["Gemma3ForCausalLM"],
        "model_type": "gemma3_text",
        "hidden_activation": "gelu_pytorch_tanh",
        "query_pre_attn_scalar": 64,
        "sliding_window": 48,
        "layer_types": ["sliding_attention", "full_attention"] * 2,
        "rope_local_base_freq": 1000.0,
    },
    "qwen3-moe": {
        "architectures": ["Qwen3MoeForCausalLM"],
        "model_type": "qwen3_moe",
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 192,
        "norm_topk_prob": True,
        "decoder_sparse_step": 1,
        "mlp_only_layers": [],
    },
}


def share(path):
    return 100 * json.loads(path.read_text())["mean"]


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def summary(name, run, before):
    metrics = lines(run / "grpo/metrics.jsonl")
    return {
        "model": name,
        "before %": before,
        "after %": share(run / "after-accuracy.json"),
        "steps": len(metrics),
        "largest difference": max(row["sampling/sampling_logp_difference/max"] or 0.0 for row in metrics),
        "GRPO s": sum(row["timing_s/step"] for row in lines(run / "grpo/timings.jsonl")),
    }


def full(name):
    run = ROOT / f"runs/family-{name}"
    run.mkdir(parents=True, exist_ok=True)
    config = run.with_suffix(".json")
    config.write_text(json.dumps(json.loads((ROOT / "recipes/demo/config.json").read_text()) | MODELS[name]))
    environment = {**os.environ, "CONFIG": str(config), "RUN": str(run)}
    subprocess.run([ROOT / "tools/demo.sh"], env=environment, check=True)
    return summary(name, run, share(run / "before-accuracy.json"))


def lora():
    warm, run = ROOT / "runs/family-qwen3", ROOT / "runs/family-lora"
    subprocess.run(["rm", "-rf", run], check=True)
    model = warm / "warm/final"
    subprocess.run(
        [PROGRAM, "train", ROOT / "recipes/demo/grpo.toml", "--model.path", model]
        + ["--data.path", warm / "train.jsonl", "--run-dir", run / "grpo", *LORA],
        check=True,
    )
    subprocess.run(
        [PROGRAM, "eval", "--model", model, "--adapter", run / "grpo/final", "--input", warm / "test.jsonl"]
        + ["--reward", "countdown", "--num-generations", "4"]
        + ["--max-completion-length", "64", "--output", run / "after-accuracy.json"],
        check=True,
    )
    return summary("qwen3, LoRA r = 64", run, share(warm / "before-accuracy.json"))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", choices=[*MODELS, "lora"], default=[*MODELS, "lora"])
    rows = [lora() if name == "lora" else full(name) for name in parser.parse_args().models]
    print("".join(f"{key:>20}" for key in rows[0]))
    for row in rows:
        print("".join(f"{v:20.4g}" if isinstance(v, float) else f"{v:>20}" for v in row.values()))


if __name__ == "__main__":
    main()
