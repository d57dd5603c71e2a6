"""The demo's task under rewards that are models, fitted here: a reward model, and a process-reward model with credit to steps.

    make build && python3 bench/demo_reward_models.py [reward_model] [process_reward_model]

Both start at a warm model as the demo makes it and never show the policy the verifier. A round samples the newest policy,
judges the samples (preferences between right and wrong completions of a problem, or labels of worked steps), fits the
reward model to them with a tenth of earlier rows, and trains the policy by it: iterative GRPO. Prints accuracy on held-out
problems, by the verifier, and how well the reward model orders or labels samples that it was not fitted to. Runs stay in
runs/reward-models.
"""

import argparse
import itertools
import json
import os
import pathlib
import re
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/cohort"
FOLDER = ROOT / "runs/reward-models"
DEMO = ROOT / "recipes/demo"
WARM = FOLDER / "warm/final"
ROUNDS = int(os.environ.get("ROUNDS", 3))
STEP = re.compile(r"(?:<think>)?(\d+) ([-+*/]) (\d+) = (\d+)(?:</think>)?")


def cohort(*arguments):
    subprocess.run([PROGRAM, *map(str, arguments)], check=True)


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def accuracy(name, model):
    """The share of the held-out problems that a model solves, in percent."""
    output = FOLDER / f"{name}-accuracy.json"
    asked = ("--input", FOLDER / "test.jsonl", "--reward", "countdown", "--max-completion-length", 64)
    cohort("eval", "--model", model, *asked, "--output", output)
    return 100 * json.loads(output.read_text())["mean"]


def make_warm_model():
    subprocess.run(["rm", "-rf", FOLDER], check=True)
    FOLDER.mkdir(parents=True)
    train, test, start = FOLDER / "train.jsonl", FOLDER / "test.jsonl", FOLDER / "start"
    data = ("data", "countdown", "--seed", 1, "--count")
    cohort(*data, 4000, "--split", "train", "--solution_success", 0.5, "--output", train)
    cohort(*data, 512, "--split", "test", "--output", test)
    cohort("init", "--config", DEMO / "config.json", "--tokenizer", DEMO, "--seed", 1, "--output", start)
    paths = ("--model.path", start, "--data.path", train, "--run-dir", FOLDER / "warm")
    cohort("sft", DEMO / "sft.toml", "--seed", 1, *paths)


def judged_samples(name, policy, seed, generations):
    """Samples of a policy with the verifier's scores, by problem."""
    samples, rows, scores = (FOLDER / f"{name}-{part}.jsonl" for part in ("samples", "rows", "scores"))
    asked = (
        "--input",
        FOLDER / "train.jsonl",
        "--num-generations",
        generations,
        "--max-completion-length",
        64,
    )
    cohort("sample", "--model", policy, *asked, "--seed", seed, "--output", samples)
    problems = read(FOLDER / "train.jsonl")
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
    last line is right where the verifier says so."""
    lines = row["completion"].split("\n")
    numbers, labels = list(row["numbers"]), []
    for line in lines[:-1]:
        found = STEP.fullmatch(line)
        is_right = found is not None and numbers is not None
        if is_right:
            a, operator, b, result = int(found[1]), found[2], int(found[3]), int(found[4])
            rest = list(numbers)
            for number in (a, b):
                is_right = is_right and number in rest
                if is_right:
                    rest.remove(number)
            value = {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else None}[operator]
            numbers = [*rest, result]
            is_right = is_right and value == result and can_reach(numbers, row["target"])
        labels.append(is_right)
        if not is_right:
            numbers = None
    return lines, [*labels, row["score"] == 1]


def labelled_steps(groups):
    for row in {(row["prompt"], row["completion"]): row for group in groups for row in group}.values():
        lines, labels = step_labels(row)
        if all(line.strip() for line in lines):
            yield {"prompt": row["prompt"], "completions": lines, "labels": labels}


def fit(name, kind, base, rows, earlier, steps):
    """The reward model after one more round."""
    held_out = len(rows) // 20
    path = write(FOLDER / f"{name}.jsonl", rows[held_out:])
    options = (
        "--eval_path",
        write(FOLDER / f"{name}-held-out.jsonl", rows[:held_out]),
        "--eval_steps",
        steps,
    )
    if earlier:
        options += tuple(itertools.chain(*(("--replay_path", old) for old in earlier)))
    run = FOLDER / name
    subprocess.run(["rm", "-rf", run], check=True)
    cohort(
        *(
            "reward-train",
            "--model.path",
            base,
            "--dtype",
            "float32",
            "--head.type",
            kind,
            "--data.path",
            path,
        ),
        *("--rows_per_step", 64, "--max_steps", steps, "--learning_rate", 1e-3, "--warmup_steps", 20),
        *("--lr_scheduler_type", "cosine", "--save_steps", 0, "--seed", 1, "--run-dir", run, *options),
    )
    return run / "final", path, read(run / "metrics.jsonl")[-1]["eval_accuracy"]


def train(name, policy, kind, reward, steps, *options):
    run = FOLDER / name
    subprocess.run(["rm", "-rf", run], check=True)
    judge = ("--reward.0.name", "learnt", "--reward.0.type", kind, "--reward.0.path", reward)
    paths = ("--model.path", policy, "--data.path", FOLDER / "train.jsonl", "--run-dir", run)
    lengths = ("--max_steps", steps, "--save_steps", 0, "--seed", 1)
    cohort("train", DEMO / "grpo.toml", *judge, *paths, *lengths, *options)
    return run


def iterate(kind, make_rows, *options):
    """Rounds of sampling, fitting and training; the figures of each."""
    policy, reward, earlier = WARM, WARM, []
    yield {"run": kind, "round": 0, "accuracy %": accuracy("warm", WARM)}
    for number in range(1, ROUNDS + 1):
        name = f"{kind}-{number}"
        rows = list(make_rows(judged_samples(name, policy, number, 8)))
        began = time.perf_counter()
        reward, path, agreement = fit(
            f"{name}-reward", kind, reward, rows, earlier, 400 if number == 1 else 150
        )
        fit_s = time.perf_counter() - began
        earlier.append(path)
        run = train(f"{name}-policy", policy, kind, reward, 200, *options)
        policy = run / "final"
        timings = read(run / "timings.jsonl")
        yield {
            "run": kind,
            "round": number,
            "accuracy %": accuracy(name, policy),
            "reward model %": 100 * agreement,
            "rows": len(rows),
            "fit s": fit_s,
            "GRPO s": sum(row["timing_s/step"] for row in timings),
            "generation s": sum(row["timing_s/gen"] for row in timings),
            "reward waits s": sum(row["timing_s/reward"] for row in timings),
        }


def reward_model():
    return list(iterate("model", preferences))


def process_reward_model():
    return list(iterate("process", labelled_steps, "--supervision", "process"))


RUNS = {"reward_model": reward_model, "process_reward_model": process_reward_model}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="*", metavar="RUN", help=", ".join(RUNS))
    names = parser.parse_args().runs or list(RUNS)
    if not WARM.exists():
        make_warm_model()
    rows = [row for name in names for row in RUNS[name]()]
    columns = list(dict.fromkeys(itertools.chain(*rows)))
    print("".join(f"{key:>16}" for key in columns))
    for row in rows:
        values = [row.get(key, "") for key in columns]
        print("".join(f"{v:16.4g}" if isinstance(v, float) else f"{v:>16}" for v in values))


if __name__ == "__main__":
    main()
