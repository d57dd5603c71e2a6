"""Exceptions of callbacks and reward functions, and what reward functions return: nothing is lost or half written.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_trainer_robust.py
"""

import asyncio
import itertools
import math
import os
import pathlib
import unittest

import numpy
import torch
from trainer_case import TrainerTest, hashed
from transformers import TrainerCallback

# What a run calls; substeps and predictions are none of its parts.
EVENTS = (
    "init_end",
    "train_begin",
    "epoch_begin",
    "step_begin",
    "pre_optimizer_step",
    "optimizer_step",
    "step_end",
    "log",
    "evaluate",
    "save",
    "epoch_end",
    "train_end",
)


class Severe(BaseException):
    pass


class Unspeakable(Exception):
    def __str__(self):
        raise ValueError("of __str__")

    __repr__ = __str__


def raiser(event, error, call=2):
    """A callback whose `event` raises at its call number `call`."""

    def raises(self, args, state, control, **values):
        self.calls = getattr(self, "calls", 0) + 1
        if self.calls == call:
            raise error

    return type("Raiser", (TrainerCallback,), {"on_" + event: raises})()


class RobustTest(TrainerTest):
    def setUp(self):
        super().setUp()
        self.whole = None

    def checkpoints(self, trainer):
        folder = os.path.join(trainer.args.output_dir, "checkpoints")
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []

    def check_goes_on(self, broken, make):
        """A new trainer ends the run of `broken` with the weights of an undisturbed one."""
        if self.whole is None:
            self.whole = make(output_dir=os.path.join(self.output, "whole"))
            self.whole.train()
        steps = self.checkpoints(broken)
        self.assertEqual(bool(steps), broken.state.global_step > 0)
        other = make(output_dir=broken.args.output_dir)
        other.train(resume_from_checkpoint=True)
        self.assertEqual(other.state.global_step, self.whole.state.global_step)
        ours, theirs = (
            pathlib.Path(one.args.output_dir) / "final/model.safetensors" for one in (other, self.whole)
        )
        self.assertEqual(ours.read_bytes(), theirs.read_bytes())


class CallbackTest(RobustTest):
    def make(self, callbacks=(), **changes):
        """4 steps: 2 epochs of 2 steps, with an evaluation and a checkpoint in each."""
        return self.trainer(
            train_dataset=self.rows[:4], max_steps=4, save_strategy="steps", save_steps=2, eval_strategy="steps",
            eval_steps=2, per_device_eval_batch_size=4,
            more={"callbacks": list(callbacks), "eval_dataset": self.rows[4:6]}, **changes,
        )  # fmt: skip

    def test_each_event(self):
        for event in EVENTS:
            with self.subTest(event):
                error = RuntimeError(event)
                once = event in ("init_end", "train_begin", "train_end")
                callback = raiser(event, error, 1 if once else 2)
                folder = os.path.join(self.output, event)
                if event == "init_end":
                    with self.assertRaises(RuntimeError) as caught:
                        self.make([callback], output_dir=folder)
                    self.assertIs(caught.exception, error)
                    continue
                trainer = self.make([callback], output_dir=folder)
                with self.assertRaises(RuntimeError) as caught:
                    trainer.train()
                self.assertIs(caught.exception, error)
                self.check_goes_on(trainer, self.make)

    def test_the_last_call_of_each_event(self):
        for event, call in (("step_end", 4), ("log", 5), ("evaluate", 2), ("save", 2), ("epoch_end", 2)):
            with self.subTest(event):
                trainer = self.make(
                    [raiser(event, Severe(), call)], output_dir=os.path.join(self.output, event)
                )
                self.assertRaises(Severe, trainer.train)
                self.assertEqual(self.checkpoints(trainer)[-1], "step-00000004")
                self.check_goes_on(trainer, self.make)

    def test_a_trainer_trains_once_at_a_time(self):
        nested = []

        class Nested(TrainerCallback):
            def on_step_end(self, args, state, control, **values):
                try:
                    trainer.train()
                except RuntimeError as error:
                    nested.append(str(error))

        trainer = self.trainer(more={"callbacks": [Nested]})
        trainer.train()
        self.assertEqual(len(nested), 3)
        self.assertIn("train() is at work already", nested[0])
        trainer.save_model(os.path.join(self.output, "saved"))


class RaiseTest(RobustTest):
    def make(self, reward=hashed, **changes):
        return self.trainer([reward, hashed], **changes)

    def test_each_kind(self):
        def overflow():
            return overflow()

        kinds = (
            KeyboardInterrupt(),
            SystemExit(3),
            GeneratorExit(),
            StopIteration(1),
            asyncio.CancelledError(),
            MemoryError(),
            Severe("a", object()),
            Unspeakable(),
            UnicodeDecodeError("utf-8", b"\xff", 0, 1, "\ud800"),
            overflow,
        )
        for place, kind in enumerate(kinds):

            def hashed_until(prompts, completions, trainer_state, kind=kind, **columns):
                if trainer_state.global_step == 2:
                    if callable(kind):
                        kind()
                    raise kind
                return hashed(prompts, completions)

            with self.subTest(type(kind).__name__):
                trainer = self.make(hashed_until, output_dir=os.path.join(self.output, str(place)))
                with self.assertRaises(RecursionError if callable(kind) else type(kind)) as caught:
                    trainer.train()
                if not callable(kind):
                    self.assertIs(caught.exception, kind)
                self.assertEqual(self.checkpoints(trainer), ["step-00000002"])
                hashed_until.__name__ = "hashed"

    def test_goes_on_after_an_interrupt(self):
        def hashed_until(prompts, completions, trainer_state, **columns):
            if trainer_state.global_step == 2:
                raise KeyboardInterrupt
            return hashed(prompts, completions)

        hashed_until.__name__ = "hashed"
        trainer = self.make(hashed_until)
        self.assertRaises(KeyboardInterrupt, trainer.train)
        self.check_goes_on(trainer, self.make)

    def test_a_traceback_keeps_no_run_open(self):
        def bad(completions, **columns):
            raise ValueError("of the user")

        bad.__name__ = "hashed"
        try:
            self.make(bad).train()
        except ValueError:
            self.make().train(resume_from_checkpoint=True)

    def test_masked_errors(self):
        for place, kind in enumerate(
            (Unspeakable(), StopIteration(), ValueError("\ud800"), ValueError("a\0b\n"))
        ):

            def bad(completions, kind=kind, **columns):
                raise kind

            folder = os.path.join(self.output, str(place))
            self.make(bad, reward_error="mask", output_dir=folder).train()
            text = (pathlib.Path(folder) / "completions.jsonl").read_text()
            self.assertIn(type(kind).__name__, text)


class Unfriendly:
    """A sequence or a number that lies."""

    def __init__(self, length=8, error=None, number=None):
        self.length, self.number = length, number
        self.error = RuntimeError("of the user") if error is None else error

    def __len__(self):
        return self.length

    def __iter__(self):
        return iter([1.0] * 8)

    def __float__(self):
        if self.number is None:
            raise self.error
        return self.number


class ValueTest(RobustTest):
    TAKEN = {
        "generator": lambda: (float(i) for i in range(8)),
        "tuple": lambda: tuple(range(8)),
        "dict of numbers": lambda: dict.fromkeys(range(8)),
        "numpy": lambda: numpy.arange(8, dtype=numpy.float16),
        "numpy strided": lambda: numpy.arange(16.0)[::2],
        "numpy bool": lambda: numpy.arange(8) > 3,
        "tensor with gradient": lambda: torch.arange(8.0, requires_grad=True),
        "tensor in bfloat16": lambda: torch.arange(8, dtype=torch.bfloat16),
        "bools": lambda: [True, False] * 4,
        "denormal": lambda: [5e-324] * 8,
        "large": lambda: [1e300] * 8,
        "some None": lambda: [None, 1.0] * 4,
        "some nan": lambda: [math.nan, 1.0] * 4,
        "numbers of texts": lambda: ["1.5"] * 8,
        "__float__": lambda: [Unfriendly(number=1.5)] * 8,
        "__len__ lies": lambda: Unfriendly(length=3),
        "subclass": lambda: [type("F", (float,), {})(1.5)] * 8,
    }
    REFUSED = {
        "None": (lambda: None, TypeError, "must return a list"),
        "a number": (lambda: 1.0, TypeError, "must return a list"),
        "a function": (lambda: len, TypeError, "must return a list"),
        "text": (lambda: "8 letter", TypeError, "no number"),
        "bytes too short": (lambda: b"1", ValueError, "returned 1 rewards"),
        "dict of texts": (lambda: dict.fromkeys("abcdefgh"), TypeError, "no number"),
        "nested": (lambda: [[1.0]] * 8, TypeError, "no number"),
        "complex": (lambda: [1j] * 8, TypeError, "no number"),
        "huge integers": (lambda: [10**400] * 8, TypeError, "no number"),
        "matrix": (lambda: torch.zeros(8, 2), TypeError, "no number"),
        "tensor without dimensions": (lambda: torch.tensor(1.0), TypeError, "must return a list"),
        "tensor without data": (
            lambda: torch.zeros(8, device="meta"),
            (RuntimeError, NotImplementedError),
            "meta",
        ),
        "too many": (lambda: [1.0] * 9, ValueError, "returned more than 8 rewards"),
        "without end": (lambda: itertools.repeat(1.0), ValueError, "returned more than 8 rewards"),
        "empty": (lambda: [], ValueError, "returned 0 rewards"),
        "__float__ raises": (lambda: [Unfriendly()] * 8, RuntimeError, "of the user"),
        "__float__ is no float": (lambda: [Unfriendly(number="a")] * 8, TypeError, "no number"),
        "__len__ is negative": (lambda: iter(Unfriendly(length=-1)), None, ""),
        "infinite": (lambda: [math.inf] * 8, ValueError, "infinite"),
        "surrogates": (lambda: ["\ud800"] * 8, TypeError, "no number"),
    }

    def returning(self, make):
        trainer = self.trainer(
            [lambda completions, **columns: make(), hashed], max_steps=1, reward_weights=[1e-6, 1.0],
            output_dir=os.path.join(self.output, str(len(os.listdir(self.output)))),
        )  # fmt: skip
        trainer.train()
        return trainer

    def test_taken(self):
        for name, make in self.TAKEN.items():
            with self.subTest(name):
                self.assertEqual(self.returning(make).state.global_step, 1)

    def test_refused(self):
        for name, (make, error, text) in self.REFUSED.items():
            with self.subTest(name):
                if error is None:
                    self.returning(make)
                    continue
                with self.assertRaisesRegex(error, text):
                    self.returning(make)


if __name__ == "__main__":
    unittest.main()
