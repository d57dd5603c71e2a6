"""Writes the records of a long run, so that a reader of them can be timed without training for days.

python3 bench/view_records.py --output /tmp/long-run [--steps 10000] [--completions 2000000]

The directory gets config.toml, metrics.jsonl, timings.jsonl, and the completions as `cohort train` leaves them: about 1 KB
each, older ones compressed, with completions.index. Two million take half a minute of processor time and 0.3 GB on disk.
Needs the program zstd.
"""

import argparse
import json
import math
import pathlib
import random
import struct
import subprocess

COMPRESSED_BYTES = 64 << 20  # as LoopConfig::completions_bytes
SAVE_STEPS = 20
NUM_PROMPTS = 2000
SCORES = (0.0, 0.2, 1.0, 1.2)
IS_CUT, HAS_FAILED = 1, 8

CONFIG = """seed = 1

[model]
path = "start"

[data]
path = ["train.jsonl"]

[rollout]
prompts_per_step = {prompts}
num_generations = {samples}
max_completion_length = 64

[[reward]]
name = "accuracy"
type = "countdown"
weight = 1.0

[objective]
preset = "grpo"

[optimizer]
learning_rate = 0.0002

[train]
max_steps = {steps}
save_steps = {save_steps}

[run]
dir = "{directory}"
"""


def prompt_hash(prompt_id):
    """FNV-1a of 64 bits."""
    value = 0xCBF29CE484222325
    for byte in prompt_id.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


class CompletionFiles:
    """completions.jsonl, its compressed files and the index."""

    def __init__(self, directory):
        self.directory = directory
        (directory / "completions").mkdir()
        self.index = (directory / "completions.index").open("wb")
        self.index.write(b"COHORTI1")
        self.lines, self.place, self.first_step = [], 0, 1

    def add(self, step, line, prompt, tokens, reward, advantage, sample, flags):
        if not self.lines:
            self.first_step = step
        figures = (
            self.place,
            prompt,
            self.first_step,
            step,
            len(line),
            tokens,
            reward,
            advantage,
            sample,
            flags,
        )
        self.index.write(struct.pack("<qQIIIIffiI", *figures))
        self.lines.append(line)
        self.place += len(line) + 1

    def save(self):
        if self.place <= COMPRESSED_BYTES:
            return
        path = self.directory / f"completions/{self.first_step:08}.jsonl.zst"
        subprocess.run(["zstd", "-q", "-3", "-o", path], input=b"\n".join(self.lines) + b"\n", check=True)
        self.lines, self.place = [], 0

    def finish(self):
        (self.directory / "completions.jsonl").write_bytes(b"".join(line + b"\n" for line in self.lines))
        self.index.close()


def parts_of_lines(generator):
    """For each of a few completions: its text, and its ids and log-probabilities; as JSON."""
    words = (
        "add take the numbers from target is first then try again no yes so 3 7 19 25 62 - + * ( )".split()
    )
    parts = []
    for _ in range(500):
        count = generator.randint(12, 36)
        text = " ".join(generator.choice(words) for _ in range(count))
        ids = [generator.randint(0, 500) for _ in range(count)]
        logprobs = [-generator.expovariate(2) for _ in range(count)]
        ends = f'"prompt_ids":{ids},"completion_ids":{ids},"logprobs":{logprobs}}}'.replace(" ", "")
        parts.append((json.dumps(f"<think>{text}</think> <answer>{text[:20]}</answer>"), ends, count))
    return parts


def write_completions(directory, options, prompts_per_step, generator):
    files, parts = CompletionFiles(directory), parts_of_lines(generator)
    hashes = [prompt_hash(f"train.jsonl:{i}") for i in range(NUM_PROMPTS)]
    for step in range(1, options.steps + 1):
        for _ in range(prompts_per_step):
            prompt = generator.randrange(NUM_PROMPTS)
            begin = (
                f'{{"step":{step},"prompt_id":"train.jsonl:{prompt}","sample":%d,"prompt":"Numbers: {prompt % 97}, '
                f'{prompt % 89}, {prompt % 83}. Target: {prompt}.","completion":%s,"finish_reason":"%s","reward":%s,'
                '"rewards":{"accuracy":{"score":%s,"status":"%s"}},"advantage":%s,"policy_version":0,%s'
            )
            for sample in range(options.samples):
                text, ends, tokens = parts[generator.randrange(len(parts))]
                reward, advantage = generator.choice(SCORES), generator.choice((-0.5, 0.0, 1.5))
                is_cut, fails = generator.random() < 0.1, generator.random() < 0.02
                reason, status = "length" if is_cut else "stop", "timeout" if fails else "ok"
                score = "null" if fails else reward
                line = begin % (sample, text, reason, score, score, status, advantage, ends)
                flags = IS_CUT * is_cut + HAS_FAILED * fails
                reward = math.nan if fails else reward
                files.add(step, line.encode(), hashes[prompt], tokens, reward, advantage, sample, flags)
        if step % SAVE_STEPS == 0:
            files.save()
    files.finish()


def write_figures(path, steps, names, generator):
    with path.open("w") as file:
        for step in range(1, steps + 1):
            values = {name: generator.gauss(0, 0.1) + math.log(step) / 9 for name in names}
            file.write(json.dumps({"step": step, **values}, separators=(",", ":")) + "\n")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=pathlib.Path, required=True, help="a new directory")
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--completions", type=int, default=2_000_000)
    parser.add_argument("--samples", type=int, default=8, help="completions of a prompt")
    options = parser.parse_args()
    generator = random.Random(1)
    options.output.mkdir(parents=True)
    prompts_per_step = max(1, options.completions // options.steps // options.samples)
    config = CONFIG.format(
        prompts=prompts_per_step,
        samples=options.samples,
        steps=options.steps,
        save_steps=SAVE_STEPS,
        directory=options.output,
    )
    (options.output / "config.toml").write_text(config)
    (options.output / ".start").write_text("2027-03-04T05:06:07\n")
    figures = ["reward", "reward_std", "entropy", "loss", "grad_norm", "completions/mean_length"]
    figures += [f"rewards/part_{i}/mean" for i in range(94)]
    write_figures(options.output / "metrics.jsonl", options.steps, figures, generator)
    timings = ["step_time", *(f"timing_s/part_{i}" for i in range(49))]
    write_figures(options.output / "timings.jsonl", options.steps, timings, generator)
    write_completions(options.output, options, prompts_per_step, generator)


if __name__ == "__main__":
    main()
