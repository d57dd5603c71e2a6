"""Cohort beside engines that decode on a CPU, each at its best setting: llama.cpp, OpenVINO GenAI and vLLM.

    make build && python3 bench/compare_engines.py
    python3 bench/compare_engines.py --jobs decode-64 --engines llama.cpp --rounds 9
    python3 bench/compare_engines.py --isa avx2        # no engine may use AVX-512

All engines run the same model of shape S (bench/workloads.py), the same prompts and the same number of tokens. A
decoding job draws 128 tokens for each of its streams after one shared prompt of 132 tokens; the speed is that of all
tokens but the first. The prefill job takes eight different prompts of 512 tokens to their first tokens.

A search finds each engine's best setting for each job: it goes from setting to setting and keeps the value with the
highest speed. The settings are kept in settings.json of the working directory; --search finds them anew. Then the
engines take turns, round after round; the table has medians, with the slowest and the fastest round.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import cached_property

import compare_trl
from llama_peer import LlamaCpp
from openvino_peer import OpenVino
from vllm_peer import Vllm
from workloads import WORKLOADS

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/cohort"
SHAPE = WORKLOADS["S"]
GOAL = 1.2
# What forbids the instruction sets above.
ISAS = {"native": {}, "avx2": {"COHORT_CPU_ARCH": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}}


@dataclass(frozen=True)
class Job:
    """What an engine is measured at."""

    name: str
    kind: str  # decode: the streams share one prompt; prefill: every stream has a prompt of its own
    streams: int
    prompt_tokens: int
    completion_tokens: int
    vocab_size: int = SHAPE.vocab_size


JOBS = {
    **{
        f"decode-{streams}": Job(
            f"decode, {streams} stream{'s' * (streams > 1)}",
            "decode",
            streams,
            SHAPE.prompt_tokens,
            SHAPE.completion_tokens,
        )
        for streams in (64, 8, 1)
    },
    "prefill": Job("prefill, 8 prompts of 512 tokens", "prefill", 8, 512, 1),
}


class Cohort:
    """`cohort bench`: it draws its tokens at temperature 1."""

    name = "Cohort"

    def __init__(self, model, environment):
        self.model = model
        self.environment = {**os.environ, **environment}

    def choices(self, job):
        return {}

    def speed(self, job, settings):
        command = [PROGRAM, "bench", "--json", "--model", self.model, "--measure", job.kind, "--repeats", "1"]
        command += ["--prompt_length", str(job.prompt_tokens), "--streams", str(job.streams)]
        command += ["--completion_length", str(max(2, job.completion_tokens))]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=self.environment)
        return json.loads(done.stdout)["lines"][0]["tokens_per_s"]


class Engines:
    """The model and the engines on it, each made when it is first asked for."""

    def __init__(self, work_dir, isa="native"):
        self.isa, self.folder = isa, work_dir / "S"
        self.settings_file = work_dir / f"settings-{isa}.json"
        if not (self.folder / "model").exists():
            compare_trl.prepare("S", work_dir)

    @cached_property
    def trl_python(self):
        return compare_trl.make_python()

    @cached_property
    def cohort(self):
        return Cohort(self.folder / "model", ISAS[self.isa])

    @cached_property
    def llama_cpp(self):
        return LlamaCpp(self.trl_python, self.folder / "model", self.folder, self.isa)

    @cached_property
    def openvino(self):
        return OpenVino(self.folder / "model", self.folder, ISAS[self.isa])

    @cached_property
    def vllm(self):
        return Vllm(self.folder / "model", ISAS[self.isa])

    def peers(self, names):
        return [getattr(self, ENGINES[name]) for name in names]

    def known_settings(self):
        return json.loads(self.settings_file.read_text()) if self.settings_file.exists() else {}

    def best_settings(self, peer, job, search_anew=False):
        """The kept settings of an engine for a job, or those that a search finds."""
        known = self.known_settings()
        key = f"{peer.name} {peer.version}, {job.name}"
        if search_anew or key not in known:
            found = search(peer, job)
            known = {**self.known_settings(), key: found}
            self.settings_file.write_text(json.dumps(known, indent=1) + "\n")
        print(f"{key}: {short(known[key])}", flush=True)
        return known[key]


ENGINES = {"llama.cpp": "llama_cpp", "OpenVINO": "openvino", "vLLM": "vllm"}


def short(settings):
    return ", ".join(f"{key} {value}" for key, value in settings.items())


def search(peer, job):
    """Goes from setting to setting and keeps the value with the highest speed, at half of the completion's tokens."""
    job = replace(job, completion_tokens=(job.completion_tokens + 1) // 2)
    choices = peer.choices(job)
    best = {key: values[0] for key, values in choices.items()}
    highest = peer.speed(job, best)
    print(f"{peer.name}, {job.name}: {highest:.0f} tokens/s with {short(best)}", flush=True)
    for key, values in choices.items():
        for value in values[1:]:
            tried = {**best, key: value}
            speed = peer.speed(job, tried)
            print(f"{peer.name}, {job.name}: {speed:.0f} tokens/s with {key} {value}", flush=True)
            if speed > highest:
                highest, best = speed, tried
    if highest == 0.0:
        sys.exit(f"{peer.name} runs with none of the settings of {job.name}")
    return best


def measure(engines, names, job, rounds, search_anew=False):
    """Engine's name -> tokens/s of every round, Cohort's first; the engines take turns."""
    peers = engines.peers(names)
    settings = {peer.name: engines.best_settings(peer, job, search_anew) for peer in peers}
    speeds = {engine.name: [] for engine in (engines.cohort, *peers)}
    for _ in range(rounds):
        for engine in (engines.cohort, *peers):
            speeds[engine.name].append(engine.speed(job, settings.get(engine.name, {})))
    return speeds


def figure(speeds):
    return f"{statistics.median(speeds):.0f} ({min(speeds):.0f} to {max(speeds):.0f})"


def ratio_to_best(speeds):
    """(Cohort's median over that of the fastest peer, this peer's name)."""
    medians = {name: statistics.median(values) for name, values in speeds.items()}
    ours = medians.pop("Cohort")
    fastest = max(medians, key=medians.get)
    return ours / medians[fastest], fastest


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=list(JOBS))
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each engine (5)")
    parser.add_argument("--isa", choices=ISAS, default="native", help="the highest instruction set")
    parser.add_argument("--search", action="store_true", help="search the settings anew")
    parser.add_argument("--search-only", action="store_true", help="search the settings anew and stop")
    parser.add_argument("--work-dir", type=pathlib.Path, default=ROOT / "build/compare_engines")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if not PROGRAM.exists():
        sys.exit("build/cohort is missing: run `make build` first")
    engines = Engines(arguments.work_dir, arguments.isa)
    if arguments.search_only:
        for peer in engines.peers(arguments.engines):
            for name in arguments.jobs:
                engines.best_settings(peer, JOBS[name], search_anew=True)
        return
    rows = []
    for name in arguments.jobs:
        speeds = measure(engines, arguments.engines, JOBS[name], arguments.rounds, arguments.search)
        ratio, fastest = ratio_to_best(speeds)
        verdict = "met" if ratio >= GOAL else "missed"
        figures = " | ".join(map(figure, speeds.values()))
        rows.append(f"| S, {JOBS[name].name} | {figures} | {ratio:.2f} ({fastest}) | {verdict} |")
        print(rows[-1], flush=True)
    print(f"\n| tokens/s | {' | '.join(speeds)} | Cohort / fastest peer | at least {GOAL} |")
    print("|---" * (len(speeds) + 3) + "|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
