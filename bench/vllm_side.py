"""What vllm_peer.py runs inside vLLM's virtual environment: its engine for CPUs."""

import time

from engine_side import prefill_speed, serve
from vllm import LLM, SamplingParams
from workloads import prompt_ids


def make_engine(model, settings):
    return LLM(
        model,
        max_model_len=2048,
        max_num_seqs=64,
        enable_prefix_caching=True,
        seed=1,
        disable_log_stats=True,
        dtype=settings["dtype"],
        enforce_eager=settings["enforce_eager"],
        max_num_batched_tokens=settings["max_num_batched_tokens"],
    )


def seconds(engine, prompts, length):
    """Generates `length` tokens after every prompt, greedily, which is cheapest."""
    params = SamplingParams(max_tokens=length, temperature=0.0, ignore_eos=True, detokenize=False)
    inputs = [{"prompt_token_ids": prompt} for prompt in prompts]
    began = time.perf_counter()
    outputs = engine.generate(inputs, params, use_tqdm=False)
    ended = time.perf_counter()
    assert all(len(output.outputs[0].token_ids) == length for output in outputs)
    return ended - began


def decode_speed(engine, job):
    """Streams of one prompt, whose keys and values lie in the cache: the time of all tokens but the first."""
    prompts = prompt_ids(1, job["prompt_tokens"], job["vocab_size"], 0) * job["streams"]
    length = job["completion_tokens"]
    seconds(engine, prompts, 4)  # warms up and fills the cache
    first = min(seconds(engine, prompts, 1) for _ in range(2))
    return job["streams"] * (length - 1) / (seconds(engine, prompts, length) - first)


if __name__ == "__main__":
    serve(make_engine, {"decode": decode_speed, "prefill": prefill_speed(seconds)})
