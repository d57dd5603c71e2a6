"""`rollout_func` of `GRPOTrainer`, as TRL 1.16 calls it.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_trainer_rollouts.py
"""

import json
import os
import pathlib
import unittest

import torch
from trainer_case import CHAT_TEMPLATE, TrainerTest, hashed
from transformers import AutoTokenizer

import cohort


def by_engine(prompts, trainer, n=4):
    """What the engine draws itself, in the form of a rollout function."""
    groups = trainer.generate(prompts[::n])
    pairs = [(group, completion) for group in groups for completion in group.completions]
    return {
        "prompt_ids": [group.prompt_ids for group, _ in pairs],
        "completion_ids": [completion.token_ids for _, completion in pairs],
        "logprobs": [completion.logprobs.tolist() for _, completion in pairs],
    }


class RolloutTest(TrainerTest):
    def rollout_trainer(self, function, reward=hashed, **changes):
        more = {"rollout_func": function} | changes.pop("more", {})
        return self.trainer(reward, more=more, **changes)

    def rows_of(self, trainer):
        lines = (pathlib.Path(trainer.args.output_dir) / "completions.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def test_the_functions_completions_are_trained_on(self):
        calls = []

        def function(prompts, trainer):
            calls.append((prompts, trainer))
            ids = [[40 + place, 41, 0] for place in range(len(prompts))]
            return {
                "prompt_ids": [[7, 8, 9]] * len(prompts),
                "completion_ids": ids,
                "logprobs": [[-1.0, -2.0, -3.0]] * len(prompts),
                "env_mask": [[1, 0, 1]] * len(prompts),
            }

        trainer = self.rollout_trainer(function, max_steps=1, shuffle_dataset=False)
        before = {name: one.clone() for name, one in trainer.model.named_parameters()}
        trainer.train()
        expected = [row["prompt"] for row in self.rows[:2] for _ in range(4)]
        self.assertEqual(calls, [(expected, trainer)])
        for place, row in enumerate(self.rows_of(trainer)):
            self.assertEqual(row["prompt_ids"], [7, 8, 9])
            self.assertEqual(row["completion_ids"], [40 + place, 41, 0])
            self.assertEqual(row["injected"], [[1, 1]])
            self.assertEqual(row["finish_reason"], "stop")
            self.assertEqual(row["logprobs"], [-1.0, -3.0])
            text = trainer.processing_class.decode([40 + place, 41, 0], skip_special_tokens=True)
            self.assertEqual(row["completion"], text)
        for name, old in before.items():
            self.assertFalse(torch.equal(old, trainer.model.get_parameter(name)), name)

    def test_the_old_policy_is_the_trainers_own(self):
        def function(prompts, trainer):
            return by_engine(prompts, trainer) | {"logprobs": [[-3.0] * 12] * 8}

        trainer = self.rollout_trainer(function, max_steps=1, generation_kwargs={"ignore_eos": True})
        trainer.train()
        row = self.metrics(trainer)[0]
        self.assertEqual(row["ratio/mean"], 1.0)
        self.assertGreater(row["sampling/sampling_logp_difference/mean"], 1.0)

    def test_a_correction_of_the_mismatch_may_act(self):
        losses = []
        for name, recipe in (
            ("without", {}),
            ("with", {"objective.importance_sampling_mode": "token_truncate"}),
        ):
            trainer = self.rollout_trainer(
                lambda prompts, trainer: by_engine(prompts, trainer) | {"logprobs": [[-3.0] * 12] * 8}, max_steps=1,
                recipe=recipe, output_dir=os.path.join(self.output, name), generation_kwargs={"ignore_eos": True},
            )  # fmt: skip
            trainer.train()
            losses.append(self.metrics(trainer)[0]["grad_norm"])
        self.assertNotEqual(*losses)

    def test_generates_with_the_weights_of_the_step(self):
        """The function samples by trainer.generate(): the run is the one without a function, byte for byte."""
        plain = self.trainer(output_dir=os.path.join(self.output, "plain"), use_vllm=True)
        plain.train()
        trainer = self.rollout_trainer(by_engine, use_vllm=True)
        trainer.train()
        drawn = [[row["completion_ids"] for row in self.rows_of(one)] for one in (plain, trainer)]
        self.assertEqual(*drawn)
        for name, weight in self.final(plain).items():
            self.assertTrue(torch.equal(weight, self.final(trainer)[name]), name)
        for one, other in zip(self.metrics(plain), self.metrics(trainer), strict=True):
            for name in ("reward", "loss", "grad_norm", "sampling/sampling_logp_difference/max"):
                self.assertEqual(one[name], other[name], name)

    def test_more_columns_reach_the_rewards(self):
        seen = []

        def function(prompts, trainer):
            more = {"won": [float(place) for place in range(len(prompts))], "game": "chess"}
            return by_engine(prompts, trainer) | more

        def reward(completions, won, game, level, **columns):
            seen.append((won, game, level))
            return won

        rows = [{"prompt": f"Count to {i}.", "level": i} for i in range(2)]
        trainer = self.rollout_trainer(
            function, reward, max_steps=1, shuffle_dataset=False, train_dataset=rows,
            more={"eval_dataset": [{"prompt": "Add.", "level": 9, "won": 5.0, "game": "go"}]},
        )  # fmt: skip
        trainer.train()
        self.assertEqual(seen, [([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], ["chess"] * 8, [0] * 4 + [1] * 4)])
        self.assertEqual(
            trainer.evaluate()["eval_reward"], 5.0, "an evaluation has the columns of its data alone"
        )

    def test_messages(self):
        tokenizer = AutoTokenizer.from_pretrained(self.model)
        tokenizer.chat_template = CHAT_TEMPLATE
        seen = []

        def function(prompts, trainer):
            seen.extend(prompts)
            return by_engine(prompts, trainer)

        def reward(prompts, completions, **columns):
            return [float(len(one[0]["content"])) for one in completions]

        rows = [{"prompt": [{"role": "user", "content": f"Count to {i}."}]} for i in range(2)]
        trainer = self.rollout_trainer(
            function, reward, max_steps=1, train_dataset=rows, more={"processing_class": tokenizer}
        )
        trainer.train()
        self.assertEqual(seen[0][0]["role"], "user")
        self.assertEqual(
            tokenizer.decode(self.rows_of(trainer)[0]["prompt_ids"]),
            CHAT_TEMPLATE and (f"user: {seen[0][0]['content']}\nassistant: "),
        )

    def test_generate_outside_of_training(self):
        trainer = self.trainer()
        [group] = trainer.generate(["Count to 3."], cohort.SamplingParams(n=2, max_tokens=5))
        self.assertEqual(len(group.completions), 2)
        self.assertTrue(all(len(one.token_ids) <= 5 for one in group.completions))
        engine = cohort.Engine.load(self.model, dtype="float32", seed=trainer.args.seed)
        [other] = engine.generate(["Count to 3."], cohort.SamplingParams(n=2, max_tokens=5), step=1)
        self.assertEqual(
            [one.token_ids for one in group.completions], [one.token_ids for one in other.completions]
        )

    def test_bad_results(self):
        def returning(**changes):
            def function(prompts, trainer):
                output = by_engine(prompts, trainer) | changes
                return {name: value for name, value in output.items() if value != "missing"}

            return function

        for place, (function, error, text) in enumerate(
            (
                (returning(logprobs="missing"), ValueError, r"rollout_func must return keys \['logprobs'\]"),
                (returning(logprobs=None), ValueError, "logprobs is None"),
                (
                    returning(completion_ids=[[1]]),
                    ValueError,
                    "completion_ids is 1 lists, but must have a list for each of 8",
                ),
                (returning(completion_ids=[[1]] * 8, logprobs=[[-1.0, -2.0]] * 8), ValueError, "logprobs"),
                (returning(completion_ids=[[9999]] * 8, logprobs=[[-1.0]] * 8), ValueError, "9999"),
                (
                    returning(prompt_ids=[[1], [2]] * 4),
                    ValueError,
                    "prompt_ids of the completions of one prompt differ",
                ),
                (lambda prompts, trainer: None, TypeError, "returned a NoneType, but must return a dict"),
                (lambda prompts, trainer: 1 / 0, ZeroDivisionError, "division by zero"),
            )
        ):
            with self.subTest(place=place), self.assertRaisesRegex(error, text):
                self.rollout_trainer(function, output_dir=os.path.join(self.output, str(place))).train()


if __name__ == "__main__":
    unittest.main()
