"""Runs whose episodes agents play through the endpoint, from outside: exact, the same bytes whatever the latency, and
masked where an agent fails.

COHORT=build/cohort python3 tests/cli/test_agents.py
"""

import json
import pathlib
import re
import statistics
import subprocess
import sys
import threading
import unittest

from cli_case import PROGRAM, CliTest, read_lines, run, setUpModule, write_lines  # noqa: F401
from test_environments import STOPS, TEMPLATE

AGENT = pathlib.Path(__file__).with_name("agent.py")
RECIPE = """
seed = 3
[model]
path = "{model}"
chat_template = "{folder}/template.jinja"
dtype = "float32"
[data]
path = "{folder}/rows.jsonl"
[rollout]
prompts_per_step = 3
num_generations = 4
max_completion_length = 120
stop_token_ids = [{stops}]
[optimizer]
learning_rate = 1e-3
lr_scheduler_type = "constant"
[train]
max_steps = 3
preflight = false
[run]
dir = "{folder}/run"
"""


class AgentsTest(CliTest):
    def setUp(self):
        self.place = self.folder / self.id().rsplit(".", 1)[1]
        self.place.mkdir()
        (self.place / "template.jinja").write_text(TEMPLATE)
        rows = [{"prompt": [{"role": "user", "content": f"Game {i}."}], "number": i} for i in range(9)]
        write_lines(self.place / "rows.jsonl", rows)
        self.recipe = self.place / "recipe.toml"
        self.recipe.write_text(RECIPE.format(model=self.model, folder=self.place, stops=STOPS))

    def command(self, name, how, *options):
        agent = ["--agent.command", f"{sys.executable} {AGENT} {how}"] if how else []
        return ["train", self.recipe, "--run-dir", self.place / name, "--threads", 1, *agent, *options]

    def train(self, name, how, *options, code=0):
        result = run(*self.command(name, how, *options))
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stderr

    def lines(self, name, file="metrics.jsonl"):
        return read_lines(self.place / name / file)

    def same_files(self, one, other):
        for name in ("metrics.jsonl", "completions.jsonl", "final/model.safetensors"):
            self.assertEqual(
                (self.place / one / name).read_bytes(), (self.place / other / name).read_bytes(), name
            )

    def check_exact(self, name):
        for line in self.lines(name):
            self.assertEqual(line["sampling/sampling_logp_difference/max"], 0)
            self.assertEqual(line["episodes/failed"], 0)

    def test_episodes_of_agents_are_exact(self):
        for name, options in (
            ("f", []),
            ("b", ["--dtype", "bfloat16"]),
            ("l", ["--lora.r", 4, "--dtype", "bfloat16"]),
        ):
            with self.subTest(name):
                self.train(name, "plays", *options)
                self.check_exact(name)
        metrics = self.lines("f")
        self.assertEqual({line["episodes/max_turns"] for line in metrics}, {4})
        self.assertTrue(any(line["rewards/environment/std"] > 0 for line in metrics))
        for row in self.lines("f", "completions.jsonl"):
            self.assertEqual([m["role"] for m in row["messages"]], ["assistant", "user"] * 3 + ["assistant"])
            self.assertEqual(len(row["injected"]), 3)

    def test_scored_again_in_another_process(self):
        self.train("run", "plays", "--max-steps", 1)
        rows = self.lines("run", "completions.jsonl")
        source, output = self.place / "in.jsonl", self.place / "out.jsonl"
        write_lines(source, [{k: r[k] for k in ("prompt_ids", "completion_ids")} for r in rows])
        result = run(
            "score", "--model", self.model, "--dtype", "float32", "--input", source, "--output", output
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        for row, scored in zip(rows, read_lines(output), strict=True):
            injected = {p for first, count in row["injected"] for p in range(first, first + count)}
            own = [value for place, value in enumerate(scored["logprobs"]) if place not in injected]
            self.assertEqual(own, row["logprobs"])

    def test_latency_and_the_number_of_copies_change_nothing(self):
        self.train("one", "plays", "--agent.workers", 1)
        self.train("many", "waits", "--agent.workers", 12)
        self.same_files("one", "many")
        for line in self.lines("many", "timings.jsonl"):
            self.assertGreater(line["timing_s/idle_for_tools"], 0)
            self.assertLess(line["timing_s/idle_for_tools"], line["timing_s/gen"])

    def test_small_caches_and_posted_rewards_change_nothing(self):
        self.train("one", "plays")
        self.train("two", "posts", "--rollout.cache-tokens", 480)
        self.same_files("one", "two")

    def test_forks_and_new_conversations(self):
        for how in ("forks", "forgets"):
            with self.subTest(how):
                self.train(how, how, "--run.save-batches")
                self.check_exact(how)
                self.assertEqual({line["episodes/mean_branches"] for line in self.lines(how)}, {2})
                self.check_branches(how, shared_turns=2 if how == "forks" else 0)
                self.check_replay(how)
        one, other = self.lines("forgets", "completions.jsonl")[:2]
        self.assertEqual([len(one["messages"]), len(other["messages"])], [3, 3])
        self.train("many", "forks", "--agent.workers", 12)
        self.same_files("forks", "many")

    def check_branches(self, name, shared_turns):
        """Each turn is sampled in one line alone, and advantages count an episode once."""
        rows = self.lines(name, "completions.jsonl")
        self.assertEqual([row["branch"] for row in rows], [0, 1] * (len(rows) // 2))
        for main, branch in zip(rows[::2], rows[1::2], strict=True):
            for key in ("prompt_id", "sample", "reward", "advantage"):
                self.assertEqual(main[key], branch[key])
            turns = [sum(m["role"] == "assistant" for m in row["messages"]) for row in (main, branch)]
            self.assertEqual(sum(turns), 4 + shared_turns)
            if shared_turns:  # its first tokens are the fork's, too, and carry no loss here
                first, count = branch["injected"][0]
                tokens = [row["prompt_ids"] + row["completion_ids"] for row in (main, branch)]
                length = len(branch["prompt_ids"]) + first + count
                shared = next(i for i, (a, b) in enumerate(zip(*tokens)) if a != b)
                self.assertGreaterEqual(shared, length)
        for i in range(0, len(rows), 8):
            group = rows[i : i + 8 : 2]
            rewards = [row["reward"] for row in group]
            mean, deviation = statistics.fmean(rewards), statistics.stdev(rewards)
            for row in group:
                by_hand = (row["reward"] - mean) / (deviation + 1e-4) if deviation else 0.0
                self.assertAlmostEqual(row["advantage"], by_hand, places=6)
        source, output = self.place / f"{name}.in", self.place / f"{name}.out"
        rows = [row for row in rows if row["step"] == 1]
        write_lines(source, [{k: r[k] for k in ("prompt_ids", "completion_ids")} for r in rows])
        command = [
            "score",
            "--model",
            self.model,
            "--dtype",
            "float32",
            "--input",
            source,
            "--output",
            output,
        ]
        self.assertEqual(run(*command).returncode, 0)
        for row, scored in zip(rows, read_lines(output), strict=True):
            injected = {p for first, count in row.get("injected", []) for p in range(first, first + count)}
            own = [value for place, value in enumerate(scored["logprobs"]) if place not in injected]
            self.assertEqual(own, row["logprobs"])

    def check_replay(self, name):
        result = run("replay", self.place / name, "--step", 1, "--check")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("24 samples recomputed", result.stdout)

    def test_a_shell_script_is_an_agent(self):
        agent = f"sh {AGENT.with_suffix('.sh')}"
        self.train("run", None, "--agent.command", agent)
        self.check_exact("run")
        self.assertEqual({line["episodes/max_turns"] for line in self.lines("run")}, {2})

    def test_failing_agents_are_masked(self):
        for how, reason in (
            ("raises", "the game is broken"),
            ("dies", "the agent's process: "),
            ("hangs", "did not end its episode within 2 s"),
            ("babbles", "the agent's process"),
            ("nan", "the agent's process wrote"),
            ("floods", "the agent's process: "),
            ("silent", "asked the policy for nothing"),
        ):
            with self.subTest(how):
                self.train(how, how, "--agent.timeout-s", 2, "--max-steps", 2)
                rows = self.lines(how, "completions.jsonl")
                for row in rows:
                    failed = row["prompt"] and row.get("environment_failure")
                    number = int(re.search(r"Game (\d)", row["prompt"])[1]) if "Game" in row["prompt"] else 0
                    self.assertEqual(bool(failed), number % 3 == 0, row)
                    if failed:
                        self.assertIn(reason, failed)

    def test_agents_that_somebody_else_starts(self):
        process = subprocess.Popen(
            list(map(str, [PROGRAM, *self.command("run", None, "--agent.serve")])),
            stderr=subprocess.PIPE,
            text=True,
        )
        lines = []
        for line in process.stderr:
            lines.append(line)
            if found := re.search(r"agents claim episodes at (\S+)", line):
                break
        reader = threading.Thread(target=lambda: lines.extend(process.stderr))
        reader.start()
        sys.path.insert(0, str(AGENT.parent))
        import agent

        while process.poll() is None:
            try:
                task = agent.post(found[1], "", {})
                if task["id"] is not None:
                    reward = agent.play(task)
                    url = f"{task['base_url']}/episodes/{task['api_key']}/reward"
                    agent.post(url, task["api_key"], {"reward": reward})
            except OSError:  # the run has ended
                continue
        reader.join()
        process.stderr.close()
        self.assertEqual(process.returncode, 0, "".join(lines))
        self.train("own", "plays")
        self.same_files("run", "own")

    def test_errors_have_the_form_of_their_api(self):
        text = self.train("run", "asks-for-a-form", "--max-steps", 1)
        lines = re.findall(r"^agent: (\d+) (.*)$", text, re.MULTILINE)
        self.assertEqual(len(lines), 12, text)
        for status, body in lines:
            error = json.loads(body)
            self.assertEqual(
                (status, error["type"], error["error"]["type"]), ("400", "error", "invalid_request_error")
            )
            self.assertIn("output_config", error["error"]["message"])

    def test_max_turns_and_refusals(self):
        text = self.train("run", "plays", "--agent.max-turns", 2)
        self.assertIn("agent.max_turns", text)
        self.assertEqual({line["episodes/max_turns"] for line in self.lines("run")}, {2})
        for options, part in (
            (["--agent.max-turns", 2], "[agent] has no effect"),
            (["--agent.serve", "--agent.command", "a"], "remove one of them"),
            (["--agent.serve", "--environment.name", "guess_number"], "[agent] excludes"),
        ):
            self.assertIn(part, self.train("refused", None, *options, code=2))

    def test_eval_asks_the_agents_of_a_recipe(self):
        recipe = self.place / "agents.toml"
        recipe.write_text(self.recipe.read_text() + f'[agent]\ncommand = ["{sys.executable}", "{AGENT}"]\n')
        output = self.place / "eval.json"
        result = run(
            *("eval", "--model", self.model, "--input", self.place / "rows.jsonl", "--reward-config", recipe),
            *("--chat-template", self.place / "template.jinja", "--output", output),
            *(
                "--max-completion-length",
                120,
                *(option for stop in STOPS.split(", ") for option in ("--stop-token-ids", stop)),
            ),
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = read_lines(self.place / "eval.completions.jsonl")
        self.assertEqual({len(row["messages"]) for row in rows}, {7})


if __name__ == "__main__":
    unittest.main()
