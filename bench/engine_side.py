"""The loop of openvino_side.py and vllm_side.py: an engine is made once and measured job by job."""

import json
import os
import sys


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
