"""Made by tools/make_stubs.py from the compiled module: change the bindings in python/*.cpp."""

import collections.abc

class BuiltinReward:
    def score(self, rows: collections.abc.Sequence[str]) -> list[tuple[float | None, str, str]]: ...
    def explain(self, row: str) -> list[tuple[str, str]]: ...
