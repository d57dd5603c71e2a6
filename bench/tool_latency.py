"""What slow tools cost a step: the same run with tools that answer at once and with tools that take 0 to 2 seconds.

    python3 bench/tool_latency.py [--rounds 5] [--steps 4] [--longest 2]

A step has 32 episodes of three turns with calls and an answer. The tool is an HTTP server in this process, which waits a
random time of its own for each turn; the times depend on the seed, the episode and the turn. The model of
tests/cli/chain_model.py has a known next token, so that both runs make the same calls. The runs alternate, and all must
write the same bytes into metrics.jsonl and completions.jsonl. The first step of a run is left out. Prints medians over the
rounds of the median step:

- seconds of a step, and of its sampling, which includes the wait for tools
- the slowest episode: the sum of its tools' times, which a step cannot undercut
- its longest turn beside the deadline `environment.timeout_s`, which counts for each turn
- the sampler's share: the seconds that it samples without latency, of those with it
"""

import argparse
import collections
import http.server
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/cohort"
PROMPTS, GENERATIONS, TURNS, TIMEOUT_S = 8, 4, 3, 12
EPISODES = PROMPTS * GENERATIONS
SCHEMA = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds two integers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        },
    },
}
RECIPE = """
seed = 1
[model]
path = "{folder}/model"
chat_template = "{folder}/template.jinja"
dtype = "float32"
[data]
path = "{folder}/rows.jsonl"
[rollout]
prompts_per_step = {prompts}
num_generations = {generations}
max_completion_length = 512
[[tool]]
type = "http"
url = "{url}"
[environment]
workers = {workers}
timeout_s = {timeout_s}
[[reward]]
name = "length"
max_length = 512
[optimizer]
learning_rate = 1e-6
[train]
max_steps = {steps}
save_steps = 0
preflight = false
"""


class Tool(http.server.ThreadingHTTPServer):
    """Adds. The first call of a turn waits; "more" in place of the last sum makes the model call again."""

    request_queue_size = 256

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.longest, self.waits, self.calls = 0.0, {}, {}
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def begin(self, longest):
        """A new run, whose turns wait at most `longest` seconds."""
        self.longest = longest
        self.waits = collections.defaultdict(list)  # of each episode
        self.calls = collections.Counter()

    def answer(self, request):
        episode = request["episode"]
        turn, call = divmod(self.calls[episode], 2)
        self.calls[episode] += 1
        if call == 0:
            wait = random.Random(f"{episode}/{turn}").uniform(0, self.longest)
            self.waits[episode].append(wait)
            time.sleep(wait)
        is_over = call == 1 and turn + 1 == TURNS
        return {"content": str(sum(request["arguments"].values())) if is_over else "more"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send({"tools": [SCHEMA]})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send(self.server.answer(json.loads(body)))

    def send(self, answer):
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


def prepare(folder, url, steps):
    os.environ["COHORT"] = str(PROGRAM)
    sys.path.insert(0, str(ROOT / "tests/cli"))
    import chain_model

    chain_model.make_chain_model(folder / "model")
    old, new = "messages[-1].role == 'tool'", "messages[-1].role == 'tool' and messages[-1].content != 'more'"
    assert old in chain_model.TEMPLATE
    (folder / "template.jinja").write_text(chain_model.TEMPLATE.replace(old, new))
    rows = [{"prompt": [{"role": "user", "content": f"Sum {i}."}]} for i in range(PROMPTS * steps)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sizes = {"prompts": PROMPTS, "generations": GENERATIONS, "workers": EPISODES, "timeout_s": TIMEOUT_S}
    (folder / "recipe.toml").write_text(RECIPE.format(folder=folder, url=url, steps=steps, **sizes))


def train(folder, name):
    """The run's two files of records, and the seconds of its steps but the first: whole, and sampling."""
    run = folder / name
    command = [PROGRAM, "train", folder / "recipe.toml", "--run-dir", run]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    records = [(run / file).read_bytes() for file in ("metrics.jsonl", "completions.jsonl")]
    times = [json.loads(line) for line in (run / "timings.jsonl").read_text().splitlines()][1:]
    return records, [[line[key] for line in times] for key in ("timing_s/step", "timing_s/gen")]


def slowest(waits, steps):
    """Of each step but the first: the largest sum of an episode's times, the longest turn, and the sum of all."""
    figures = []
    for step in range(1, steps):
        episodes = [waits[number] for number in range(step * EPISODES, (step + 1) * EPISODES)]
        assert all(len(turns) == TURNS for turns in episodes), "an episode has another number of turns"
        figures.append((max(map(sum, episodes)), max(map(max, episodes)), sum(map(sum, episodes))))
    return [statistics.median(column) for column in zip(*figures)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--longest", type=float, default=2.0, help="seconds of a turn's tool, at most")
    options = parser.parse_args()
    seconds = {"at once": [], "slow": []}
    tool, first = Tool(), None
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        prepare(folder, tool.url, options.steps)
        for number in range(options.rounds):
            for name in seconds:
                tool.begin(options.longest if name == "slow" else 0.0)
                records, times = train(folder, f"{name}-{number}")
                first = first or records
                assert records == first, f"round {number}: the run with tools that are {name} has other bytes"
                seconds[name].append([statistics.median(column) for column in times])
        whole, longest_turn, total = slowest(tool.waits, options.steps)
    medians = {name: [statistics.median(c) for c in zip(*rounds)] for name, rounds in seconds.items()}
    (fast, fast_gen), (slow, slow_gen) = medians.values()
    print(f"""\
{EPISODES} episodes a step, {TURNS} turns with tools of 0 to {options.longest:g} s; medians of {options.rounds} rounds; all runs wrote the same bytes

| of a step                                     | tools at once | slow tools |
|---|---|---|
| seconds                                       | {fast:13.2f} | {slow:10.2f} |
| seconds of sampling and waiting               | {fast_gen:13.2f} | {slow_gen:10.2f} |
| seconds of the slowest episode's tools        | {0:13.2f} | {whole:10.2f} |
| seconds beyond the slowest episode            | {fast:13.2f} | {slow - whole:10.2f} |
| longest turn of a tool, of its {TIMEOUT_S} s at most  | {0:13.2f} | {longest_turn:10.2f} |
| all tools one after another, seconds          | {0:13.2f} | {total:10.2f} |
| share of sampling time that the sampler works | {1:13.0%} | {fast_gen / slow_gen:10.0%} |""")


if __name__ == "__main__":
    main()
