"""Every preset of `cohort objectives` on the demo task: one warm start a seed, then so many steps of each.

    make build && python3 bench/variants.py
    python3 bench/variants.py --presets grpo dapo --steps 10 --seeds 1

Writes the table of docs/variants.md and the curves beside it (docs/variants-*.svg), with all presets only, and prints the
table. Runs stay in runs/variants/SEED; --reuse takes those that are finished as they are, so that a study that was
interrupted goes on. The program decides which presets there are, and one that it refuses has a row with its reason.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import math
import os
import re
import shutil
import statistics
import subprocess

from demo_run import PROGRAM, RECIPES, ROOT, read
from demo_task import DemoTask
from small_multiples import small_multiples

PAGE = ROOT / "docs/variants.md"
BEGIN, END = "<!-- made by bench/variants.py -->\n", "<!-- end -->\n"
UPDATES = 4  # of a generation, so that ratios leave 1 and surrogates differ
ALWAYS = ("loss", "grad_norm", "rewards/accuracy/mean", "completions/mean_length")
CURVES = {
    "reward": "rewards/accuracy/mean",
    "entropy": "entropy",
    "length": "completions/mean_length",
}
TITLES = {
    "reward": "Share of completions that reach the target, by step; grey: grpo",
    "entropy": "Entropy of the next token in nats, by step; grey: grpo",
    "length": "Mean tokens of a completion, by step; grey: grpo",
}
# What a method is without on the demo as it is.
CRITIC_RATE = ("--critic.lr", 1e-3)
OF_EPISODES = {"gigpo", "axpo"}  # compare turns from the same state, and draw calls of tools anew
TWO_REWARDS = ("--reward.1.name", "format", "--reward.1.type", "format")
SETTINGS = {
    "ppo": CRITIC_RATE,
    "vapo": CRITIC_RATE,
    "hybrid_dpo": ("--dpo-margin", 0.5),
    "mo_grpo": TWO_REWARDS,
    "gdpo": TWO_REWARDS,
    "pow3r": TWO_REWARDS,
    "treepo": ("--rollout.tree-depth", 4),  # segments of 16 tokens
}


@dataclasses.dataclass(frozen=True)
class Study:
    """How long and how large every run is."""

    steps: int = 30
    completions: int = 512
    threads: int = 0
    reuse: bool = False


def in_order(names):
    """As the program lists them."""
    return [name for name in presets() if name in names]


def presets():
    """Every preset with the run settings that it names, {"rollout.num_generations": "9", ...}, but those of episodes."""
    text = subprocess.run([PROGRAM, "objectives"], check=True, capture_output=True, text=True).stdout
    paragraphs = re.findall(r"^(\w+)  \((.*?)(?=^\w)", text, re.MULTILINE | re.DOTALL)
    return {
        name: dict(re.findall(r"\b(\w+\.\w+)=(\S+)", body))
        for name, body in paragraphs
        if name not in OF_EPISODES
    }


def objective_of(preset):
    """What the preset sets in a recipe's [objective], as text: {"surrogate": "sapo", ...}."""
    text = subprocess.run([PROGRAM, "objectives", preset], check=True, capture_output=True, text=True).stdout
    return dict(re.findall(r"^    (\w+) = (\S+)$", text, re.MULTILINE))


def settings(preset, run_settings, task, study):
    """Flags of a run: all presets draw as many completions a step, in groups of eight where the method names no other
    size. A preset that names the prompts of a step is a whole run, whose sizes are the demo's here."""
    is_whole_run = "rollout.prompts_per_step" in run_settings
    size = 8 if is_whole_run else int(run_settings.get("rollout.num_generations", 8))
    prompts = max(study.completions // size // UPDATES, 1) * UPDATES
    flags = ["--prompts-per-step", prompts, "--num-generations", size, "--steps-per-generation", UPDATES]
    flags += ["--lr-scheduler-type", "constant"]  # a few steps, which a falling rate would mostly waste
    flags += ["--dynamic-sampling", "false"] if is_whole_run else []
    flags += SETTINGS.get(preset, ())
    if preset == "grpo_process":
        judge = (
            "--reward.1.name",
            "steps",
            "--reward.1.type",
            "process",
            "--reward.1.path",
            task.step_judge(),
        )
        flags += [*judge, "--reward.0.weight", 0]
    return flags


def train(preset, run_settings, task, study):
    """Trains a preset; the run's folder and, where it did not come to its end, the reason."""
    run = task.folder / preset
    if study.reuse and len(metrics_of(run)) == study.steps:
        return run, ""
    shutil.rmtree(run, ignore_errors=True)
    paths = ("--model.path", task.warm(), "--data.path", task.problems(), "--run-dir", run)
    lengths = ("--seed", task.seed, "--max-steps", study.steps, "--save-steps", 0, "--threads", study.threads)
    flags = settings(preset, run_settings, task, study)
    arguments = ["train", RECIPES / "grpo.toml", "--objective.preset", preset, *paths, *lengths, *flags]
    ended = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    if ended.returncode == 0:
        shutil.rmtree(run / "final", ignore_errors=True)
        shutil.rmtree(run / "checkpoints", ignore_errors=True)
        return run, ""
    errors = re.findall(r"^cohort: (.*)$", ended.stderr, re.MULTILINE) or [f"exit status {ended.returncode}"]
    return run, errors[-1]


def metrics_of(run):
    path = run / "metrics.jsonl"
    return read(path) if path.exists() else []


def is_finite(line):
    """Whether a step's numbers are; some may be absent (null), those of every step may not."""
    numbers = [value for value in line.values() if isinstance(value, (int, float))]
    return all(map(math.isfinite, numbers)) and all(line[name] is not None for name in ALWAYS)


def figures(run):
    """What a run came to: a row of the table without its name."""
    lines, times = metrics_of(run), read(run / "timings.jsonl")
    ends = {"at first": lines[:5], "at last": lines[-5:]}
    row = {f"reward {when}": mean_of(part, "rewards/accuracy/mean") for when, part in ends.items()}
    row["tokens"] = mean_of(lines[-5:], "completions/mean_length")
    row["entropy"] = mean_of(lines[-5:], "entropy")
    row["largest gradient"] = max(
        math.inf if line["grad_norm"] is None else line["grad_norm"] for line in lines
    )
    row["seconds"] = statistics.median(line["timing_s/step"] for line in times)
    row["GiB"] = max(line["perf/max_memory_allocated_gb"] for line in times)
    row["not finite"] = sum(not is_finite(line) for line in lines) + lines[-1]["skipped_steps"]
    return row


def mean_of(lines, name):
    """Over the steps that have a value: one whose groups all lack a difference has no entropy."""
    values = [line[name] for line in lines if line[name] is not None]
    return statistics.fmean(values) if values else math.nan


def table(runs, refusals):
    """Markdown: the mean of each figure over the seeds, and the reason in place of figures."""
    rows = {name: [figures(run) for run in seeds] for name, seeds in runs.items()}
    columns = list(next(iter(rows.values()))[0]) if rows else []
    means = {
        name: {column: statistics.fmean(row[column] for row in seeds) for column in columns}
        for name, seeds in rows.items()
    }
    lines = [f"| preset | {' | '.join(columns)} | time / grpo's |", "|---" * (len(columns) + 2) + "|"]
    for name in in_order([*runs, *refusals]):
        if name in refusals:
            lines.append(f"| {name} | refused: {refusals[name]} |" + " |" * len(columns))
            continue
        ratio = means[name]["seconds"] / means["grpo"]["seconds"] if "grpo" in means else math.nan
        cells = [f"{means[name][column]:{FORMATS[column]}}" for column in columns]
        lines.append(f"| {name} | {' | '.join(cells)} | {ratio:.2f} |")
    return "\n".join(lines) + "\n"


FORMATS = collections.defaultdict(
    lambda: ".3f",
    {"tokens": ".1f", "largest gradient": ".2g", "seconds": ".2f", "GiB": ".2f", "not finite": ".0f"},
)


def by_step(run, name):
    """The metric of each step; where there is none, that of the step before."""
    values = []
    for line in metrics_of(run):
        values.append(line[name] if line[name] is not None else values[-1] if values else 0.0)
    return values


def curves(runs, refusals, name):
    """{preset: the metric by step, the mean over the seeds}, or "refused"."""
    result = dict.fromkeys(refusals, "refused")
    for preset, seeds in runs.items():
        result[preset] = [statistics.fmean(step) for step in zip(*(by_step(run, name) for run in seeds))]
    return result


def study_all(names, tasks, study, jobs):
    """The folders of each preset's runs, one a seed, and the presets that did not run, with the reason."""
    known = presets()
    unknown = set(names) - set(known)
    if unknown:
        raise SystemExit(f"no such preset: {', '.join(sorted(unknown))}")
    runs, refusals = collections.defaultdict(list), {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for task in tasks:
            task.warm(), task.problems(), task.step_judge()
            chosen = [name for name in names or known if name not in refusals]
            trained = [pool.submit(train, name, known[name], task, study) for name in chosen]
            for name, done in zip(chosen, trained):
                run, reason = done.result()
                print(f"seed {task.seed}  {name}  {reason and 'refused: ' + reason}", flush=True)
                if reason:
                    refusals[name] = reason
                    runs.pop(name, None)
                else:
                    runs[name].append(run)
    return dict(runs), refusals


def write_page(runs, refusals, text):
    page = PAGE.read_text()
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    PAGE.write_text(before + BEGIN + text + END + after)
    for part, metric in CURVES.items():
        drawn = curves(runs, refusals, metric)
        svg = small_multiples(TITLES[part], {name: drawn[name] for name in in_order(drawn)}, drawn["grpo"])
        (PAGE.parent / f"variants-{part}.svg").write_text(svg)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--presets", nargs="+", default=[])
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--completions", type=int, default=512, help="of a step")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--sft-steps", type=int, default=700, help="updates of the warm start")
    parser.add_argument(
        "--jobs", type=int, default=1, help="runs beside each other; seconds count with 1 only"
    )
    parser.add_argument("--reuse", action="store_true", help="keep runs that are finished")
    asked = parser.parse_args()
    threads = max(os.cpu_count() // asked.jobs, 1) if asked.jobs > 1 else 0
    study = Study(asked.steps, asked.completions, threads, asked.reuse)
    tasks = [DemoTask(ROOT / f"runs/variants/{seed}", seed, asked.sft_steps) for seed in asked.seeds]
    runs, refusals = study_all(asked.presets, tasks, study, asked.jobs)
    text = table(runs, refusals)
    print(text)
    if not asked.presets:
        write_page(runs, refusals, text)


if __name__ == "__main__":
    main()
