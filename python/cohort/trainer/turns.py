"""One call of train() at a time."""

import functools
from collections.abc import Callable
from typing import Any


def not_twice(train: Callable[..., Any]) -> Callable[..., Any]:
    """A method that refuses, by a RuntimeError, a call while another one is at work, in a reward function, a callback or
    another thread. After an exception the run is closed, so that another trainer may go on with it."""

    @functools.wraps(train)
    def once(self: Any, *arguments: Any, **keywords: Any) -> Any:
        mark = object()
        if self.__dict__.setdefault("_train_at_work", mark) is not mark:
            raise RuntimeError("train() is at work already; make another trainer for another run")
        try:
            return train(self, *arguments, **keywords)
        except BaseException:
            run, self._run = self._run, None
            if run is not None and not run.is_forked:
                run.close()
            raise
        finally:
            del self.__dict__["_train_at_work"]

    return once
