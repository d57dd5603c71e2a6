"""Tools and environments of GRPOTrainer, called as TRL 1.16 calls them."""

import asyncio
import copy
import inspect
import json
import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from transformers.utils import get_json_schema

from cohort.trainer.rewards import tables_of

logger = logging.getLogger(__name__)

_NOT_TOOLS = ("reset", "get_reward")


def method_names(environment: Any) -> list[str]:
    """The public methods of an environment that are tools, in the order of their names."""
    members = inspect.getmembers(type(environment), predicate=inspect.isfunction)
    return [name for name, _ in members if not name.startswith("_") and name not in _NOT_TOOLS]


def gives_turn_rewards(environment: Any) -> bool:
    """Whether get_reward() grows turn by turn. ValueError if there is none."""
    is_asked = bool(getattr(environment, "turn_rewards", False))
    if is_asked and not hasattr(environment, "get_reward"):
        raise ValueError("an environment with `turn_rewards` needs a method get_reward()")
    return is_asked


def gives_states(environment: Any) -> bool:
    """Whether it has a property `state`; a method of that name is a tool, as in TRL."""
    return isinstance(inspect.getattr_static(type(environment), "state", None), property)


def _state_of(environment: Any) -> str | None:
    """The state as a text that equal states share; None without states. TypeError for others."""
    if not gives_states(environment):
        return None
    state = environment.state
    try:
        return state if isinstance(state, str) else json.dumps(state, sort_keys=True)
    except (TypeError, ValueError):
        raise TypeError(
            f"the property `state` is a {type(state).__name__}, but must be a text, or lists, dicts, numbers and texts"
        ) from None


class _Gains:
    """What the reward of an episode has grown by, turn by turn."""

    def __init__(self, total: float | None):
        self._first = total or 0.0
        self._rewards: list[float] = []

    def take(self, total: float | None) -> float | None:
        """The reward of a turn, after which the whole one is `total`."""
        if total is None:
            return None
        self._rewards.append(total - self._first - math.fsum(self._rewards))
        return self._rewards[-1]

    def rest(self, total: float | None) -> float | None:
        """What the turns have not been given."""
        return None if total is None else total - math.fsum(self._rewards)


def _text_of(observation: Any) -> str:
    """An observation as text: a string, or a list of text parts. TypeError for others."""
    if observation is None:
        return ""
    if isinstance(observation, str):
        return observation
    parts = observation if isinstance(observation, list) else [observation]
    if all(isinstance(part, Mapping) and part.get("type") == "text" for part in parts):
        return "".join(part["text"] for part in parts)
    raise TypeError(
        f"reset() returned a {type(observation).__name__}, but must return a text, a list of text parts or None"
    )


class Environments:
    """The tools of a run, and an instance of the environment for each completion.

    The engine calls `begin` and `respond` on the thread that samples. Tools run on a thread of their own: plain functions
    one after another, coroutines of different episodes side by side.
    """

    def __init__(self, tools: Sequence[Callable[..., Any]] | None, factory: Any):
        """`factory` is None, a callable or a dict of callables by name. ValueError for what cannot be used."""
        self._tools = {tool.__name__: tool for tool in tools or []}
        if len(self._tools) != len(tools or []):
            raise ValueError("tools: two of them have the same name")
        self.by_name = isinstance(factory, Mapping)
        self.factories: dict[str | None, Callable[[], Any]] = {}
        if factory is not None:
            self.factories = dict(factory) if self.by_name else {None: factory}
        self._pool: dict[str | None, list[Any]] = {}
        self._schemas: dict[str | None, list[dict[str, Any]]] = {}
        own = [get_json_schema(tool) for tool in self._tools.values()]
        for name, make in self.factories.items():
            example = make()
            if not callable(getattr(example, "reset", None)):
                raise ValueError(
                    "Each environment instance returned by `environment_factory` must define a callable `reset`."
                )
            self._pool[name] = [example]
            self._schemas[name] = own + [
                get_json_schema(getattr(example, method)) for method in method_names(example)
            ]
        self._common = own
        self._instances: dict[int, tuple[str | None, Any]] = {}  # by the numbers of episodes
        self._observations: dict[int, str] = {}
        self._gains: dict[int, _Gains] = {}
        examples = [pool[0] for pool in self._pool.values()]
        self.gives_states = bool(examples) and all(map(gives_states, examples))
        self.gives_turn_rewards = any(map(gives_turn_rewards, examples))
        if len({type(example) for example in examples if gives_turn_rewards(example)}) > 1:
            raise ValueError("environment_factory: one class at most may have `turn_rewards`")
        self._number = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    def __bool__(self) -> bool:
        return bool(self._tools or self.factories)

    def schemas(self) -> list[dict[str, Any]]:
        """The schemas of all tools, each once."""
        found = list(self._common)
        for schemas in self._schemas.values():
            found += [schema for schema in schemas if schema not in found]
        return found

    def schemas_of(self, row: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The schemas that the prompt of a row names. ValueError if its column `environment` names none."""
        return self._schemas[self._name_of(row)] if self.factories else self._common

    def _name_of(self, row: Mapping[str, Any]) -> str | None:
        if not self.by_name:
            return None
        name = row.get("environment")
        if name not in self.factories:
            raise ValueError(
                f"Example has `environment={name!r}`, which is not among the environments passed to "
                f"`environment_factory`. Expected one of: {list(self.factories)}."
            )
        return name

    def reward_functions(self) -> list[Any]:
        """A reward function, or a table, with the name of the class for each class of environments that has get_reward()."""
        found: dict[type, Any] = {}
        for pool in self._pool.values():
            kind = type(pool[0])
            if not hasattr(pool[0], "get_reward") or kind in found:
                continue
            if gives_turn_rewards(pool[0]):  # the engine asks for it turn by turn
                found[kind] = {"name": kind.__name__, "type": "environment"}
            else:
                found[kind] = _reward_function(kind)
        return list(found.values())

    def with_rewards(self, reward_funcs: Any, args: Any, builtin: Sequence[str]) -> list[dict[str, Any]]:
        """The tables of reward functions, with those of environments behind them, weight 1 each. ValueError for none."""
        is_missing = reward_funcs is None
        functions = (
            reward_funcs if isinstance(reward_funcs, list | tuple) else [] if is_missing else [reward_funcs]
        )
        own = self.reward_functions()
        if not functions and not own:
            raise ValueError(
                f"reward_funcs is {'missing' if is_missing else 'empty'}: give at least one reward function, or an environment_factory whose environment "
                "defines a `get_reward` method"
            )
        weights = args.reward_weights
        if weights is not None and own:
            weights = [*weights, *[1.0] * len(own)]
        return tables_of([*functions, *own], weights, builtin)

    def changed(self, row: dict[str, Any]) -> dict[str, Any]:
        """A row with a prompt, which the environment may give alone, and with the tools of its own environment."""
        if "prompt" not in row:
            row = {"prompt": [{"role": "user", "content": ""}], **row}
        return {**row, "tools": self.schemas_of(row)} if self.by_name else row

    # What the engine calls.

    def begin(self, rows: Sequence[Mapping[str, Any]]) -> list[tuple[int, str, str, str | None]]:
        """Begins an episode for each row: its number, what it sees first, why it failed, or "", and its state, or None."""
        return [self._begin_one(row) for row in rows]

    def _begin_one(self, row: Mapping[str, Any]) -> tuple[int, str, str, str | None]:
        self._number += 1
        number = self._number
        if not self.factories:
            return number, "", "", None
        name = self._name_of(row)
        pool = self._pool[name]
        try:
            instance = pool.pop() if pool else self.factories[name]()
            given = {key: value for key, value in row.items() if not (self.by_name and key == "environment")}
            observation = _text_of(instance.reset(**given))
            state = _state_of(instance)
            if gives_turn_rewards(instance):
                total = asyncio.run_coroutine_threadsafe(_total_of(instance), self._running_loop()).result()
                self._gains[number] = _Gains(total)
        except Exception as error:
            logger.exception("an environment failed to begin")
            return number, "", f"{type(error).__name__}: {error}", None
        self._instances[number] = (name, instance)
        self._observations[number] = observation
        return number, observation, "", state

    def respond(
        self, number: int, calls: str, begun: Callable[[], None], answer: Callable[..., None]
    ) -> None:
        """Calls `begun` when it begins with the calls of a turn, a JSON list of {"name", "arguments", "id", "error"},
        and in the end `answer` with the JSON list of messages, the number of calls that failed, name and seconds of each call of a function, the
        turn's reward and the state, or None, and why the environment failed, or ""."""
        asyncio.run_coroutine_threadsafe(
            self._answer(number, json.loads(calls), begun, answer), self._running_loop()
        )

    def judge(
        self, number: int, begun: Callable[[], None], answer: Callable[[float | None, str], None]
    ) -> None:
        """Calls `begun` when it begins, and in the end `answer` with what the reward of an ended episode is beside its
        turns' rewards, None for none that the engine asks for, and why it failed, or ""."""
        asyncio.run_coroutine_threadsafe(self._judge(number, begun, answer), self._running_loop())

    async def _judge(
        self, number: int, begun: Callable[[], None], answer: Callable[[float | None, str], None]
    ) -> None:
        begun()
        gains = self._gains.get(number)
        try:
            score = None if gains is None else gains.rest(await _total_of(self.instance(number)))
        except BaseException as error:
            answer(None, f"{type(error).__name__}: {error}")
        else:
            answer(score, "")

    async def _answer(
        self, number: int, calls: list[dict[str, Any]], begun: Callable[[], None], answer: Callable[..., None]
    ) -> None:
        begun()
        times: list[tuple[str, float]] = []
        results = await asyncio.gather(*(self._result(number, call, times) for call in calls))
        messages = []
        for call, (content, _) in zip(calls, results, strict=True):
            message = {"role": "tool", "name": call["name"], "content": content}
            if call.get("id"):
                message["tool_call_id"] = call["id"]
            messages.append(message)
        instance, gains = self.instance(number), self._gains.get(number)
        reward, state, failure = None, None, ""
        try:
            state = _state_of(instance)
            reward = None if gains is None else gains.take(await _total_of(instance))
        except BaseException as error:
            failure = f"{type(error).__name__}: {error}"
        num_failed = sum(is_error for _, is_error in results)
        answer(json.dumps(messages), num_failed, times, reward, state, failure)

    async def _result(
        self, number: int, call: dict[str, Any], times: list[tuple[str, float]]
    ) -> tuple[str, bool]:
        """What a call gives as text, and whether it failed; adds its time to `times` if a function was called."""
        name = call["name"]
        try:
            if call.get("error"):
                raise ValueError(call["error"])
            tool = self._tools.get(name)
            if tool is None:
                instance = self.instance(number)
                if instance is None or name not in method_names(instance):
                    raise ValueError(f"Tool {name} not found.")
                tool = getattr(instance, name)
            begin = time.perf_counter()
            try:
                result = tool(**call["arguments"])
                if inspect.isawaitable(result):
                    result = await result
            finally:
                times.append((name, time.perf_counter() - begin))
            return str(result), False
        except BaseException as error:  # SystemExit, too, which would end the thread
            return str({"error": str(error)}), True

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, name="cohort-tools", daemon=True).start()
        return self._loop

    # What the trainer asks after a rollout.

    def instance(self, number: int) -> Any:
        """The environment of an episode; None without one."""
        return self._instances.get(number, (None, None))[1]

    def opened(self, prompt: Any, number: int) -> Any:
        """A prompt with what the environment of an episode said first after its last message."""
        observation = self._observations.get(number)
        if not observation or not isinstance(prompt, list):
            return prompt
        return [*prompt[:-1], {**prompt[-1], "content": prompt[-1]["content"] + observation}]

    def end_step(self) -> None:
        """Gives the environments of a step back, to be reset for others."""
        for name, instance in self._instances.values():
            self._pool[name].append(instance)
        self._instances.clear()
        self._observations.clear()
        self._gains.clear()


async def _total_of(environment: Any) -> float | None:
    """What get_reward() says. ValueError if it is no finite number."""
    reward = environment.get_reward()
    if inspect.isawaitable(reward):
        reward = await reward
    if reward is not None and not math.isfinite(float(reward)):
        raise ValueError(f"get_reward() returned {reward}, which is no finite number")
    return None if reward is None else float(reward)


def begin_caller(
    environments: Environments, row_of: Callable[[str], dict[str, Any]]
) -> Callable[[list[str]], list[tuple[int, str, str, str | None]]]:
    """What the engine calls to begin an episode for each prompt id."""
    return lambda row_ids: environments.begin([_own_columns(row_of(row_id)) for row_id in row_ids])


def _own_columns(row: dict[str, Any]) -> dict[str, Any]:
    return copy.deepcopy({key: value for key, value in row.items() if key != "tools"})


def own_prompts(factory: Any, args: Any) -> list[dict[str, Any]]:
    """Rows for environments that return the prompt from reset(). ValueError if the run would have no end."""
    if isinstance(factory, Mapping):
        raise ValueError(
            "A `dict` `environment_factory` (multiple environments) requires a `train_dataset` with an `environment` column "
            "to route each example to its environment. Provide a dataset, or pass a single environment factory."
        )
    if args is None or args.max_steps <= 0:
        raise ValueError("train_dataset is missing: give one, or set max_steps if reset() returns the prompt")
    return [{"prompt": [{"role": "user", "content": ""}]} for _ in range(args.rows_per_step)]


def _reward_function(kind: type) -> Callable[..., Any]:
    """get_reward() of the environments of this class; None for the others."""
    if inspect.iscoroutinefunction(kind.get_reward):

        async def get_reward(environments: list[Any], **_: Any) -> list[float | None]:
            return [await each.get_reward() if type(each) is kind else None for each in environments]

    else:

        def get_reward(environments: list[Any], **_: Any) -> list[float | None]:
            return [each.get_reward() if type(each) is kind else None for each in environments]

    get_reward.__name__ = kind.__name__
    return get_reward
