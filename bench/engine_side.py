"""The loops of openvino_side.py and vllm_side.py: an engine is made once and measured job by job."""

import itertools
import json
import os
import sys

from workloads import prompt_ids


def serve(make_engine, speeds):
    """Reads jobs from standard input, a JSON object a line, and answers each with its tokens per second.

    The command line holds the model's folder and the settings as a JSON object; `speeds`: kind of job -> function.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the engine prints goes to standard error
    engine = make_engine(sys.argv[1], json.loads(sys.argv[2]))
    for line in sys.stdin:
        job = json.loads(line)
        print(speeds[job["kind"]](engine, job), file=answers, flush=True)


def prefill_speed(seconds):
    """A function of engine and job that returns the tokens per second of prompts that share nothing.

    `seconds(engine, prompts, length)`: the seconds to generate `length` tokens after every prompt.
    """
    seeds = itertools.count(1)

    def speed(engine, job):
        for _ in range(2):  # the first one warms up
            prompts = prompt_ids(job["streams"], job["prompt_tokens"], job["vocab_size"], next(seeds))
            taken = seconds(engine, prompts, 1)
        return job["streams"] * job["prompt_tokens"] / taken

    return speed
