"""llama.cpp as a peer: built from the source package of llama-cpp-python on PyPI, measured by its batched benchmark.

llama_peer.py convert MODEL FILE TYPE    run by .venv-trl's Python: writes a Hugging Face Llama model as GGUF
"""

import json
import os
import pathlib
import subprocess
import sys
import tarfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build/llama_cpp"
VERSION = "0.3.36"
SOURCE = FOLDER / f"llama_cpp_python-{VERSION}/vendor/llama.cpp"
OPTIONS = [
    "-DCMAKE_BUILD_TYPE=Release",
    "-DBUILD_SHARED_LIBS=OFF",
    "-DLLAMA_OPENSSL=OFF",
    "-DLLAMA_BUILD_SERVER=OFF",
]
# GGML_NATIVE, which compiles for this processor, and llamafile's products are on in every build.
BUILDS = {
    "native": [],
    "avx2": ["-DGGML_NATIVE=OFF", "-DGGML_AVX2=ON", "-DGGML_FMA=ON", "-DGGML_F16C=ON", "-DGGML_BMI2=ON"],
}


def build(python, kind="native"):
    """Path of the batched benchmark; building it takes some ten minutes on two cores, once."""
    program = FOLDER / kind / "bin/llama-batched-bench"
    if program.exists():
        return program
    print(
        f"building llama.cpp of llama-cpp-python {VERSION} ({kind}) in {FOLDER.relative_to(ROOT)}", flush=True
    )
    if not SOURCE.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        fetch = [python, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "llama-cpp-python"]
        subprocess.run([*fetch, "--dest", FOLDER, f"llama-cpp-python=={VERSION}"], check=True)
        with tarfile.open(FOLDER / f"llama_cpp_python-{VERSION}.tar.gz") as archive:
            archive.extractall(FOLDER, filter="data")
    configure = ["cmake", "-S", SOURCE, "-B", FOLDER / kind, "-GNinja", *OPTIONS, *BUILDS[kind]]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", FOLDER / kind, "--target", "llama-batched-bench"], check=True)
    return program


def run_bench(program, options):
    """(seconds of the whole program, its rows as dictionaries); `options`: flag -> value, None for a bare flag.

    A run of a moment may end before its log has been written: rows may be missing.
    """
    command = [program, "--output-format", "jsonl"]
    for flag, value in options.items():
        command += [flag] if value is None else [flag, value]
    began = time.perf_counter()
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    seconds = time.perf_counter() - began
    if done.returncode != 0:
        sys.exit(f"{program} failed with {done.returncode}:\n{done.stderr[-3000:]}")
    return seconds, [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


class LlamaCpp:
    """The batched benchmark on one model. It draws no token from its logits."""

    name = "llama.cpp"
    version = f"of llama-cpp-python {VERSION}"

    def __init__(self, python, model, folder, kind="native"):
        self.python, self.model, self.folder = python, model, folder
        self.program = build(python, kind)

    def choices(self, job):
        """Setting -> values to try; the first ones are where the search starts."""
        threads = os.cpu_count()
        choices = {
            "weights": ["bf16", "f16", "f32"],
            "-fa": ["on", "off"],
            "-kvu": [False, True],
            "-t": [threads, max(1, threads // 2)],
            "-ctk": ["f16", "bf16", "f32"],
            "-ub": [512, 2048, 128],
        }
        if job.kind == "prefill":
            choices["-kvu"].reverse()
        elif job.streams <= min(choices["-ub"]):
            del choices["-ub"]
        return choices

    def gguf(self, dtype):
        path = self.folder / f"model-{dtype}.gguf"
        if not path.exists():
            subprocess.run([self.python, __file__, "convert", self.model, path, dtype], check=True)
        return path

    def options(self, job, settings):
        """The command line of one job; every stream has room for the prompt and the completion."""
        room = job.prompt_tokens + job.completion_tokens + 1
        options = {
            "-m": self.gguf(settings["weights"]),
            "-fa": settings["-fa"],
            "-t": settings["-t"],
            "-tb": settings["-t"],
            "-ctk": settings["-ctk"],
            "-c": job.streams * (room + 255) // 256 * 256,
            "-b": 4096,
            "-ub": settings.get("-ub", 512),
            "-npp": job.prompt_tokens,
            "-ntg": job.completion_tokens,
            "-npl": job.streams,
        }
        # The cache of values is transposed without flash attention, which some types do not support.
        options["-ctv"] = settings["-ctk"]
        if settings["-kvu"]:
            options["-kvu"] = None
        if job.kind == "decode":
            options["-pps"] = None
        return options

    def speed(self, job, settings):
        """Tokens a second; 0 if llama.cpp refuses the settings."""
        try:
            _, rows = run_bench(self.program, self.options(job, settings))
        except SystemExit as error:
            print(str(error).splitlines()[-1], flush=True)
            return 0.0
        return rows[0]["speed_tg" if job.kind == "decode" else "speed_pp"] if rows else 0.0

    def start_seconds(self, prompt_tokens):
        """Seconds from the program's start to the first token of a prompt, and its end."""
        options = {"-m": self.gguf("bf16"), "-t": os.cpu_count(), "-c": 512, "-fa": "on"}
        seconds, _ = run_bench(self.program, {**options, "-npp": prompt_tokens, "-ntg": 1, "-npl": 1})
        return seconds


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


def add_matrix(writer, name, tensor, dtype):
    import gguf
    import torch

    if dtype == "bf16":
        raw = tensor.bfloat16().contiguous().view(torch.uint16).numpy()
        writer.add_tensor(name, raw.view("uint8"), raw_dtype=gguf.GGMLQuantizationType.BF16)
    else:
        writer.add_tensor(name, {"f16": tensor.half(), "f32": tensor.float()}[dtype].numpy())


def write_gguf(model, path, dtype):
    """Rows of q and k keep their order, so heads rotate other pairs than in Hugging Face: the work is the same."""
    sys.path.insert(0, str(SOURCE / "gguf-py"))
    import gguf
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
            add_matrix(writer, gguf_name(name), tensor, dtype)
        else:
            writer.add_tensor(gguf_name(name), tensor.float().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    assert sys.argv[1] == "convert"
    write_gguf(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4])
