"""A warm start for many runs of the demo task: problems, a model that knows the format, what presets need beside them."""

import pathlib
import shutil
import subprocess

from demo_run import PROGRAM, RECIPES, read, write


def cohort(*arguments):
    """Runs the program quietly."""
    run = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(f"cohort {arguments[0]}: {run.stderr.strip()}")


class DemoTask:
    """A folder that keeps what it makes: everything follows from the seed and the number of supervised steps."""

    def __init__(self, folder, seed, sft_steps):
        self.folder, self.seed, self.sft_steps = pathlib.Path(folder), seed, sft_steps
        self.folder.mkdir(parents=True, exist_ok=True)

    def made(self, name, make):
        """The path of that name, which make(path) makes where there is none; what is half made stays under another name."""
        path = self.folder / name
        if not path.exists():
            half = self.folder / f"half-{name}"
            shutil.rmtree(half, ignore_errors=True)
            make(half)
            half.rename(path)
        return path

    def problems(self):
        """Problems to practise on, each with a worked solution that is right, for presets that learn from demonstrations."""
        return self.made("train.jsonl", self.draw_problems)

    def draw_problems(self, path):
        cohort("data", "countdown", "--count", 8000, "--seed", self.seed + 100, "--output", path)
        write(path, [row | {"demonstration": row["solution"]} for row in read(path)])

    def warm(self):
        """The model that every run starts from: fitted to worked solutions, half of which miss the target."""
        return self.made("warm", self.fit_warm) / "final"

    def fit_warm(self, run):
        shown, start = self.folder / "demonstrations.jsonl", self.folder / "start"
        asked = ("--count", 4000, "--seed", self.seed, "--solution_success", 0.5, "--output", shown)
        cohort("data", "countdown", *asked)
        model = ("--config", RECIPES / "config.json", "--tokenizer", RECIPES)
        shutil.rmtree(start, ignore_errors=True)
        cohort("init", *model, "--seed", self.seed, "--output", start)
        paths = ("--model.path", start, "--data.path", shown, "--run-dir", run)
        lengths = ("--seed", self.seed, "--max-steps", self.sft_steps, "--save-steps", 0)
        cohort("sft", RECIPES / "sft.toml", *paths, *lengths)

    def step_judge(self):
        """A process-reward model, fitted to samples of the warm model whose steps are labelled right or wrong."""
        return self.made("judge", self.fit_judge) / "final"

    def fit_judge(self, run):
        problems = read(self.problems())[:400]
        asked, samples, scores = (
            self.folder / f"judge-{name}.jsonl" for name in ("rows", "samples", "scores")
        )
        draw = ("--num-generations", 4, "--max-completion-length", 64, "--seed", self.seed)
        cohort(
            "sample", "--model", self.warm(), "--input", write(asked, problems), *draw, "--output", samples
        )
        drawn = [{**problems[i // 4], "completion": row["text"]} for i, row in enumerate(read(samples))]
        cohort("verify", "--reward", "countdown", "--input", write(asked, drawn), "--output", scores)
        rows = [labelled(row, score["score"] == 1) for row, score in zip(drawn, read(scores), strict=True)]
        data = ("--data.path", write(self.folder / "judge.jsonl", filter(None, rows)), "--rows_per_step", 32)
        head = ("--head.type", "process", "--dtype", "float32", "--learning_rate", 1e-3, "--warmup_steps", 10)
        lengths = ("--max_steps", 150, "--save_steps", 0, "--seed", self.seed, "--run-dir", run)
        cohort("reward-train", "--model.path", self.warm(), *data, *head, *lengths)


def labelled(row, is_right):
    """A completion's lines: one of arithmetic is right where its two sides are equal, the last where the answer is."""
    lines = row["completion"].split("\n")
    if not all(line.strip() for line in lines):
        return None
    labels = [holds(line) for line in lines[:-1]] + [is_right]
    return {"prompt": row["prompt"], "completions": lines, "labels": labels}


def holds(line):
    """Whether a line such as "<think>3 + 4 = 7" or "8 / 2 = 4</think>" is true."""
    words = line.removeprefix("<think>").removesuffix("</think>").split()
    numbers = [word.lstrip("-").isdigit() for word in words]
    if numbers != [True, False, True, False, True] or words[3] != "=":
        return False
    left, right, result = (int(word) for word in words[::2])
    results = {"+": left + right, "-": left - right, "*": left * right}
    return results.get(words[1]) == result or (words[1] == "/" and right * result == left and right != 0)
