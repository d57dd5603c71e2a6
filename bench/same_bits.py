"""What `bench/regress.sh --bits` runs when both commits are built: same_bits.py BASE_FOLDER HEAD_FOLDER [STEPS].

Both programs run the same training on one thread. For each run the script compares the bytes of metrics.jsonl, of
completions.jsonl and of the trained weights. Exit code 1 if any of them differs.
"""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "build/regress/bits"
SCORES = """
import zlib
def hashed(prompts, completions, **columns):
    return [zlib.crc32((p + c).encode()) % 97 / 97 for p, c in zip(prompts, completions)]
def coarse(prompts, completions, **columns):
    return [zlib.crc32((p + c).encode()) % 8 // 7 for p, c in zip(prompts, completions)]
"""
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 384,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "max_position_embeddings": 256,
    "tie_word_embeddings": True,
    "eos_token_id": 0,
    "initializer_range": 0.1,
}
MOE = LLAMA | {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "num_experts": 6,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 40,
    "norm_topk_prob": True,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
}
# The process reward is a token classifier of the same shape.
JUDGE = LLAMA | {
    "architectures": ["LlamaForTokenClassification"],
    "tie_word_embeddings": False,
    "id2label": {"0": "wrong", "1": "right"},
    "label2id": {"wrong": 0, "right": 1},
}
HASHED = 'type = "python"\nfunction = "{work}/scores.py:hashed"'
COARSE = 'type = "python"\nfunction = "{work}/scores.py:coarse"'
PROCESS = (
    'type = "process"\npath = "{work}/judge"\nstep_separator = "1"\n[[reward]]\nname = "hash"\n' + HASHED
)
# name -> (model, reward, flags)
RUNS = {
    "lora": ("llama", HASHED, ["--lora.r", 4, "--objective.beta", 0.05]),
    "moe": ("moe", HASHED, ["--train.router_aux_loss_coef", 0.01]),
    "critic": ("llama", HASHED, ["--objective.preset", "ppo"]),
    "dynamic sampling": ("llama", COARSE, ["--rollout.dynamic_sampling", "true"]),
    "process rewards": ("llama", PROCESS, ["--objective.preset", "grpo_process"]),
    "two iterations": ("llama", HASHED, ["--objective.num_iterations", 2, "--train.steps_per_generation", 2]),
}
RECIPE = """
[model]
path = "{work}/{model}"
dtype = "float32"
[data]
path = "{work}/train.jsonl"
[rollout]
prompts_per_step = 4
num_generations = 4
max_completion_length = 24
[[reward]]
name = "score"
{reward}
[optimizer]
learning_rate = 1e-3
[train]
save_steps = 0
"""


def run(program, *arguments):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([program, *map(str, arguments)], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{program} {' '.join(map(str, arguments))}\n{done.stderr}")


def make_inputs(program):
    """Models and problems, made by the base commit."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    (WORK / "scores.py").write_text(SCORES)
    tokenizer = ROOT / "recipes/demo"
    demo = json.loads((tokenizer / "config.json").read_text())
    for name, config in {"llama": LLAMA, "moe": MOE, "judge": JUDGE, "demo": demo}.items():
        file = WORK / f"{name}.json"
        file.write_text(json.dumps(config))
        run(program, "init", "--config", file, "--tokenizer", tokenizer, "--seed", 3, "--output", WORK / name)
    data = ["data", "countdown", "--seed", 1, "--count"]
    run(program, *data, 400, "--output", WORK / "train.jsonl")
    run(program, *data, 400, "--solution_success", 0.5, "--output", WORK / "solved.jsonl")


def digests(folder):
    """File -> SHA-256 of the files that training decides."""
    files = [
        folder / "metrics.jsonl",
        folder / "completions.jsonl",
        *sorted(folder.glob("final/*.safetensors")),
    ]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.exists()}


def train_demo(program, folder, steps):
    """The demo's two stages: supervised, then GRPO from there."""
    recipes, warm = ROOT / "recipes/demo", folder.with_name(folder.name + " warm")
    for command, recipe, data, model, output in [
        ("sft", "sft.toml", "solved.jsonl", WORK / "demo", warm),
        ("train", "grpo.toml", "train.jsonl", warm / "final", folder),
    ]:
        given = ["--data.path", WORK / data, "--model.path", model, "--run-dir", output]
        run(program, command, recipes / recipe, *given, "--train.max_steps", steps, "--train.save_steps", 0)
    return {**{f"warm {name}": digest for name, digest in digests(warm).items()}, **digests(folder)}


def train_tiny(program, folder, name, steps):
    model, reward, flags = RUNS[name]
    recipe = WORK / "recipe.toml"
    recipe.write_text(RECIPE.format(work=WORK, model=model, reward=reward.format(work=WORK)))
    run(program, "train", recipe, "--run-dir", folder, "--max-steps", steps, *flags)
    return digests(folder)


def main():
    folders = sys.argv[1:3]
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    programs = [ROOT / folder / "build/cohort" for folder in folders]
    make_inputs(programs[0])
    differs = False
    for name in ["demo", *RUNS]:
        sides = []
        for side, program in enumerate(programs):
            folder = WORK / f"{name} {side}"
            sides.append(
                train_demo(program, folder, steps)
                if name == "demo"
                else train_tiny(program, folder, name, steps)
            )
        base, head = sides
        wrong = sorted(file for file in base.keys() | head.keys() if base.get(file) != head.get(file))
        print(f"{name}: {'identical' if not wrong else 'DIFFERENT: ' + ', '.join(wrong)}", flush=True)
        differs |= bool(wrong)
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
