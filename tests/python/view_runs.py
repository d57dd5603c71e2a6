"""Runs in the form that the program writes, with invented content, for tests of the page: text that attacks it, failed
rewards, injected tokens, many steps. What the page shows of a real run, test_view_page.py checks on a real one."""

import json
import math
import random
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STATUSES = ["unparsed", "timeout", "error", "sandbox_error", "skipped"]

CONFIG = """seed = {seed}

[model]
path = "start"
dtype = "float32"

[data]
path = ["train.jsonl"]

[rollout]
prompts_per_step = {prompts}
num_generations = {samples}
max_completion_length = 64
temperature = 1.2

[[reward]]
name = "accuracy"
type = "countdown"
weight = 1.0

[[reward]]
name = "format"
type = "format"
weight = 0.2

[objective]
preset = "grpo"
beta = {beta}

[optimizer]
learning_rate = {learning_rate}

[train]
max_steps = {steps}
save_steps = 50

[run]
dir = "{name}"
"""

HOSTILE = [
    '<script>window.attacked = "script"</script>',
    '<img src=x onerror="window.attacked = 1"><svg onload="window.attacked = 2">',
    '</span></td></table><iframe srcdoc="<script>parent.attacked = 3</script>"></iframe>',
    "<link rel=stylesheet href=https://attacker.invalid/a.css><img src='https://attacker.invalid/a.png'>",
    "javascript:window.attacked=4 [link](javascript:alert(1)) ${alert(2)} {{constructor.constructor('alert(3)')()}}",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J bell",
    "user\u202egnp.exe \u2066isolated\u2069 zero\u200bwidth \u200fmark",
    "NUL \x00 and \x01 and \x7f and \x9b, a lone carriage\rreturn",
    "&lt;b&gt; &amp; &quot; \"double\" 'single' `back`",
    "Zal\u0321\u0322\u0327\u0328go \ufeff \U000e0041tag \ufffd",
]


class Tokenizer:
    """The demo's vocabulary, longest match first: ids of a text, so that the program's tokenizer gives the text back."""

    def __init__(self):
        model = json.loads((ROOT / "recipes/demo/tokenizer.json").read_text())["model"]
        self.ids = {text: number for text, number in model["vocab"].items() if number > 4}
        plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
        others = [byte for byte in range(256) if byte not in plain]
        self.letters = {byte: chr(byte) for byte in plain} | {
            byte: chr(256 + n) for n, byte in enumerate(others)
        }

    def encode(self, text):
        word = "".join(self.letters[byte] for byte in text.encode())
        ids, place = [], 0
        while place < len(word):
            size = next(n for n in range(12, 0, -1) if word[place : place + n] in self.ids)
            ids.append(self.ids[word[place : place + size]])
            place += size
        return ids


def write_lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def expression(draw, numbers, target, skill):
    """A try at a countdown problem: the text and whether it is right."""
    is_right = draw.random() < skill
    shown = f"{numbers[0]} + {numbers[1]} * {numbers[2]}" if is_right else f"{numbers[0]} - {numbers[1]}"
    thought = f"I try {numbers[0]} with {numbers[1]}.\nThe target is {target}."
    return f"<think>{thought}</think>\n<answer>{shown}</answer>", is_right


def completion_row(draw, tokenizer, step, prompt, sample, skill, text=None):
    prompt_id, prompt_text, numbers, target = prompt
    own, is_right = expression(draw, numbers, target, skill)
    text = own if text is None else text
    ids = tokenizer.encode(text)
    is_cut = draw.random() < 0.05
    status = draw.choice(STATUSES[:3]) if draw.random() < 0.04 else "ok"
    accuracy = {"score": float(is_right) if status == "ok" else None, "status": status}
    accuracy["detail"] = "" if status != "ok" else f"{'reaches' if is_right else 'misses'} {target}"
    if status != "ok":
        accuracy["detail"] = f"the verifier answered nothing readable: {status}"
    reward = None if status != "ok" else float(is_right) + 0.2
    return {
        "step": step,
        "prompt_id": prompt_id,
        "sample": sample,
        "prompt": prompt_text,
        "completion": text,
        "finish_reason": "length" if is_cut else "stop",
        "reward": reward,
        "rewards": {"accuracy": accuracy, "format": {"score": 1.0, "status": "ok"}},
        "advantage": 0.0,
        "policy_version": step - 1,
        "prompt_ids": tokenizer.encode(prompt_text),
        "completion_ids": ids + ([] if is_cut else [0]),
        "logprobs": [-draw.expovariate(1.4) for _ in range(len(ids) + (not is_cut))],
    }


def set_advantages(rows):
    scores = [row["reward"] for row in rows if row["reward"] is not None]
    mean = sum(scores) / max(len(scores), 1)
    deviation = math.sqrt(sum((score - mean) ** 2 for score in scores) / max(len(scores) - 1, 1))
    for row in rows:
        if row["reward"] is not None:
            row["advantage"] = (row["reward"] - mean) / (deviation + 1e-4)
    return mean, deviation


def make_episode(row):
    """Gives a row the answer of a tool: injected tokens in its middle, and the messages of the episode."""
    count = len(row["completion_ids"])
    row["injected"] = [[count // 3, count // 4]]
    row["logprobs"] = row["logprobs"][: count - count // 4]
    call = {"type": "function", "function": {"name": "calculator", "arguments": {"expression": "3 + 4"}}}
    row["messages"] = [
        {"role": "assistant", "content": "I ask the calculator.", "tool_calls": [call]},
        {"role": "tool", "name": "calculator", "content": "7"},
        {"role": "assistant", "content": row["completion"]},
    ]


def figures_of(rows, draw, step, steps, learning_rate):
    scores = [row["reward"] for row in rows if row["reward"] is not None]
    mean = sum(scores) / len(scores)
    lengths = [len(row["logprobs"]) for row in rows]
    figures = {
        "step": step,
        "reward": mean,
        "reward_std": math.sqrt(sum((score - mean) ** 2 for score in scores) / (len(scores) - 1)),
        "frac_reward_zero_std": draw.random() * 0.3,
        "completions/mean_length": sum(lengths) / len(lengths),
        "completions/min_length": min(lengths),
        "completions/max_length": max(lengths),
        "completions/clipped_ratio": sum(row["finish_reason"] == "length" for row in rows) / len(rows),
        "entropy": 1.2 * math.exp(-2 * step / steps) + 0.05 * draw.random(),
        "loss": draw.gauss(0, 0.02),
        "kl": None if step == 3 else 0.2 * step / steps + 0.01 * draw.random(),
        "grad_norm": draw.lognormvariate(-1, 0.4),
        "learning_rate": learning_rate * (1 - step / steps),
        "clip_ratio/region_mean": draw.random() * 0.02,
        "num_tokens": step * sum(lengths),
    }
    for name in ("accuracy", "format"):
        cells = [row["rewards"][name] for row in rows]
        judged = [cell["score"] for cell in cells if cell["status"] == "ok"]
        figures[f"rewards/{name}/mean"] = sum(judged) / len(judged)
        figures[f"rewards/{name}/weight"] = 1.0 if name == "accuracy" else 0.2
        for status in STATUSES:
            figures[f"rewards/{name}/{status}"] = sum(cell["status"] == status for cell in cells)
    return figures


def timings_of(draw, step):
    parts = {
        "gen": 2 + draw.random(),
        "reward": 0.1 * draw.random(),
        "adv": 0.001,
        "old_log_prob": 0.4,
        "update_actor": 1.5 + 0.3 * draw.random(),
    }
    seconds = sum(parts.values()) + 0.05
    line = {"step": step, "step_time": seconds, "timing_s/step": seconds}
    line |= {f"timing_s/{name}": value for name, value in parts.items()}
    for name in ("accuracy", "format"):
        middle = 0.002 * (1 + draw.random())
        line |= {
            f"timing_s/reward/{name}/p50": middle,
            f"timing_s/reward/{name}/p90": 2 * middle,
            f"timing_s/reward/{name}/p99": 5 * middle,
        }
    line |= {
        "perf/time_per_step": seconds,
        "perf/throughput": 900 / seconds,
        "perf/max_memory_allocated_gb": 0.5 + 0.01 * min(step, 8),
    }
    return line


def make_run(path, seed=1, steps=40, prompts=4, samples=4, hostile=False, beta=0.0, learning_rate=2e-4):
    """Writes a run that has ended. `hostile` puts texts that attack the page into its first step."""
    draw, tokenizer = random.Random(seed), Tokenizer()
    name = "<img src=x onerror=alert(1)>" if hostile else path.name
    path.mkdir(parents=True)
    settings = {
        "seed": seed,
        "prompts": prompts,
        "samples": samples,
        "beta": beta,
        "steps": steps,
        "name": name,
        "learning_rate": learning_rate,
    }
    (path / "config.toml").write_text(CONFIG.format(**settings))
    (path / ".start").write_text("2027-03-04T05:06:07\n")
    problems = []
    for n in range(3 * prompts):
        numbers = [draw.randrange(1, 20) for _ in range(3)]
        target = numbers[0] + numbers[1] * numbers[2]
        text = f"Numbers: {', '.join(map(str, numbers))}. Target: {target}.\nWrite one expression in <answer> tags."
        problems.append((f"train.jsonl:{n}", text, numbers, target))
    lines, figures, timings = [], [], []
    for step in range(1, steps + 1):
        rows = []
        for place in range(prompts):
            prompt = problems[((step - 1) * prompts + place) % len(problems)]
            texts = [None] * samples
            if hostile and step == 1:
                texts = [HOSTILE[(place * samples + n) % len(HOSTILE)] for n in range(samples)]
                prompt = (f"<b>{place}</b>\u202e", HOSTILE[place], *prompt[2:])
            group = [
                completion_row(draw, tokenizer, step, prompt, sample, 0.1 + 0.7 * step / steps, texts[sample])
                for sample in range(samples)
            ]
            set_advantages(group)
            if step % 5 == 0 and place == 0:
                make_episode(group[0])
            rows += group
        lines += rows
        figures.append(figures_of(rows, draw, step, steps, learning_rate))
        timings.append(timings_of(draw, step))
    write_lines(path / "completions.jsonl", lines)
    write_lines(path / "metrics.jsonl", figures)
    write_lines(path / "timings.jsonl", timings)
    final = path / "final"
    final.mkdir()
    for file in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(ROOT / "recipes/demo" / file, final / file)
    return path


def add_long_line(path, megabytes=10):
    """Replaces the last completion by one of so many megabytes, with markup in it."""
    lines = (path / "completions.jsonl").read_text().splitlines()
    row = json.loads(lines[-1])
    row |= {
        "completion": "<b>long</b> " * (megabytes * 1_000_000 // 12),
        "completion_ids": [],
        "logprobs": [],
    }
    lines[-1] = json.dumps(row)
    (path / "completions.jsonl").write_text("\n".join(lines) + "\n")
