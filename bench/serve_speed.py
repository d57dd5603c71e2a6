"""Requests and tokens per second of `cohort serve` against llama.cpp's llama-server, same model, same machine.

python3 bench/serve_speed.py --model DIR --llama-server PROGRAM --gguf FILE [--gguf FILE] [--rounds 5]

Both servers answer /v1/completions: prompts of some 64 tokens, no two alike, 64 tokens each, 1, 8 and 64 clients at once that send one
request after another. First every variant of llama-server (each GGUF file, flash attention on and off) serves 8 clients
once, and the fastest is taken and printed. Then the servers alternate, and the medians of the rounds are printed with their ratio.
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
            status, answer = server.call("POST", "/v1/completions", body, connection)
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
    bodies = [json.dumps(body | {"prompt": prompt(source), "seed": i}) for i in range(num_requests)]
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


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True)
    parser.add_argument("--llama-server", required=True)
    parser.add_argument(
        "--gguf", action="append", required=True, help="the same model; may be given several times"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_args()

    best = None
    for name, command in llama_variants(arguments.llama_server, arguments.gguf, arguments.threads):
        with Server(command) as server:
            load(server, 1, 1, 0)
            speed = tokens_per_second(server, 8, 1)
        print(f"llama-server, {name}: {speed:.1f} tokens/s with 8 clients", flush=True)
        if best is None or speed > best[0]:
            best = (speed, name, command)
    print(f"taken: {best[1]}", flush=True)
    program = ROOT / "build/cohort"
    ours = [program, "serve", "--model", arguments.model, "--port", "PORT", "--threads", arguments.threads]
    commands = {"cohort serve": ours, "llama-server": best[2]}
    speeds = {(name, clients): [] for name in commands for clients in CLIENTS}
    for place in range(arguments.rounds):
        for name in commands if place % 2 == 0 else reversed(commands):
            with Server(commands[name]) as server:
                load(server, 1, 1, 0)
                for clients in CLIENTS:
                    speeds[name, clients].append(tokens_per_second(server, clients, place))
            print(name, [f"{speeds[name, clients][-1]:.1f}" for clients in CLIENTS], flush=True)
    version = subprocess.run([arguments.llama_server, "--version"], capture_output=True, text=True).stderr
    print("llama.cpp", re.sub(r"\s+", " ", version)[:120])
    for clients in CLIENTS:
        ours, theirs = (statistics.median(speeds[name, clients]) for name in commands)
        print(
            f"{clients:3} clients: {ours:8.1f} and {theirs:8.1f} tokens/s, "
            f"{ours / NUM_TOKENS:6.2f} and {theirs / NUM_TOKENS:6.2f} requests/s, ratio {ours / theirs:.2f}"
        )


if __name__ == "__main__":
    main()
