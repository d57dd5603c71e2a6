"""tools/smollm2.py on a tiny model: transformers makes it, a stand-in for the package gguf serves its tensors.

.venv-test/bin/python tests/python/test_smollm2.py
"""

import pathlib
import sys
import tempfile
import types
import unittest

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "bench")]
sys.modules["gguf"] = types.ModuleType("gguf")
import smollm2  # noqa: E402
from llama_peer import gguf_name  # noqa: E402

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


def gguf_tensors(model):
    for name, weight in model.state_dict().items():
        if name == "lm_head.weight":
            continue
        values = weight.float().numpy()
        if "q_proj" in name or "k_proj" in name:
            values = in_llama_cpp_order(values, 3 if "q_proj" in name else 1)
        yield types.SimpleNamespace(name=gguf_name(name), data=values, tensor_type=0)


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


class SmolLm2Test(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = tiny_model()
        reader = types.SimpleNamespace(
            fields={
                key: types.SimpleNamespace(contents=lambda value=value: value)
                for key, value in FIELDS.items()
            },
            tensors=list(gguf_tensors(cls.model)),
        )
        smollm2.gguf.GGUFReader = lambda path: reader
        smollm2.gguf.quants = types.SimpleNamespace(dequantize=lambda data, kind: data)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name) / "model"
        smollm2.Model("x.gguf").write(cls.folder)

    def test_weights_come_back_bit_for_bit(self):
        loaded = AutoModelForCausalLM.from_pretrained(self.folder, dtype=torch.float32)
        for name, weight in self.model.state_dict().items():
            self.assertTrue(torch.equal(loaded.state_dict()[name], weight), name)
        ids = torch.tensor([[1, 5, 9, 17, 3, 2, 11]])
        with torch.no_grad():
            self.assertTrue(torch.equal(loaded(ids).logits, self.model(ids).logits))

    def test_bfloat16_is_rounded_to_the_nearest(self):
        values = torch.randn(10000)
        bits = torch.from_numpy(smollm2.to_bfloat16(values.numpy()).view("int16"))
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
