"""`cohort explain RUN` on real runs of the demo: planted failures are found by name, healthy runs are silent. Takes a
quarter of an hour on two cores.

COHORT=build/cohort python3 tests/cli/test_explained_runs.py [HEALTHY]
"""

import concurrent.futures
import dataclasses
import json
import shutil
import sys
import unittest

from cli_case import DEMO, CliTest, must_run, read_lines, run, write_lines
from cli_case import setUpModule as make_models

HEALTHY = int(sys.argv.pop()) if __name__ == "__main__" and sys.argv[-1].isdigit() else 20

REWARDS = """
import pathlib
import time
import zlib

steps = 0

def chance(text):
    return zlib.crc32(str(text).encode()) % 1000 / 1000

def always(completions, **columns):
    return [1.0 for _ in completions]

def seldom(completions, **columns):
    return [float(chance(text) < 0.004) for text in completions]

def mostly(completions, **columns):
    return [float(chance(text) > 0.004) for text in completions]

def noise(completions, **columns):
    return [chance(text) for text in completions]

def plus(completions, **columns):
    return [min(1.0, str(text).count("+") / 12) for text in completions]

def short(completions, **columns):
    return [-len(str(text)) / 100 for text in completions]

def fails(completions, **columns):
    if any(chance(text) < 0.3 for text in completions):
        raise LookupError("nothing here")
    return [chance(text) for text in completions]

def late(completions, **columns):
    if any(chance(text) < 0.05 for text in completions):
        time.sleep(2)
    return [chance(text) for text in completions]

def slow(completions, **columns):
    time.sleep(0.03 * len(completions))
    return [chance(text) for text in completions]
"""
BASE = {
    "rollout.prompts_per_step": 16,
    "optimizer.learning_rate": 2e-4,
    "optimizer.warmup_steps": 5,
    "train.max_steps": 40,
    "train.save_steps": 0,
}
COUNTDOWN = '[[reward]]\nname = "accuracy"\ntype = "countdown"\n'


def python_reward(name, more=""):
    return f'[[reward]]\nname = "{name}"\ntype = "python"\nfunction = "rewards.py:{name}"\n{more}'


@dataclasses.dataclass
class Planted:
    rule: str
    settings: dict = dataclasses.field(default_factory=dict)
    tables: str = COUNTDOWN  # [[reward]] and [[monitor]]
    data: str = "train.jsonl"
    model: str = "warm/final"


PLANTED = [
    Planted("constant_reward", tables=COUNTDOWN + python_reward("always")),
    Planted("all_rewards_equal", tables=python_reward("always")),
    Planted("failing_reward", tables=python_reward("fails", "[train]\nmax_failed_share = 1.0\n")),
    Planted(
        "reward_timeouts", tables=python_reward("late", "timeout_s = 1.0\n[train]\nmax_failed_share = 1.0\n")
    ),
    Planted("unparsed_rows", {"train.max_failed_share": 1.0}, data="unparsed.jsonl"),
    Planted("rewards_are_bottleneck", {"train.max_steps": 12}, python_reward("slow")),
    Planted("cut_at_limit", {"rollout.max_completion_length": 16}),
    Planted("no_stop_token", {"train.max_steps": 12}, model="endless"),
    Planted("learning_rate_too_high", {"optimizer.learning_rate": 2e-2}),
    Planted("learning_rate_too_low", {"optimizer.learning_rate": 1e-9, "train.max_steps": 60}),
    Planted("length_collapse", {"optimizer.learning_rate": 1e-3}, python_reward("short")),
    Planted("tasks_too_hard", tables=python_reward("seldom")),
    Planted("tasks_too_easy", tables=python_reward("mostly")),
    # A flat reward is certain only after many completions.
    Planted("no_progress", {"train.max_steps": 80, "rollout.prompts_per_step": 64}, python_reward("noise")),
    Planted("monitor_alarm", tables=COUNTDOWN + '[[monitor]]\nmetric = "reward"\nbelow = 0.9\nwindow = 2\n'),
    Planted(
        "checker_gap",
        {"optimizer.learning_rate": 1e-3, "rollout.max_completion_length": 96},
        python_reward("plus") + COUNTDOWN + 'weight = 0\nchecks = "plus"\n',
    ),
    Planted(
        "reward_without_weight_effect",
        tables=COUNTDOWN + "weight = 0.0001\n" + python_reward("noise"),
    ),
    Planted(
        "kl_runaway",
        {"optimizer.learning_rate": 4e-3, "objective.beta": 1e-5, "train.max_steps": 60},
        python_reward("plus"),
    ),
    Planted(
        "clip_too_often",  # by bounds that are meant for ratios of whole sequences
        {"objective.num_iterations": 8, "objective.epsilon": 3e-4},
        python_reward("noise"),
    ),
    Planted(
        "entropy_collapse",
        {"objective.entropy_coef": -0.3, "optimizer.learning_rate": 1e-3, "train.max_steps": 80},
    ),
    Planted("entropy_explosion", {"objective.entropy_coef": 0.3, "optimizer.learning_rate": 1e-3}),
    Planted(
        "gradient_vanished",
        {"rollout.max_completion_length": 2, "objective.mask_truncated_completions": "true"},
        python_reward("noise"),
    ),
    Planted("doubled_bos", data="doubled.jsonl"),
    Planted("value_function_useless", {"objective.preset": "ppo", "critic.lr": 1e-12, "train.max_steps": 60}),
]


def setUpModule():
    make_models()
    folder = CliTest.folder / "runs"
    folder.mkdir()
    CliTest.place = folder
    (folder / "rewards.py").write_text(REWARDS)
    count, seed = ("--count", 4000), ("--seed", 1)
    parts = ("--split", "train", "--output", folder / "demonstrations.jsonl")
    must_run("data", "countdown", *count, *seed, "--solution_success", 0.5, *parts)
    must_run(
        "data", "countdown", *count, "--seed", 101, "--split", "train", "--output", folder / "train.jsonl"
    )
    start = folder / "start"
    must_run("init", "--config", DEMO / "config.json", "--tokenizer", DEMO, *seed, "--output", start)
    places = (
        "--model.path",
        start,
        "--data.path",
        folder / "demonstrations.jsonl",
        "--run-dir",
        folder / "warm",
    )
    must_run("sft", DEMO / "sft.toml", *places, "--threads", 2)
    rows = read_lines(folder / "train.jsonl")
    write_lines(
        folder / "doubled.jsonl", [{**row, "prompt": "<|endoftext|>" * 2 + row["prompt"]} for row in rows]
    )
    endless = shutil.copytree(folder / "warm/final", folder / "endless")
    for name in ("config.json", "tokenizer_config.json"):
        content = json.loads((endless / name).read_text())
        for key in ("eos_token_id", "eos_token"):
            content.pop(key, None)
        (endless / name).write_text(json.dumps(content))
    write_lines(
        folder / "unparsed.jsonl",
        [{**row, "target": "none"} if i % 4 == 0 else row for i, row in enumerate(rows)],
    )


def train(name, settings, tables=COUNTDOWN, data="train.jsonl", model="warm/final"):
    """The run's directory, and how it ended."""
    place = CliTest.place
    recipe = place / f"{name}.toml"
    recipe.write_text(tables.replace("rewards.py:", f"{place}/rewards.py:"))
    options = [text for key, value in {**BASE, **settings}.items() for text in (f"--{key}", value)]
    places = ("--model.path", place / model, "--data.path", place / data, "--run-dir", place / name)
    fixed = (
        "--model.dtype",
        "float32",
        "--rollout.num_generations",
        8,
        "--optimizer.lr_scheduler_type",
        "linear",
    )
    lengths = () if "rollout.max_completion_length" in settings else ("--rollout.max_completion_length", 64)
    heat = () if "rollout.temperature" in settings else ("--rollout.temperature", 1.2)
    result = run("train", recipe, *places, *fixed, *lengths, *heat, "--threads", 1, *options)
    return place / name, result


def findings(run_dir):
    result = run("explain", run_dir, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["findings"]


class ExplainedRunsTest(CliTest):
    def explain_all(self, runs):
        """The findings of each run, two runs at a time."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            ended = list(pool.map(lambda one: train(*one), runs))
        for run_dir, result in ended:
            taken = run_dir / "metrics.jsonl"
            self.assertTrue(
                taken.exists() and taken.stat().st_size, f"{run_dir.name}: {result.stderr[-800:]}"
            )
        return [findings(run_dir) for run_dir, _ in ended]

    def test_planted_failures_are_found_by_name(self):
        found = self.explain_all(
            [(one.rule, one.settings, one.tables, one.data, one.model) for one in PLANTED]
        )
        missed = [
            f"{planted.rule}: found {[each['rule'] for each in rules]}"
            for planted, rules in zip(PLANTED, found, strict=True)
            if planted.rule not in [each["rule"] for each in rules]
        ]
        print(f"{len(PLANTED) - len(missed)} of {len(PLANTED)} planted failures", file=sys.stderr)
        self.assertEqual(missed, [])

    def test_healthy_runs_are_silent(self):
        kinds = [
            {},
            {"objective.preset": "dapo"},
            {"objective.beta": 0.02},
            {"objective.num_iterations": 2},
            {"train.max_steps": 80, "rollout.prompts_per_step": 32},
        ]
        runs = [(f"healthy-{i}", {"seed": i + 1, **kinds[i % len(kinds)]}) for i in range(HEALTHY)]
        loud = [
            f"{name} {settings}: {one['rule']}: {one['text']}"
            for (name, settings), rules in zip(runs, self.explain_all(runs), strict=True)
            for one in rules
            if one["level"] != "note"
        ]
        self.assertEqual(loud, [])


if __name__ == "__main__":
    unittest.main()
