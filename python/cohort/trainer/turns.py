"""One call of train() at a time."""

import functools
from collections.abc import Callable
from typing import Any


def not_twice(train: Callable[..., Any]) -> Callable[..., Any]:
    """A method that refuses, by a RuntimeError, a call while another one is at work, in a reward function, a callback or
    another thread."""

    @functools.wraps(train)
    def once(self: Any, *arguments: Any, **keywords: Any) -> Any:
        mark = object()
        if self.__dict__.setdefault("_train_at_work", mark) is not mark:
            raise RuntimeError("train() is at work already; make another trainer for another run")
        try:
            return train(self, *arguments, **keywords)
        finally:
            del self.__dict__["_train_at_work"]

    return once
