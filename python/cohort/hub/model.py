"""Model ids of the Hugging Face Hub as directories."""

import os
import re

from cohort.hub.errors import import_hub, one_line

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
# What the engine reads, and what it copies beside the weights of a trained model.
WANTED = ["*.safetensors", "*.json", "*.jinja", "*.model", "merges.txt", "vocab.txt"]
# Weights in other layouts, which some repositories hold beside those of transformers.
UNWANTED = ["consolidated*", "*/*.safetensors", "*/*.json", "*/*.model"]


def model_directory(name_or_path, revision=None, token=None):
    """Returns the directory of a model: `name_or_path`, if it is one, else that of the Hub id in the local cache.

    Files that the cache lacks are downloaded by huggingface_hub, whose HF_ENDPOINT, HF_HUB_OFFLINE, HF_HUB_CACHE and
    HF_TOKEN hold: weights in safetensors, configuration, tokenizer and chat templates. `revision` is a branch, a tag or
    a commit ("main").

    Raises OSError for an unknown, private or gated id, an id that is not in the cache while the Hub can't be reached,
    and a model without safetensors; ValueError for a revision of a directory; ImportError without huggingface_hub.
    """
    name = os.fspath(name_or_path)
    if os.path.isdir(name):
        if revision is not None:
            raise ValueError(f"{name}: is a directory, which has no revision {revision!r}")
        return name
    if not HUB_ID.fullmatch(name):
        raise OSError(f"{name}: no such model directory, and no id of the Hub (ORGANISATION/NAME)")
    hub = import_hub()
    with one_line(name, "model"):
        directory = hub.snapshot_download(
            name, revision=revision, token=token, allow_patterns=WANTED, ignore_patterns=UNWANTED
        )
    _check(name, directory)
    return directory


def _check(name, directory):
    files = os.listdir(directory)
    if not {"config.json", "adapter_config.json"} & set(files):
        raise OSError(f"{name}: has no config.json, so it is no model of transformers")
    if not any(file.endswith(".safetensors") for file in files):
        raise OSError(
            f"{name}: has no weights in safetensors, which the engine reads alone: load it by transformers and "
            "save it by save_pretrained"
        )
