"""A tiny model learns to write programs, judged by hidden tests in the sandbox.

    make build && python3 bench/demo_code.py

The task is `cohort data programs`: a function of a, b and a constant is told by three examples, and the completion defines it
in Python. The model has the demo's size and a warm start on solutions of which two in five are wrong; GRPO then sees the share
of hidden tests passed alone. Prints the share of 512 held-out problems whose tests all pass, before and after; the seconds of
generation, how long the sandbox was at work beside it and after it, and the seconds of whole steps. The run stays in runs/code.
"""

import json

from demo_run import RECIPES, ROOT, cohort, empty_folder, print_table, seconds

FOLDER = ROOT / "runs/code"
SIZES = ("--num_operands", 3, "--max_value", 9)
WARM = ("--train.max_steps", 650)
GRPO = ("--rollout.prompts_per_step", 8, "--rollout.num_generations", 8, "--train.max_steps", 250)


def solved(name, model):
    """The share of held-out problems whose hidden tests all pass, in percent."""
    output = FOLDER / f"{name}.json"
    asked = ("--input", FOLDER / "test.jsonl", "--reward", "code", "--max-completion-length", 64)
    cohort("eval", "--model", model, *asked, "--output", output)
    return 100 * json.loads(output.read_text())["pass@k"]["1"]


def main():
    empty_folder(FOLDER)
    train, test, start = FOLDER / "train.jsonl", FOLDER / "test.jsonl", FOLDER / "start"
    cohort("data", "programs", *SIZES, "--count", 20000, "--solution_success", 0.6, "--output", train)
    cohort("data", "programs", *SIZES, "--count", 512, "--split", "test", "--output", test)
    cohort("data", "check", test, "--reward", "code")
    cohort(
        "init", "--config", RECIPES / "config.json", "--tokenizer", RECIPES, "--seed", 1, "--output", start
    )
    paths = ("--model.path", start, "--data.path", train, "--run-dir", FOLDER / "warm")
    cohort("sft", RECIPES / "sft.toml", *WARM, *paths)
    before = solved("before", FOLDER / "warm/final")
    paths = ("--model.path", FOLDER / "warm/final", "--data.path", train, "--run-dir", FOLDER / "grpo")
    cohort(
        "train", RECIPES / "grpo.toml", *GRPO, "--reward.0.name", "tests", "--reward.0.type", "code", *paths
    )
    after = solved("after", FOLDER / "grpo/final")
    print_table([{"before %": before, "after %": after, **seconds(FOLDER / "grpo")}])


if __name__ == "__main__":
    main()
