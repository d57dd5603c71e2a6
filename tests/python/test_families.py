"""Every family against transformers, on small random models in which every feature matters (see make_models.py).

COHORT=build/cohort GRADIENTS=build/mean_logprob_gradients python tests/python/test_families.py
"""

import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import unittest

import make_models
import torch
import transformers
from comparing import completion_logprobs, differences, make_rows, read_lines, reference_logprobs, write_lines
from safetensors.torch import load_file

PROGRAM = pathlib.Path(os.environ["COHORT"]).resolve()
GRADIENTS = pathlib.Path(os.environ["GRADIENTS"]).resolve()
GRADIENT_TOLERANCE = 1e-4


def setUpModule():
    """The models and their rows, once for all classes."""
    folder = tempfile.TemporaryDirectory(prefix="cohort-families-")
    unittest.addModuleCleanup(folder.cleanup)
    FamiliesCase.folder = pathlib.Path(folder.name)
    make_models.make_models(FamiliesCase.folder)
    for name, case in make_models.CASES.items():
        FamiliesCase.rows[name] = make_rows(case.same_length)
        write_lines(FamiliesCase.rows_path(name), FamiliesCase.rows[name])


class FamiliesCase(unittest.TestCase):
    folder: pathlib.Path
    rows: dict = {}

    @classmethod
    def rows_path(cls, name):
        return cls.folder / f"{name}-rows.jsonl"

    def cohort(self, *arguments):
        result = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def score(self, name, model, *options, rows=None):
        output = self.folder / "scores.jsonl"
        rows = rows or self.rows_path(name)
        self.cohort("score", "--model", model, "--input", rows, "--output", output, *options)
        return [torch.tensor(line["logprobs"]) for line in read_lines(output)]

    def check_gradients(self, name):
        output = self.folder / f"{name}-gradients"
        subprocess.run([GRADIENTS, self.folder / name, self.rows_path(name), output], check=True)
        ours = load_file(output / "model.safetensors")
        model = make_models.load(self.folder / name, torch.float64)
        torch.cat([completion_logprobs(model, row) for row in self.rows[name]]).mean().backward()
        theirs = {key: weight.grad for key, weight in model.named_parameters()}
        largest = 0.0
        for key, gradient in as_transformers_names(ours, theirs).items():
            expected = theirs.pop(key)
            error = ((gradient.double() - expected).norm() / expected.norm()).item()
            largest = max(largest, error)
            self.assertLess(error, GRADIENT_TOLERANCE, key)
        self.assertFalse([key for key in theirs if key != "lm_head.weight"])
        print(f"{name}: largest relative error of a gradient {largest:.2g}")

    def check_greedy(self, name):
        case = make_models.CASES[name]
        length = case.same_length - 64 if case.same_length else 21
        prompts = [{"prompt_ids": row["prompt_ids"][:length]} for row in self.rows[name]]
        prompts = [row for row in prompts if len(row["prompt_ids"]) == length][:2]
        source, output = self.folder / "greedy.jsonl", self.folder / "greedy-out.jsonl"
        write_lines(source, prompts)
        self.cohort(
            *("sample", "--model", self.folder / name, "--input", source, "--output", output),
            *("--temperature", 0, "--max-completion-length", 64, "--ignore-eos", "--dtype", "float32"),
        )
        samples = read_lines(output)
        self.assertEqual(len(samples), len(prompts))
        models = [make_models.load(self.folder / name, dtype) for dtype in (torch.float32, torch.float64)]
        ties = 0
        for prompt, sample in zip(prompts, samples, strict=True):
            ids = torch.tensor([prompt["prompt_ids"] + sample["completion_ids"]])
            self.assertEqual(len(sample["completion_ids"]), 64)
            with torch.no_grad():
                rows = [model(ids).logits[0, length - 1 : -1].double() for model in models]
            error = (rows[0] - rows[1]).abs().max()
            chosen = rows[1].gather(1, torch.tensor(sample["completion_ids"])[:, None])[:, 0]
            behind = rows[1].max(-1).values - chosen
            ties += int((behind > 0).sum())
            self.assertLessEqual(behind.max(), error)
        print(f"{name}: greedy tokens are the likeliest ones, {ties} of {64 * len(prompts)} by a near tie")

    def check_exactness(self, name, dtype):
        case = make_models.CASES[name]
        source, output = self.folder / "prompts.jsonl", self.folder / "samples.jsonl"
        lengths = (3, 30, 90)
        prompts = [row["prompt_ids"] for row in self.rows[name]]
        prompts = [(prompts[-1] + prompts[-2])[:length] for length in lengths]
        write_lines(source, [{"prompt_ids": prompt} for prompt in prompts])
        longest = max(lengths) + 40
        self.cohort(
            *("sample", "--model", self.folder / name, "--input", source, "--output", output),
            *("--num-generations", 3, "--max-completion-length", 40, "--ignore-eos", "--dtype", dtype),
            *("--cache-tokens", 256, "--threads", 1),
        )
        samples = read_lines(output)
        self.assertEqual(len(samples), 9)
        rows = [
            {"prompt_ids": prompts[i // 3], "completion_ids": sample["completion_ids"]}
            for i, sample in enumerate(samples)
        ]
        self.assertEqual(max(len(row["prompt_ids"]) + 40 for row in rows), longest)
        path = self.folder / "again.jsonl"
        write_lines(path, rows)
        options = ("--dtype", dtype, "--threads", 2, "--tokens-per-microbatch", 100)
        scores = self.score(name, self.folder / name, *options, rows=path)
        for score, sample in zip(scores, samples, strict=True):
            self.assertTrue(torch.equal(score, torch.tensor(sample["logprobs"])), case)

    def check_round_trip(self, name):
        source, run = self.folder / name, self.folder / f"run-{name}"
        recipe = self.folder / "sft.toml"
        recipe.write_text(
            f'model = {{ path = "{source}", dtype = "float32" }}\n'
            f'data = {{ path = "{self.folder / "sft.jsonl"}" }}\n'
            f"optimizer = {{ learning_rate = 0.0 }}\n"
            f'train = {{ max_steps = 1 }}\nrun = {{ dir = "{run}" }}\n'
        )
        self.cohort("sft", recipe)
        final = run / "final"
        before = make_models.load(source).state_dict()
        after = make_models.load(final).state_dict()
        self.assertEqual(before.keys(), after.keys())
        for key in before:
            self.assertTrue(torch.equal(before[key], after[key]), key)
        config = json.loads((final / "config.json").read_text())
        self.assertEqual(config["cohort_note"], make_models.EXTRA_KEY["cohort_note"])
        tokenizer = transformers.AutoTokenizer.from_pretrained(final)
        self.assertEqual(tokenizer.decode(tokenizer("the sum é")["input_ids"]), "the sum é")


class FamiliesTest(FamiliesCase):
    def test_float32_is_as_close_to_float64_as_transformers(self):
        for place, name in enumerate(make_models.CASES):
            for temperature in (1.0, 0.7) if place == 0 else (1.0,):
                with self.subTest(case=name, temperature=temperature):
                    folder, rows = self.folder / name, self.rows[name]
                    exact = reference_logprobs(folder, rows, torch.float64, temperature)
                    theirs = differences(
                        reference_logprobs(folder, rows, torch.float32, temperature), exact
                    ).max()
                    own = self.score(name, folder, "--dtype", "float32", "--temperature", temperature)
                    ours = differences(own, exact).max()
                    print(f"{name}, temperature {temperature}: error {ours:.2g}, transformers' {theirs:.2g}")
                    self.assertLess(ours, 2 * theirs)

    def test_bfloat16_is_as_close_to_float32_as_transformers(self):
        """Over the cases; a single one scatters, since most of the error is that of the rounded weights."""
        ratios = []
        for name in make_models.CASES:
            folder, rows = self.folder / name, self.rows[name]
            exact = reference_logprobs(folder, rows, torch.float32)
            theirs = differences(reference_logprobs(folder, rows, torch.bfloat16), exact).mean().item()
            ours = differences(self.score(name, folder, "--dtype", "bfloat16"), exact).mean().item()
            print(f"{name}, bfloat16: mean error {ours:.3g}, that of transformers {theirs:.3g}")
            ratios.append(ours / theirs)
        print(f"bfloat16: geometric mean of the ratios {statistics.geometric_mean(ratios):.3f}")
        self.assertLessEqual(statistics.geometric_mean(ratios), 1.0)
        self.assertLess(max(ratios), 1.25)

    def test_gradients_agree(self):
        for name in make_models.CASES:
            with self.subTest(case=name):
                self.check_gradients(name)

    def test_greedy_continuation_agrees(self):
        for name in make_models.CASES:
            with self.subTest(case=name):
                self.check_greedy(name)

    def test_both_spellings_and_shards_give_the_same_bits(self):
        for name in make_models.V4:
            with self.subTest(case=name):
                new = self.score(name, self.folder / name, "--dtype", "float32")
                old = self.score(name, self.folder / f"{name}-v4", "--dtype", "float32")
                self.assertEqual(differences(new, old).max().item(), 0.0)


class SampledAndSavedTest(FamiliesCase):
    names = ["llama", "gemma3", "qwen3", "qwen3-moe"]

    def test_score_repeats_what_was_sampled(self):
        """In another process, with another thread count and token budget: the same bits."""
        for name in self.names:
            for dtype in ("float32", "bfloat16"):
                with self.subTest(case=name, dtype=dtype):
                    self.check_exactness(name, dtype)

    def test_a_model_written_by_cohort_loads_in_transformers(self):
        """One supervised step at learning rate 0 reads a model and writes the same one."""
        write_lines(self.folder / "sft.jsonl", [{"prompt": "the sum", "completion": " is the answer"}] * 4)
        for name in (*self.names, *(f"{name}-v4" for name in make_models.V4 if name in self.names)):
            with self.subTest(case=name):
                self.check_round_trip(name)


class SampledAndSavedInEveryFamilyTest(SampledAndSavedTest):
    names = list(make_models.CASES)


def stacked(parts, *names):
    """The tensors of each expert that have one of the names, one after the other, for all experts."""
    count = 1 + max(int(name.split(".experts.")[1].split(".")[0]) for name in parts)
    chosen = [
        [parts[name] for wanted in names for name in parts if f".experts.{e}.{wanted}." in name]
        for e in range(count)
    ]
    return torch.stack([torch.cat(tensors) for tensors in chosen])


def as_transformers_names(ours, theirs):
    """transformers 5 holds the experts of a layer in two stacked tensors."""
    result = {key: value for key, value in ours.items() if ".experts." not in key}
    for key in theirs:
        if ".experts." not in key:
            continue
        prefix = key[: key.index(".experts.")].replace(".mlp", ".")
        parts = {
            name: value for name, value in ours.items() if name.startswith(prefix) and ".experts." in name
        }
        if key.endswith("gate_up_proj"):
            result[key] = stacked(parts, "gate_proj", "w1", "up_proj", "w3")
        else:
            result[key] = stacked(parts, "down_proj", "w2")
    for key in list(result):
        if ".block_sparse_moe.gate" in key:
            result[key.replace(".block_sparse_moe.gate", ".mlp.gate")] = result.pop(key)
    return result


if __name__ == "__main__":
    unittest.main(verbosity=2)
