"""Environments that an OpenEnv server holds."""

import json
import urllib.error
import urllib.request

from cohort.environments.schema_tools import tool_method


def connect(base_url, describe=None, prompt="Use the tools of this environment.\n"):
    """Returns a class of environments whose tools are those of the OpenEnv server at `base_url`.

    A server of tools (MCP) gives its own tools; another gives one tool `step`, whose arguments are the fields of its action. The
    reward is the sum of the rewards of all steps. `describe(observation)` turns an observation, a dict, into text; without it, its
    fields are written line by line. Each instance has a session of its own on the server. The row's columns but `prompt` go to the server's `reset`.

    Raises ImportError without openenv, ConnectionError if there is no such server, ValueError for actions that no tool can have.
    """
    clients = _openenv()
    action = _schema(base_url)["action"]
    fields = action.get("properties", {})
    is_mcp = {"tool_name", "arguments"} <= fields.keys()
    members = {
        "_url": base_url,
        "_is_mcp": is_mcp,
        "_describe": staticmethod(describe or _lines),
        "_prompt": prompt,
    }
    if is_mcp:
        with clients.MCPToolClient(base_url=base_url).sync() as client:
            tools = [(tool.name, tool.description, tool.input_schema) for tool in client.list_tools()]
    else:
        own = {key: value for key, value in fields.items() if key != "metadata"}
        tools = [("step", "Takes a step in the environment.", {**action, "properties": own})]
    for name, description, parameters in tools:
        members[name] = tool_method(name, description, parameters, OpenEnv._call)
    return type("OpenEnv", (OpenEnv,), members)


class OpenEnv:
    """An environment on an OpenEnv server; `connect` makes the class that has its tools."""

    def __init__(self):
        self._client = None
        self._is_over, self._total = False, 0.0

    @classmethod
    def rows(cls, count, seed=0, **columns):
        """Returns `count` rows whose episodes begin with the seed `seed`; `columns` go to the server's `reset`, too."""
        prompt = [{"role": "user", "content": cls._prompt}]
        return [{"prompt": prompt, "seed": seed + index, **columns} for index in range(count)]

    def reset(self, prompt=None, **columns):
        """Begins an episode on the server and returns its first observation. Raises what the client raises."""
        if self._client is None:
            clients = _openenv()
            kind = clients.MCPToolClient if self._is_mcp else clients.GenericEnvClient
            self._client = kind(base_url=self._url).sync()
            self._client.connect()
        self._total = 0.0
        return self._take(self._client.reset(**columns))

    def get_reward(self) -> float:
        """The sum of the rewards of all steps."""
        return self._total

    def _call(self, name, arguments):
        if self._is_over:
            return "The episode is over."
        if self._is_mcp:
            from openenv.core.env_server.mcp_types import CallToolAction

            return self._take(self._client.step(CallToolAction(tool_name=name, arguments=arguments)))
        return self._take(self._client.step(arguments))

    def _take(self, result):
        """Keeps the reward of a step and returns its observation as text."""
        self._total += float(result.reward or 0.0)
        self._is_over = bool(result.done)
        observation = result.observation
        if not isinstance(observation, dict):
            observation = observation.model_dump(mode="json")
        text = self._describe(observation)
        return f"{text}\nThe episode is over.".strip() if self._is_over else text

    def __del__(self):
        if getattr(self, "_client", None) is not None:
            self._client.close()


def _lines(observation):
    """The fields of an observation, without those of the protocol."""
    if observation.get("error"):
        error = observation["error"]
        return f"error: {error.get('message', error) if isinstance(error, dict) else error}"
    if "tool_name" in observation and "result" in observation:
        result = observation["result"]
        data = result.get("data", result) if isinstance(result, dict) else result
        return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    own = {key: value for key, value in observation.items() if key not in ("metadata", "done", "reward")}
    if len(own) == 1 and isinstance(next(iter(own.values())), str):
        return next(iter(own.values()))
    return "\n".join(
        f"{key}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in own.items()
    )


def _schema(base_url):
    address = f"{base_url.rstrip('/')}/schema"
    try:
        with urllib.request.urlopen(address, timeout=30) as answer:
            return json.load(answer)
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise ConnectionError(f"no OpenEnv server answers at {address}: {error}") from None


def _openenv():
    try:
        from openenv.core import GenericEnvClient, MCPToolClient  # noqa: F401
    except ImportError:
        raise ImportError('openenv is not installed: pip install "cohort[openenv]"') from None
    import openenv.core

    return openenv.core
