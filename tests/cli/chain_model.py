"""A model directory whose next token depends on its last one alone, so that tests know what a server must answer.

A prompt without tools is answered with "Hello, world!", one with tools by reasoning and two calls, and their results with
"The sum is 5.". Each piece of these texts is a token of its own.
"""

import json
import pathlib
import shutil
import struct
from array import array

from cli_case import DEMO

CALLS = [
    '<tool_call>{"name": "add", "arguments": {"a": 2, "b": 3}}</tool_call>',
    '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 4}}</tool_call>',
]
CHAINS = [
    ["[plain]", "Hello", ", ", "world", "!", "<|endoftext|>"],
    ["[call]", "<think>", "I add", " them.", "</think>", "\n\n", *CALLS, "<|endoftext|>"],
    ["[answer]", "The sum", " is", " 5.", "<|endoftext|>"],
    ["[endless]", "tick", "tock", "tick"],
]
TEMPLATE = """
{%- if tools %}<tools>{% for tool in tools %}{{ tool | tojson }}{% endfor %}</tools>{% endif %}
{%- for m in messages %}<{{ m.role }}>{{ m.content }}
{%- for call in m.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}<|endoftext|>
{%- endfor %}
{%- if add_generation_prompt %}{% if messages[-1].content == 'forever' %}[endless]
{%- elif messages[-1].role == 'tool' %}[answer]{% elif tools %}[call]{% else %}[plain]{% endif %}{% endif %}"""
CONTEXT = 2048


def make_chain_model(folder, chains=CHAINS, template=TEMPLATE):
    """Writes the directory and returns it. Tokens that follow the same one in several chains are equally likely."""
    folder = pathlib.Path(folder)
    folder.mkdir()
    tokenizer = json.loads((DEMO / "tokenizer.json").read_text())
    ids = tokenizer["model"]["vocab"] | {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    size = 1 + max(ids.values())
    for token in [token for chain in chains for token in chain]:
        if token in ids:
            continue
        ids[token] = size
        size += 1
        tokenizer["added_tokens"].append(
            {"id": ids[token], "content": token, "single_word": False, "lstrip": False, "rstrip": False}
            | {"normalized": False, "special": False}
        )
    following = {(ids[a], ids[b]) for chain in chains for a, b in zip(chain, chain[1:])}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    shutil.copy(DEMO / "tokenizer_config.json", folder)
    (folder / "chat_template.jinja").write_text(template)
    config = {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "vocab_size": size,
        "hidden_size": size,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
        "num_key_value_heads": 1,
        "head_dim": 16,
        "max_position_embeddings": CONTEXT,
        "tie_word_embeddings": False,
        "eos_token_id": 0,
        "torch_dtype": "float32",
    }
    (folder / "config.json").write_text(json.dumps(config))
    _write_weights(folder / "model.safetensors", size, following)
    return folder


def _write_weights(path, size, following):
    """The layer adds nothing, so that the head sees the last token alone."""
    layer = "model.layers.0."
    shapes = {
        "model.embed_tokens.weight": (size, size),
        layer + "input_layernorm.weight": (size,),
        layer + "post_attention_layernorm.weight": (size,),
        layer + "self_attn.q_proj.weight": (16, size),
        layer + "self_attn.k_proj.weight": (16, size),
        layer + "self_attn.v_proj.weight": (16, size),
        layer + "self_attn.o_proj.weight": (size, 16),
        layer + "self_attn.q_norm.weight": (16,),
        layer + "self_attn.k_norm.weight": (16,),
        layer + "mlp.gate_proj.weight": (16, size),
        layer + "mlp.up_proj.weight": (16, size),
        layer + "mlp.down_proj.weight": (size, 16),
        "model.norm.weight": (size,),
        "lm_head.weight": (size, size),
    }
    header, data = {}, bytearray()
    for name, shape in shapes.items():
        values = array("f", bytes(4 * (shape[0] * (shape[1] if len(shape) > 1 else 1))))
        if name.endswith("norm.weight"):
            values = array("f", [1.0] * shape[0])
        if name == "model.embed_tokens.weight":
            for i in range(size):
                values[i * size + i] = 1.0
        if name == "lm_head.weight":
            for last, next_id in following:
                values[next_id * size + last] = 1.0
        end = len(data) + 4 * len(values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), end]}
        data += values.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
