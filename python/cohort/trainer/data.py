"""A data set of a Python program as the rows that the engine reads."""

import filecmp
import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cohort.datasets import rows

#: Sets of columns, one of which a row must have.
Columns = tuple[tuple[str, ...], ...]


class Rows:
    """The rows of one data set, written to a file for the engine: row i is line i + 1."""

    def __init__(
        self,
        source: Any,
        name: str,
        columns: Columns,
        num_rows: int | None = None,
        change: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    ):
        """`num_rows`: how many to take of a source without a length. `change`: is done to each row. TypeError or ValueError
        for what cannot be used."""
        self._source = source
        self.name = name
        self._columns = columns
        self._change = change
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
        """Row `place`, changed as the constructor was told."""
        row = self._source[place]
        return row if self._change is None or not isinstance(row, Mapping) else self._change(dict(row))

    def row_of(self, row_id: str) -> dict[str, Any]:
        """The row of a prompt id, "FILE:LINE"."""
        return self.row(int(row_id.rpartition(":")[2]) - 1)

    def _lines(self) -> Iterator[str]:
        for place in range(len(self)):
            yield to_line(self.row(place), f"row {place} of {self.name}", self._columns) + "\n"

    def digest(self) -> str:
        """Of the lines: the same for the same rows."""
        digest = hashlib.sha256()
        for line in self._lines():
            digest.update(line.encode())
        return digest.hexdigest()

    def write(self, path: str, is_known: bool = False) -> str:
        """Writes the rows as JSON lines, whole or not at all; returns the path. ValueError if they are known, as those of
        a run that goes on, and differ from the file's."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".tmp", "w", encoding="utf-8") as file:
            file.writelines(self._lines())
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


def evaluation_rows(
    eval_dataset: Any, columns: Columns, change: Callable[[dict[str, Any]], dict[str, Any]] | None = None
) -> dict[str, Rows]:
    """The evaluation's data sets, one or a dict of them, by the names of their files."""
    if eval_dataset is None:
        return {}
    return {
        name: whole_rows(part, name, columns, change)
        for name, part in named_parts(eval_dataset, "eval").items()
    }


def whole_rows(
    source: Any,
    name: str,
    columns: Columns,
    change: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> Rows:
    """All rows of a data set, which may have no length."""
    is_path = isinstance(source, str | os.PathLike)
    return Rows(
        source if is_path or hasattr(source, "__len__") else list(source), name, columns, None, change
    )


def named_parts(source: Any, prefix: str, own: Any = None) -> dict[str, Any]:
    """The data sets in a dict by transformers' names of their evaluations, PREFIX_NAME; else the one by the prefix.
    `own`: is taken where the source is None, and the source may be a name in it. ValueError for no data set."""
    if source is None:
        source = own
    elif isinstance(source, str) and isinstance(own, Mapping):
        source = own.get(source, source)
    if source is None:
        raise ValueError("there is no eval_dataset")
    if isinstance(source, Mapping):
        return {f"{prefix}_{name}": part for name, part in source.items()}
    return {prefix: source}


def in_chatml(row: dict[str, Any]) -> dict[str, Any]:
    """A row whose messages have `role` and `content`, also where it has `conversations` with `from` and `value`."""
    names = {"from": "role", "value": "content"}
    changed = {}
    for column, value in row.items():
        if (
            isinstance(value, list)
            and value
            and all(isinstance(one, Mapping) for one in value)
            and column != "tools"
        ):
            value = [{names.get(key, key): part for key, part in message.items()} for message in value]
        changed["messages" if column == "conversations" else column] = value
    return changed
