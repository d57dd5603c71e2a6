"""Adapters against PEFT: its directories read here, ours read there, and merged models, on small random models.

COHORT=build/cohort python tests/python/test_adapters.py
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import make_models
import peft
import torch
from comparing import completion_logprobs, differences, make_rows, read_lines, write_lines
from safetensors.torch import load_file

PROGRAM = pathlib.Path(os.environ["COHORT"]).resolve()
TOLERANCE = 3e-5

ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
ADAPTERS = {
    "plain": dict(r=4, lora_alpha=6, target_modules=["q_proj", "v_proj"]),
    "every projection": dict(r=8, lora_alpha=16, target_modules="all-linear"),
    "rslora": dict(r=4, lora_alpha=2, target_modules=ATTENTION, use_rslora=True),
    "dora": dict(r=4, lora_alpha=6, target_modules="all-linear", use_dora=True),
    "patterns": dict(
        r=4,
        lora_alpha=6,
        target_modules=r".*\.(layers\.[01]\.self_attn\.[qv]_proj|mlp\.down_proj)",
        exclude_modules=["model.layers.1.mlp.down_proj"],
        rank_pattern={"q_proj": 2, r"layers.2.mlp.down_proj": 7},
        alpha_pattern={"down_proj": 20},
    ),
    "layers": dict(
        r=4,
        lora_alpha=6,
        target_modules=["q_proj", "down_proj"],
        layers_to_transform=[0, 2],
        layers_pattern="layers",
    ),
    "one layer": dict(r=4, lora_alpha=6, target_modules=["v_proj", "up_proj"], layers_to_transform=1),
    "head": dict(r=4, lora_alpha=6, target_modules=["q_proj", "lm_head"]),
    "saved modules": dict(
        r=4, lora_alpha=6, target_modules=["up_proj"], modules_to_save=["lm_head", "embed_tokens"]
    ),
}
BASES = ("llama", "llama-bias", "qwen2", "gemma3")


def make_adapter(base, settings, folder):
    """An adapter whose every part matters, as PEFT writes it; the adapted model."""
    torch.manual_seed(3)
    config = peft.LoraConfig(task_type="CAUSAL_LM", **settings)
    model = peft.get_peft_model(make_models.load(base), config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.normal_(std=0.2)
            elif "lora_magnitude" in name:
                weight.mul_(torch.empty_like(weight).uniform_(0.7, 1.4))
            elif "modules_to_save" in name:
                weight.add_(torch.empty_like(weight).normal_(std=0.05))
    model.save_pretrained(folder)
    return model


class AdaptersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="cohort-adapters-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        for seed, name in enumerate(BASES):
            case = make_models.CASES[name]
            make_models.save(make_models.make_model(make_models.make_config(case), seed), cls.folder / name)
        cls.rows = make_rows(0)
        write_lines(cls.folder / "rows.jsonl", cls.rows)

    def cohort(self, *arguments):
        result = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    def score(self, model, *options):
        output = self.folder / "scores.jsonl"
        self.cohort(
            *("score", "--model", model, "--input", self.folder / "rows.jsonl", "--output", output),
            *("--dtype", "float32", *options),
        )
        return [torch.tensor(line["logprobs"]) for line in read_lines(output)]

    def reference(self, model):
        with torch.no_grad():
            return [completion_logprobs(model, row) for row in self.rows]

    #: Bases with an adapter on each: every base and every adapter.
    PAIRS = [(BASES[i % len(BASES)], name) for i, name in enumerate(ADAPTERS)]

    def test_adapters_of_peft_are_read_and_merged(self):
        for base, name in self.PAIRS:
            with self.subTest(base=base, adapter=name):
                self.check_read_and_merged(base, name, ADAPTERS[name])

    def check_read_and_merged(self, base, name, settings):
        folder = self.folder / f"{base}-{name}"
        theirs = make_adapter(self.folder / base, settings, folder)
        expected = self.reference(theirs)
        plain = self.score(self.folder / base)
        self.assertGreater(differences(expected, plain).median(), 1e-2, "the adapter hardly matters")
        adapted = self.score(self.folder / base, "--adapter", folder)
        error = differences(expected, adapted).max()
        merged = self.folder / f"{base}-{name}-merged"
        self.cohort("merge", "--model", self.folder / base, "--adapter", folder, "--output", merged)
        merged_error = differences(expected, self.score(merged)).max()
        print(f"{base}, {name}: error {error:.2g}, merged {merged_error:.2g}")
        self.assertLess(error, TOLERANCE)
        self.assertLess(merged_error, TOLERANCE)
        self.assertLess(differences(expected, self.reference(make_models.load(merged))).max(), TOLERANCE)

    def test_adapters_of_cohort_are_read_by_peft(self):
        rows = [{"prompt": "the sum", "completion": " is the answer"}] * 8
        write_lines(self.folder / "sft.jsonl", rows)
        for base in ("llama", "gemma3"):
            for name, lora in {
                "plain": "r = 4",
                "dora": "r = 4\nuse_dora = true\ntarget_modules = ['q_proj', 'down_proj']",
                "rslora": "r = 4\nuse_rslora = true\nexclude_modules = ['v_proj']\nmodules_to_save = ['lm_head']",
                "patterns": "r = 4\nrank_pattern = { q_proj = 2 }\nalpha_pattern = { q_proj = 7 }\ndropout = 0.1",
            }.items():
                with self.subTest(base=base, adapter=name):
                    self.check_written(base, name, lora)

    def check_written(self, base, name, lora):
        run = self.folder / f"run-{base}-{name}"
        recipe = self.folder / "sft.toml"
        recipe.write_text(
            f'model = {{ path = "{self.folder / base}", dtype = "float32" }}\n'
            f'data = {{ path = "{self.folder / "sft.jsonl"}" }}\n'
            f"optimizer = {{ learning_rate = 0.02 }}\n"
            f'train = {{ max_steps = 3 }}\nrun = {{ dir = "{run}" }}\n[lora]\n{lora}\n'
        )
        self.cohort("sft", recipe)
        final = run / "final"
        self.assertTrue((final / "tokenizer.json").exists())
        self.assertFalse((final / "model.safetensors").exists())
        model = peft.PeftModel.from_pretrained(make_models.load(self.folder / base), final).eval()
        kept = peft.get_peft_model_state_dict(model)
        for key, value in load_file(final / "adapter_model.safetensors").items():
            self.assertTrue(torch.equal(kept[key].float(), value), key)
        theirs, ours = self.reference(model), self.score(self.folder / base, "--adapter", final)
        self.assertGreater(differences(ours, self.score(self.folder / base)).median(), 1e-3)
        error = differences(theirs, ours).max()
        print(f"{base}, {name}, written by Cohort: error {error:.2g}")
        self.assertLess(error, TOLERANCE)
        config = json.loads((final / "adapter_config.json").read_text())
        self.assertEqual(config["r"], 4)


class EveryPairTest(AdaptersTest):
    """Every adapter on every base: the slow tier."""

    PAIRS = [(base, name) for base in BASES for name in ADAPTERS]


if __name__ == "__main__":
    unittest.main(verbosity=2)
