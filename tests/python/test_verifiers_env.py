"""cohort.environments.verifiers_env with verifiers 0.4: an environment that it ships, and tasksets made of its classes.

Its package needs another mcp than the other tests, so it has an environment of its own:
    python3 -m venv build/venv-verifiers && build/venv-verifiers/bin/pip install verifiers==0.4.0 textarena==0.7.4
    COHORT=build/cohort build/venv-verifiers/bin/python tests/python/test_verifiers_env.py
"""

import importlib.util
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

from environment_run import ROOT, train

sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(ROOT / "apps/python"))
from cohort.environments import verifiers_env  # noqa: E402
from tool_schema import schema_of  # noqa: E402

HAS_VERIFIERS = importlib.util.find_spec("verifiers") is not None
SUMS = '''
import verifiers.v1 as vf

class SumData(vf.TaskData):
    answer: int

class SharedToolset(vf.Toolset[vf.SharedToolsetConfig]):
    TOOL_PREFIX = None
    @vf.tool
    async def double(self, number: int) -> int:
        """Doubles a number."""
        return 2 * number

class CalcToolset(vf.Toolset[vf.ToolsetConfig]):
    TOOL_PREFIX = "calc"
    async def setup_task(self, task):
        self.number = task.idx
    @vf.tool
    def add(self, a: int, b: int = 1) -> int:
        """Adds two numbers."""
        return a + b
    @vf.tool(name="which")
    def which_task(self) -> str:
        """Names the task."""
        return f"task {self.number}"

class SumConfig(vf.TaskConfig):
    tools: vf.ToolsetConfig = vf.ToolsetConfig()

class SumTask(vf.Task[SumData, vf.State, SumConfig]):
    @classmethod
    def toolsets(cls, config):
        return [CalcToolset(config.tools)]
    @vf.reward(weight=2.0)
    async def right(self, trace: vf.Trace) -> float:
        return float(str(self.data.answer) in trace.last_reply)
    @vf.reward
    async def calls(self, task, trace: vf.Trace) -> float:
        kinds = [message.role for message in trace.messages]
        assert kinds[:2] == ["system", "user"], kinds
        return 0.125 * len(trace.tool_messages) + 0.01 * task.idx
    @vf.metric
    async def turns(self, trace: vf.Trace) -> float:
        return trace.num_turns

class SumsConfig(vf.TasksetConfig):
    count: int = 3
    task: SumConfig = SumConfig()

class SumTaskset(vf.Taskset[SumTask, SumsConfig]):
    @classmethod
    def toolsets(cls, config):
        return [SharedToolset(vf.SharedToolsetConfig())]
    def load(self):
        for i in range(self.config.count):
            yield SumTask(SumData(prompt=f"{i} + 2?", system_prompt="Be short.", answer=i + 2), self.config.task)

__all__ = ["SumTaskset"]
'''
TALK = """
import verifiers.v1 as vf

class TalkConfig(vf.EnvConfig):
    player: vf.AgentConfig = vf.AgentConfig()

class TalkEnv(vf.Env[TalkConfig]):
    async def run(self, task, agents):
        async with agents.player.interaction(task) as talk:
            segment = await talk.turn("Say please.")
            if segment.last_reply == "boom":
                raise RuntimeError("the game broke")
            tries = 1
            while not segment.terminated and segment.last_reply != "please":
                tries += 1
                segment = await talk.turn("No. Say please.")
        talk.trace.record_reward("polite", 0.0 if segment.terminated else 1 / tries)

    async def finalize(self, task, episode):
        (trace,) = episode.traces
        trace.record_reward("turns", 0.25 * trace.num_turns)

class TalkTaskset(vf.Taskset[vf.Task, vf.TasksetConfig]):
    def load(self):
        return [vf.Task(vf.TaskData())]

__all__ = ["TalkEnv", "TalkTaskset"]
"""
REFUSED = """
import verifiers.v1 as vf

class BoxTask(vf.Task[vf.TaskData]):
    {body}

class BoxTaskset(vf.Taskset[BoxTask, vf.TasksetConfig]):
    INFINITE = {infinite}
    def load(self):
        return [BoxTask(vf.TaskData(prompt="x"))] * {count}

__all__ = ["BoxTaskset"]
"""


@unittest.skipUnless(HAS_VERIFIERS, "verifiers is not installed; the head of this file says how")
class VerifiersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.enterClassContext(mock.patch.object(sys, "path", [*sys.path, str(cls.folder)]))
        (cls.folder / "sums_env.py").write_text(SUMS)
        (cls.folder / "talk_env.py").write_text(TALK)

    def test_an_environment_that_verifiers_ships_is_played(self):
        try:
            import nltk
            import textarena  # noqa: F401
        except ImportError:
            self.skipTest("textarena is not installed; the head of this file says how")
        words = self.folder / "nltk/corpora/words"
        words.mkdir(parents=True)
        for name in ("en", "en-basic"):
            (words / name).write_text("planet\n")
        with (
            mock.patch.object(nltk, "download"),
            mock.patch.object(nltk.data, "path", [str(self.folder / "nltk")]),
        ):
            hangman = verifiers_env.adapt("textarena", {"game": "Hangman-v0"}, limit=2)
            rows = hangman.rows()
            self.assertEqual([row["task"] for row in rows], [0, 1])
            self.assertEqual([message["role"] for message in rows[0]["prompt"]], ["system", "user"])
            self.assertIn("Hangman", rows[0]["prompt"][1]["content"])
            game = hangman()
            self.assertEqual(game.reset(**rows[1]), "")
            shown = [game.reply(text=f"Perhaps [{letter}]") for letter in "PXLANET"]
            self.assertEqual(shown[0].split("\n")[1].split(), ["P", *"_____"])
            self.assertEqual(shown[5].split("\n")[1].split(), [*"PLANE", "_"])
            self.assertEqual(shown[6], "The episode is over.")
            self.assertEqual(game.get_reward(), 1.0)
            game.reset(**rows[0])
            game.reply(text="[P]")
            self.assertEqual(game.get_reward(), 0.0)

    def test_tools_and_rewards_are_those_of_the_taskset(self):
        sums = verifiers_env.adapt("sums_env", {"count": 4})
        rows = sums.rows()
        self.assertEqual(len(rows), 4)
        self.assertEqual(
            rows[1]["prompt"],
            [{"role": "system", "content": "Be short."}, {"role": "user", "content": "1 + 2?"}],
        )
        one, other = sums(), sums()
        self.assertEqual(
            [name for name in dir(one) if not name.startswith("_")],
            ["calc_add", "calc_which", "double", "get_reward", "reply", "reset", "rows"],
        )
        self.assertEqual(
            schema_of(one.calc_add)["function"]["parameters"],
            {
                "type": "object",
                "properties": {
                    "a": {"type": "integer", "description": "The a."},
                    "b": {"type": "integer", "description": "The b."},
                },
                "required": ["a"],
            },
        )
        one.reset(**rows[1])
        other.reset(**rows[3])
        self.assertEqual([each.calc_which() for each in (one, other)], ["task 1", "task 3"])
        self.assertEqual([one.calc_add(a=1, b=2), one.double(number=4), one.calc_add(a=4)], ["3", "8", "5"])
        self.assertIn("Error", one.calc_add(a="x"))
        self.assertEqual(one.reply(text="It is 3."), "The episode is over.")
        self.assertEqual(one.reply(text="It is 4."), "The episode is over.")
        self.assertEqual(one.get_reward(), 2.0 + 5 * 0.125 + 0.01)
        self.assertEqual(other.get_reward(), 0.125 + 0.03)
        one.reset(**rows[2])
        self.assertEqual(one.get_reward(), 0.02, "nothing was said")

    def test_an_env_that_talks_is_run_as_it_is(self):
        talk = verifiers_env.adapt("talk_env")
        self.assertEqual(talk.rows(), [{"prompt": [{"role": "user", "content": ""}], "task": 0}])
        one = talk()
        self.assertEqual(one.reset(**talk.rows()[0]), "Say please.")
        self.assertEqual(
            [one.reply(text=text) for text in ("no", "please")], ["No. Say please.", "The episode is over."]
        )
        self.assertEqual(one.get_reward(), 0.5 + 0.25 * 2)
        one.reset()
        one.reply(text="never")
        self.assertEqual(one.get_reward(), 0.25)
        one.reset()
        with self.assertRaisesRegex(RuntimeError, "the game broke"):
            one.reply(text="boom")
        with self.assertRaisesRegex(RuntimeError, "the game broke"):
            one.get_reward()

    def test_what_needs_more_is_refused(self):
        setup = "async def setup(self, trace, runtime):\n        pass"
        reward = "@vf.reward\n    async def files(self, trace, runtime) -> float:\n        return 1.0"
        stop = "@vf.stop\n    async def enough(self, trace: vf.Trace) -> bool:\n        return True"
        for number, (body, infinite, count, message) in enumerate(
            [
                (setup, False, 1, r"BoxTask needs a sandbox of verifiers \(setup\)"),
                (reward, False, 1, r"BoxTask needs a sandbox of verifiers \(files\)"),
                (
                    "NEEDS_CONTAINER = True",
                    False,
                    1,
                    r"BoxTask needs a sandbox of verifiers \(NEEDS_CONTAINER\)",
                ),
                (stop, False, 1, "BoxTask has stop conditions"),
                ("pass", True, 1, "the taskset box0*4 has no end: give a limit"),
                ("pass", False, 0, "the taskset box0*5 has no tasks"),
            ]
        ):
            text = REFUSED.format(body=body, infinite=infinite, count=count)
            (self.folder / f"box{number}.py").write_text(text)
            with self.subTest(message):
                self.assertRaisesRegex(ValueError, message, verifiers_env.adapt, f"box{number}")
        with self.assertRaisesRegex(
            ValueError, "UserSimEnv has the agents assistant, user; the policy can play one"
        ):
            verifiers_env.adapt("sums_env", env="user-sim")

    def test_two_steps(self):
        (self.folder / "mine.py").write_text(
            "from cohort.environments.verifiers_env import adapt\nSums = adapt('sums_env')\n"
        )
        rows = verifiers_env.adapt("sums_env").rows()
        lines = train(self.folder, rows, f"{self.folder}/mine.py:Sums", path=[self.folder])
        self.assertEqual([line["episodes/failed"] for line in lines], [0, 0])
        self.assertLess(max(line["rewards/environment/mean"] for line in lines), 0.1)


class MissingTest(unittest.TestCase):
    def test_a_missing_package_is_named(self):
        with mock.patch.dict(sys.modules, {"verifiers": None, "verifiers.v1": None}):
            with self.assertRaises(ImportError) as caught:
                verifiers_env.adapt("sums_env")
        self.assertEqual(
            str(caught.exception), 'verifiers 0.4 is not installed: pip install "cohort[verifiers]"'
        )


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    unittest.main()
