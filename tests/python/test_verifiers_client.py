"""`cohort serve` under vf-eval of verifiers 0.4: its null harness plays a taskset with a tool, its EvalClient asks our server.

COHORT=build/cohort .venv-test/bin/python tests/python/own_environment.py \
    verifiers test_verifiers_client.py verifiers==0.4.0 textarena==0.7.4
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))

from chain_model import make_chain_model
from serve_case import Server

SUMS = '''
import verifiers.v1 as vf

class SumData(vf.TaskData):
    answer: str

class AddToolset(vf.Toolset[vf.SharedToolsetConfig]):
    TOOL_PREFIX = None
    @vf.tool
    async def add(self, a: int, b: int) -> int:
        """Adds two numbers."""
        return a + b

class SumTask(vf.Task[SumData, vf.State, vf.TaskConfig]):
    @vf.reward
    async def right(self, trace: vf.Trace) -> float:
        return float(self.data.answer in trace.last_reply)

class SumTaskset(vf.Taskset[SumTask, vf.TasksetConfig]):
    @classmethod
    def toolsets(cls, config):
        return [AddToolset(vf.SharedToolsetConfig())]
    def load(self):
        for answer in ("5", "6"):
            yield SumTask(SumData(prompt="2 + 3?", system_prompt="Use the tool.", answer=answer), self.config.task)

__all__ = ["SumTaskset"]

if __name__ == "__main__":
    AddToolset.run()
'''
# The harness asks uv for an interpreter with openai and mcp, which verifiers itself needs: this one. Real uv needs the network.
UV = """#!/bin/sh
case "$*" in
  *--help) echo --script ;;
  "python find"*) echo {python} ;;
esac
"""


class VerifiersClientTest(unittest.TestCase):
    def test_a_taskset_with_a_tool_is_evaluated(self):
        with tempfile.TemporaryDirectory(prefix="cohort-verifiers-") as name:
            folder = pathlib.Path(name)
            (folder / "sums_chain.py").write_text(SUMS)
            uv = folder / ".local/bin/uv"
            uv.parent.mkdir(parents=True)
            uv.write_text(UV.format(python=sys.executable))
            uv.chmod(0o755)
            with Server(make_chain_model(folder / "chain"), "--api-key", "secret") as server:
                self.evaluate(folder, server)
                status, counts = server.request("GET", "/metrics", headers={"Authorization": "Bearer secret"})
            (path,) = (folder / "out").rglob("traces.jsonl")
            episodes = [json.loads(line) for line in path.read_text().splitlines()]
        traces = [trace for episode in episodes for trace in episode["traces"]]
        self.assertEqual([each["errors"] for each in episodes + traces], [[], [], [], []])
        rewards = {trace["task"]["data"]["answer"]: trace["rewards"]["right"]["score"] for trace in traces}
        self.assertEqual(rewards, {"5": 1.0, "6": 0.0})
        for trace in traces:
            self.check(trace)
        self.assertEqual(status, 200, counts)
        self.assertIn(f"\ncohort_generation_tokens_total {2 * (8 + 4)}\n", counts)

    def evaluate(self, folder, server):
        """Runs vf-eval on the taskset in the folder."""
        command = [pathlib.Path(sys.executable).with_name("vf-eval"), "sums_chain", "--model", "chain"]
        command += ["--client.base-url", server.url, "--client.api-key-var", "KEY", "--output-dir", "out"]
        command += ["--env.agent.harness.id", "null", "--env.agent.runtime.type", "subprocess"]
        result = subprocess.run(
            [*command, "--num-rollouts", "1", "--no-push"],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(folder), "HOME": str(folder), "KEY": "secret"},
            capture_output=True,
            text=True,
            timeout=300,
        )
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def check(self, trace):
        """The trace holds the chain model's replies and the tool's results, in order and on one branch."""
        self.assertEqual([node.get("parent") for node in trace["nodes"]], [None, 0, 1, 2, 3, 4])
        system, user, calls, first, second, answer = [node["message"] for node in trace["nodes"]]
        self.assertEqual(system, {"role": "system", "content": "Use the tool."})
        self.assertEqual(user, {"role": "user", "content": "2 + 3?"})
        self.assertEqual(calls["reasoning_content"], "I add them.")
        made = [(call["id"], call["name"], json.loads(call["arguments"])) for call in calls["tool_calls"]]
        self.assertEqual([call[1:] for call in made], [("add", {"a": 2, "b": 3}), ("add", {"a": 1, "b": 4})])
        for result, call in ((first, made[0]), (second, made[1])):
            wanted = {"role": "tool", "tool_call_id": call[0], "content": "5", "name": "add"}
            self.assertEqual(result, wanted)
        self.assertEqual(answer, {"role": "assistant", "content": "The sum is 5."})
        turns = [(call["finish_reason"], call["usage"]["completion_tokens"]) for call in trace["calls"]]
        self.assertEqual(turns, [("tool_calls", 8), ("stop", 4)])


if __name__ == "__main__":
    unittest.main()
