"""Memory of `cohort serve` over many requests: resident MiB after each tenth of them, from 16 clients on a tiny model.

python3 bench/serve_memory.py --model DIR [--requests 100000]
"""

import argparse
import json
import os
import pathlib
import random

from serve_speed import ROOT, Server, load_bodies


def resident_mib(process):
    pages = int(pathlib.Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def bodies(count, source):
    """Requests of all kinds: short and long, streams, several choices, and some that are refused."""
    for i in range(count):
        body = {"prompt": "x" * source.randrange(1, 60), "max_tokens": source.randrange(1, 8), "seed": i}
        kind = source.randrange(8)
        if kind == 0:
            body["stream"] = True
        elif kind == 1:
            body["n"] = 3
        elif kind == 2:
            body["logprobs"] = 3
        elif kind == 3:
            body["temperature"] = -1
        yield json.dumps(body)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True)
    parser.add_argument("--requests", type=int, default=100_000)
    arguments = parser.parse_args()
    source = random.Random(1)
    with Server([ROOT / "build/cohort", "serve", "--model", arguments.model, "--port", "PORT"]) as server:
        for part in range(10):
            load_bodies(server, 16, list(bodies(arguments.requests // 10, source)), {200, 400})
            print(
                f"{(part + 1) * arguments.requests // 10:7} requests  {resident_mib(server.process.pid):7.1f} MiB",
                flush=True,
            )


if __name__ == "__main__":
    main()
