"""Runs with environments and tools, from outside: exact, resumed bit for bit, refused where nothing would happen.

COHORT=build/cohort python3 tests/cli/test_environments.py
"""

import json
import shutil
import unittest

from cli_case import CliTest, read_lines, run, setUpModule, write_lines  # noqa: F401

TEMPLATE = """{%- for m in messages -%}
{{ m.role[0] | upper }}:{{ m.content }}{{ eos_token if m.role == 'assistant' else '\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}A:{%- endif -%}"""
RECIPE = """
seed = 3
[model]
path = "{model}"
chat_template = "{folder}/template.jinja"
dtype = "float32"
[data]
path = "{folder}/rows.jsonl"
[rollout]
prompts_per_step = 2
num_generations = 4
max_completion_length = 80
stop_token_ids = [{stops}]
[environment]
name = "guess_number"
max_turns = 12
[[reward]]
name = "length"
max_length = 80
[optimizer]
learning_rate = 1e-3
lr_scheduler_type = "constant"
[train]
max_steps = 4
save_steps = 2
[run]
dir = "{folder}/run"
"""
STOPS = ", ".join(map(str, range(20, 120)))  # a random policy's turns end soon


class EnvironmentsTest(CliTest):
    def setUp(self):
        self.place = self.folder / self.id().rsplit(".", 1)[1]
        self.place.mkdir()
        (self.place / "template.jinja").write_text(TEMPLATE)
        rows = [
            {"prompt": [{"role": "user", "content": f"Guess, game {i}."}], "low": 1, "high": 9}
            for i in range(8)
        ]
        write_lines(self.place / "rows.jsonl", rows)
        self.recipe = self.place / "recipe.toml"
        self.recipe.write_text(RECIPE.format(model=self.model, folder=self.place, stops=STOPS))

    def train(self, name, *options, code=0):
        result = run("train", self.recipe, "--run-dir", self.place / name, "--threads", 1, *options)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stderr

    def lines(self, name, file="metrics.jsonl"):
        return read_lines(self.place / name / file)

    def check_exact(self, name):
        for line in self.lines(name):
            self.assertEqual(line["sampling/sampling_logp_difference/max"], 0)

    def test_episodes_of_many_turns_are_exact(self):
        self.train("run")
        self.check_exact("run")
        metrics = self.lines("run")
        self.assertGreater(max(line["episodes/max_turns"] for line in metrics), 3)
        self.assertEqual({line["episodes/failed"] for line in metrics}, {0})
        self.assertIn("rewards/environment/mean", metrics[0])
        for row in self.lines("run", "completions.jsonl"):
            roles = [message["role"] for message in row["messages"]]
            self.assertEqual(roles[::2], ["assistant"] * len(roles[::2]))
            self.assertEqual(len(row["logprobs"]) + sum(count for _, count in row.get("injected", [])),
                             len(row["completion_ids"]))  # fmt: skip

    def test_bfloat16_and_adapters_are_exact(self):
        for name, options in (("b", ["--dtype", "bfloat16"]), ("l", ["--lora.r", 4]),
                              ("lb", ["--lora.r", 4, "--dtype", "bfloat16"])):  # fmt: skip
            with self.subTest(name):
                self.train(name, *options)
                self.check_exact(name)

    def test_score_repeats_the_log_probabilities_in_another_process(self):
        self.train("run", "--max-steps", 1)
        rows = self.lines("run", "completions.jsonl")
        source, output = self.place / "in.jsonl", self.place / "out.jsonl"
        write_lines(
            source, [{"prompt_ids": r["prompt_ids"], "completion_ids": r["completion_ids"]} for r in rows]
        )
        result = run(
            "score", "--model", self.model, "--dtype", "float32", "--input", source, "--output", output
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        for row, scored in zip(rows, read_lines(output), strict=True):
            injected = {
                place for first, count in row.get("injected", []) for place in range(first, first + count)
            }
            own = [value for place, value in enumerate(scored["logprobs"]) if place not in injected]
            self.assertEqual(own, row["logprobs"])

    def test_small_caches_and_threads_change_nothing(self):
        self.train("one")
        self.train("two", "--rollout.cache-tokens", 320)
        for name in ("metrics.jsonl", "final/model.safetensors"):
            self.assertEqual(
                (self.place / "one" / name).read_bytes(), (self.place / "two" / name).read_bytes()
            )

    def test_a_run_goes_on_bit_for_bit(self):
        self.train("whole")
        self.train("resumed")
        shutil.rmtree(self.place / "resumed/checkpoints/step-00000004")
        shutil.rmtree(self.place / "resumed/final")
        self.train("resumed", "--resume")
        for name in ("metrics.jsonl", "final/model.safetensors"):
            self.assertEqual(
                (self.place / "whole" / name).read_bytes(), (self.place / "resumed" / name).read_bytes(), name
            )

    def test_a_batch_is_replayed(self):
        self.train("run", "--run.save-batches", "--train.save-steps", 1, "--train.save-total-limit", 9)
        result = run("replay", self.place / "run", "--check")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_python_rewards_get_all_messages_of_an_episode(self):
        (self.place / "reward.py").write_text(
            "def roles(completions, **kwargs):\n"
            "    return [sum(m['role'] == 'user' for m in messages) for messages in completions]\n"
        )
        table = (
            '[[reward]]\nname = "roles"\ntype = "python"\nfunction = "'
            + str(self.place / "reward.py")
            + ':roles"\n'
        )
        self.recipe.write_text(self.recipe.read_text() + table)
        self.train("run", "--max-steps", 1)
        for row in self.lines("run", "completions.jsonl"):
            replies = [m for m in row["messages"] if m["role"] == "user"]
            self.assertEqual(row["rewards"]["roles"]["score"], len(replies))

    def test_evaluations_are_episodes_too(self):
        self.train("run", "--data.eval-path", self.place / "rows.jsonl", "--train.eval-steps", 2)
        evaluated = [line for line in self.lines("run") if "eval_reward" in line]
        self.assertEqual(len(evaluated), 2)
        self.assertEqual(evaluated[0]["eval_rewards/environment/error"], 0)

    def test_eval_plays_the_recipes_environment(self):
        output = self.place / "eval.json"
        result = run(
            *(
                "eval",
                "--model",
                self.model,
                "--input",
                self.place / "rows.jsonl",
                "--reward-config",
                self.recipe,
            ),
            *(
                "--chat-template",
                self.place / "template.jinja",
                "--max-completion-length",
                80,
                "--output",
                output,
            ),
            *[part for stop in STOPS.split(", ") for part in ("--stop-token-ids", stop)],
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = read_lines(self.place / "eval.completions.jsonl")
        self.assertGreater(max(len(row["messages"]) for row in rows), 3)

    def test_wrong_settings_are_refused(self):
        cases = [
            (["--environment.name", "gues_number"], "guess_number"),
            (["--environment.python", "nowhere.py:Env"], "environment.name is a whole environment"),
            (["--tool.0.type", "calculator"], "environment.name is a whole environment"),
            (["--environment.tool-call-format", "hermess"], 'did you mean "hermes"?'),
            (["--environment.max-turns", 0], "max_turns"),
        ]
        for options, text in cases:
            with self.subTest(options):
                self.assertIn(text, self.train("refused", *options, code=2).splitlines()[-1])
                self.assertFalse((self.place / "refused").exists())

    def test_a_failing_environment_is_counted_and_masked(self):
        (self.place / "env.py").write_text(
            '''class Broken:
    def reset(self, **row):
        if "game 3" in row["prompt"][-1]["content"]:
            raise ValueError("no game 3")

    def look(self) -> str:
        """
        Looks.
        """
        return "nothing"

    def get_reward(self) -> float:
        return 1.0
'''
        )
        text = self.recipe.read_text().replace(
            'name = "guess_number"', f'python = "{self.place}/env.py:Broken"'
        )
        self.recipe.write_text(text)
        errors = self.train("run")
        self.assertIn("4 of 8 episodes are masked because their environment failed: ", errors)
        self.assertEqual(sum(line["episodes/failed"] for line in self.lines("run")), 4)
        failed = [row for row in self.lines("run", "completions.jsonl") if "environment_failure" in row]
        self.assertEqual(len(failed), 4)
        for row in failed:
            self.assertIn("ValueError: no game 3", row["environment_failure"])
            self.assertEqual(row["advantage"], 0)
            self.assertIsNone(row["reward"])

    def test_tools_need_prompts_of_messages(self):
        write_lines(self.place / "rows.jsonl", [{"prompt": "1 + 1 ="}])
        text = (
            self.recipe.read_text().replace('name = "guess_number"', "") + '[[tool]]\ntype = "calculator"\n'
        )
        self.recipe.write_text(text.replace("prompts_per_step = 2", "prompts_per_step = 1"))
        self.assertIn("give a list of messages", self.train("refused", code=2).splitlines()[-1])

    def test_tool_calls_are_shown(self):
        source = write_lines(
            self.place / "completions.jsonl",
            [
                {"completion": 'Hm <tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'},
                {"completion": "<tool_call>{</tool_call>"},
            ],
        )
        result = run("verify-tools", source, "--format", "hermes")
        self.assertEqual(result.returncode, 0, result.stderr)
        first, second = map(json.loads, result.stdout.splitlines())
        self.assertEqual(first["tool_calls"], [{"name": "f", "arguments": {"a": 1}}])
        self.assertIn("malformed", second["tool_calls"][0]["error"])
        self.assertIn("2 completions, 2 tool calls, 1 malformed", result.stderr)
        self.assertEqual(run("verify-tools", source).returncode, 2)
        self.assertEqual(run("verify-tools", source, "--format", "x").returncode, 2)


if __name__ == "__main__":
    unittest.main()
