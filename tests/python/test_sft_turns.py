"""`cohort sft` with assistant_only_loss against transformers: the loss over the tokens that it marks as the assistant's.

COHORT=build/cohort python tests/python/test_sft_turns.py

Every chat template of TRL's that marks generations renders three conversations; the first step's loss must be the mean
over transformers' assistant mask.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import test_templates
import torch
import transformers

CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 4096,
    "initializer_range": 0.4,
}
CONVERSATIONS = [
    ["What is 2 + 2?", "4", "And 3?", "Seven, I think."],
    ["Name a city.", "Paris"],
    ["a", "b", "c", "d é 漢字", "e", "f"],
]


def messages(texts):
    return [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]


class SftTurnsTest(unittest.TestCase):
    def cohort(self, *arguments):
        result = subprocess.run(
            [test_templates.PROGRAM, *map(str, arguments)], capture_output=True, text=True
        )
        self.assertEqual(result.returncode, 0, result.stderr)

    def reference(self, model_dir, tokenizer):
        """The mean over all marked tokens of the batch."""
        model = transformers.AutoModelForCausalLM.from_pretrained(model_dir, dtype=torch.float32)
        total, count = 0.0, 0
        for texts in CONVERSATIONS:
            encoded = tokenizer.apply_chat_template(
                messages(texts), return_dict=True, return_assistant_tokens_mask=True
            )
            ids, mask = torch.tensor(encoded["input_ids"]), torch.tensor(encoded["assistant_masks"]).bool()
            with torch.no_grad():
                logprobs = model(ids[None]).logits[0].double().log_softmax(-1)
            own = logprobs[:-1].gather(1, ids[1:, None])[:, 0][mask[1:]]
            total, count = total - own.sum().item(), count + own.numel()
        self.assertGreater(count, 0)
        return total / count

    def test_the_loss_is_over_transformers_mask(self):
        num_marked = 0
        for path in test_templates.trl_templates():
            template = path.read_bytes()
            if not test_templates.MARKS.search(template.decode()):
                continue
            with self.subTest(path.name), tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                source, model = folder / "source", folder / "model"
                source.mkdir()
                test_templates.write_model(source, template)
                tokenizer = transformers.AutoTokenizer.from_pretrained(source)
                try:
                    for texts in CONVERSATIONS:
                        tokenizer.apply_chat_template(messages(texts), tokenize=False)
                except Exception:
                    continue  # a template that asks for more than roles and content
                config = folder / "config.json"
                config.write_text(json.dumps(CONFIG | {"vocab_size": len(tokenizer)}))
                self.cohort("init", "--config", config, "--tokenizer", source, "--seed", 5, "--output", model)
                data = folder / "rows.jsonl"
                rows = [{"messages": messages(texts)} for texts in CONVERSATIONS]
                data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
                self.cohort(
                    *("sft", "--model.path", model, "--model.dtype", "float32", "--data.path", data),
                    *("--run-dir", folder / "run", "--max-steps", 1, "--sequences-per-step", len(rows)),
                    "--assistant-only-loss",
                )
                metrics = json.loads((folder / "run" / "metrics.jsonl").read_text().split("\n")[0])
                self.assertAlmostEqual(metrics["loss"], self.reference(model, tokenizer), delta=2e-4)
                num_marked += 1
        self.assertGreaterEqual(num_marked, 3)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    unittest.main()
