"""What cohort.Engine refuses: every argument with wrong values is an exception of the fitting type, in one line.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_engine_inputs.py
"""

import math
import shutil
import unittest

import torch
from engine_model import PROMPTS, EngineTest, flat

from cohort import Completion, Engine, Group, SamplingParams


class RefusedTest(EngineTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.engine = Engine.load(cls.model, dtype="float32")

    def refused(self, kind, words, call, *given, **keywords):
        with self.assertRaises(kind) as caught:
            call(*given, **keywords)
        message = str(caught.exception)
        self.assertIn(words, message)
        self.assertNotIn("\n", message)


class LoadTest(RefusedTest):
    def copy(self, name, **changed):
        """A copy of the model with files changed; None removes one."""
        copy = self.folder / name
        shutil.copytree(self.model, copy)
        for file, content in changed.items():
            path = copy / {"config": "config.json", "weights": "model.safetensors"}[file]
            path.unlink() if content is None else path.write_bytes(content)
        return copy

    def test_missing_files(self):
        self.refused(FileNotFoundError, "no such model directory", Engine.load, self.folder / "none")
        self.refused(FileNotFoundError, "config.json", Engine.load, self.copy("a", config=None))
        self.refused(FileNotFoundError, "model.safetensors", Engine.load, self.copy("b", weights=None))
        self.refused(FileNotFoundError, "none", Engine.load, self.model, lora={"path": self.folder / "none"})
        self.refused(OSError, "none", Engine.load, self.model, chat_template=self.folder / "none")

    def test_damaged_files(self):
        weights = (self.model / "model.safetensors").read_bytes()
        for name, content in {"c": b"", "d": weights[:1000], "e": b"\xff" * 100, "f": weights[:-8]}.items():
            self.refused(ValueError, "model.safetensors", Engine.load, self.copy(name, weights=content))
        for name, content in {"g": b"{", "h": b"[]", "i": b'{"architectures": ["T5"]}', "j": b"\xff"}.items():
            self.refused(ValueError, "config.json", Engine.load, self.copy(name, config=content))

    def test_settings(self):
        for words, options in {
            "dtype": {"dtype": "int8"},
            "seed": {"seed": -1},
            "64 bits": {"seed": 2**70},
            "device": {"device": "tpu"},
            "tokens_per_microbatch": {"tokens_per_microbatch": -1},
            "max_length": {"max_length": 1},
            "cache_tokens": {"cache_tokens": -1},
            "router_aux_loss_coef": {"router_aux_loss_coef": 0.1},
            "lora is empty": {"lora": {}},
            "lora.r": {"lora": {"alpha": 8}},
            "dropout": {"lora": {"r": 4, "dropout": 0.1}},
            "rank": {"lora": {"rank": 4}},
            "target_modules": {"lora": {"r": 4, "target_modules": ["no_such_proj"]}},
            "adam_beta1": {"optimizer": {"adam_beta1": 2.0}},
            "learning_rate": {"optimizer": {"learning_rate": 1e-3}},
        }.items():
            self.refused(ValueError, words, Engine.load, self.model, **options)
        self.refused(ValueError, "dtype", Engine.load, self.model, dtype=3)
        self.refused(TypeError, "seed", Engine.load, self.model, seed=object())
        self.refused(TypeError, "", Engine.load, 3)
        self.refused(TypeError, "", Engine.load, self.model, lora={3: 4})
        self.refused(TypeError, "", Engine.load, self.model, no_such_option=1)


class GenerateTest(RefusedTest):
    def test_sampling_params(self):
        for words, params in {
            "temperature": {"temperature": -1},
            "temperature is nan": {"temperature": math.nan},
            "top_p": {"top_p": 0},
            "top_k": {"top_k": -1},
            "min_p": {"min_p": 2},
            "repetition_penalty": {"repetition_penalty": 0},
            "max_tokens": {"max_tokens": 0},
            "min_tokens": {"min_tokens": 5, "max_tokens": 4},
            "n is 0": {"n": 0},
            "seed": {"seed": -1},
            '"grammar" is not supported': {"structured_outputs": {"grammar": "a"}},
            "names no form": {"structured_outputs": {}},
            "there is another form": {"structured_outputs": {"regex": "a", "choice": ["b"]}},
            "structured_outputs: the regular expression, byte 3: a group has no end": {
                "structured_outputs": {"regex": "(a"}
            },
            "ignore_eos rules out": {"structured_outputs": {"regex": "a"}, "ignore_eos": True},
            "not JSON serializable": {"structured_outputs": {"json": object()}},
        }.items():
            self.refused(ValueError, words, SamplingParams, **params)
        self.refused(TypeError, "structured_outputs must be a dict", SamplingParams, structured_outputs=["a"])
        self.refused(TypeError, "stop", SamplingParams, stop=object())
        self.refused(TypeError, "max_completion", SamplingParams, max_completion=3)

    def test_prompts(self):
        generate = self.engine.generate
        long = [5] * 300
        for words, prompt in {
            "no tokens": "",
            "prompts[0]": [],
            "vocabulary": [400],
            "no token id": [-1],
            "prompts[0][1] is": [1, 2**40],
            "context": long,
            "role": [{"content": "x"}],
            "Unicode": "\ud800",
        }.items():
            self.refused(ValueError, words, generate, [prompt])
        for prompt in [3, None, [1.5], ["a"], [None], object(), torch.tensor([1.0]), torch.tensor(3)]:
            self.refused(TypeError, "prompts[0]", generate, [prompt])
        self.refused(ValueError, "prompts[1]", generate, ["a", [400]])
        self.refused(TypeError, "list of prompts", generate, "text")
        self.refused(TypeError, "list of prompts", generate, None)

    def test_other_arguments(self):
        generate = self.engine.generate
        self.refused(TypeError, "SamplingParams", generate, PROMPTS, {"n": 2})
        self.refused(ValueError, "n is 0", generate, PROMPTS, num_generations=0)
        self.refused(ValueError, "step", generate, PROMPTS, step=-1)
        self.refused(TypeError, "", generate, PROMPTS, step="first")
        self.refused(ValueError, "seed", generate, PROMPTS, seed=-3)
        params = SamplingParams(stop_token_ids=[1000])
        self.refused(ValueError, "vocabulary", generate, PROMPTS, params)
        self.refused(ValueError, "stop", generate, PROMPTS, SamplingParams(stop=[""]))
        self.refused(ValueError, "logit_bias", generate, PROMPTS, SamplingParams(logit_bias={1000: 1.0}))
        small = self.load(cache_tokens=16)
        self.refused(ValueError, "cache_tokens", small.generate, PROMPTS)

    def test_tokenizer(self):
        tokenizer = self.engine.tokenizer
        self.refused(TypeError, "", tokenizer.encode, 3)
        self.refused(ValueError, "", tokenizer.encode, "\ud800")
        self.refused(TypeError, "token_ids", tokenizer.decode, ["a"])
        self.refused(ValueError, "no token id", tokenizer.decode, [-1])
        self.assertEqual(tokenizer.decode([2**31 - 1]), "")
        self.refused(TypeError, "messages", tokenizer.apply_chat_template, [])
        self.refused(
            TypeError, "JSON", tokenizer.apply_chat_template, [{"role": "user", "content": object()}]
        )


class BatchTest(RefusedTest):
    def batch(self, prompt_ids=(5, 6, 7), temperature=1.0, **columns):
        ids = {"token_ids": [8, 9], "logprobs": [-1.0, -2.0], "advantage": 1.0}
        return [Group(list(prompt_ids), [Completion(**{**ids, **columns})], temperature=temperature)]

    def test_shapes_of_batches(self):
        for call in (self.engine.logprobs, self.engine.forward_backward, self.engine.snapshot().logprobs):
            self.refused(ValueError, "no groups", call, [])
            self.refused(ValueError, "completions is empty", call, [Group([1], [])])
            for batch in (None, 3, "batch", [None], [{}], [[1]], Group([1], [])):
                self.refused(TypeError, "batch", call, batch)
            self.refused(TypeError, "completions[0]", call, [Group([1], [[1]])])
            self.refused(TypeError, "completions", call, [Group([1], 3)])
            self.refused(ValueError, "no tokens", call, self.batch(prompt_ids=[]))
            self.refused(ValueError, "vocabulary", call, self.batch(prompt_ids=[384]))
            self.refused(ValueError, "vocabulary", call, self.batch(token_ids=[8, 384]))
            self.refused(ValueError, "context", call, self.batch(prompt_ids=[5] * 255))
            self.refused(TypeError, "token_ids[1]", call, self.batch(token_ids=[8, 9.0]))
            self.refused(TypeError, "token_ids", call, self.batch(token_ids="89"))
            self.refused(ValueError, "temperature", call, self.batch(temperature=0.0))
            self.refused(ValueError, "one temperature", call, self.batch() + self.batch(temperature=0.5))

    def test_columns(self):
        call = self.engine.forward_backward
        for words, columns in {
            "advantage is nan": {"advantage": math.nan},
            "advantage is inf": {"advantage": math.inf},
            "advantage[1] is nan": {"advantage": [1.0, math.nan]},
            "advantage has 3 values": {"advantage": [1.0, 1.0, 1.0]},
            "logprobs has 1 values": {"logprobs": [1.0]},
            "logprobs[0] is nan": {"logprobs": [math.nan, 1.0]},
            "old_logprobs has 0 values": {"old_logprobs": []},
            "ref_logprobs[0] is -inf": {"ref_logprobs": torch.tensor([-math.inf, 0.0])},
            "entropies has 1 values": {"entropies": [1.0]},
            "mask[1] is 2": {"mask": [1, 2]},
            "mask has 1 values": {"mask": [1]},
            "neither logprobs nor old_logprobs": {"logprobs": None},
            "lacks the token": {"kept_ids": [torch.tensor([1, 2]), None]},
            "ascending ids": {"kept_ids": [[9, 8], None]},
            "kept_ids has 1 values": {"kept_ids": [None]},
        }.items():
            self.refused(ValueError, words, call, self.batch(**columns))
        for words, columns in {
            "advantage": {"advantage": None},
            "advantage[0]": {"advantage": ["1", 2]},
            "reward": {"reward": "good"},
            "logprobs": {"logprobs": 3.0},
            "logprobs[0]": {"logprobs": torch.zeros(2, 2)},
            "mask": {"mask": 1},
            "kept_ids": {"kept_ids": 3},
        }.items():
            self.refused(TypeError, words, call, self.batch(**columns))
        some = self.batch() + self.batch(ref_logprobs=[-1.0, -1.0])
        self.refused(ValueError, "1 of 2 completions have ref_logprobs", call, some)

    def test_objectives(self):
        call = self.engine.forward_backward
        self.refused(ValueError, "grpo", call, self.batch(), "grpoo")
        self.refused(TypeError, "preset", call, self.batch(), 3)
        self.refused(ValueError, "epsilon", call, self.batch(), epsilonn=0.2)
        self.refused(ValueError, "epsilon", call, self.batch(), epsilon=-1)
        self.refused(ValueError, "ref_logprobs", call, self.batch(), beta=0.1)
        self.refused(ValueError, "entropies", call, self.batch(), top_entropy_quantile=0.5)
        self.refused(ValueError, "critic", call, self.batch(), value_coef=0.5)
        self.refused(ValueError, "max_completion_length", call, self.batch(), "dr_grpo")

    def test_steps(self):
        self.engine.zero_grad()
        self.engine.forward_backward(self.batch())
        for rate in (-1.0, math.nan, math.inf):
            self.refused(ValueError, "lr", self.engine.optim_step, rate)
        self.refused(TypeError, "", self.engine.optim_step, "fast")
        self.engine.zero_grad()
        self.refused(RuntimeError, "no gradient", self.engine.optim_step, 1e-3)

    def test_tokens_without_loss(self):
        empty = self.batch(token_ids=[], logprobs=[]) + self.batch()
        self.assertEqual([len(row) for row in flat(self.engine.logprobs(empty))], [0, 2])
        self.engine.forward_backward(empty)
        self.engine.forward_backward(self.batch(mask=[0, 0], logprobs=None))
        self.engine.zero_grad()

    def test_saving(self):
        self.refused(FileExistsError, "exists", self.engine.save, self.model)
        self.refused(NotADirectoryError, "config.json", self.engine.save, self.model / "config.json" / "x")
        self.refused(TypeError, "", self.engine.save, 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
