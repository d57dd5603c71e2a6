"""A GGUF file of a Llama model with SmolLM2's tokenizer as a Hugging Face directory in bfloat16.

Configuration, tokenizer and chat template come from the file's own metadata.
"""

import json
import struct

import gguf
import numpy as np

SPECIAL = 3  # tokenizer.ggml.token_type of control tokens

# The model card recommends this temperature and top_p.
SAMPLING = {"do_sample": True, "temperature": 0.2, "top_p": 0.9}

LAYER_TENSORS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
OUTER_TENSORS = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def hugging_face_name(name):
    """`blk.3.attn_q.weight` -> `model.layers.3.self_attn.q_proj.weight`."""
    parts = name.split(".")
    if parts[0] == "blk":
        return f"model.layers.{parts[1]}.{LAYER_TENSORS[parts[2]]}.weight"
    return f"{OUTER_TENSORS[parts[0]]}.weight"


def unpermute(weight, num_heads):
    """Undoes llama.cpp's order of the rows of q and k [heads * width, hidden].

    llama.cpp pairs neighbouring rows in its rotary embedding; Hugging Face pairs row i with row i + width / 2.
    """
    half = weight.shape[0] // num_heads // 2
    return weight.reshape(num_heads, half, 2, -1).swapaxes(1, 2).reshape(weight.shape)


def to_bfloat16(values):
    """Returns the upper halves of the float32 bits, rounded to the nearest, ties to even."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")


def write_safetensors(path, tensors):
    """Writes bfloat16 tensors, given as uint16 arrays."""
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, values in tensors.items():
        header[name] = {
            "dtype": "BF16",
            "shape": list(values.shape),
            "data_offsets": [offset, offset + values.nbytes],
        }
        offset += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for values in tensors.values():
            file.write(values.tobytes())


class GgufModel:
    """A GGUF file, and what of it goes into each file of a model directory."""

    def __init__(self, path):
        self.path = path
        self.reader = gguf.GGUFReader(path)

    def value(self, key):
        field = self.reader.fields.get(key)
        if field is None:
            raise ValueError(f"{self.path}: has no {key}")
        return field.contents()

    def tokens(self):
        return self.value("tokenizer.ggml.tokens")

    def token(self, name):
        return self.tokens()[self.value(f"tokenizer.ggml.{name}_token_id")]

    def config(self):
        hidden, heads = self.value("llama.embedding_length"), self.value("llama.attention.head_count")
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "vocab_size": len(self.tokens()),
            "hidden_size": hidden,
            "intermediate_size": self.value("llama.feed_forward_length"),
            "num_hidden_layers": self.value("llama.block_count"),
            "num_attention_heads": heads,
            "num_key_value_heads": self.value("llama.attention.head_count_kv"),
            "head_dim": hidden // heads,
            "hidden_act": "silu",
            "max_position_embeddings": self.value("llama.context_length"),
            "rms_norm_eps": float(f"{self.value('llama.attention.layer_norm_rms_epsilon'):.6g}"),
            "rope_theta": self.value("llama.rope.freq_base"),
            "tie_word_embeddings": "output.weight" not in {t.name for t in self.reader.tensors},
            "attention_bias": False,
            "mlp_bias": False,
            "initializer_range": 1 / np.sqrt(hidden),
            "bos_token_id": self.value("tokenizer.ggml.bos_token_id"),
            "eos_token_id": self.value("tokenizer.ggml.eos_token_id"),
            "pad_token_id": self.value("tokenizer.ggml.padding_token_id"),
            "dtype": "bfloat16",
        }

    def generation_config(self):
        ids = {f"{name}_token_id": self.config()[f"{name}_token_id"] for name in ("bos", "eos", "pad")}
        return ids | SAMPLING

    def tokenizer(self):
        """SmolLM2 cuts digits one by one; GPT-2's pattern over bytes cuts the rest."""
        if self.value("tokenizer.ggml.pre") != "smollm":
            raise ValueError(
                f"{self.path}: the pre-tokenizer {self.value('tokenizer.ggml.pre')} is not SmolLM2's"
            )
        tokens, types = self.tokens(), self.value("tokenizer.ggml.token_type")
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
        digits = {"type": "Digits", "individual_digits": True}
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [
                {"id": i, "content": token} | flags for i, token in enumerate(tokens) if types[i] == SPECIAL
            ],
            "normalizer": None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [digits, byte_level]},
            "post_processor": None,
            "decoder": byte_level,
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": None,
                "end_of_word_suffix": None,
                "fuse_unk": False,
                "byte_fallback": False,
                "vocab": {token: i for i, token in enumerate(tokens)},
                "merges": self.value("tokenizer.ggml.merges"),
            },
        }

    def tokenizer_config(self):
        return {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": self.token("bos"),
            "eos_token": self.token("eos"),
            "unk_token": self.token("unknown"),
            "pad_token": self.token("padding"),
            "model_max_length": self.value("llama.context_length"),
            "clean_up_tokenization_spaces": False,
        }

    def tensors(self):
        heads = {
            "attn_q": self.value("llama.attention.head_count"),
            "attn_k": self.value("llama.attention.head_count_kv"),
        }
        result = {}
        for tensor in self.reader.tensors:
            values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
            kind = tensor.name.split(".")[-2]
            if kind in heads:
                values = unpermute(values, heads[kind])
            result[hugging_face_name(tensor.name)] = to_bfloat16(values)
        return result

    def write(self, folder):
        """Writes the model directory `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("config", "generation_config", "tokenizer", "tokenizer_config"):
            text = json.dumps(getattr(self, name)(), ensure_ascii=False, indent=2)
            (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        (folder / "chat_template.jinja").write_text(self.value("tokenizer.chat_template"), encoding="utf-8")
        write_safetensors(folder / "model.safetensors", self.tensors())
