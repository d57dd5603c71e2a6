"""Rewards that are models, fitted here: a reward model, and a process-reward model with credit to steps.

    make build && python3 bench/demo_reward_models.py [reward_model] [process_reward_model]

The task is `cohort data arithmetic`; the warm start is fitted to worked solutions, two in five of which slip in a step. The
policy is shown no verifier: a round samples the newest policy, judges the samples (preferences between right and wrong
completions of a problem; or labels of steps, which are right where the worked solution has the same line), fits the reward
model to them with a tenth of earlier rows, and trains the policy by it: iterative GRPO. Prints accuracy on held-out problems,
by the verifier, and how well the reward model orders or labels samples that it was not fitted to. Runs stay in
runs/reward-models.
"""

import argparse
import dataclasses
import functools
import itertools
import pathlib
import shutil

from demo_run import (
    RECIPES,
    ROOT,
    accuracy,
    cohort,
    empty_folder,
    grpo,
    print_table,
    read,
    seconds,
    write,
)

FOLDER = ROOT / "runs/reward-models"


@dataclasses.dataclass
class Task:
    """Where a policy starts, its problems, and what judges them outside of training."""

    warm: pathlib.Path
    train: pathlib.Path
    test: pathlib.Path
    verifier: str


@functools.cache
def warm_arithmetic():
    """A model that knows the steps of three-number arithmetic, whose order is always one, and often slips."""
    folder = FOLDER / "arithmetic"
    empty_folder(folder)
    task = Task(folder / "warm/final", folder / "train.jsonl", folder / "test.jsonl", "numeric")
    shown, start = folder / "demonstrations.jsonl", folder / "start"
    sizes = ("--num_operands", 3, "--max_value", 8)
    cohort("data", "arithmetic", *sizes, "--count", 5000, "--solution_success", 0.6, "--output", shown)
    cohort("data", "arithmetic", *sizes, "--count", 4000, "--seed", 1, "--output", task.train)
    cohort("data", "arithmetic", *sizes, "--count", 512, "--split", "test", "--output", task.test)
    model = ("--config", RECIPES / "config.json", "--tokenizer", RECIPES)
    cohort("init", *model, "--seed", 1, "--output", start)
    cohort(
        "sft", RECIPES / "sft.toml", "--model.path", start, "--data.path", shown, "--run-dir", folder / "warm"
    )
    return task


def judged_samples(task, name, policy, seed, generations, folder=FOLDER):
    """Samples of a policy with the verifier's scores, by problem."""
    samples, rows, scores = (folder / f"{name}-{part}.jsonl" for part in ("samples", "rows", "scores"))
    asked = ("--input", task.train, "--num-generations", generations, "--max-completion-length", 64)
    cohort("sample", "--model", policy, *asked, "--seed", seed, "--output", samples)
    problems = read(task.train)
    drawn = [
        {**problems[i // generations], "completion": sample["text"]} for i, sample in enumerate(read(samples))
    ]
    cohort("verify", "--reward", task.verifier, "--input", write(rows, drawn), "--output", scores)
    for row, score in zip(drawn, read(scores), strict=True):
        row["score"] = score["score"]
    return [drawn[i : i + generations] for i in range(0, len(drawn), generations)]


def preferences(groups):
    """Each right completion of a problem before wrong ones."""
    for group in groups:
        right = sorted({row["completion"] for row in group if row["score"] == 1})
        wrong = sorted({row["completion"] for row in group if row["score"] == 0})
        for chosen, rejected in itertools.islice(itertools.product(right, wrong), 8):
            yield {"prompt": group[0]["prompt"], "chosen": chosen, "rejected": rejected}


def labelled_steps(groups):
    """Each completion's lines, which are right where the worked solution has the same."""
    for row in itertools.chain(*groups):
        lines, truth = row["completion"].split("\n"), row["solution"].split("\n")
        if all(line.strip() for line in lines):
            labels = [i < len(truth) and line == truth[i] for i, line in enumerate(lines)]
            yield {"prompt": row["prompt"], "completions": lines, "labels": labels}


def fit(run, kind, base, rows, earlier, steps):
    """A reward model fitted to all rows but a twentieth: its folder, the file of its rows, and its accuracy on the others."""
    held_out = len(rows) // 20
    path = write(run.with_suffix(".jsonl"), rows[held_out:])
    held_out_path = write(run.with_suffix(".held-out.jsonl"), rows[:held_out])
    model = ("--model.path", base, "--dtype", "float32", "--head.type", kind, "--seed", 1)
    data = ("--data.path", path, "--eval_path", held_out_path, "--eval_steps", steps, "--rows_per_step", 64)
    replayed = itertools.chain(*(("--replay_path", old) for old in earlier))
    rates = ("--learning_rate", 1e-3, "--warmup_steps", 20, "--lr_scheduler_type", "cosine")
    lengths = ("--max_steps", steps, "--save_steps", 0, "--run-dir", run)
    shutil.rmtree(run, ignore_errors=True)
    cohort("reward-train", *model, *data, *replayed, *rates, *lengths)
    return run / "final", path, 100 * read(run / "metrics.jsonl")[-1]["eval_accuracy"]


def iterate(kind, task, make_rows, rounds, steps, fit_steps, *options):
    """Rounds of sampling, fitting (for so many steps at first and later) and training; the figures of each."""
    measure = {"data": task.test, "verifier": task.verifier}
    policy, reward, earlier = task.warm, task.warm, []
    yield {
        "run": kind,
        "round": 0,
        "accuracy %": accuracy(policy, output=FOLDER / f"{kind}-0.json", **measure),
    }
    for number in range(1, rounds + 1):
        name = f"{kind}-{number}"
        rows = list(make_rows(judged_samples(task, name, policy, number, 8)))
        reward, path, agreement = fit(
            FOLDER / f"{name}-reward", kind, reward, rows, earlier, fit_steps[number > 1]
        )
        earlier.append(path)
        judge = ("--reward.0.name", "learnt", "--reward.0.type", kind, "--reward.0.path", reward)
        run = FOLDER / f"{name}-policy"
        lengths = ("--max_steps", steps, "--save_steps", 0)
        grpo(run, *judge, *lengths, *options, start=policy, data=task.train)
        policy = run / "final"
        yield {
            "run": kind,
            "round": number,
            "accuracy %": accuracy(policy, output=FOLDER / f"{name}.json", **measure),
            "reward model %": agreement,
            "its rows": len(rows),
            **seconds(run),
        }


def reward_model():
    return iterate("model", warm_arithmetic(), preferences, 3, 50, (1000, 300), "--temperature", 1.0)


def process_reward_model():
    options = ("--credit", "steps", "--temperature", 1.0)
    return iterate("process", warm_arithmetic(), labelled_steps, 4, 50, (1000, 300), *options)


RUNS = {"reward_model": reward_model, "process_reward_model": process_reward_model}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="*", metavar="RUN", help=", ".join(RUNS))
    names = parser.parse_args().runs or list(RUNS)
    FOLDER.mkdir(parents=True, exist_ok=True)
    print_table([row for name in names for row in RUNS[name]()])


if __name__ == "__main__":
    main()
