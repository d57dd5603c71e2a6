"""Runs whose environment rewards turns and tells its states: exact, resumed bit for bit, replayed, refused without states.

COHORT=build/cohort python3 tests/cli/test_turn_credit.py
"""

import json
import shutil
import sys
import unittest

import walk
from chain_model import make_chain_model
from cli_case import ROOT, CliTest, read_lines, run, setUpModule, write_lines  # noqa: F401

RECIPE = """
seed = 3
[model]
path = "{folder}/model"
dtype = "float32"
[data]
path = "{folder}/rows.jsonl"
[rollout]
prompts_per_step = 2
num_generations = 6
max_completion_length = 60
[environment]
{environment}
tool_call_format = "hermes"
max_turns = 8
workers = 1
[objective]
{objective}
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
GIGPO = 'preset = "gigpo"\nscale_rewards = "none"\ngigpo_omega = 0.5'
GAGPO = 'credit = "turns"\nbaseline = "state_group"\ngamma = 0.9\ngae_lambda = 0.8'


class TurnCreditTest(CliTest):
    def setUp(self):
        self.place = self.folder / self.id().rsplit(".", 1)[1]
        self.place.mkdir()
        make_chain_model(self.place / "model", walk.CHAINS, walk.TEMPLATE)
        rows = [{"prompt": [{"role": "user", "content": f"walk {i} "}], "start": 2} for i in range(4)]
        write_lines(self.place / "rows.jsonl", rows)

    def train(self, objective, *options, environment="StatedWalk", directory="run", code=0):
        if "=" not in environment:
            environment = f'python = "{ROOT}/tests/cli/walk.py:{environment}"'
        recipe = self.place / "recipe.toml"
        recipe.write_text(RECIPE.format(folder=self.place, environment=environment, objective=objective))
        result = run("train", recipe, "--run-dir", self.place / directory, "--threads", 1, *options)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stderr

    def completions(self, directory="run"):
        return read_lines(self.place / directory / "completions.jsonl")

    def test_the_score_is_the_sum_of_the_turns(self):
        self.train(GIGPO)
        for row in self.completions():
            calls = [call["function"]["name"] for m in row["messages"] for call in m.get("tool_calls", [])]
            is_there = any(m["content"] == walk.PLACES[-1] for m in row["messages"])
            replied = calls[: sum(m["role"] == "tool" for m in row["messages"])]
            expected = is_there - walk.Walk.cost * replied.count("left")
            self.assertEqual(row["rewards"]["environment"]["score"], expected)
            self.assertEqual(row["reward"], expected)
            self.assertEqual(sum(reward for _, reward in row["turn_rewards"]), expected)
        for line in read_lines(self.place / "run/metrics.jsonl"):
            self.assertEqual(line["sampling/sampling_logp_difference/max"], 0)
            self.assertEqual(line["episodes/failed"], 0)
            self.assertGreater(line["episodes/shared_states"], 0.9)

    def advantages_by_hand(self, rows, omega, gamma, rewards_turns):
        """GiGPO's of each token of a group, without a scale, from the messages alone: turns of two tokens. Without rewards of
        turns all of the reward is at the last one."""
        turns = []
        for row in rows:
            place, own = 2, []
            for message, reply in zip(row["messages"][::2], [*row["messages"][1::2], None]):
                if reply is None:
                    own.append((place, 0.0))
                    continue
                after = walk.PLACES.index(reply["content"])
                is_left = message["tool_calls"][0]["function"]["name"] == "left"
                own.append((place, -walk.Walk.cost if is_left else float(after == walk.LENGTH - 1)))
                place = after
            if not rewards_turns:
                total = sum(reward for _, reward in own)
                own = [(state, 0.0) for state, _ in own[:-1]] + [(own[-1][0], total)]
            turns.append(own)
        totals = [sum(reward for _, reward in own) for own in turns]
        returns = [
            [sum(gamma ** (j - k) * own[j][1] for j in range(k, len(own))) for k in range(len(own))]
            for own in turns
        ]
        by_state = {}
        for own, to_come in zip(turns, returns):
            for (state, _), value in zip(own, to_come):
                by_state.setdefault(state, []).append(value)
        return [
            [
                total - sum(totals) / len(totals) + omega * (value - sum(by_state[s]) / len(by_state[s]))
                for (s, _), value in zip(own, to_come)
                for _ in range(2)
            ]
            for total, own, to_come in zip(totals, turns, returns)
        ]

    def test_advantages_are_those_of_the_formula(self):
        for environment in ("StatedWalk", "OneReward"):
            with self.subTest(environment):
                self.train(GIGPO, "--max-steps", 1, environment=environment, directory=environment)
                self.check_advantages(environment, environment == "StatedWalk")

    def check_advantages(self, directory, rewards_turns):
        rows = self.completions(directory)
        expected = [
            tokens
            for first in range(0, len(rows), 6)
            for tokens in self.advantages_by_hand(rows[first : first + 6], 0.5, 0.95, rewards_turns)
        ]
        num_different = 0
        for place, wanted in enumerate(expected):
            group, sample = divmod(place, 6)
            where = ("--group", group, "--sample", sample)
            result = run("replay", self.place / directory, *where, "--json")
            tokens = [json.loads(line) for line in result.stdout.splitlines()]
            own = [token["advantage"] for token in tokens if "advantage" in token]
            self.assertEqual(len(own), len(wanted))
            for value, other in zip(own, wanted):
                self.assertAlmostEqual(value, other, delta=1e-6)
            num_different += len(set(own)) > 1
        self.assertGreater(num_different, 6)

    def test_runs_go_on_bit_for_bit_and_are_replayed(self):
        for name, objective in (("gigpo", GIGPO), ("gagpo", GAGPO), ("steps", 'preset = "grpo_process"')):
            with self.subTest(name):
                self.train(objective, directory=name)
                self.train(objective, directory=f"{name}-resumed")
                resumed = self.place / f"{name}-resumed"
                shutil.rmtree(resumed / "checkpoints/step-00000003")
                shutil.rmtree(resumed / "final")
                self.train(objective, "--resume", directory=f"{name}-resumed")
                for file in ("metrics.jsonl", "final/model.safetensors"):
                    self.assertEqual(
                        (self.place / name / file).read_bytes(), (resumed / file).read_bytes(), file
                    )
                result = run("replay", self.place / name, "--check")
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_credit_by_states_needs_states(self):
        for objective in (GIGPO, GAGPO):
            errors = self.train(objective, environment="Walk", code=2)
            self.assertRegex(
                errors, r"cohort: objective.credit = \"\w+\" compares turns from the same state [^\n]*\n$"
            )
            self.assertFalse((self.place / "run").exists())

    def test_replies_are_learnt(self):
        objective = 'preset = "dr_grpo"\necho_coef = 0.5'
        self.train(objective, "--max-steps", 12, "--train.save-total-limit", 2)
        lines = read_lines(self.place / "run/metrics.jsonl")
        self.assertLess(lines[-1]["reply_cross_entropy"], lines[0]["reply_cross_entropy"] - 0.1)
        self.assertEqual(lines[-1]["sampling/sampling_logp_difference/max"], 0)
        result = run("replay", self.place / "run", "--check")
        self.assertEqual(result.returncode, 0, result.stderr)
        recipe = self.place / "recipe.toml"
        text = recipe.read_text()
        table = text[text.index("[environment]") : text.index("[objective]")]
        recipe.write_text(text.replace(table, "") + '\n[[reward]]\nname = "length"\nmax_length = 80\n')
        result = run("train", recipe, "--run-dir", self.place / "none")
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"cohort: objective.echo_coef [^\n]*\n$")

    def test_a_program_rewards_turns(self):
        program = self.place / "program.py"
        program.write_text(PROGRAM)
        self.train(GIGPO, environment=f"command = {json.dumps([sys.executable, str(program)])}")
        scores = {row["rewards"]["environment"]["score"] for row in self.completions()}
        self.assertLessEqual(scores, {0.25 * k for k in range(9)})
        self.assertGreater(len(scores), 1)


PROGRAM = """
import json, sys

def tool(name):
    return {"type": "function", "function": {"name": name, "description": name, "parameters": {"type": "object", "properties": {}}}}

places = {}
for line in sys.stdin:
    request = json.loads(line)
    answer, episode = {"id": request["id"]}, request.get("episode")
    if request["op"] == "describe":
        answer |= {"tools": [tool("left"), tool("right")], "episodes": True, "gives_turn_rewards": True, "gives_states": True}
    elif request["op"] == "begin":
        places[episode] = 2
        answer |= {"observation": "[place 2]", "state": "2"}
    elif request["op"] == "call":
        places[episode] = min(5, max(0, places[episode] + (1 if request["name"] == "right" else -1)))
        answer |= {"content": f"[place {places[episode]}]", "state": str(places[episode])}
        if request["name"] == "right":
            answer["reward"] = 0.25
    print(json.dumps(answer), flush=True)
"""

if __name__ == "__main__":
    unittest.main()
