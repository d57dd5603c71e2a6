"""Cohort beside TRL and decoding engines on every workload of the project, as one table of goals and what was reached.

    make build && python3 bench/compare_peers.py
    python3 bench/compare_peers.py --rows T decode start
    python3 bench/compare_peers.py --steps 2 T=5 Q=1 --repeats 1 T=3 ceiling=5 --micro-batch Q=4

The sides take turns and medians count. TRL has an environment of its own (.venv-trl). The rows `decode` and
`prefill` are those of bench/compare_engines.py, whose engines have their environments there. The runs assert that
Cohort's sampler and trainer agree exactly, that both sides train the same number of tokens and that rewards differ
inside every group. If the processor has no bfloat16 instructions, a step of TRL on Q takes half an hour: choose --rows.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cached_property

import compare_engines
import compare_trl
from workloads import WORKLOADS

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/cohort"
LORA = ["--lora.r=16", "--lora.alpha=32"]


@dataclass
class Row:
    """One line of the table: what was measured, what it is held against, and the goal in words and as a test."""

    work: str
    cohort: str
    peer: str
    ratio: float
    goal: str
    is_met: bool

    def __str__(self):
        verdict = "met" if self.is_met else "missed"
        return f"| {self.work} | {self.cohort} | {self.peer} | {self.ratio:.2f} | {self.goal} | {verdict} |"


class Peers:
    """What the rows share: settings, and folders with a workload's model and prompts, made once."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.folders = {}

    def folder(self, name):
        if name not in self.folders:
            self.folders[name] = compare_trl.prepare(name, self.arguments.work_dir)
        return self.folders[name]

    def against_trl(self, name):
        """[Cohort's summary, TRL's] of one workload's whole steps; prints those of all labels."""
        sides = compare_trl.compare(
            name,
            self.folder(name),
            WORKLOADS[name].dtype,
            self.arguments.steps[name],
            self.arguments.repeats[name],
            self.arguments.micro_batch[name],
        )
        compare_trl.print_table(sides)
        return list(sides.values())[:2]

    def cohort_alone(self, name, steps, options=()):
        dtype = WORKLOADS[name].dtype
        run = compare_trl.run_cohort(name, self.folder(name), dtype, steps, options)
        return compare_trl.summary([run])

    def bench(self, measure):
        """`cohort bench` on shape S: name of a line -> its figures."""
        folder = self.folder("S")
        options = ["--measure", measure, "--prompt_length", str(WORKLOADS["S"].prompt_tokens)]
        options += ["--completion_length", str(WORKLOADS["S"].completion_tokens), "--repeats", "1"]
        command = [PROGRAM, "bench", "--json", "--model", folder / "model", *options]
        text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        return {line["name"]: line for line in json.loads(text)["lines"]}

    @cached_property
    def engines(self):
        return compare_engines.Engines(self.arguments.work_dir.parent / "compare_engines")


def step_row(name, goal, memory_goal=None):
    """Whole steps against TRL: so many times faster, and at most such a share of its memory."""

    def measure(peers):
        ours, theirs = peers.against_trl(name)
        ratio = theirs["step s"] / ours["step s"]
        seconds = [f"{side['step s']:.2f} s" for side in (ours, theirs)]
        rows = [Row(f"{name}, whole step", *seconds, ratio, f"at least {goal} times faster", ratio >= goal)]
        if memory_goal is not None:
            share = ours["peak GiB"] / theirs["peak GiB"]
            gib = [f"{side['peak GiB']:.2f} GiB" for side in (ours, theirs)]
            goal_text = f"at most {memory_goal:.2f} of it"
            rows.append(Row(f"{name}, peak memory", *gib, share, goal_text, share <= memory_goal))
        return rows

    return measure


def memory_row(row, name, limit_gib, label, options=()):
    """Cohort's own peak memory in a step of a workload."""

    def measure(peers):
        peak = peers.cohort_alone(name, peers.arguments.steps[row], options)["peak GiB"]
        goal = f"at most {limit_gib} GiB"
        return [Row(label, f"{peak:.2f} GiB", "", peak / limit_gib, goal, peak <= limit_gib)]

    return measure


def long_rows(peers):
    """Seconds a token of completions of 4,096 tokens against those of 128: a completion's own tokens, which is what a
    step makes, and with the prompt's tokens counted for each completion, though a group forwards them once."""
    seconds = {"L": [], "L-short": []}
    for _ in range(peers.arguments.repeats["L"]):
        for name, values in seconds.items():
            values.append(peers.cohort_alone(name, peers.arguments.steps["L"])["step s"])
    goal = "at most 2.5 times those at 128 tokens"

    def row(label, tokens_of):
        long, short = (
            1e3 * statistics.median(seconds[name]) / tokens_of(WORKLOADS[name]) for name in seconds
        )
        each = (f"{long:.2f} ms", f"{short:.2f} ms at 128")
        return Row(label, *each, long / short, goal, long / short <= 2.5)

    return [
        row("L, time a completion token", lambda workload: workload.completion_tokens_per_step),
        row("L, prompts counted for each completion", lambda workload: workload.tokens_per_step),
    ]


def engine_rows(row, jobs):
    """Cohort against the fastest of the engines, each at its best setting."""

    def measure(peers):
        rounds, result = max(5, peers.arguments.repeats[row]), []
        for job in map(compare_engines.JOBS.get, jobs):
            speeds = compare_engines.measure(peers.engines, list(compare_engines.ENGINES), job, rounds)
            ratio, fastest = compare_engines.ratio_to_best(speeds)
            medians = {name: f"{statistics.median(values):.0f} tokens/s" for name, values in speeds.items()}
            each = (medians["Cohort"], f"{medians[fastest]} ({fastest})")
            goal = compare_engines.GOAL
            result.append(
                Row(f"S, {job.name}", *each, ratio, f"at least {goal} times the best", ratio >= goal)
            )
        return result

    return measure


def ceiling_rows(peers):
    """How much of the time of matrix products alone decoding and training reach."""
    runs = [peers.bench("all") for _ in range(peers.arguments.repeats["ceiling"])]
    result = []
    for name, goal in (("decode, 64 streams", 0.5), ("training", 0.65)):
        lines = [run[name] for run in runs]
        mine = statistics.median(line["tokens_per_s"] for line in lines)
        ceiling = statistics.median(line["ceiling_tokens_per_s"] for line in lines)
        share = mine / ceiling
        each = (f"{mine:.0f} tokens/s", f"{ceiling:.0f} of products alone")
        result.append(Row(f"S, {name}", *each, share, f"at least {goal} of the ceiling", share >= goal))
    return result


def start_row(peers):
    """Program start to the first token of a prompt: all of a program that draws one token, from bfloat16 files."""
    folder, workload = peers.folder("S"), WORKLOADS["S"]
    model, shape = folder / "model_bfloat16", folder / "model"
    if not model.exists():
        init = [PROGRAM, "init", "--config", shape / "config.json", "--tokenizer", shape, "--output", model]
        subprocess.run([*init, "--dtype", "bfloat16"], check=True, capture_output=True)
    prompt = folder / "one.jsonl"
    prompt.write_text((folder / "prompts.jsonl").read_text().splitlines()[0] + "\n")
    command = [PROGRAM, "sample", "--model", model, "--input", prompt, "--dtype", "bfloat16"]
    command += ["--max-completion-length", "1", "--num-generations", "1", "--output", folder / "one.out"]
    ours, theirs = [], []
    for _ in range(max(5, peers.arguments.repeats["start"])):
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        ours.append(time.perf_counter() - began)
        theirs.append(peers.engines.llama_cpp.start_seconds(workload.prompt_tokens))
    mine, other = statistics.median(ours), statistics.median(theirs)
    each = (f"{mine:.2f} s", f"{other:.2f} s")
    return [Row("S, start to first token", *each, mine / other, "llama.cpp's + 0.5 s", mine <= other + 0.5)]


ROWS = {
    "T": step_row("T", 5),
    "S": step_row("S", 6, 1 / 3),
    "decode": engine_rows("decode", ["decode-64", "decode-8", "decode-1"]),
    "prefill": engine_rows("prefill", ["prefill"]),
    "Q": step_row("Q", 6),
    "Q-memory": memory_row("Q-memory", "Q", 11, "Q, peak memory, full"),
    "Q-lora": memory_row("Q-lora", "Q", 4, "Q, peak memory, LoRA r = 16", LORA),
    "L": long_rows,
    "long-prompt": step_row("long-prompt", 15),
    "ceiling": ceiling_rows,
    "start": start_row,
}


class PerRow(argparse.Action):
    """Of N, which holds for every row, and ROW=N, which holds for one: a dictionary from each row to its N."""

    def __call__(self, parser, namespace, values, option_string=None):
        given = {}
        for text in values:
            row, _, number = text.rpartition("=")
            if row not in ("", *ROWS) or not number.isdecimal() or int(number) < 1:
                parser.error(f"{option_string} {text}: expected N or ROW=N with N of at least 1")
            given[row] = int(number)
        others = given.get("")
        numbers = {row: given.get(row, others or self.default[row]) for row in ROWS}
        setattr(namespace, self.dest, numbers)


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rows", nargs="+", choices=ROWS, default=list(ROWS), metavar="ROW", help=", ".join(ROWS)
    )
    for option, default, meaning in (
        ("--steps", 4, "steps a run (4); the first of several warms up"),
        ("--repeats", 3, "runs of each side (3)"),
        ("--micro-batch", None, "TRL's, in completions; default: the fastest of four"),
    ):
        defaults = dict.fromkeys(ROWS, default)
        parser.add_argument(
            option, nargs="+", action=PerRow, default=defaults, metavar="[ROW=]N", help=meaning
        )
    parser.add_argument("--work-dir", type=pathlib.Path, default=ROOT / "build/compare_peers")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if not PROGRAM.exists():
        sys.exit("build/cohort is missing: run `make build` first")
    peers = Peers(arguments)
    rows = []
    for name in arguments.rows:
        for row in ROWS[name](peers):
            rows.append(row)
            print(row, flush=True)
    print("\n| work | Cohort | peer | ratio | goal | |\n|---|---|---|---|---|---|")
    print("\n".join(map(str, rows)))


if __name__ == "__main__":
    main()
