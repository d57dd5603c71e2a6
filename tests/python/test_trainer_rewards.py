"""Reward functions of `GRPOTrainer`: how they are called, and what their failures do.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_trainer_rewards.py
"""

import functools
import logging
import os
import pathlib
import signal
import threading
import traceback
import unittest

from trainer_case import TrainerTest, hashed, lengths


class RewardTest(TrainerTest):
    def test_sees_columns_state_and_logs(self):
        calls = []

        def reward(
            prompts, completions, completion_ids, answer, level, trainer_state, log_extra, log_metric, **rest
        ):
            calls.append(
                (list(prompts), list(answer), list(level), trainer_state.global_step, completion_ids)
            )
            log_extra("answers", answer)
            log_metric("half", 0.5)
            return [1.0 if i % 2 else 0.0 for i in range(len(prompts))]

        trainer = self.trainer(reward)
        trainer.train()
        self.assertEqual([step for *_, step, _ in calls], [0, 1, 2])
        for prompts, answers, levels, _, ids in calls:
            self.assertEqual(len(prompts), 8)
            self.assertEqual(prompts, sorted(prompts, key=prompts.index), "groups are together")
            for prompt, answer, level in zip(prompts, answers, levels, strict=True):
                self.assertEqual((prompt, level), (f"Count to {answer}.", int(answer) % 3))
            self.assertTrue(all(0 < len(one) <= 12 for one in ids))
        self.assertEqual([row["half"] for row in self.metrics(trainer)], [0.5] * 3)
        self.assertEqual(trainer.state.log_history[0]["half"], 0.5)

    def test_runs_on_the_thread_that_trains(self):
        threads = set()

        def reward(completions, **columns):
            threads.add(threading.current_thread())
            signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the main thread alone may
            return lengths(completions)

        self.trainer(reward, max_steps=1).train()
        self.assertEqual(threads, {threading.main_thread()})

    def test_kinds(self):
        class Caller:
            def __call__(self, completions, **columns):
                return lengths(completions)

        async def waiting(completions, **columns):
            import asyncio

            await asyncio.sleep(0)
            return lengths(completions)

        functions = [hashed, Caller(), functools.partial(lengths), waiting, "format", lengths]
        functions.append({"name": "short", "type": "length", "weight": 2.0})
        functions = functions[:-1]
        trainer = self.trainer(functions, reward_weights=[1.0, 0.5, 0.0, 0.1, 1.0, 0.0])
        self.assertEqual(
            trainer.reward_func_names, ["hashed", "Caller", "lengths", "waiting", "format", "lengths_2"]
        )
        trainer.train()
        row = self.metrics(trainer)[0]
        self.assertEqual(row["rewards/Caller/mean"], row["rewards/waiting/mean"])
        total = sum(
            row[f"rewards/{name}/mean"] * weight
            for name, weight in zip(trainer.reward_func_names, [1.0, 0.5, 0.0, 0.1, 1.0, 0.0], strict=True)
        )
        self.assertAlmostEqual(row["reward"], total, places=9)

    def test_none_is_no_reward(self):
        def never(completions, **columns):
            return [None] * len(completions)

        def sometimes(completions, level, **columns):
            return [1.0 if one == 0 else None for one in level]

        trainer = self.trainer([hashed, never, sometimes])
        trainer.train()
        for row in self.metrics(trainer):
            self.assertEqual(row["rewards/never/skipped"], 8.0)
            self.assertIn(row["rewards/sometimes/mean"], (1.0, None))

    def test_completions_without_a_score_are_named(self):
        def never(completions, **columns):
            return [None] * len(completions)

        with self.assertLogs("cohort.trainer", logging.WARNING) as logs:
            self.trainer([never, never], max_steps=1).train()
        self.assertIn("no reward function scored 8 completions", logs.output[-1])
        with self.assertNoLogs("cohort.trainer", logging.WARNING):
            self.trainer([never, hashed], max_steps=1, output_dir=os.path.join(self.output, "b")).train()

    def test_an_exception_ends_the_run_with_its_traceback(self):
        def reward(completions, trainer_state, **columns):
            if trainer_state.global_step == 2:
                raise ZeroDivisionError("of the user")
            return lengths(completions)

        trainer = self.trainer(reward)
        try:
            trainer.train()
        except ZeroDivisionError as error:
            frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        self.assertIn("reward", frames)
        self.assertEqual(os.listdir(os.path.join(trainer.args.output_dir, "checkpoints")), ["step-00000002"])

    def test_goes_on_after_an_exception_with_the_same_bytes(self):
        whole = self.trainer(output_dir=os.path.join(self.output, "whole"))
        whole.train()
        fails = [True]

        def hashed_once(prompts, completions, trainer_state, **columns):
            if trainer_state.global_step == 1 and fails:
                fails.clear()
                raise RuntimeError("once")
            return hashed(prompts, completions)

        hashed_once.__name__ = "hashed"
        first = self.trainer(hashed_once)
        self.assertRaises(RuntimeError, first.train)
        del first
        second = self.trainer(hashed_once)
        second.train(resume_from_checkpoint=True)
        for name in ("metrics.jsonl", "final/model.safetensors"):
            one, other = (pathlib.Path(each.args.output_dir) / name for each in (whole, second))
            self.assertEqual(one.read_bytes(), other.read_bytes(), name)
        self.assertEqual([line["step"] for line in second.state.log_history[:-1]], [1, 2, 3])

    def test_an_exception_may_be_masked(self):
        def reward(completions, trainer_state, **columns):
            if trainer_state.global_step == 1:
                raise ZeroDivisionError("of the user")
            return [float(len(one)) for one in completions]

        trainer = self.trainer(reward, reward_error="mask")
        trainer.train()
        self.assertEqual([row["rewards/reward/error"] for row in self.metrics(trainer)], [0.0, 8.0, 0.0])

    def test_bad_results(self):
        cases = (
            (lambda completions, **columns: [1.0], ValueError, "returned 1 rewards for 8 completions"),
            (lambda completions, **columns: None, TypeError, "returned a NoneType, but must return a list"),
            (lambda completions, **columns: ["a"] * 8, TypeError, "what is no number"),
        )
        for place, (reward, error, text) in enumerate(cases):
            with self.assertRaisesRegex(error, text):
                self.trainer(reward, output_dir=os.path.join(self.output, str(place))).train()

    def test_bad_functions(self):
        for functions, error, text in (
            ([], ValueError, "reward_funcs is empty"),
            (None, ValueError, "reward_funcs is missing"),
            ("no_such_reward", ValueError, "neither a directory nor a built-in reward"),
            (3, TypeError, "a int is no reward function"),
        ):
            with self.assertRaisesRegex(error, text):
                self.trainer(functions)
        with self.assertRaisesRegex(ValueError, "reward_weights has 2 numbers, but there are 1"):
            self.trainer(hashed, reward_weights=[1.0, 2.0])


if __name__ == "__main__":
    unittest.main()
