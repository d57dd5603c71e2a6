"""Rows of files: JSONL, JSON, CSV, Parquet and Arrow."""

import contextlib
import csv
import glob
import gzip
import json
import os
import pathlib
import re

# What Hugging Face calls the splits of files without a README that names them.
SPLIT_WORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing", "eval", "evaluation"),
}


def read_rows(path):
    """Yields the rows of one file as (place, row); `place` names the file and the line or row for messages.

    The name decides the format. CSV values are texts. Raises ValueError for a file that is damaged or in a format
    that has no reader here, OSError for one that can't be opened, ImportError without pyarrow where it is needed.
    """
    reader = READERS.get(suffix(path))
    if reader is None:
        raise ValueError(f"{path}: has no ending of a known format: {', '.join(READERS)}")
    yield from reader(path)


def suffix(path):
    """The ending that names the format: that before ".gz", if the file is compressed."""
    name = pathlib.Path(path).name.lower()
    return pathlib.Path(name.removesuffix(".gz")).suffix


def find_files(place, split=None):
    """Returns the data files of a file name, a directory or a glob pattern, sorted.

    In a directory or a pattern, `split` selects those with the split's name ("train", "validation", "test") as a word
    of their path; files without such a word count as "train". Raises FileNotFoundError where there is none, ValueError
    where files of several splits are found and `split` is not given, or one file is asked for its split.
    """
    if os.path.isfile(place):
        if split not in (None, "train"):
            raise ValueError(f"{place}: is one file, which has no split {split!r}")
        return [place]
    if os.path.isdir(place):
        found = sorted(str(path) for path in pathlib.Path(place).rglob("*") if path.is_file())
        found = [path for path in found if suffix(path) in READERS and not _is_about_data(path, place)]
    else:
        found = sorted(path for path in glob.glob(str(place), recursive=True) if os.path.isfile(path))
    if not found:
        raise FileNotFoundError(f"{place}: no such file, or a directory without data files")
    return _of_split(found, place, split)


def _is_about_data(path, directory):
    """Whether a file of a directory is its description, or hidden."""
    parts = pathlib.Path(path).relative_to(directory).parts
    names = ("dataset_info.json", "dataset_infos.json", "state.json", "dataset_dict.json")
    return parts[-1] in names or any(part.startswith(".") for part in parts)


def _of_split(paths, place, split):
    root = str(place) if os.path.isdir(place) else os.path.dirname(str(place).split("*")[0])
    splits = {}
    for path in paths:
        splits.setdefault(_split_of(os.path.relpath(path, root or ".")), []).append(path)
    if split is not None:
        if split not in splits:
            raise ValueError(f"{place}: has no split {split!r}; it has {', '.join(sorted(splits))}")
        return splits[split]
    if len(splits) > 1:
        raise ValueError(f"{place}: has files of the splits {', '.join(sorted(splits))}; choose one by split")
    return paths


def _split_of(path):
    words = re.split(r"[^a-z]+", path.lower())
    for split, names in SPLIT_WORDS.items():
        if any(name in words for name in names):
            return split
    return "train"


def _open_text(path):
    with open(path, "rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
    opener = gzip.open if is_gzip else open
    return opener(path, "rt", encoding="utf-8-sig", newline="")


def _refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


def _parse(text, place):
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place}: {error}") from None


def _object(pairs):
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} comes twice in an object")
    return result


def _json_lines(path):
    with _open_text(path) as file:
        number = 0
        try:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{path}:{number}", _parse(line, f"{path}:{number}")
        except UnicodeDecodeError:
            raise ValueError(f"{path}:{number + 1}: is not UTF-8 text") from None


def _json(path):
    """One list of objects, or one object per line."""
    with _open_text(path) as file:
        start = file.read(4096).lstrip()[:1]
    if start != "[":
        yield from _json_lines(path)
        return
    with _open_text(path) as file:
        items = _parse(file.read(), path)
    for number, item in enumerate(items, 1):
        yield f"{path}, item {number}", item


def _csv(path):
    csv.field_size_limit(1 << 30)
    with _open_text(path) as file:
        delimiter = "\t" if suffix(path) == ".tsv" else ","
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            names = next(reader, None)
            if names is None:
                raise ValueError("is empty")
            if len(set(names)) < len(names):
                raise ValueError("two columns have the same name")
            for cells in reader:
                if not cells:
                    continue
                if len(cells) != len(names):
                    raise ValueError(f"has {len(cells)} values for {len(names)} columns")
                yield f"{path}:{reader.line_num}", dict(zip(names, cells))
        except (csv.Error, ValueError) as error:
            message = "is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error
            raise ValueError(f"{path}:{max(1, reader.line_num)}: {message}") from None


def _parquet(path):
    arrow = _import_arrow(path)
    from pyarrow import parquet

    with _arrow_errors(path, arrow), parquet.ParquetFile(path) as file:
        yield from _batches(file.iter_batches(batch_size=1024), path)


def _arrow(path):
    arrow = _import_arrow(path)
    with _arrow_errors(path, arrow), arrow.memory_map(str(path)) as file:
        is_file = file.read(6) == b"ARROW1"
        file.seek(0)
        reader = arrow.ipc.open_file(file) if is_file else arrow.ipc.open_stream(file)
        batches = (reader.get_batch(i) for i in range(reader.num_record_batches)) if is_file else reader
        yield from _batches(batches, path)


def _batches(batches, path):
    number = 0
    for batch in batches:
        for row in batch.to_pylist():
            number += 1
            yield f"{path}, row {number}", row


@contextlib.contextmanager
def _arrow_errors(path, arrow):
    """Turns pyarrow's exceptions into a ValueError that names the file."""
    try:
        yield
    except arrow.ArrowException as error:
        raise ValueError(f"{path}: {str(error).splitlines()[0]}") from None


def _import_arrow(path):
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError:
        raise ImportError(f"{path}: reading Parquet and Arrow needs pyarrow: pip install pyarrow") from None
    return pyarrow


READERS = {
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".json": _json,
    ".csv": _csv,
    ".tsv": _csv,
    ".parquet": _parquet,
    ".arrow": _arrow,
    ".feather": _arrow,
}
ARROW_ENDINGS = (".parquet", ".arrow", ".feather")
