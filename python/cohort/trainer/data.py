"""A data set of a Python program as the rows that the engine reads."""

import filecmp
import itertools
import json
import os
from collections.abc import Mapping
from typing import Any

from cohort.datasets import rows


class Rows:
    """The rows of one data set, written to a file for the engine: row i is line i + 1."""

    def __init__(self, source: Any, name: str, num_rows: int | None = None):
        """`num_rows`: how many to take of a source without a length. TypeError or ValueError for what cannot be used."""
        self._source = source
        self.name = name
        if (
            not hasattr(source, "__getitem__")
            or not hasattr(source, "__len__")
            or isinstance(source, str | os.PathLike)
        ):
            if isinstance(source, str | os.PathLike):
                self._source = list(rows(source))
            elif num_rows is None:
                raise ValueError(f"{name} has no length: set max_steps, which says how many rows are needed")
            else:
                self._source = list(itertools.islice(source, num_rows))
        if len(self._source) == 0:
            raise ValueError(f"{name} is empty")

    def __len__(self) -> int:
        return len(self._source)

    def row(self, place: int) -> dict[str, Any]:
        """Row `place` as the program gave it."""
        return self._source[place]

    def row_of(self, row_id: str) -> dict[str, Any]:
        """The row of a prompt id, "FILE:LINE"."""
        return self.row(int(row_id.rpartition(":")[2]) - 1)

    def write(self, path: str, is_known: bool = False) -> str:
        """Writes the rows as JSON lines, whole or not at all; returns the path. ValueError if they are known, as those of
        a run that goes on, and differ from the file's."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".tmp", "w", encoding="utf-8") as file:
            for place in range(len(self)):
                file.write(to_line(self.row(place), f"row {place} of {self.name}") + "\n")
        if is_known and os.path.isfile(path) and not filecmp.cmp(path, path + ".tmp", shallow=False):
            os.remove(path + ".tmp")
            raise ValueError(
                f"{self.name} differs from the rows that the run began with, {path}: give it the same"
            )
        os.replace(path + ".tmp", path)
        return path


def to_line(row: Any, where: str) -> str:
    """A row as one line of JSON. Raises ValueError naming `where` and the column for what cannot be used."""
    if not isinstance(row, dict) and not hasattr(row, "keys"):
        raise TypeError(f"{where} is a {type(row).__name__}, but must be a dict")
    row = dict(row)
    if "prompt" not in row:
        raise ValueError(f"{where} has no column 'prompt'; it has {', '.join(map(str, row))}")
    if not isinstance(row["prompt"], str | list):
        raise ValueError(
            f"{where}: 'prompt' is a {type(row['prompt']).__name__}, but must be a string or a list of messages"
        )
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False, default=plain)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from error


def plain(value: Any) -> Any:
    """A value of numpy, a date or a decimal number as JSON has it. TypeError for what JSON has not."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if type(value).__name__ == "Decimal":
        return float(value)
    raise TypeError(f"a {type(value).__name__} has no place in a row: leave the column out")


def evaluation_rows(eval_dataset: Any) -> dict[str, Rows]:
    """The evaluation's data sets by the names of their files."""
    if eval_dataset is None:
        return {}
    if isinstance(eval_dataset, Mapping):
        return {f"eval_{name}": whole_rows(part, f"eval_{name}") for name, part in eval_dataset.items()}
    return {"eval": whole_rows(eval_dataset, "eval")}


def whole_rows(source: Any, name: str) -> Rows:
    """All rows of a data set, which may have no length."""
    is_path = isinstance(source, str | os.PathLike)
    return Rows(source if is_path or hasattr(source, "__len__") else list(source), name)


def named_parts(source: Any, prefix: str) -> dict[str, Any]:
    """The data sets in a dict by transformers' names of their evaluations, PREFIX_NAME; else the one by the prefix."""
    if isinstance(source, Mapping):
        return {f"{prefix}_{name}": part for name, part in source.items()}
    return {prefix: source}
