"""The completions of a run's steps as rows of a table."""

import contextlib
import io
import json

from cohort.track.run_files import LineFile, step_of

MAX_CHARACTERS = 10_000  # of a cell

_FIRST = ("step", "policy", "prompt_id", "sample", "prompt", "completion", "finish_reason", "reward")


class CompletionReader:
    """Finds the lines of steps, which are asked for in ascending order, in completions.jsonl and the compressed files."""

    def __init__(self, root, warn):
        self._path, self._folder, self._warn = root / "completions.jsonl", root / "completions", warn
        self._open = LineFile(self._path)
        self._source = self._lines = self._line = None
        self._step = 0
        self._files = contextlib.ExitStack()

    def lines(self, step, count):
        """The first `count` lines of a step; fewer where there are no more."""
        source = self._source_of(step)
        found = self._read(source, step, count)
        if not found and source != (moved := self._source_of(step)):  # the run has just moved them
            found = self._read(moved, step, count)
        return found

    def _read(self, source, step, count):
        found = []
        if not self._go_to(source, step):
            return found
        while len(found) < count and self._peek() is not None and step_of(self._line) <= step:
            if step_of(self._line) == step:
                found.append(self._line)
            self._line = None
        self._step = step
        return found

    def _source_of(self, step):
        """The file that may have a step; None where none has."""
        first = next(iter(LineFile(self._path).lines()), None)
        if first is not None and step_of(first) <= step:
            return self._path
        files = {int(path.name.split(".")[0]): path for path in self._folder.glob("[0-9]*.jsonl.zst")}
        return files[max(earlier)] if (earlier := [one for one in files if one <= step]) else None

    def _go_to(self, source, step):
        if source is None:
            return False
        goes_on = source == self._source and step > self._step
        if source == self._path:
            goes_on = not self._open.was_cut() and goes_on
        if not goes_on:
            self._files.close()
            self._open = LineFile(self._path)
            self._source, self._line = source, None
        if source == self._path:
            self._lines = self._open.lines()
        elif not goes_on:
            self._lines = self._decompressed(source)
        return self._lines is not None

    def _peek(self):
        if self._line is None:
            self._line = next(self._lines, None)
        return self._line

    def _decompressed(self, path):
        try:
            reader = _open_zstd(path)
        except ImportError as error:
            self._warn(f"{path.name}: its completions are left out: {error}")
            return None
        except FileNotFoundError:
            return None
        return (line.rstrip(b"\n") for line in self._files.enter_context(reader))


def table(lines):
    """(columns, rows) of lines of completions.jsonl. All columns but `policy` are always there."""
    completions = [json.loads(line) for line in lines]
    rewards = list(dict.fromkeys(name for one in completions for name in one.get("rewards") or {}))
    first = [name for name in _FIRST if name != "policy" or any("policy" in one for one in completions)]
    columns = [*first, *(f"rewards/{name}{part}" for name in rewards for part in ("", "/status"))]
    return [*columns, "advantage", "tokens"], [_row(one, first, rewards) for one in completions]


def _row(completion, first, rewards):
    row = [_cell(completion.get(name)) for name in first]
    for name in rewards:
        entry = (completion.get("rewards") or {}).get(name) or {}
        row += [_cell(entry.get("score")), _cell(entry.get("status"))]
    return [*row, completion.get("advantage"), len(completion.get("logprobs") or ())]


def _cell(value):
    if value is None or isinstance(value, (int, float)):
        return value
    return clean(value if isinstance(value, str) else json.dumps(value))


def clean(text):
    """A text that every tracker stores: at most MAX_CHARACTERS, with a sign in the place of each NUL and of what no UTF-8
    can hold."""
    length = len(text)
    if length > MAX_CHARACTERS:
        text = f"{text[:MAX_CHARACTERS]}… [cut: {length} characters]"
    return text.replace("\0", "\u2400").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _open_zstd(path):
    """A compressed file, to be read line by line."""
    try:
        from compression import zstd  # Python 3.14
    except ImportError:
        try:
            import zstandard
        except ImportError:
            raise ImportError("zstandard is not installed: run `pip install zstandard`") from None
        reader = zstandard.ZstdDecompressor().stream_reader(open(path, "rb"), read_across_frames=True)
        return io.BufferedReader(reader, 1 << 20)
    return zstd.open(path, "rb")
