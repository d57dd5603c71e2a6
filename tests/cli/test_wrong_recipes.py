"""Recipes that cannot work: one clear line, exit code 2, and nothing written.

COHORT=build/cohort python3 tests/cli/test_wrong_recipes.py
"""

import unittest

import cli_case
from cli_case import CONTEXT, RefusalTest, run, write_lines

setUpModule = cli_case.setUpModule


class WrongInputTest(RefusalTest):
    def test_train(self):
        recipe = self.folder / "wrong.toml"
        recipe.write_text(
            '[[reward]]\nname = "format"\n[[reward]]\nname = "countdown"\n[train]\nmax_steps = 1\n'
            "[rollout]\nmax_completion_length = 4\n"
        )
        ask = ["train", recipe, "--model.path", self.model, "--data.path", self.countdown, "--run-dir", "OUT"]
        misspelt = self.folder / "misspelt.toml"
        misspelt.write_text("[train]\nmax_stps = 1\n")
        ids = write_lines(self.folder / "no-prompt.jsonl", [{"prompt": "1"}, {"text": "1"}])
        weightless = ("--reward.0.weight", 0, "--reward.1.weight", 0)
        for arguments, parts in [
            (["train", misspelt, *ask[2:]], ["misspelt.toml:2", "max_stps", "max_steps"]),
            ([*ask[:2], *ask[4:]], ["model.path"]),
            (ask[:6], ["run.dir"]),
            ([*ask, "--data.path", ids], ["no-prompt.jsonl:2", "prompt"]),
            (
                [*ask, "--rollout.num_generations", 1],
                ["rollout.num_generations = 1", "leaves a completion no other"],
            ),
            ([*ask, "--cache-tokens", 16], ["rollout.cache_tokens", "countdown.jsonl", "give at least"]),
            ([*ask, "--stop-strings", ""], ["stop_strings"]),
            ([*ask, "--stop-strings", "a<|endoftext|>"], ["stop_strings", "<|endoftext|>"]),
            ([*ask, "--steps-per-generation", 3], ["prompts_per_step", "steps_per_generation"]),
            ([*ask, "--eval-path", self.countdown], ["eval_path", "eval_steps"]),
            ([*ask, "--reward.0.timeout_s", 1], ["timeout_s", "no effect"]),
            ([*ask, "--reward.2.weight", 1], ["reward.name"]),
            ([*ask, *weightless], ["reward.weight"]),
            ([*ask[:-1], self.model], [self.model, "choose a new run.dir"]),
        ]:
            with self.subTest(arguments=arguments):
                self.refused(arguments, *parts)
        self.assertTrue((self.model / "model.safetensors").exists())
        self.cohort(*ask[:-1], self.folder / "one-weight", "--reward.1.weight", 2)

    def test_a_model_that_gives_no_numbers(self):
        broken = self.broken_model("nan", self.poison)
        recipe = self.folder / "nan.toml"
        recipe.write_text('[[reward]]\nname = "format"\n[train]\nmax_steps = 1\n')
        arguments = ["train", recipe, "--model.path", broken, "--data.path", self.countdown]
        result = run(*arguments, "--run-dir", self.folder / "nan-run")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("not finite", result.stderr)

    @staticmethod
    def poison(folder):
        """NaN into the last bytes of the weights."""
        path = folder / "model.safetensors"
        data = path.read_bytes()
        path.write_bytes(data[:-400] + b"\xff\xff\xff\x7f" * 100)

    def test_sft(self):
        recipe = self.folder / "sft-wrong.toml"
        recipe.write_text("[train]\nmax_steps = 1\n")
        ask = ["sft", recipe, "--model.path", self.model, "--run-dir", "OUT", "--data.path"]
        for row, parts in [
            ({"prompt": "1"}, ["bad-sft.jsonl:1", "completion"]),
            ({"prompt": 1, "completion": "2"}, ["bad-sft.jsonl:1", "prompt"]),
            ({"prompt": "1 " * CONTEXT, "completion": "2"}, ["bad-sft.jsonl:1", "context"]),
        ]:
            with self.subTest(row=row):
                self.refused([*ask, write_lines(self.folder / "bad-sft.jsonl", [row])], *parts)
        self.refused([*ask, self.folder / "nowhere.jsonl"], "nowhere.jsonl")

    def test_reward_train(self):
        recipe = self.folder / "reward-wrong.toml"
        recipe.write_text("[train]\nmax_steps = 1\n")
        ask = ["reward-train", recipe, "--model.path", self.model, "--run-dir", "OUT", "--data.path"]
        pair = {"prompt": "1", "chosen": "2", "rejected": "3"}
        steps = {"prompt": "1", "completions": ["2"], "labels": [True]}
        for row, options, parts in [
            ({"prompt": "1", "chosen": "2"}, [], ["bad-pair.jsonl:1", "rejected"]),
            ({**pair, "chosen": "2 " * CONTEXT}, [], ["bad-pair.jsonl:1", "context"]),
            (steps, [], ["bad-pair.jsonl:1", '"chosen" is missing']),
            (pair, ["--head.type", "process"], ["bad-pair.jsonl:1", '"completions" is missing']),
            (pair, ["--head.type", "proces"], ["head.type", "process"]),
            (pair, ["--step_separator", "x"], ["head.step_separator", "no effect"]),
            (pair, ["--replay_share", 0.5], ["data.replay_share", "no effect"]),
            (pair, ["--eval_steps", 5], ["train.eval_steps", "data.eval_path"]),
        ]:
            with self.subTest(row=row, options=options):
                data = write_lines(self.folder / "bad-pair.jsonl", [row])
                self.refused([*ask, data, *options], *parts)

    def test_dpo(self):
        recipe = self.folder / "dpo-wrong.toml"
        recipe.write_text("[train]\nmax_steps = 1\n")
        ask = ["dpo", recipe, "--model.path", self.model, "--run-dir", "OUT", "--data.path"]
        pair = {"prompt": "1", "chosen": "2", "rejected": "3"}
        for row, options, parts in [
            ({"prompt": "1", "rejected": "2"}, [], ["bad-pair.jsonl:1", '"chosen" is missing']),
            ({**pair, "chosen": ["2"]}, [], ["bad-pair.jsonl:1", '"chosen" holds a message']),
            ({**pair, "chosen": [{"role": "assistant"}]}, [], ["bad-pair.jsonl:1", '"prompt" and "chosen"']),
            ({**pair, "chosen": 2}, [], ["bad-pair.jsonl:1", '"chosen" must be']),
            ({**pair, "rejected": "2"}, [], ["bad-pair.jsonl:1", "the same"]),
            ({**pair, "prompt": ""}, [], ["bad-pair.jsonl:1", "no tokens"]),
            ({**pair, "rejected": "2 " * CONTEXT}, [], ["bad-pair.jsonl:1", "context"]),
            (pair, ["--loss_type", "ippo"], ["objective.loss_type", "ipo"]),
            (pair, ["--beta", 0], ["objective.beta", "above 0"]),
            (pair, ["--label_smoothing", 0.1], ["objective.label_smoothing", "robust"]),
            (pair, ["--ld_alpha", 1.5], ["objective.ld_alpha", "at most 1"]),
            (pair, ["--lora.r", 2, "--lora.dropout", 0.1], ["lora.dropout", "must be 0"]),
            (pair, ["--lora.alpha", 2], ["lora.r"]),
            (pair, ["--eval_steps", 5], ["train.eval_steps", "data.eval_path"]),
            (pair, ["--router_aux_loss_coef", 0.1], ["train.router_aux_loss_coef", "no experts"]),
            (
                pair,
                ["--precompute_ref_log_probs", "true", "--reference_free", "true"],
                ["train.precompute_ref_log_probs", "no effect"],
            ),
        ]:
            with self.subTest(row=row, options=options):
                data = write_lines(self.folder / "bad-pair.jsonl", [row])
                self.refused([*ask, data, *options], *parts)

    def test_rewards_that_are_models(self):
        recipe = self.folder / "model-wrong.toml"
        ask = ["train", recipe, "--model.path", self.model, "--data.path", self.countdown, "--run-dir", "OUT"]
        for reward, more, parts in [
            ('name = "model"', [], ["reward model", "`path`"]),
            (f'name = "model"\npath = "{self.model}"', [], ["Qwen3ForCausalLM", "classification"]),
            ('name = "modl"', [], ['"model"']),
            ('name = "format"', ["--credit", "steps"], ["objective.credit", "steps"]),
        ]:
            recipe.write_text(f"[[reward]]\n{reward}\n[train]\nmax_steps = 1\n")
            with self.subTest(reward=reward):
                self.refused([*ask, *more], *parts)


if __name__ == "__main__":
    unittest.main()
