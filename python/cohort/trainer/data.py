"""A data set of a Python program as the rows that the engine reads."""

import filecmp
import itertools
import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from cohort.datasets import rows


#: Sets of columns, one of which a row must have.
Columns = tuple[tuple[str, ...], ...]


class Rows:
    """The rows of one data set, written to a file for the engine: row i is line i + 1."""

    def __init__(self, source: Any, name: str, columns: Columns, num_rows: int | None = None):
        """`num_rows`: how many to take of a source without a length. TypeError or ValueError for what cannot be used."""
        self._source = source
        self.name = name
        self._columns = columns
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
                file.write(to_line(self.row(place), f"row {place} of {self.name}", self._columns) + "\n")
        if is_known and os.path.isfile(path) and not filecmp.cmp(path, path + ".tmp", shallow=False):
            os.remove(path + ".tmp")
            raise ValueError(
                f"{self.name} differs from the rows that the run began with, {path}: give it the same"
            )
        os.replace(path + ".tmp", path)
        return path


def to_line(row: Any, where: str, columns: Columns) -> str:
    """A row as one line of JSON. Raises ValueError naming `where` and the column for what cannot be used."""
    if not isinstance(row, dict) and not hasattr(row, "keys"):
        raise TypeError(f"{where} is a {type(row).__name__}, but must be a dict")
    row = dict(row)
    if not any(all(name in row for name in needed) for needed in columns):
        wanted = " or ".join(" and ".join(map(repr, needed)) for needed in columns)
        raise ValueError(f"{where} has no column {wanted}; it has {', '.join(map(str, row))}")
    for name in ("prompt", *(name for needed in columns for name in needed)):
        if name in row and not isinstance(row[name], str | list):
            raise ValueError(
                f"{where}: {name!r} is a {type(row[name]).__name__}, but must be a string or a list of messages"
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


def evaluation_rows(eval_dataset: Any, columns: Columns) -> dict[str, Rows]:
    """The evaluation's data sets by the names of their files."""
    if eval_dataset is None:
        return {}
    if is_several(eval_dataset):
        return {f"eval_{name}": Rows(part, f"eval_{name}", columns) for name, part in eval_dataset.items()}
    return {"eval": Rows(eval_dataset, "eval", columns)}


def is_several(data: Any) -> bool:
    """Whether this is a dict of data sets, such as a datasets.DatasetDict."""
    return isinstance(data, Mapping)


def map_rows(data: Any, change: Callable[[dict[str, Any]], dict[str, Any]] | None) -> Any:
    """A data set, or a dict of them, whose rows are changed when they are read."""
    if data is None or change is None:
        return data
    if is_several(data):
        return {name: map_rows(part, change) for name, part in data.items()}
    if isinstance(data, str | os.PathLike):
        data = rows(data)
    return map(change, data) if not hasattr(data, "__len__") else [change(row) for row in data]
