"""llama.cpp as a peer: built from the source package of llama-cpp-python on PyPI, and its batched benchmark run.

llama_peer.py convert MODEL FILE    run by .venv-trl's Python: writes a Hugging Face Llama model as GGUF
"""

import json
import pathlib
import subprocess
import sys
import tarfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build/llama_cpp"
VERSION = "0.3.36"
SOURCE = FOLDER / f"llama_cpp_python-{VERSION}/vendor/llama.cpp"
PROGRAM = FOLDER / "build/bin/llama-batched-bench"


def build(python):
    """llama.cpp's batched benchmark, for this processor; takes some ten minutes on two cores, once."""
    if PROGRAM.exists():
        return
    print(f"building llama.cpp of llama-cpp-python {VERSION} in {FOLDER.relative_to(ROOT)}", flush=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    fetch = [python, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "llama-cpp-python"]
    subprocess.run([*fetch, "--dest", FOLDER, f"llama-cpp-python=={VERSION}"], check=True)
    with tarfile.open(FOLDER / f"llama_cpp_python-{VERSION}.tar.gz") as archive:
        archive.extractall(FOLDER, filter="data")
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DLLAMA_OPENSSL=OFF", "-DLLAMA_BUILD_SERVER=OFF", "-GNinja"]
    subprocess.run(["cmake", "-S", SOURCE, "-B", FOLDER / "build", *options], check=True)
    subprocess.run(["cmake", "--build", FOLDER / "build", "--target", "llama-batched-bench"], check=True)


def convert(python, model, path):
    """Writes the model as GGUF, matrices in bfloat16."""
    subprocess.run([python, __file__, "convert", model, path], check=True)


def run_bench(path, prompt_tokens, completion_tokens, streams, threads):
    """Seconds of the whole program, and of what it says of its passes, the row of each number of streams.

    A run of a moment may end before its log has been written: rows may be missing.
    """
    context = prompt_tokens + max(streams) * completion_tokens
    command = [PROGRAM, "-m", path, "-t", threads, "-tb", threads, "-c", context, "-b", 2048, "-ub", 512]
    command += ["-npp", prompt_tokens, "-ntg", completion_tokens, "-npl", ",".join(map(str, streams))]
    command += ["-pps", "--kv-unified", "--output-format", "jsonl"]
    began = time.perf_counter()
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    seconds = time.perf_counter() - began
    if done.returncode != 0:
        sys.exit(f"{PROGRAM} failed with {done.returncode}:\n{done.stderr[-3000:]}")
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return seconds, {row["pl"]: row for row in rows}


NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def gguf_name(name):
    name = name.removeprefix("model.").removesuffix(".weight")
    if name.startswith("layers."):
        _, layer, rest = name.split(".", 2)
        return f"blk.{layer}.{NAMES[rest]}.weight"
    return {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}[name] + ".weight"


def write_gguf(model, path):
    """Rows of q and k keep their order, so heads rotate other pairs than in Hugging Face: the work is the same."""
    sys.path.insert(0, str(SOURCE / "gguf-py"))
    import gguf
    import torch
    from safetensors.torch import load_file

    config = json.loads((model / "config.json").read_text())
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_dimension_count(config["hidden_size"] // config["num_attention_heads"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("no_vocab")
    for name, tensor in load_file(model / "model.safetensors").items():
        if tensor.dim() == 2:
            raw = tensor.bfloat16().contiguous().view(torch.uint16).numpy()
            writer.add_tensor(gguf_name(name), raw.view("uint8"), raw_dtype=gguf.GGMLQuantizationType.BF16)
        else:
            writer.add_tensor(gguf_name(name), tensor.float().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    assert sys.argv[1] == "convert"
    write_gguf(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
