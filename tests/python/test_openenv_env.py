"""cohort.environments.openenv_env with OpenEnv's own server: its echo environment, and one with tools.

openenv needs some hundred packages, so it has an environment of its own:
    python3 -m venv build/venv-openenv && build/venv-openenv/bin/pip install openenv==0.10.0
    COHORT=build/cohort build/venv-openenv/bin/python tests/python/test_openenv_env.py
"""

import importlib.util
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from unittest import mock

from environment_run import ROOT, train

sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(ROOT / "apps/python"))
from cohort.environments import openenv_env  # noqa: E402
from tool_schema import schema_of  # noqa: E402

HAS_OPENENV = importlib.util.find_spec("openenv") is not None
# The echo environment is the one that `openenv init` writes, named Echo.
SERVER = '''
import importlib, pathlib, sys
import openenv, uvicorn
from fastmcp import FastMCP
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.mcp_environment import MCPEnvironment
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
from openenv.core.env_server.types import Observation, State

folder, kind, port = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
names = {"__ENV_NAME__": "echo", "__ENV_CLASS_NAME__": "Echo", "__ENV_TITLE_NAME__": "Echo"}
source = pathlib.Path(openenv.__file__).parent / "cli/templates/openenv_env"

def echo():
    for file in source.rglob("*.py"):
        text = file.read_text()
        for name, value in names.items():
            text = text.replace(name, value)
        place = folder / "echo_env" / str(file.relative_to(source)).replace("__ENV_NAME__", "echo")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    sys.path.insert(0, str(folder))
    server = importlib.import_module("echo_env.server.echo_environment").EchoEnvironment
    models = importlib.import_module("echo_env.models")
    return create_app(server, models.EchoAction, models.EchoObservation, env_name="echo", max_concurrent_envs=8)

class Counter(MCPEnvironment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        server = FastMCP("counter")
        self.count = 0

        @server.tool
        def add(number: int, note: str = "") -> str:
            """Adds to the count."""
            self.count += number
            return f"the count is {self.count}"

        super().__init__(server)

    def reset(self, seed=None, episode_id=None, start=0, **columns):
        self.count = start
        return Observation(metadata={"seed": seed})

    def _step_impl(self, action, timeout_s=None, **columns):
        raise ValueError("tools only")

    async def step_async(self, action, timeout_s=None, **columns):
        observation = await super().step_async(action, timeout_s=timeout_s, **columns)
        observation.reward, observation.done = self.count / 10, self.count >= 5
        return observation

    @property
    def state(self):
        return State()

if kind == "echo":
    app = echo()
else:
    app = create_app(Counter, CallToolAction, CallToolObservation, env_name="counter", max_concurrent_envs=8)
uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")
'''


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@unittest.skipUnless(HAS_OPENENV, "openenv is not installed; the head of this file says how")
class OpenEnvTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        (cls.folder / "server.py").write_text(SERVER)
        cls.urls, processes = {}, []
        for kind in ("echo", "counter"):
            port = free_port()
            cls.urls[kind] = f"http://127.0.0.1:{port}"
            processes.append(
                subprocess.Popen([sys.executable, cls.folder / "server.py", cls.folder, kind, str(port)])
            )
            cls.addClassCleanup(processes[-1].wait)
            cls.addClassCleanup(processes[-1].kill)
        for (kind, url), process in zip(cls.urls.items(), processes, strict=True):
            for _ in range(1200):
                assert process.poll() is None, f"the server {kind} ended"
                try:
                    urllib.request.urlopen(f"{url}/health").close()
                    break
                except urllib.error.URLError:
                    time.sleep(0.2)

    def test_the_echo_environment_of_openenv(self):
        echo = openenv_env.connect(self.urls["echo"])
        one, other = echo(), echo()
        self.assertEqual(
            schema_of(one.step)["function"]["parameters"],
            {
                "type": "object",
                "properties": {"message": {"type": "string", "description": "Message to echo back"}},
                "required": ["message"],
            },
        )
        (row,) = echo.rows(1)
        self.assertEqual(one.reset(**row), "echoed_message: Echo environment ready!\nmessage_length: 0")
        other.reset(**row)
        self.assertEqual(one.step(message="Hello"), "echoed_message: Hello\nmessage_length: 5")
        self.assertEqual((one.get_reward(), other.get_reward()), (0.5, 0.0))
        one.step(message="0123456789 and more")
        self.assertEqual(one.get_reward(), 1.5)
        one.reset(**row)
        self.assertEqual(one.get_reward(), 0.0)

    def test_observations_may_be_described(self):
        short = openenv_env.connect(self.urls["echo"], describe=lambda seen: seen["echoed_message"])()
        self.assertEqual(short.reset(), "Echo environment ready!")
        self.assertEqual(short.step(message="Hi"), "Hi")

    def test_tools_of_a_server(self):
        counter = openenv_env.connect(self.urls["counter"])
        one = counter()
        self.assertFalse(hasattr(one, "step"))
        tool = schema_of(one.add)["function"]
        self.assertEqual(tool["description"], "Adds to the count.")
        self.assertEqual(tool["parameters"]["required"], ["number"])
        self.assertEqual(tool["parameters"]["properties"]["number"]["type"], "integer")
        (row,) = counter.rows(1, start=1)
        self.assertEqual(one.reset(**row), "")
        self.assertEqual(one.add(number=2), "the count is 3")
        self.assertIn("error: ", one.add(number="many"))
        self.assertEqual(one.add(number=2), "the count is 5\nThe episode is over.")
        self.assertEqual(one.add(number=2), "The episode is over.")
        self.assertAlmostEqual(one.get_reward(), 0.3 + 0.3 + 0.5)

    def test_two_steps(self):
        for kind, url in self.urls.items():
            name = kind.capitalize()
            (self.folder / f"{kind}_mine.py").write_text(
                f"from cohort.environments.openenv_env import connect\n{name} = connect('{url}')\n"
            )
            rows = openenv_env.connect(url).rows(4)
            lines = train(self.folder, rows, f"{self.folder}/{kind}_mine.py:{name}")
            self.assertEqual([line["episodes/failed"] for line in lines], [0, 0])
            self.assertEqual([line["rewards/environment/mean"] for line in lines], [0, 0])

    def test_a_server_that_is_not_there_is_named(self):
        url = f"http://127.0.0.1:{free_port()}"
        with self.assertRaisesRegex(ConnectionError, f"no OpenEnv server answers at {url}/schema: "):
            openenv_env.connect(url)


class MissingTest(unittest.TestCase):
    def test_a_missing_package_is_named(self):
        with mock.patch.dict(sys.modules, {"openenv": None, "openenv.core": None}):
            with self.assertRaises(ImportError) as caught:
                openenv_env.connect("http://127.0.0.1:1")
        self.assertEqual(str(caught.exception), 'openenv is not installed: pip install "cohort[openenv]"')


if __name__ == "__main__":
    unittest.main()
