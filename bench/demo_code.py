"""A tiny model learns to write programs, judged by hidden tests in the sandbox.

    make build && python3 bench/demo_code.py

The task is `cohort data programs`: a function of a, b and a constant is told by three examples, and the completion defines it
in Python. The model has the demo's size and a warm start on solutions of which two in five are wrong; GRPO then sees the share
of hidden tests passed alone. Prints the share of 512 held-out problems whose tests all pass, before and after; the seconds of
generation over all steps, those that a step waited for the sandbox after its last completion, and those of whole steps. The
run stays in runs/code.
"""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/cohort"
FOLDER = ROOT / "runs/code"
DEMO = ROOT / "recipes/demo"

SIZES = ("--num_operands", 3, "--max_value", 9)
WARM = ("--train.max_steps", 650)
GRPO = ("--rollout.prompts_per_step", 8, "--rollout.num_generations", 8, "--train.max_steps", 250)


def cohort(*arguments):
    subprocess.run([PROGRAM, *map(str, arguments)], check=True)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def solved(name, model):
    """The share of held-out problems whose hidden tests all pass, in percent."""
    output = FOLDER / f"{name}.json"
    asked = ("--input", FOLDER / "test.jsonl", "--reward", "code", "--max-completion-length", 64)
    cohort("eval", "--model", model, *asked, "--output", output)
    return 100 * json.loads(output.read_text())["pass@k"]["1"]


def code_sandbox():
    subprocess.run(["rm", "-rf", FOLDER], check=True)
    FOLDER.mkdir(parents=True)
    train, test, start = FOLDER / "train.jsonl", FOLDER / "test.jsonl", FOLDER / "start"
    cohort("data", "programs", *SIZES, "--count", 20000, "--solution_success", 0.6, "--output", train)
    cohort("data", "programs", *SIZES, "--count", 512, "--split", "test", "--output", test)
    cohort("data", "check", test, "--reward", "code")
    cohort("init", "--config", DEMO / "config.json", "--tokenizer", DEMO, "--seed", 1, "--output", start)
    paths = ("--model.path", start, "--data.path", train, "--run-dir", FOLDER / "warm")
    cohort("sft", DEMO / "sft.toml", *WARM, *paths)
    before = solved("before", FOLDER / "warm/final")
    paths = ("--model.path", FOLDER / "warm/final", "--data.path", train, "--run-dir", FOLDER / "grpo")
    reward = ("--reward.0.name", "tests", "--reward.0.type", "code")
    cohort("train", DEMO / "grpo.toml", *GRPO, *reward, *paths)
    timings = lines(FOLDER / "grpo/timings.jsonl")
    return {
        "reward": "code_sandbox",
        "before %": before,
        "after %": solved("after", FOLDER / "grpo/final"),
        "steps": len(timings),
        "generation s": sum(row["timing_s/gen"] for row in timings),
        "reward waits s": sum(row["timing_s/reward"] for row in timings),
        "GRPO s": sum(row["timing_s/step"] for row in timings),
    }


def main():
    row = code_sandbox()
    print("".join(f"{key:>18}" for key in row))
    print("".join(f"{v:18.4g}" if isinstance(v, float) else f"{v:>18}" for v in row.values()))


if __name__ == "__main__":
    main()
