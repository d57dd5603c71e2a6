"""The processes that train together: those that torchrun, srun or mpirun started."""

import contextlib
import functools
import json
from collections.abc import Iterator, Sequence
from typing import Any

import torch  # noqa: F401  the extension is linked with its libraries

from cohort._cohort import trainer as _native


class Processes(_native.Processes):
    """This process among the others. All of them call its methods in the same order; the first call waits for all of them.
    RankLost if one is gone."""

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes files."""
        return self.rank == 0

    def gather(self, value: Any, what: str) -> list[Any]:
        """The value of each process, as JSON has it. `what` names the call for the others."""
        if self.size == 1:
            return [value]
        return [json.loads(other) for other in self.all_gather(json.dumps(value, default=str).encode(), what)]

    def any_true(self, flags: Sequence[bool], what: str) -> list[bool]:
        """For each flag whether it is set in some process."""
        return [any(of_all) for of_all in zip(*self.gather(list(flags), what), strict=True)]

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Work that all do: where one of them can't go on, the others end, too."""
        try:
            yield
        except BaseException:
            self.fail()
            raise


@functools.cache
def processes() -> Processes:
    """Those of this program. ValueError if a launcher's variables are incomplete."""
    return Processes()
