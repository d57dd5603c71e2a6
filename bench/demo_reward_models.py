"""The demo's task under rewards that are models, fitted here: a reward model, and a process-reward model with credit to steps.

    make demo && python3 bench/demo_reward_models.py [reward_model] [process_reward_model]

Both start at the demo's warm model and never show the policy the verifier. A round samples the newest policy,
judges the samples (preferences between right and wrong completions of a problem, or labels of worked steps), fits the
reward model to them with a tenth of earlier rows, and trains the policy by it: iterative GRPO. Prints accuracy on held-out
problems, by the verifier, and how well the reward model orders or labels samples that it was not fitted to. Runs stay in
runs/reward-models.
"""

import argparse
import itertools
import re
import shutil

from countdown_function import is_right
from demo_run import ROOT, TRAIN, WARM, accuracy, cohort, grpo, print_table, read, seconds, write

FOLDER = ROOT / "runs/reward-models"
STEP = re.compile(r"(?:<think>)?(\d+) ([-+*/]) (\d+) = (\d+)(?:</think>)?")


def judged_samples(name, policy, seed, generations):
    """Samples of a policy with the verifier's scores, by problem."""
    samples, rows, scores = (FOLDER / f"{name}-{part}.jsonl" for part in ("samples", "rows", "scores"))
    asked = ("--input", TRAIN, "--num-generations", generations, "--max-completion-length", 64)
    cohort("sample", "--model", policy, *asked, "--seed", seed, "--output", samples)
    problems = read(TRAIN)
    drawn = [
        {**problems[i // generations], "completion": sample["text"]} for i, sample in enumerate(read(samples))
    ]
    cohort("verify", "--reward", "countdown", "--input", write(rows, drawn), "--output", scores)
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


def can_reach(numbers, target):
    """Whether numbers, each used once, can make the target."""
    if len(numbers) == 1:
        return numbers[0] == target
    for i, j in itertools.permutations(range(len(numbers)), 2):
        rest = [n for k, n in enumerate(numbers) if k not in (i, j)]
        a, b = numbers[i], numbers[j]
        results = [a + b, a - b, a * b] + ([a // b] if b != 0 and a % b == 0 else [])
        if any(can_reach([*rest, result], target) for result in results):
            return True
    return False


def step_labels(row):
    """A step is right where its numbers are at hand, its result is right and the target can still be reached; the
    last line is right where its answer is what the steps came to. (Whether that is the target would be rarely right: GRPO's
    one mean over all steps of a group would push every last line down.)"""
    lines = row["completion"].split("\n")
    numbers, labels, result = list(row["numbers"]), [], None
    for line in lines[:-1]:
        found = STEP.fullmatch(line)
        is_good = found is not None and numbers is not None
        if is_good:
            a, operator, b, result = int(found[1]), found[2], int(found[3]), int(found[4])
            rest = list(numbers)
            for number in (a, b):
                is_good = is_good and number in rest
                if is_good:
                    rest.remove(number)
            value = {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else None}[operator]
            numbers = [*rest, result]
            is_good = is_good and value == result and can_reach(numbers, row["target"])
        labels.append(is_good)
        if not is_good:
            numbers = None
    return lines, [*labels, is_right(row["completion"], row["numbers"], result)]


def labelled_steps(groups):
    for row in {(row["prompt"], row["completion"]): row for group in groups for row in group}.values():
        lines, labels = step_labels(row)
        if all(line.strip() for line in lines):
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


def iterate(kind, make_rows, rounds, steps, *options):
    """Rounds of sampling, fitting and training; the figures of each."""
    policy, reward, earlier = WARM, WARM, []
    yield {"run": kind, "round": 0, "accuracy %": accuracy(WARM, output=FOLDER / "warm.json")}
    for number in range(1, rounds + 1):
        name = f"{kind}-{number}"
        rows = list(make_rows(judged_samples(name, policy, number, 8)))
        fit_steps = 400 if number == 1 else 150
        reward, path, agreement = fit(FOLDER / f"{name}-reward", kind, reward, rows, earlier, fit_steps)
        earlier.append(path)
        judge = ("--reward.0.name", "learnt", "--reward.0.type", kind, "--reward.0.path", reward)
        run = FOLDER / f"{name}-policy"
        grpo(run, *judge, "--max_steps", steps, "--save_steps", 0, *options, start=policy)
        policy = run / "final"
        yield {
            "run": kind,
            "round": number,
            "accuracy %": accuracy(policy, output=FOLDER / f"{name}.json"),
            "reward model %": agreement,
            "its rows": len(rows),
            **seconds(run),
        }


def reward_model():
    return iterate("model", preferences, 3, 150)


def process_reward_model():
    return iterate("process", labelled_steps, 5, 60, "--supervision", "process")


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
