"""OpenVINO GenAI as a peer: its ContinuousBatchingPipeline on a model that optimum-intel exports."""

import json
import os
import pathlib
import subprocess

from engine_process import EngineProcess, Processes
from venvs import make_venv

SIDE = pathlib.Path(__file__).with_name("openvino_side.py")
VERSION = "2026.4.1.0"
PACKAGES = [f"openvino-genai=={VERSION}", "transformers==5.5.4", "safetensors", "nncf==3.4.0", "requests"]
# optimum-intel asks for torchvision, which would bring a torch of its own with CUDA's libraries.
EXPORTER = ["optimum-intel==2.2.0", "optimum==2.3.0"]


class OpenVino:
    """Prefix caching is on; tokens are the most likely ones, which costs least."""

    name = "OpenVINO GenAI"
    version = VERSION

    def __init__(self, model, folder, environment):
        self.python = make_venv(".venv-openvino", PACKAGES, alone=EXPORTER)
        self.folder = folder / "openvino"
        self.environment = {**os.environ, **environment}
        self.processes = Processes(self.start)
        self.export(model)

    def export(self, model):
        if (self.folder / "openvino_model.xml").exists():
            return
        command = [self.python.with_name("optimum-cli"), "export", "openvino", "--model", model]
        command += ["--task", "text-generation-with-past", "--weight-format", "fp16", self.folder]
        subprocess.run(command, check=True, capture_output=True)

    def choices(self, job):
        """Setting -> values to try; the first ones are where the search starts."""
        threads = os.cpu_count()
        choices = {
            # Not every precision of the products takes every precision of the cache.
            "precision and cache": ["bf16 bf16", "bf16 f16", "bf16 u8", "f16 f16", "f32 f32", "f32 u8"],
            "INFERENCE_NUM_THREADS": [threads, max(1, threads // 2)],
            "max_num_batched_tokens": [512, 2048, 8192],
            "dynamic_split_fuse": [True, False],
        }
        if job.kind == "decode":
            choices["max_num_batched_tokens"] = [8192]
            choices["dynamic_split_fuse"] = [True]
        return choices

    def start(self, settings):
        properties = dict(settings)
        hint, cache = properties.pop("precision and cache").split()
        properties |= {"INFERENCE_PRECISION_HINT": hint, "KV_CACHE_PRECISION": cache}
        return EngineProcess([self.python, SIDE, self.folder, json.dumps(properties)], self.environment)

    def speed(self, job, settings):
        return self.processes.get(settings).speed(job)
