"""Serves tools and environments that are written in Python, as TRL's GRPOTrainer takes them, to Cohort.

    python3 cohort_environment.py [--environment FILE.py:FACTORY] [--tool FILE.py:NAME ...] [--mcp '["program", ...]' ...]

FACTORY() makes the environment of one episode: an object with reset(**row), whose text goes on after the prompt, with
public methods, which are tools, and perhaps with get_reward(). A tool is a function, plain or async. If the attribute
`turn_rewards` is true, get_reward() is called after each call of a tool, too, and what it has grown by is the call's reward.
A property `state` is the state of the environment. Answers each line of standard input with one line:

    {"id": 1, "op": "describe"}          {"id": 1, "tools": [schema, ...], "episodes": true, "gives_rewards": true,
                                          "gives_turn_rewards": false, "gives_states": false}
    {"id": 2, "op": "begin", "episode": 7, "row": {...}}     {"id": 2, "observation": "...", "state": "..."}
    {"id": 3, "op": "call", "episode": 7, "name": "add", "arguments": {...}}
                                          {"id": 3, "content": "5"} or {"id": 3, "tool_error": "..."},
                                          with "reward": 0.5 and "state": "..."
    {"id": 4, "op": "judge", "episode": 7}                   {"id": 4, "score": 1.0}
    {"id": 5, "op": "end", "episode": 7}                     {"id": 5}

A reply {"id", "error": "..."} says that the environment itself failed. --mcp starts a server of the Model Context Protocol,
which speaks over its standard streams, and needs the package mcp. The rest needs nothing but Python 3.9.
"""

import argparse
import asyncio
import contextlib
import inspect
import json
import math

from cohort_reward import last_line, load, take_standard_streams, tidy
from tool_schema import schema_of

_NOT_TOOLS = ("reset", "get_reward")


class Server:
    def __init__(self, environment, tools, servers):
        self.places = {"environment": environment}
        self.factory = load(environment) if environment else None
        self.loop = asyncio.new_event_loop()
        self.tools = {}
        for place in tools:
            function = load(place)
            self.places[function.__name__] = place
            self.tools[function.__name__] = function
        self.servers = {}
        self.remote = []
        for command in servers:
            server = McpServer(json.loads(command), self.loop)
            for schema in server.schemas:
                self.servers[schema["function"]["name"]] = server
                self.remote.append(schema)
        self.episodes = {}

    def describe(self, request):
        schemas = [schema_of(function) for function in self.tools.values()] + self.remote
        gives = dict.fromkeys(("gives_rewards", "gives_turn_rewards", "gives_states"), False)
        if self.factory:
            example = self.factory()
            if not callable(getattr(example, "reset", None)):
                raise TypeError("the environment needs a method reset(**row)")
            schemas += [schema_of(getattr(example, name)) for name in method_names(example)]
            gives["gives_rewards"] = hasattr(example, "get_reward")
            gives["gives_turn_rewards"] = gives_turn_rewards(example)
            gives["gives_states"] = gives_states(example)
        return {"tools": schemas, "episodes": bool(self.factory), **gives}

    def begin(self, request):
        environment = self.factory()
        observation = self.result(environment.reset(**request["row"]))
        if observation is not None and not isinstance(observation, str):
            raise TypeError(
                f"reset() returned a {type(observation).__name__}, but must return a text or None"
            )
        episode = self.episodes[request["episode"]] = Episode(environment)
        if gives_turn_rewards(environment):
            episode.first_total = self.reward_of(environment) or 0.0
        return {"observation": observation or "", **state_of(environment)}

    def call(self, request):
        episode, name = self.episodes.get(request["episode"]), request["name"]
        if name in self.servers:
            answer = self.result(self.servers[name].call(name, request["arguments"]))
        else:
            answer = self.call_function(self.tools.get(name) or getattr(episode.environment, name), request)
        if episode is None:
            return answer
        return {**answer, **self.gain(episode), **state_of(episode.environment)}

    def call_function(self, function, request):
        try:
            return {"content": str(self.result(function(**request["arguments"])))}
        except Exception as error:  # of the tool: the policy reads it, as in TRL
            return {"tool_error": tidy(str(error))}

    def gain(self, episode):
        """The reward of a call: what get_reward() has grown by."""
        if not gives_turn_rewards(episode.environment):
            return {}
        total = self.reward_of(episode.environment)
        if total is None:
            return {}
        reward = total - episode.first_total - episode.rewarded()
        episode.rewards.append(reward)
        return {"reward": reward}

    def reward_of(self, environment):
        reward = self.result(environment.get_reward())
        if reward is not None and not math.isfinite(float(reward)):
            raise ValueError(f"get_reward() returned {reward}, which is no finite number")
        return None if reward is None else float(reward)

    def judge(self, request):
        episode = self.episodes[request["episode"]]
        score = self.reward_of(episode.environment)
        return {"score": None if score is None else score - episode.rewarded()}

    def end(self, request):
        self.episodes.pop(request["episode"], None)
        return {}

    def result(self, value):
        return self.loop.run_until_complete(value) if inspect.isawaitable(value) else value


class Episode:
    def __init__(self, environment):
        self.environment = environment
        self.first_total = 0.0  # get_reward() after reset()
        self.rewards = []  # of calls

    def rewarded(self):
        return math.fsum(self.rewards)


class McpServer:
    """A server of the Model Context Protocol, started as a program."""

    def __init__(self, command, loop):
        from mcp import ClientSession, StdioServerParameters
        from mcp.client.stdio import stdio_client

        self.contexts = contextlib.AsyncExitStack()

        async def start():
            parameters = StdioServerParameters(command=command[0], args=command[1:])
            streams = await self.contexts.enter_async_context(stdio_client(parameters))
            session = await self.contexts.enter_async_context(ClientSession(*streams))
            await session.initialize()
            return session, (await session.list_tools()).tools

        self.session, tools = loop.run_until_complete(start())
        self.schemas = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description or "",
                    "parameters": member_of(tool, "input_schema", "inputSchema"),
                },
            }
            for tool in tools
        ]

    async def call(self, name, arguments):
        result = await self.session.call_tool(name, arguments)
        text = "\n".join(part.text for part in result.content if part.type == "text")
        return {"tool_error": tidy(text)} if member_of(result, "is_error", "isError") else {"content": text}


def member_of(value, name, old_name):
    """A member under the name that mcp 2 gives it, or mcp 1."""
    return getattr(value, name) if hasattr(value, name) else getattr(value, old_name)


def gives_turn_rewards(environment):
    """Whether get_reward() grows turn by turn."""
    is_asked = getattr(environment, "turn_rewards", False)
    if is_asked and not hasattr(environment, "get_reward"):
        raise TypeError("an environment with `turn_rewards` needs a method get_reward()")
    return bool(is_asked)


def gives_states(environment):
    """Whether it has a property `state`; a method of that name is a tool, as in TRL."""
    return isinstance(inspect.getattr_static(type(environment), "state", None), property)


def state_of(environment):
    """The state as a text that equal states share, in an answer."""
    if not gives_states(environment):
        return {}
    state = environment.state
    try:
        return {"state": state if isinstance(state, str) else json.dumps(state, sort_keys=True)}
    except (TypeError, ValueError):
        raise TypeError(
            f"the property `state` is a {type(state).__name__}, but must be a text, or lists, dicts, numbers and texts"
        ) from None


def method_names(environment):
    """The public methods that are tools, in the order of their names, as TRL finds them."""
    members = inspect.getmembers(type(environment), predicate=inspect.isfunction)
    return [name for name, _ in members if not name.startswith("_") and name not in _NOT_TOOLS]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--environment", default="")
    parser.add_argument("--tool", action="append", default=[])
    parser.add_argument("--mcp", action="append", default=[])
    options = parser.parse_args()
    requests, replies = take_standard_streams()
    server, failure = None, None
    try:
        server = Server(options.environment, options.tool, options.mcp)
    except BaseException as error:
        failure = tidy(last_line(error, [options.environment, *options.tool, ""][0]))
    for line in requests:
        request = json.loads(line)
        try:
            answer = {"error": failure} if server is None else getattr(server, request["op"])(request)
        except BaseException as error:  # a Rust extension's panic or a cancelled task is no Exception
            answer = {"error": tidy(last_line(error, options.environment))}
        replies.write(json.dumps({"id": request["id"], **answer}) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
