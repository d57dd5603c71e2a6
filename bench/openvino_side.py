"""What openvino_peer.py runs inside OpenVINO's virtual environment: a ContinuousBatchingPipeline."""

import time

import numpy as np
import openvino as ov
import openvino_genai as genai
from engine_side import prefill_speed, serve
from workloads import prompt_ids

CACHE_GIB = 2


def make_pipeline(model, settings):
    scheduler = genai.SchedulerConfig()
    scheduler.enable_prefix_caching = True
    scheduler.cache_size = CACHE_GIB
    scheduler.max_num_seqs = 256
    scheduler.max_num_batched_tokens = settings.pop("max_num_batched_tokens")
    scheduler.dynamic_split_fuse = settings.pop("dynamic_split_fuse")
    return genai.ContinuousBatchingPipeline(model, scheduler, "CPU", settings)


def step_seconds(pipeline, prompts, length):
    """Generates `length` tokens after every prompt, greedily, which is cheapest; seconds of each step."""
    config = genai.GenerationConfig()
    config.max_new_tokens = length
    config.ignore_eos = True
    config.do_sample = False
    handles = [
        pipeline.add_request(i, ov.Tensor(np.array([prompt], dtype=np.int64)), config)
        for i, prompt in enumerate(prompts)
    ]
    seconds = []
    while pipeline.has_non_finished_requests():
        began = time.perf_counter()
        pipeline.step()
        seconds.append(time.perf_counter() - began)
    for handle in handles:
        assert len(handle.read_all()[0].generated_ids) == length
    return seconds


def decode_speed(pipeline, job):
    """Streams of one prompt, whose keys and values lie in the cache: all steps but the one of the first token."""
    prompt = prompt_ids(1, job["prompt_tokens"], job["vocab_size"], 0)
    step_seconds(pipeline, prompt * job["streams"], 4)  # warms up and fills the cache
    seconds = step_seconds(pipeline, prompt * job["streams"], job["completion_tokens"])
    decoding = seconds[-(job["completion_tokens"] - 1) :]
    return job["streams"] * len(decoding) / sum(decoding)


def total_seconds(pipeline, prompts, length):
    return sum(step_seconds(pipeline, prompts, length))


if __name__ == "__main__":
    serve(make_pipeline, {"decode": decode_speed, "prefill": prefill_speed(total_seconds)})
