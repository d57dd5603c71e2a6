"""`cohort adversarial-train` from outside: two policies, each trained by its own games, exact and resumed bit for bit.

COHORT=build/cohort python3 tests/cli/test_adversarial.py
"""

import collections
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
[lora]
r = 4
[data]
path = "{folder}/rows.jsonl"
[attacker.rollout]
prompts_per_step = 2
num_generations = 3
max_completion_length = 6
[attacker.optimizer]
learning_rate = 1e-2
lr_scheduler_type = "constant"
[[attacker.reward]]
name = "opponent"
[[attacker.reward]]
name = "length"
max_length = 6
weight = 0.5
[defender.rollout]
num_generations = 4
max_completion_length = 60
stop_token_ids = [{stops}]
[defender.environment]
name = "guess_number"
max_turns = 6
[[defender.reward]]
name = "length"
max_length = 60
[defender.optimizer]
learning_rate = 1e-2
lr_scheduler_type = "constant"
[train]
max_steps = 4
alternate_steps = 1
save_steps = 2
[run]
dir = "{folder}/run"
"""
STOPS = ", ".join(map(str, range(20, 120)))  # a random policy's turns end soon
REWARD = """
def shorter(prompts, completions, attack, **kwargs):
    for prompt, text in zip(prompts, attack):
        assert prompt == [{"role": "user", "content": f"Say {text}!"}], (prompt, text)
    return [0.0 if len(text) > 3 else 1.0 for text in attack]
"""
WORDS = """
[[defender.reward]]
name = "shorter"
type = "python"
function = "{folder}/reward.py:shorter"
"""


def user(text):
    return [{"role": "user", "content": text}]


class AdversarialTest(CliTest):
    def setUp(self):
        self.place = self.folder / self.id().rsplit(".", 1)[1]
        self.place.mkdir()
        (self.place / "template.jinja").write_text(TEMPLATE)
        self.write_rows("Find, game {}.")
        self.recipe = self.place / "recipe.toml"
        self.recipe.write_text(RECIPE.format(model=self.model, folder=self.place, stops=STOPS))

    def write_rows(self, defender_prompt):
        rows = [
            {"prompt": user(f"Hide, {i}."), "defender_prompt": user(defender_prompt.format(i)), "high": 9}
            for i in range(8)
        ]
        write_lines(self.place / "rows.jsonl", rows)

    def train(self, name, *options, code=0):
        result = run(
            "adversarial-train", self.recipe, "--run-dir", self.place / name, "--threads", 1, *options
        )
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stderr

    def lines(self, name, file="metrics.jsonl"):
        return read_lines(self.place / name / file)

    def adapter(self, name, policy):
        return (self.place / name / policy / "adapter_model.safetensors").read_bytes()

    def check_same(self, one, other):
        for name in ("metrics.jsonl", "completions.jsonl", *(f"final/{p}/adapter_model.safetensors"
                                                             for p in ("attacker", "defender"))):  # fmt: skip
            self.assertEqual(
                (self.place / one / name).read_bytes(), (self.place / other / name).read_bytes(), name
            )

    def test_policies_alternate(self):
        self.train("run", "--train.save-steps", 1, "--train.save-total-limit", 9)
        for step, line in enumerate(self.lines("run"), 1):
            trained, frozen = ("attacker", "defender") if step % 2 else ("defender", "attacker")
            self.assertEqual(line[f"{trained}/sampling/sampling_logp_difference/max"], 0)
            self.assertEqual(line[f"{trained}/learning_rate"], 1e-2)
            self.assertNotIn(f"{frozen}/loss", line)
            self.assertIn(f"{frozen}/reward", line)
            if step == 1:
                continue
            before, after = (f"checkpoints/step-0000000{s}" for s in (step - 1, step))
            self.assertEqual(
                self.adapter("run", f"{before}/{frozen}"), self.adapter("run", f"{after}/{frozen}")
            )
            self.assertNotEqual(
                self.adapter("run", f"{before}/{trained}"), self.adapter("run", f"{after}/{trained}")
            )

    def test_both_train_together_exactly(self):
        for name, dtype in (("f", "float32"), ("b", "bfloat16")):
            with self.subTest(dtype):
                self.train(name, "--train.alternate-steps", 0, "--dtype", dtype)
                for line in self.lines(name):
                    for policy in ("attacker", "defender"):
                        self.assertEqual(line[f"{policy}/sampling/sampling_logp_difference/max"], 0)
                        self.assertGreater(line[f"{policy}/grad_norm"], 0)

    def test_an_attack_has_one_less_the_mean_reward_of_its_games(self):
        self.train("run")
        steps = collections.defaultdict(lambda: collections.defaultdict(list))
        for row in self.lines("run", "completions.jsonl"):
            steps[row["step"]][row["policy"]].append(row)
        self.assertEqual(len(steps), 4)
        for step in steps.values():
            self.assertEqual([len(step["attacker"]), len(step["defender"])], [6, 24])
            games = collections.defaultdict(list)
            for row in step["defender"]:
                games[row["prompt_id"]].append(row["reward"])
            for row in step["attacker"]:
                own = games[f"{row['prompt_id']}#{row['sample']}"]
                self.assertEqual(len(own), 4)
                self.assertAlmostEqual(row["rewards"]["opponent"]["score"], 1 - sum(own) / 4, places=12)

    def test_the_text_of_an_attack_reaches_prompt_and_rewards(self):
        self.write_rows("Say {{attack}}!")
        (self.place / "reward.py").write_text(REWARD)
        text = self.recipe.read_text()
        games = text[text.index("[defender.environment]") : text.index("[defender.optimizer]")]
        self.recipe.write_text(text.replace(games, WORDS.format(folder=self.place)))
        self.train("run", "--train.alternate-steps", 0)
        for row in self.lines("run", "completions.jsonl"):
            if row["policy"] == "attacker":
                score = row["rewards"]["opponent"]["score"]
                self.assertEqual(score, 1.0 if len(row["completion"]) > 3 else 0.0, row)

    def test_a_run_goes_on_bit_for_bit(self):
        self.train("whole")
        self.train("resumed")
        shutil.rmtree(self.place / "resumed/checkpoints/step-00000004")
        shutil.rmtree(self.place / "resumed/final")
        self.train("resumed", "--resume")
        self.check_same("whole", "resumed")

    def test_threads_change_nothing(self):
        self.train("one")
        self.train("two", "--threads", 2)
        self.check_same("one", "two")

    def test_each_adapter_is_a_model(self):
        self.train("run")
        prompts = write_lines(self.place / "find.jsonl", [{"prompt": user("Find."), "high": 9}] * 4)
        (self.place / "judge.toml").write_text(
            '[environment]\nname = "guess_number"\nmax_turns = 6\nmax_turn_length = 8\n'
        )
        for policy in ("run/final/attacker", "run/final/defender", "run/checkpoints/step-00000002/defender"):
            output = self.place / "eval.json"
            self.cohort(
                *("eval", "--model", self.place / policy, "--input", prompts, "--output", output),
                *("--reward-config", self.place / "judge.toml", "--max-completion-length", 40),
                *("--chat-template", self.place / "template.jinja"),
            )
            self.assertIn("environment", output.read_text())
            self.sample(model=self.place / policy)

    def test_a_run_begins_with_given_adapters(self):
        self.train("run", "--train.alternate-steps", 0)
        final = self.place / "run/final"
        self.train(
            *("more", "--train.max-steps", 1, "--attacker.adapter", final / "attacker"),
            *("--defender.adapter", final / "defender"),
        )
        self.assertEqual(self.adapter("more", "final/defender"), self.adapter("run", "final/defender"))
        self.assertNotEqual(self.adapter("more", "final/attacker"), self.adapter("run", "final/attacker"))
        config = json.loads((self.place / "more/final/defender/adapter_config.json").read_text())
        self.assertEqual(config["r"], 4)

    def test_wrong_recipes_are_refused_in_one_line(self):
        cases = {
            "lora.r": ("--lora.r", 0),
            "lora.path": ("--lora.path", self.model),
            "defender.rollout.prompts_per_step": ("--defender.rollout.prompts-per-step", 5),
            "attacker: rollout.dynamic_sampling": ("--attacker.rollout.dynamic-sampling",),
            "keep_generations": ("--defender.rollout.keep-generations", 2),
            "defender: rollout.num_rerolls": ("--defender.objective.preset", "axpo"),
            "objective.credit": ("--attacker.objective.preset", "gigpo"),
            "objective.echo_coef": ("--attacker.objective.echo-coef", 0.1),
            "attacker: objective.baseline": ("--attacker.objective.preset", "ppo"),
            "defender: objective.python": ("--defender.objective.python", "loss.py:f"),
            "judge": ("--judge.rollout.num-generations", 2),
            "train.alternate_steps": ("--train.alternate-steps", -1),
            "defender.max_prompt_length": ("--defender.max-prompt-length", 3),
            "opponnent": ("--attacker.reward.0.name", "opponnent"),
            "lora.dropout": ("--lora.dropout", 0.1),
            "stop_token_ids": ("--attacker.rollout.stop-token-ids", 9999),
        }
        for key, options in cases.items():
            with self.subTest(key):
                message = self.train("wrong", *options, code=2)
                self.assertEqual(message.count("\n"), 1, message)
                self.assertIn(key, message)
                self.assertFalse((self.place / "wrong/metrics.jsonl").exists())

    def test_a_row_without_a_prompt_of_the_defender_is_named(self):
        write_lines(self.place / "rows.jsonl", [{"prompt": user("Hide.")}])
        message = self.train("wrong", code=2)
        self.assertIn("rows.jsonl:1: the column `defender_prompt`", message)

    def test_opponent_belongs_to_the_attacker(self):
        text = self.recipe.read_text().replace(
            '[[defender.reward]]\nname = "length"\nmax_length = 60', '[[defender.reward]]\nname = "opponent"'
        )
        self.recipe.write_text(text)
        self.assertIn("opponent", self.train("wrong", code=2))


if __name__ == "__main__":
    unittest.main()
