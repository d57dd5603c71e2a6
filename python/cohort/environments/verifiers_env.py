"""Environments of verifiers 0.4, played by the policy in place of their model.

An environment of verifiers is a taskset, whose tasks have prompts, tool servers and rewards, and an `Env`, which says how one
agent or several play a task. `adapt` runs the `Env` as it is. Where it asks its agent for a turn, the policy answers: it calls the task's
tools, and its text is the argument of the tool `reply`. The rewards are those that verifiers computes on the trace.
"""

import asyncio
import contextlib
import json
import threading

from cohort.environments.schema_tools import tool_method

REPLY = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "What you say."}},
    "required": ["text"],
}


def adapt(taskset, config=None, env=None, limit=None):
    """Returns a class of environments for a taskset of verifiers.

    `taskset` is the id of an installed taskset or the name of a module that exports one, `config` a dict of its settings. `env` is the id of an `Env` of
    verifiers or an `Env` class; by default it is the taskset's own. `limit` is the number of tasks; endless tasksets need it. The class
    has `rows()`, whose column `task` is the number of a task.

    Raises ImportError without verifiers, ValueError for what needs a sandbox, several agents, or state that tools and rewards share.
    """
    vf = _verifiers()
    from verifiers.v1.configs.agent import agent_config_fields
    from verifiers.v1.utils.loaders import load_environment, resolve_env_config

    chosen = {"id": env} if isinstance(env, str) else {}
    settings = {**chosen, "taskset": {"id": taskset, **(config or {})}}
    if isinstance(env, type):
        game = env(_config_type(env, vf).model_validate(settings))
    else:
        game = load_environment(resolve_env_config(settings))
    seats = list(agent_config_fields(game.config))
    if len(seats) != 1:
        raise ValueError(
            f"{type(game).__name__} has the agents {', '.join(seats)}; the policy can play one only"
        )
    if limit is None and not game.taskset.bounded:
        raise ValueError(f"the taskset {taskset} has no end: give a limit")
    tasks = list(game.taskset if limit is None else game.taskset.take(limit))
    if not tasks:
        raise ValueError(f"the taskset {taskset} has no tasks")
    _check(tasks[0], game, vf)
    members = {"_game": game, "_tasks": tasks, "_seat": seats[0]}
    members["reply"] = tool_method(
        "reply", "Says something to the user; your answer counts only here.", REPLY, VerifiersEnv._call
    )
    shared = members["_shared"] = _Tools(game.taskset.toolsets(game.taskset.config))
    own = _Tools(tasks[0].toolsets(tasks[0].config), tasks[0])
    _run(shared.start())
    _run(own.start())
    _run(own.stop())
    for tool in shared.schemas + own.schemas:
        members[tool["name"]] = tool_method(
            tool["name"], tool["description"], tool["parameters"], VerifiersEnv._call
        )
    return type("VerifiersEnv", (VerifiersEnv,), members)


class VerifiersEnv:
    """A task of verifiers, played by its `Env`; `adapt` makes the class that has its tools."""

    @classmethod
    def rows(cls):
        """Returns a row for each task, with its prompt as messages."""
        return [{"prompt": _prompt(task.data), "task": number} for number, task in enumerate(cls._tasks)]

    def reset(self, task=0, **columns):
        """Begins the task of a number and returns what its `Env` says after the prompt. Raises what the `Env` raises."""
        self._task = self._tasks[task]
        self._episode = _Episode(self._game, self._task, self._seat, self._shared)
        return _run(self._episode.start())

    def get_reward(self) -> float:
        """The reward of verifiers for the finished episode; one without a reply is scored as it is. Raises what scoring raises."""
        return _run(self._episode.finish())

    def _call(self, name, arguments):
        return _run(self._episode.call(name, arguments))


class _Episode:
    """One run of an `Env`, whose agent is the policy. All of it runs on the loop of this module."""

    def __init__(self, game, task, seat, shared):
        self.game, self.task, self.seat, self.shared = game, task, seat, shared
        self.traces, self.interaction = [], None
        self.asked = asyncio.Event()  # the Env waits for a reply, or has ended
        self.run = None

    async def start(self):
        """Runs the Env up to its first question, and returns the question."""
        agents = type("Agents", (), {self.seat: _Seat(self)})()
        self.run = asyncio.ensure_future(self._play(agents))
        return await self._question()

    async def _play(self, agents):
        try:
            await self.game.setup(agents)
            await self.game.run(self.task, agents)
        finally:
            self.asked.set()

    async def _question(self):
        await self.asked.wait()
        if self.run.done():
            self.run.result()
            return "The episode is over."
        return self.interaction.question

    async def call(self, name, arguments):
        if self.interaction is None or self.interaction.is_closed:
            return "The episode is over."
        if name != "reply":
            return await self.interaction.use(name, arguments)
        self.asked.clear()
        self.interaction.answer(arguments["text"])
        return await self._question()

    async def finish(self):
        """Ends a run that still waits, and returns its reward."""
        vf = _verifiers()
        if not self.run.done() and self.interaction is not None:
            self.interaction.answer(None)
        await self.run
        task = vf.TraceTask(
            type=type(self.task).__name__, data=self.task.data, key=self.task.key, hash=self.task.hash
        )
        episode = vf.Episode(task=task, traces=self.traces)
        await self.game.finalize(self.task, episode)
        return float(sum(trace.reward for trace in self.traces))


class _Seat:
    """The agent that an `Env` sees."""

    def __init__(self, episode):
        self.episode = episode
        self.trainable = True

    async def run(self, task, **options):
        async with self.interaction(task) as interaction:
            await interaction.turn()
        return interaction.trace

    @contextlib.asynccontextmanager
    async def interaction(self, task, **options):
        episode = self.episode
        if episode.interaction is not None:
            raise ValueError(
                f"{type(episode.game).__name__} runs its agent twice in an episode; the policy plays once"
            )
        tools = _Tools(task.toolsets(task.config), task)
        await tools.start()
        interaction = episode.interaction = _Interaction(episode, task, tools)
        try:
            yield interaction
        finally:
            interaction.is_closed = True
            await tools.stop()
        trace = interaction.trace
        trace.is_completed = trace.ok = True
        await task.score(trace, None)
        episode.traces.append(trace)


class _Interaction:
    """The open run of an agent: the `Env` is the user, the policy answers."""

    def __init__(self, episode, task, tools):
        vf = _verifiers()
        from verifiers.v1.state import state_cls

        self.episode, self.task, self.tools = episode, task, tools
        self.trace = vf.Trace(
            task=vf.TraceTask(type=type(task).__name__, data=task.data, key=task.key, hash=task.hash),
            state=state_cls(type(task))(),
            agent=vf.AgentInfo(config=vf.AgentConfig(), name=episode.seat),
        )
        self.messages = [_message(each, vf) for each in _prompt(task.data)] if _has_prompt(task.data) else []
        self.is_closed = False
        self.question, self.reply = "", None

    async def turn(self, message=None):
        """Asks the policy. A turn without an answer ends the exchange, as a limit of verifiers does."""
        vf = _verifiers()
        from verifiers.v1.agent import Segment

        if message is not None:
            self.messages.append(vf.UserMessage(content=message))
        own = _prompt(self.task.data) == _prompt(self.episode.task.data)
        opening = "" if own or self.trace.nodes else self.task.data.prompt_text
        self.question = "\n".join(part for part in (opening, message) if part)
        self.reply = asyncio.get_running_loop().create_future()
        self.episode.asked.set()
        text = await self.reply
        if text is None:
            self._turn().commit_prompt()  # what no answer followed, so that rewards find it in the trace
            return Segment(messages=[], terminated=True)
        said = vf.AssistantMessage(content=text)
        self._commit(said)
        return Segment(messages=[said])

    def answer(self, text):
        if self.reply is not None and not self.reply.done():
            self.reply.set_result(text)

    async def use(self, name, arguments):
        """Calls a tool for the policy and records the call and its result."""
        vf = _verifiers()
        number = f"call-{len(self.messages)}"
        call = vf.ToolCall(id=number, name=name, arguments=json.dumps(arguments))
        self._commit(vf.AssistantMessage(content=None, tool_calls=[call]))
        try:
            tools = self.tools if name in self.tools.places else self.episode.shared
            text = await tools.call(name, arguments)
        except Exception as error:
            text = f"Error: {error}"
        self.messages.append(vf.ToolMessage(tool_call_id=number, content=text, name=name))
        return text

    def _commit(self, said):
        vf = _verifiers()
        reason = "tool_calls" if said.tool_calls else "stop"
        response = vf.Response(id="", created=0, model="cohort", message=said, finish_reason=reason)
        self._turn().commit(response)
        self.messages.append(said)

    def _turn(self):
        from verifiers.v1 import graph

        tools = [_verifiers().Tool(**schema) for schema in self.episode.shared.schemas + self.tools.schemas]
        return graph.prepare_turn(self.trace, list(self.messages), tools)


class _Tools:
    """Tool servers of a task, or those that the tasks of a taskset share, in this process instead of behind a socket."""

    def __init__(self, toolsets, task=None):
        self.toolsets, self.task = toolsets, task
        self.schemas, self.places = [], {}
        self.stack = contextlib.AsyncExitStack()

    async def start(self):
        from mcp.server.mcpserver import MCPServer

        for toolset in self.toolsets:
            await self.stack.enter_async_context(toolset._exit_stack)
            await toolset.setup()
            if self.task is not None:
                await toolset.setup_task(self.task.data)
            server = MCPServer(toolset.server_name or type(toolset).__name__)
            toolset.register(server)
            for tool in await server.list_tools():
                name = f"{toolset.server_name}_{tool.name}" if toolset.server_name else tool.name
                self.places[name] = (server, tool.name)
                self.schemas.append(
                    {"name": name, "description": tool.description or "", "parameters": tool.input_schema}
                )

    async def call(self, name, arguments):
        server, own = self.places[name]
        result = await server.call_tool(own, arguments)
        blocks = getattr(result, "content", result)
        return "\n".join(getattr(block, "text", None) or str(block) for block in blocks)

    async def stop(self):
        await self.stack.aclose()


def _check(task, game, vf):
    """ValueError for what verifiers would do in a sandbox, or with state that tools and rewards share."""
    kind = type(task)
    needs = [name for name in ("setup", "finalize") if getattr(kind, name) is not getattr(vf.Task, name)]
    scorers = [*task.hooks("reward"), *task.hooks("metric")]
    needs += [
        one.__name__ for one in scorers if "runtime" in one.__code__.co_varnames[: one.__code__.co_argcount]
    ]
    if kind.NEEDS_CONTAINER or needs:
        raise ValueError(
            f"{kind.__name__} needs a sandbox of verifiers ({', '.join(needs) or 'NEEDS_CONTAINER'}), which is not run here"
        )
    toolsets = [*game.taskset.toolsets(game.taskset.config), *task.toolsets(task.config)]
    for toolset in toolsets:
        if toolset._state_cls is not vf.State:
            raise ValueError(
                f"{type(toolset).__name__} shares state with the rewards, which is not carried over here"
            )
    if task.hooks("stop"):
        raise ValueError(f"{kind.__name__} has stop conditions, which are not asked here")


def _config_type(env, vf):
    from verifiers.v1.utils.generic import concrete_type

    return concrete_type(env, vf.EnvConfig, origin=vf.Env) or vf.EnvConfig


def _has_prompt(data):
    return data.prompt is not None or data.system_prompt is not None


def _prompt(data):
    """The prompt of a task as messages; an empty one of the user where the Env opens the conversation."""
    messages = [{"role": "system", "content": data.system_prompt}] if data.system_prompt else []
    if data.prompt is None or isinstance(data.prompt, str):
        return [*messages, {"role": "user", "content": data.prompt or ""}]
    return messages + [message.model_dump(exclude_none=True) for message in data.prompt]


def _message(message, vf):
    kinds = {
        "system": vf.SystemMessage,
        "user": vf.UserMessage,
        "assistant": vf.AssistantMessage,
        "tool": vf.ToolMessage,
    }
    return kinds[message["role"]](**message)


_LOOP = None


def _run(coroutine):
    """Runs a coroutine on this module's loop, to its end."""
    global _LOOP
    if _LOOP is None:
        _LOOP = asyncio.new_event_loop()
        threading.Thread(target=_LOOP.run_forever, name="cohort-verifiers", daemon=True).start()
    return asyncio.run_coroutine_threadsafe(coroutine, _LOOP).result()


def _verifiers():
    try:
        import verifiers.v1
    except ImportError:
        raise ImportError('verifiers 0.4 is not installed: pip install "cohort[verifiers]"') from None
    return verifiers.v1
