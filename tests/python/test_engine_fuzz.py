"""Random values of any type for every argument of cohort.Engine: it takes them or raises a fitting exception of one line.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_engine_fuzz.py [CASES [SEED]]
"""

import dataclasses
import decimal
import faulthandler
import fractions
import math
import os
import pathlib
import random
import sys
import unittest
from unittest.mock import MagicMock

import numpy
import torch
from engine_model import EngineTest

from cohort import Completion, Engine, Group, SamplingParams

FITTING = (ValueError, TypeError, OSError)
INTERNAL = (
    "internal error",
    "C++",
    "c10",
    "pybind",
    "incompatible function",
    "std::",
    "vector",
    "basic_string",
    ".cpp",
)


class Odd:
    """Answers as numbers, arrays and sequences do, with `value`."""

    def __init__(self, value):
        self.value = value

    def __float__(self):
        return self.value

    def __index__(self):
        return self.value

    def __len__(self):
        return self.value

    def __str__(self):
        return self.value

    __iter__ = __fspath__ = tolist = item = __index__
    ndim = shape = dtype = property(__index__)

    def __getitem__(self, place):
        return self.value


class Endless:
    def item(self):
        return self

    tolist = item
    __float__ = __index__ = item


class Raises:
    def __getattr__(self, name):
        raise ValueError("of the user")

    __float__ = __index__ = __len__ = __iter__ = lambda self: self.no_such_thing


def values():
    """Of every kind that a caller may give by mistake; new objects each time, as some hold the others."""
    plain = [
        None, True, False, 0, 1, 2, 3, -1, 255, 383, 384, 2**31 - 1, 2**31, -(2**31), 2**32, 2**62, 2**63 - 1, 2**63,
        2**64, -(2**63), -(2**64), 10**400, 0.0, -0.0, 0.5, 1.0, 1.5, 1e-320, 1e38, 1e308, -1e308, math.nan, math.inf,
        -math.inf, 1j, "", "x", "0", "auto", "cpu", "a\nb", "\0", "\ud800", "é" * 50, "x" * 5000, b"", b"\xff", b"8",
        bytearray(b"8"), [], [0], [1, 2], [5, 6, 7], [-1], [384], [2**40], [1.5], [math.nan], [None], ["a"], [[1]], [[]],
        [True], [1, "a"], [{}], (), (1, 2), {}, {"a": 1}, {1: 1.0}, {"1": math.nan}, {"r": 2}, {None: None}, set(), {1},
        frozenset(), range(3), object(), object, len, print, lambda *given: 1.0, iter([1, 2]), (i for i in [1]),
        decimal.Decimal("1.5"), decimal.Decimal("nan"), fractions.Fraction(1, 2), pathlib.Path("x"), Ellipsis,
        NotImplemented, ValueError("a"), Endless(), Raises(), MagicMock(), Odd(None), Odd("x"), Odd(1), Odd(1.5), Odd([1]),
        Odd(-1), memoryview(b"12"), sys, [Endless()], [Raises()], [10**400], [MagicMock()], [Odd(1)],
        [{"role": "user", "content": "a"}], [{"role": "user"}], [{"role": 3, "content": "\ud800"}],
    ]  # fmt: skip
    arrays = [
        torch.tensor(1), torch.tensor(1.5), torch.tensor(math.nan), torch.tensor(True), torch.tensor([]),
        torch.tensor([5, 6]), torch.tensor([5, 6, 7], dtype=torch.int8), torch.tensor([5, 6], dtype=torch.uint8),
        torch.tensor([-1.0, -2.0]), torch.tensor([-1.0, -2.0], requires_grad=True), torch.tensor([1.0, 0.0]).bool(),
        torch.zeros(2, 2), torch.zeros(0, 3), torch.tensor([1j, 2]), torch.arange(20)[5:9:2], torch.arange(4.0).half()[::2],
        torch.zeros(2, device="meta"), torch.zeros(2).to_sparse(), torch.zeros(1 << 12), torch.zeros(2).expand(2, 2),
        torch.tensor([1.0, 2.0], dtype=torch.bfloat16), torch.tensor(2**62), torch.nn.Parameter(torch.zeros(2)),
        numpy.arange(2), numpy.arange(2.0), numpy.float32(1.5), numpy.int64(3), numpy.array(3), numpy.array([None, 1]),
        numpy.array(["a"]), numpy.zeros((2, 2)), numpy.zeros(2, dtype=[("a", "i4")]), numpy.arange(9)[::-2],
        numpy.array([numpy.nan, 1]), numpy.datetime64("2020-01-01"), numpy.uint64(2**64 - 1), numpy.bool_(True),
    ]  # fmt: skip
    groups = [
        Group([5], []), [Group([5], [Completion([6])])], Completion([1]), [Completion([1])], [Group(None, None)], Group,
        SamplingParams(), [Group([5, 6], [Completion([7], [-1.0], advantage=1.0)])],
    ]  # fmt: skip
    return plain + arrays + groups


class FuzzTest(EngineTest):
    CASES, SEED = 300, 1

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.engine = Engine.load(cls.model, dtype="float32", cache_tokens=4096)
        cls.values = values()
        os.chdir(cls.folder)

    def setUp(self):
        faulthandler.dump_traceback_later(600, exit=True)
        self.addCleanup(faulthandler.cancel_dump_traceback_later)
        self.random = random.Random(self.SEED)

    def value(self):
        return self.random.choice(self.values)

    def tried(self, where, call, *given, **keywords):
        """What is wrong with the exception of a call, if it raises one."""
        try:
            call(*given, **keywords)
        except FITTING as error:
            self.num_refused += 1
            text = str(error)
            words = [word for word in INTERNAL if word in text] + ["an empty text"] * (not text)
            words += ["two lines"] * ("\n" in text.strip().replace("a\nb", ""))
            return [f"{where}: {type(error).__name__}: {text[:200]!r} with {words}"] if words else []
        except BaseException as error:
            if str(error).startswith("Boolean value of Tensor"):  # torch's answer to bool()
                return []
            return [f"{where}: {type(error).__name__}: {str(error)[:200]}"]
        return []

    def each(self, call, names, **fixed):
        """CASES calls with one or two of the named arguments replaced."""
        self.num_refused, wrong_ends = 0, []
        for case in range(self.CASES):
            wrong = {name: self.value() for name in self.random.sample(names, min(len(names), 1 + case % 2))}
            where = ", ".join(f"{name} = {describe(value)}" for name, value in wrong.items())
            wrong_ends += self.tried(where, call, **{**fixed, **wrong})
        self.assertEqual(wrong_ends, [], "\n".join(wrong_ends))
        self.assertGreater(self.num_refused, self.CASES // 3)

    def test_sampling_params(self):
        self.each(SamplingParams, [field.name for field in dataclasses.fields(SamplingParams)])

    def test_load(self):
        names = [
            "dtype",
            "lora",
            "seed",
            "device",
            "optimizer",
            "max_length",
            "tokens_per_microbatch",
            "recompute",
        ]
        names += ["router_aux_loss_coef", "cache_tokens", "chat_template", "model_dir"]
        self.each(Engine.load, names, model_dir=self.model)

    def test_load_of_tables(self):
        lora = [
            "r",
            "alpha",
            "dropout",
            "target_modules",
            "exclude_modules",
            "rank_pattern",
            "use_rslora",
            "path",
            "bias",
        ]
        adam = ["weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon", "max_grad_norm", "x"]
        self.each(lambda **keys: Engine.load(self.model, lora=keys), lora, r=2)
        self.each(lambda **keys: Engine.load(self.model, optimizer=keys), adam)

    def test_generate(self):
        def generate(prompts, sampling_params, **keywords):
            if isinstance(keywords.get("num_generations"), int) and keywords["num_generations"] > 100:
                return  # it would do that
            self.engine.generate(prompts, sampling_params, **keywords)

        few = SamplingParams(max_tokens=2)
        names = ["prompts", "sampling_params", "num_generations", "seed", "step"]
        self.each(generate, names, prompts=["a"], sampling_params=few)
        self.each(lambda prompt: self.engine.generate(["a", prompt], few), ["prompt"])

    def test_batches(self):
        groups = [field.name for field in dataclasses.fields(Group)]
        columns = [field.name for field in dataclasses.fields(Completion)]
        good = {"prompt_ids": [5, 6], "token_ids": [7, 8], "logprobs": [-1.0, -2.0], "advantage": 1.0}

        def batch(given):
            keys = {**good, **given}
            completion = Completion(**{name: keys[name] for name in columns if name in keys})
            group = {"prompt_ids": keys["prompt_ids"], "completions": [completion], **keys}
            return [Group(**{name: group[name] for name in groups if name in group})]

        snapshot = self.engine.snapshot()
        for call in (
            self.engine.logprobs,
            self.engine.forward_backward,
            self.engine.entropies,
            snapshot.logprobs,
        ):
            self.each(lambda call=call, **given: call(batch(given)), groups + columns)
            self.each(lambda batch, call=call: call(batch), ["batch"])
        self.engine.zero_grad()

    def test_objectives(self):
        batch = [Group([5, 6], [Completion([7], [-1.0], advantage=1.0)])]
        names = [
            "loss",
            "epsilon",
            "beta",
            "loss_type",
            "importance_sampling_level",
            "scale_rewards",
            "delta",
            "x",
        ]
        names += ["entropy_coef", "top_entropy_quantile", "mask_truncated_completions", "kl_estimator"]
        self.each(lambda **given: self.engine.forward_backward(batch, **given), names)
        self.engine.zero_grad()

    def test_results_of_a_loss(self):
        batch = [Group([5, 6], [Completion([7], [-1.0], advantage=1.0)])]

        def loss_of(value, metrics):
            return lambda policy, *given: (policy.sum() if value is None else value, metrics)

        self.each(lambda **given: self.engine.forward_backward(batch, loss_of(**given)), ["value", "metrics"],
                  value=None, metrics={})  # fmt: skip
        self.engine.zero_grad()

    def test_steps_and_tokenizer(self):
        tokenizer = self.engine.tokenizer
        self.each(lambda lr: self.engine.optim_step(lr) if self.has_gradient() else None, ["lr"])
        for call in (tokenizer.encode, tokenizer.decode, tokenizer.apply_chat_template, self.engine.save):
            self.each(lambda value, call=call: call(value), ["value"])
        names = ["tools", "add_generation_prompt", "continue_final_message", "tokenize", "x", "messages"]
        self.each(lambda **given: tokenizer.apply_chat_template(given.pop("messages"), **given), names,
                  messages=[{"role": "user", "content": "a"}])  # fmt: skip

    def has_gradient(self):
        self.engine.forward_backward([Group([5], [Completion([7], [-1.0], advantage=1.0)])])
        return True


def describe(value):
    try:
        return f"{type(value).__name__} {value!r}"[:80]
    except Exception:
        return type(value).__name__


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        FuzzTest.CASES = int(sys.argv.pop(1))
        if len(sys.argv) > 1 and sys.argv[1].isdigit():
            FuzzTest.SEED = int(sys.argv.pop(1))
    unittest.main()
