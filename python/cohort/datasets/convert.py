"""Data sets of any kind as rows: dicts that JSON can hold, as the engine reads them."""

import json
import os
import pathlib
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping

from cohort.datasets import files
from cohort.datasets.values import to_json

# Columns whose dicts come from one Arrow struct: keys that a message or tool lacks are None there.
CHAT_COLUMNS = ("prompt", "completion", "chosen", "rejected", "messages", "tools", "chat_template_kwargs")
MEDIA = ("Image", "Audio", "Video", "Pdf", "Nifti")
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def rows(data, split=None, *, config=None, revision=None, token=None):
    """Yields the rows of a data set as dicts of None, bool, int, float, str, lists and dicts.

    `data` is a `datasets.Dataset`, `IterableDataset` or a dict of them, an iterable of mappings, or a path: a file
    (.jsonl, .json, .csv, .tsv, .parquet, .arrow, .feather; texts also with .gz), a directory, a glob pattern, or else
    the id of a data set on the Hub, which the package `datasets` downloads (`config`, `revision` and `token` are for
    these alone). `split` chooses one of several splits.

    All columns are kept. NumPy and torch values become numbers and lists, dates ISO 8601 text, decimals text; a `tools`
    column that is JSON text is parsed; keys that Arrow fills with None in messages and tools are left out.

    Raises ValueError with row and column for images, bytes, NaN and other values that JSON can't hold, and where a
    split must be chosen; TypeError for data of another type; OSError for files and Hub ids that can't be read.
    """
    for place, row, filled in _raw_rows(data, split, config, revision, token):
        yield _clean(row, place, filled)


def write_jsonl(rows, path):
    """Writes rows as JSON lines and returns their number; the file appears whole or not at all.

    Raises ValueError where there is no row.
    """
    path = pathlib.Path(path)
    count = 0
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
                count += 1
        if count == 0:
            raise ValueError(f"{path}: there are no rows to write")
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return count


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _raw_rows(data, split, config, revision, token):
    """Yields (place, row, the columns in which Arrow fills missing keys with None)."""
    if isinstance(data, (str, os.PathLike)):
        return _rows_of_path(os.fspath(data), split, config, revision, token)
    if any(value is not None for value in (config, revision, token)):
        raise ValueError("config, revision and token are for ids of the Hub alone")
    library = sys.modules.get("datasets")
    if library is not None and isinstance(data, (library.DatasetDict, library.IterableDatasetDict)):
        return _rows_of_dataset(_choose(data, split))
    if split is not None:
        raise ValueError(f"split is {split!r}, but the data are a {type(data).__name__}, which has no splits")
    if library is not None and isinstance(data, (library.Dataset, library.IterableDataset)):
        return _rows_of_dataset(data)
    if isinstance(data, (Mapping, bytes)) or not isinstance(data, Iterable):
        raise TypeError(
            f"the data are a {type(data).__name__}; give a datasets.Dataset, a list of dicts or a path"
        )
    return ((f"row {number}", row, ()) for number, row in enumerate(data, 1))


def _choose(splits, split):
    if split is None and len(splits) == 1:
        return next(iter(splits.values()))
    if split not in splits:
        what = "choose one by split" if split is None else f"has no split {split!r}"
        raise ValueError(f"{what}: the data set has {', '.join(splits)}")
    return splits[split]


def _rows_of_path(path, split, config, revision, token):
    if os.path.exists(path) or not HUB_ID.fullmatch(path) or files.suffix(path) in files.READERS:
        if any(value is not None for value in (config, revision, token)):
            raise ValueError(f"{path}: config, revision and token are for ids of the Hub alone")
        yield from _rows_of_files(path, split)
        return
    from cohort.hub.dataset import load_dataset

    loaded = load_dataset(path, config=config, revision=revision, token=token)
    yield from _rows_of_dataset(_choose(loaded, split))


def _rows_of_files(path, split):
    for name in ("state.json", "dataset_dict.json"):
        if os.path.isfile(os.path.join(path, name)):
            yield from _rows_of_dataset(_saved(path, split))
            return
    for file in files.find_files(path, split):
        filled = CHAT_COLUMNS if files.suffix(file) in files.ARROW_ENDINGS else ()
        for place, row in files.read_rows(file):
            yield place, row, filled


def _saved(path, split):
    """A directory that `Dataset.save_to_disk` wrote."""
    try:
        import datasets
    except ImportError:
        raise ImportError(f"{path}: was written by the package datasets: pip install datasets") from None
    loaded = datasets.load_from_disk(path)
    if isinstance(loaded, datasets.DatasetDict):
        return _choose(loaded, split)
    if split is not None:
        raise ValueError(f"{path}: has no splits, so no {split!r}")
    return loaded


def _rows_of_dataset(dataset):
    features = dataset.features or {}
    for column, feature in features.items():
        if type(feature).__name__ in MEDIA:
            kind = type(feature).__name__.lower()
            raise ValueError(
                f'row 1: column "{column}" is a column of the type {kind}; the engine reads text: '
                f'remove the column by remove_columns("{column}")'
            )
    # A transform is part of the data; another format, such as "torch", is only a way to hand out the same values.
    if (getattr(dataset, "format", None) or {}).get("type") != "custom":
        dataset = dataset.with_format(None)
    # Values of the type Json are stored as they are.
    filled = [name for name in CHAT_COLUMNS if type(features.get(name)).__name__ != "Json"]
    for number, row in enumerate(dataset, 1):
        yield f"row {number}", row, filled


def _clean(row, place, filled):
    if not isinstance(row, Mapping):
        raise ValueError(f"{place}: is a {type(row).__name__}; a row is a dict of columns")
    result = {}
    for column, value in row.items():
        if not isinstance(column, str):
            raise ValueError(f"{place}: the column {column!r} has no text as its name")
        try:
            if column == "tools" and isinstance(value, str):
                value = _parsed(value)
            value = to_json(value)
        except ValueError as error:
            raise ValueError(f'{place}: column "{column}" {error}') from None
        result[column] = without_none(value) if column in filled else value
    return result


def _parsed(text):
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"is text, but no JSON: {error}") from None


def without_none(value):
    """Returns the value without dict entries that are None, except "content", which may be None in a message."""
    if isinstance(value, list):
        return [without_none(item) for item in value]
    if isinstance(value, dict):
        return {
            key: without_none(item) for key, item in value.items() if item is not None or key == "content"
        }
    return value
