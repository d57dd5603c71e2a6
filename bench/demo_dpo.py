"""DPO and its relatives on pairs of right and wrong samples of the demo's warm model.

    make demo && python3 bench/demo_dpo.py [--samples 16] [--steps 300] [LOSS ...]

Draws completions of the demo's problems, pairs right ones with wrong ones of the same problem, holds a twentieth of the problems
out and trains on the others' pairs by each loss, always from the warm model. Prints accuracy on the 512 test problems before and
after (of the last model and of the one with the smallest loss on held-out pairs), the share of held-out pairs whose chosen completion
leads and by how much, how far the log-probability of chosen completions has moved, and seconds. Runs stay in runs/dpo.
"""

import argparse

from demo_reward_models import Task, judged_samples, preferences
from demo_run import (
    RECIPES,
    ROOT,
    TEST,
    TRAIN,
    WARM,
    accuracy,
    cohort,
    empty_folder,
    print_table,
    read,
    write,
)

FOLDER = ROOT / "runs/dpo"
LOSSES = {
    "sigmoid": ("--loss_type", "sigmoid"),
    "sigmoid_norm": ("--loss_type", "sigmoid_norm", "--beta", 1),
    "ipo": ("--loss_type", "ipo"),
    "reference_free": ("--reference_free", "true"),
}


def make_pairs(samples, problems):
    """The files of the pairs to train on and of those held out."""
    train = write(FOLDER / "problems.jsonl", read(TRAIN)[:problems])
    task = Task(WARM, train, TEST, "countdown")
    groups = judged_samples(task, "pairs", WARM, 1, samples, FOLDER)
    held_out = len(groups) // 20
    return (
        write(FOLDER / "pairs.jsonl", list(preferences(groups[held_out:]))),
        write(FOLDER / "held-out.jsonl", list(preferences(groups[:held_out]))),
    )


def train(name, pairs, held_out, steps):
    run = FOLDER / name
    data = ("--data.path", pairs, "--eval_path", held_out, "--eval_steps", max(1, steps // 10))
    places = ("--model.path", WARM, "--run-dir", run)
    cohort("dpo", RECIPES / "dpo.toml", *places, *data, "--max_steps", steps, *LOSSES[name])
    metrics, timings = read(run / "metrics.jsonl"), read(run / "timings.jsonl")
    judged = [row for row in metrics if "eval_loss" in row]
    return {
        "loss": name,
        "after %": accuracy(run / "final", output=FOLDER / f"{name}.json"),
        "best %": accuracy(run / "best", output=FOLDER / f"{name}-best.json"),
        "pairs %": 100 * judged[-1]["eval_rewards/accuracies"],
        "margin": judged[-1]["eval_rewards/margins"],
        "logp chosen": metrics[-1]["logps/chosen"] - metrics[0]["logps/chosen"],
        "seconds": sum(row["timing_s/step"] for row in timings),
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("losses", nargs="*", metavar="LOSS", help=", ".join(LOSSES))
    parser.add_argument("--samples", type=int, default=16, help="completions of each problem")
    parser.add_argument("--problems", type=int, default=4000)
    parser.add_argument("--steps", type=int, default=300)
    arguments = parser.parse_args()
    if not WARM.exists():
        raise SystemExit(f"{WARM} is missing: make demo")
    empty_folder(FOLDER)
    pairs, held_out = make_pairs(arguments.samples, arguments.problems)
    print(f"{len(read(pairs))} pairs to train on, {len(read(held_out))} held out")
    rows = [{"loss": "warm start", "after %": accuracy(WARM, output=FOLDER / "before.json")}]
    for name in arguments.losses or LOSSES:
        rows.append(train(name, pairs, held_out, arguments.steps))
    print_table(rows)


if __name__ == "__main__":
    main()
