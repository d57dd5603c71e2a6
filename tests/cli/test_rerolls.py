"""Runs that draw calls of tools anew (AXPO): exact, resumed bit for bit, independent of delays, replayed, and refused where it cannot be.

COHORT=build/cohort python3 tests/cli/test_rerolls.py
"""

import shutil
import unittest

from chain_model import make_chain_model
from cli_case import ROOT, CliTest, read_lines, run, setUpModule, write_lines  # noqa: F401

NAMES = ("red", "green", "blue", "white")
CALLS = [f'{{"name": "open_box", "arguments": {{"color": "{name}"}}}}</tool_call>' for name in NAMES]
# A turn answers at once or thinks and calls; what follows a result depends on the result.
CHAINS = [
    ["[ask]", "I guess.", "<|endoftext|>"],
    *(["[ask]", "Let me see. ", "<tool_call>", call, "<|endoftext|>"] for call in CALLS),
    *([f"[{name}]", "Found ", name, ".", "<|endoftext|>"] for name in NAMES),
]
TEMPLATE = (
    "{%- for m in messages %}{{ m.content }}{% for call in m.tool_calls or [] %}<tool_call>{{ call.function | tojson }}"
    "</tool_call>{% endfor %}{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
)
ENVIRONMENT = """
import random, time

class Boxes:
    delay = {delay}

    def reset(self, color, **row):
        self._color, self._found = color, False
        return {opening!r}

    def open_box(self, color: str) -> str:
        '''
        Opens a box.

        Args:
            color: its color
        '''
        time.sleep(random.random() * self.delay)
        self._found |= color == self._color
        return f"[{{color}}]"

    def get_reward(self) -> float:
        return float(self._found)
"""
RECIPE = """
seed = 5
[model]
path = "{folder}/model"
dtype = "float32"
[data]
path = "{folder}/rows.jsonl"
[rollout]
prompts_per_step = 4
num_generations = 6
max_completion_length = 40
[environment]
python = "{folder}/{environment}.py:Boxes"
tool_call_format = "{form}"
max_turns = 3
workers = 2
[objective]
preset = "axpo"
[optimizer]
learning_rate = 1e-2
lr_scheduler_type = "constant"
[train]
max_steps = 3
save_steps = 1
save_total_limit = 9
[run]
dir = "{folder}/run"
save_batches = true
"""
FROZEN = ["Let me see. ", "<tool_call>"]


class RerollTest(CliTest):
    def setUp(self):
        self.place = self.folder / self.id().rsplit(".", 1)[1]
        self.place.mkdir()
        make_chain_model(self.place / "model", CHAINS, TEMPLATE)
        rows = [
            {"prompt": [{"role": "user", "content": f"{i} [ask]"}], "color": NAMES[i % 4]} for i in range(8)
        ]
        write_lines(self.place / "rows.jsonl", rows)
        for name, delay, opening in (("now", 0, ""), ("late", 0.05, ""), ("opened", 0, "Well: [ask]")):
            (self.place / f"{name}.py").write_text(ENVIRONMENT.format(delay=delay, opening=opening))

    def train(self, directory="run", *options, environment="now", form="hermes", code=0):
        recipe = self.place / "recipe.toml"
        recipe.write_text(RECIPE.format(folder=self.place, environment=environment, form=form))
        result = run("train", recipe, "--run-dir", self.place / directory, "--threads", 1, *options)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stderr

    def rows(self, directory="run"):
        return read_lines(self.place / directory / "completions.jsonl")

    def same(self, one, other):
        for file in ("metrics.jsonl", "final/model.safetensors"):
            self.assertEqual(
                (self.place / one / file).read_bytes(), (self.place / other / file).read_bytes(), file
            )

    def score(self, rows):
        source, output = self.place / "in.jsonl", self.place / "out.jsonl"
        write_lines(source, [{k: r[k] for k in ("prompt_ids", "completion_ids")} for r in rows])
        model = ("--model", self.place / "model", "--dtype", "float32")
        result = run("score", *model, "--input", source, "--output", output)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [line["logprobs"] for line in read_lines(output)]

    def check_rerolls(self, directory):
        rows = self.rows(directory)
        num_rerolled = 0
        for row in rows:
            calls = [c["function"]["arguments"] for m in row["messages"] for c in m.get("tool_calls", [])]
            replies = [m["content"] for m in row["messages"] if m["role"] == "tool"]
            self.assertEqual([f"[{call['color']}]" for call in calls], replies)
            if "reroll_of" not in row:
                continue
            num_rerolled += 1
            source = next(
                r
                for r in rows
                if (r["step"], r["prompt_id"], r["sample"])
                == (row["step"], row["prompt_id"], row["reroll_of"]["sample"])
            )
            self.assertEqual(row["reroll_of"]["frozen"], 2)
            self.assertEqual(row["prompt_ids"], source["prompt_ids"] + source["completion_ids"][:2])
            self.assertGreaterEqual(row["sample"], 6)
            self.assertEqual(row["messages"][0]["content"], "Let me see.")
            self.assertEqual(len(row["messages"][0]["tool_calls"]), 1)
            self.assertEqual(source["reward"], 0)
        self.assertGreater(num_rerolled, 6)
        for line in read_lines(self.place / directory / "metrics.jsonl"):
            self.assertEqual(line["sampling/sampling_logp_difference/max"], 0)
            first = [r for r in rows if r["step"] == line["step"] and "reroll_of" not in r]
            self.assertEqual(line["reward"], sum(r["reward"] for r in first) / len(first))
            again = [r for r in rows if r["step"] == line["step"] and "reroll_of" in r]
            self.assertEqual(line["rollout/rerolled"], len(again) / 3)
            self.assertLessEqual(len(again), 6)

    def test_calls_are_drawn_anew_behind_what_is_frozen(self):
        for environment in ("now", "opened"):
            with self.subTest(environment):
                self.train(environment, environment=environment)
                self.check_rerolls(environment)

    def test_exact_in_bfloat16_and_with_adapters(self):
        for name, options in (
            ("bfloat16", ("--dtype", "bfloat16")),
            ("lora", ("--lora.r", 4, "--optimizer.learning-rate", 1e-3)),
        ):
            with self.subTest(name):
                self.train(name, *options)
                self.check_rerolls(name)

    def test_scored_again_in_another_process(self):
        self.train("run", "--max-steps", 1)
        rows = self.rows()
        self.assertTrue(any("reroll_of" in row for row in rows))
        for row, scored in zip(rows, self.score(rows), strict=True):
            injected = {p for first, count in row.get("injected", []) for p in range(first, first + count)}
            self.assertEqual([v for p, v in enumerate(scored) if p not in injected], row["logprobs"])

    def z_scores(self, rewards):
        mean = sum(rewards) / len(rewards)
        std = (sum((r - mean) ** 2 for r in rewards) / (len(rewards) - 1)) ** 0.5
        return [(r - mean) / (std + 1e-4) if std else 0.0 for r in rewards]

    def test_advantages_are_those_of_the_formula(self):
        self.train("run", "--max-steps", 2)
        groups = {}
        for row in self.rows():
            origin = row.get("reroll_of", {}).get("sample", -1)
            groups.setdefault((row["step"], row["prompt_id"], origin), []).append(row)
        num_recovered = 0
        for (step, prompt, origin), group in groups.items():
            scores = self.z_scores([row["reward"] for row in group])
            for row, score in zip(group, scores, strict=True):
                self.assertAlmostEqual(row["advantage"], score, places=6)
            if origin != -1:
                self.assertEqual(group[0]["reroll_of"]["recovery"], max(row["reward"] for row in group))
                continue
            again = {
                o: g[0]["reroll_of"] for (s, p, o), g in groups.items() if (s, p) == (step, prompt) and o >= 0
            }
            recovered = self.z_scores(
                [
                    again[row["sample"]]["recovery"] if row["sample"] in again else row["reward"]
                    for row in group
                ]
            )
            for row, score, other in zip(group, scores, recovered, strict=True):
                if row["sample"] not in again:
                    self.assertNotIn("token_advantages", row)
                    continue
                num_recovered += other > 0
                wanted = [other] * 2 + [score] * (len(row["logprobs"]) - 2)
                for value, expected in zip(row["token_advantages"], wanted, strict=True):
                    self.assertAlmostEqual(value, expected, places=5)
        self.assertGreater(num_recovered, 0)

    def test_runs_go_on_bit_for_bit_and_are_replayed(self):
        self.train("whole")
        self.train("resumed")
        shutil.rmtree(self.place / "resumed/checkpoints/step-00000003")
        shutil.rmtree(self.place / "resumed/final")
        self.train("resumed", "--resume")
        self.same("whole", "resumed")
        result = run("replay", self.place / "whole", "--check")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_sizes_act(self):
        for number, share, calls in ((3, 0.25, 2), (2, 0.25, 3), (3, 0.125, 1)):
            name = f"{number}-{share}"
            self.train(name, "--rollout.num-rerolls", number, "--rollout.max-reroll-share", share)
            rows = [row for row in self.rows(name) if "reroll_of" in row]
            most = max(line["rollout/rerolled"] for line in read_lines(self.place / name / "metrics.jsonl"))
            self.assertEqual(most, calls)
            self.assertEqual(len(rows) % number, 0)

    def test_delays_change_nothing(self):
        self.train("now")
        self.train("late", environment="late")
        self.same("now", "late")

    def test_what_does_not_combine_is_refused(self):
        cases = [
            (("--rollout.num-rerolls", 1), "leaves a re-roll no other"),
            (("--rollout.max-reroll-share", 0.05), "is less than rollout.num_rerolls"),
            (("--rollout.keep-generations", 3), "do not expect: remove them"),
            (("--rollout.dynamic-sampling", "true"), "do not expect: remove them"),
            (("--train.steps-per-generation", 2), "equal mini-batches"),
            (("--objective.credit", "gigpo"), "total reward"),
            (("--objective.scale-rewards", "batch"), "would mix them with the others"),
            (("--objective.batch-whiten", "true"), "would mix them with the others"),
            (("--structured-outputs-regex", "a+"), "about the whole turn"),
            (
                ("--use-policy-aware-weights", "true"),
                "compare with positive_reward",
            ),
            (
                ("--monitor.0.metric", "kl", "--monitor.0.above", 1, "--monitor.0.action", "mask"),
                "set warn or stop",
            ),
            (("--objective.baseline", "greedy"), "total reward"),
            (("--objective.importance-sampling-level", "sequence"), "sequence_token"),
            (("--objective.preset", "grpo", "--rollout.max-reroll-share", 0.5), "no effect without"),
        ]
        for options, text in cases:
            with self.subTest(options):
                errors = self.train("refused", *options, code=2)
                self.assertIn(text, errors.splitlines()[-1])
                self.assertEqual(
                    len([line for line in errors.splitlines() if line.startswith("cohort: ")]), 1
                )
                self.assertFalse((self.place / "refused").exists())
        self.assertIn("mark", self.train("refused", form="json", code=2).splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
