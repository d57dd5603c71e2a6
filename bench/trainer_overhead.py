"""What GRPOTrainer costs over `cohort train`: seconds a step and peak memory of the same run, alternating.

  PYTHONPATH=build/python .venv-test/bin/python bench/trainer_overhead.py [ROUNDS]

T is a random model of 5 M parameters in float32, 8 prompts x 8 completions of 128 tokens; the reward is a hash, in Python
in both. Prints medians and their ratios.
"""

import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/cohort"
STEPS = 6  # the first one warms up
SHAPE = {
    "hidden_size": 256,
    "num_hidden_layers": 6,
    "intermediate_size": 704,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "max_position_embeddings": 512,
}


def train_in_python(folder, run):
    """A child's work: the trainer, without its model as an object."""
    from cohort import GRPOConfig, GRPOTrainer

    sys.path.insert(0, str(ROOT / "bench"))
    from hash_reward import hash_reward

    args = GRPOConfig(
        run,
        max_steps=STEPS,
        per_device_train_batch_size=64,
        num_generations=8,
        max_completion_length=128,
        generation_kwargs={"ignore_eos": True},
        bf16=False,
        report_to="none",
        disable_tqdm=True,
        save_strategy="no",
    )
    GRPOTrainer(f"{folder}/model", hash_reward, args, train_dataset=f"{folder}/train.jsonl").train()


def measure(command):
    """Seconds of the steps behind the first one and peak MiB of a run, whose directory is the command's last word."""
    shutil.rmtree(command[-1], ignore_errors=True)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rows = (pathlib.Path(command[-1]) / "timings.jsonl").read_text().splitlines()
    return [json.loads(row)["timing_s/step"] for row in rows][1:]


def peak_mib(command):
    shutil.rmtree(command[-1], ignore_errors=True)
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, "
        "stderr=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    output = subprocess.run(
        [sys.executable, "-c", code, *command], check=True, capture_output=True, text=True
    )
    return int(output.stdout) / 1024


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    folder = tempfile.mkdtemp()
    config = json.loads((ROOT / "recipes/demo/config.json").read_text()) | SHAPE
    pathlib.Path(folder, "config.json").write_text(json.dumps(config))
    tokenizer = ROOT / "recipes/demo"
    init = [
        PROGRAM,
        "init",
        "--config",
        f"{folder}/config.json",
        "--tokenizer",
        tokenizer,
        "--output",
        f"{folder}/model",
    ]
    data = [
        PROGRAM,
        "data",
        "countdown",
        "--count",
        "512",
        "--seed",
        "1",
        "--output",
        f"{folder}/train.jsonl",
    ]
    for command in (init, data):
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
    ours = [sys.executable, __file__, "--run", folder, f"{folder}/python"]
    measure(ours)
    recipe = pathlib.Path(folder, "python/inputs/recipe.toml").read_text()
    function = f'type = "python"\nfunction = "{ROOT}/bench/hash_reward.py:hash_reward"'
    pathlib.Path(folder, "recipe.toml").write_text(recipe.replace('type = "callable"', function))
    program = [str(PROGRAM), "train", f"{folder}/recipe.toml", "--run-dir", f"{folder}/program"]
    times = {"cohort train": [], "GRPOTrainer": []}
    for _ in range(rounds):
        times["cohort train"] += measure(program)
        times["GRPOTrainer"] += measure(ours)
    peaks = {"cohort train": peak_mib(program), "GRPOTrainer": peak_mib(ours)}
    for name, seconds in times.items():
        print(f"{name:14} {statistics.median(seconds):8.3f} s a step, {peaks[name]:8.0f} MiB")
    base, python = (statistics.median(seconds) for seconds in times.values())
    print(f"ratio {python / base:.3f}, {peaks['GRPOTrainer'] - peaks['cohort train']:.0f} MiB more")
    shutil.rmtree(folder)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        train_in_python(*sys.argv[2:])
    else:
        main()
