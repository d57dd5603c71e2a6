"""Reward functions that are coroutines, awaited together."""

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any


class AsyncCalls:
    """All coroutine functions of a trainer. The first one that is asked for in a step starts them all in one event loop."""

    def __init__(self) -> None:
        self._functions: list[Any] = []
        self._rows: Any = None
        self._outcomes: dict[int, Any] = {}  # by the function's place, until it is asked for

    def add(self, function: Any) -> None:
        """Adds a coroutine function."""
        if not any(function is known for known in self._functions):
            self._functions.append(function)

    def has(self, function: Any) -> bool:
        """Whether `function` was added."""
        return any(function is known for known in self._functions)

    def result(self, function: Any, rows: Any, call: Callable[[Any], Awaitable[Any]]) -> Any:
        """What `function` returns for `rows`, or what it raises; `call` makes the awaitable of a function."""
        place = next(place for place, known in enumerate(self._functions) if known is function)
        if rows != self._rows or place not in self._outcomes:
            self._rows, self._outcomes = rows, dict(enumerate(run(_gathered(self._functions, call))))
        outcome = self._outcomes.pop(place)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def forget(self) -> None:
        """Drops results that nobody asked for."""
        self._outcomes.clear()


async def _gathered(functions: list[Any], call: Callable[[Any], Awaitable[Any]]) -> list[Any]:
    return await asyncio.gather(*(_one(function, call) for function in functions), return_exceptions=True)


async def _one(function: Any, call: Callable[[Any], Awaitable[Any]]) -> Any:
    return await call(function)


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """asyncio.run(), on another thread where this one has a running loop, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    outcome: list[tuple[Any, BaseException | None]] = []

    def work() -> None:
        try:
            outcome.append((asyncio.run(coroutine), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,))
    thread.start()
    thread.join()
    value, error = outcome[0]
    if error is not None:
        raise error
    return value
