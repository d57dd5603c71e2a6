"""The files of a run directory, while the run may write to them. Nothing here changes one."""

import json
import os
from pathlib import Path

_TAIL = 4096  # bytes of a line that tell it from another one at its place


class LineFile:
    """Reads the lines of a file that grows, and notices when it was cut or replaced."""

    def __init__(self, path):
        self.path = Path(path)
        self._forget()

    def _forget(self):
        self._place, self._tail, self._inode = 0, b"", None

    def was_cut(self):
        """Whether lines that were read are no longer there; the next lines are then the first ones again."""
        if self._place == 0:
            return False
        try:
            with open(self.path, "rb") as file:
                file.seek(self._place - len(self._tail))
                if os.fstat(file.fileno()).st_ino == self._inode and file.read(len(self._tail)) == self._tail:
                    return False
        except FileNotFoundError:
            pass
        self._forget()
        return True

    def lines(self):
        """Yields the lines that were not read, without their ends; one that is half-written waits."""
        try:
            file = open(self.path, "rb")
        except FileNotFoundError:
            return
        with file:
            self._inode = os.fstat(file.fileno()).st_ino
            file.seek(self._place)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._place += len(line)
                self._tail = line[-_TAIL:]
                yield line[:-1]


class RunFiles:
    """Where a run's files lie, and whether it goes on."""

    def __init__(self, root):
        self.root = Path(root)

    def exists(self):
        return (self.root / "config.toml").exists()

    def config(self):
        """The resolved recipe. Raises ValueError where it can't be read."""
        path = self.root / "config.toml"
        try:
            return _toml().loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def config_version(self):
        """Differs after the recipe was replaced."""
        status = (self.root / "config.toml").stat()
        return status.st_ino, status.st_mtime_ns, status.st_size

    def num_rollbacks(self):
        return sum(1 for _ in LineFile(self.root / "rollbacks.jsonl").lines())

    def is_written(self):
        """Whether a process of this machine holds the run's lock."""
        try:
            status = os.stat(self.root / ".lock")
        except FileNotFoundError:
            return False
        device = status.st_dev
        place = f"{os.major(device):02x}:{os.minor(device):02x}:{status.st_ino}"
        # Asking for the lock itself could refuse a trainer that starts at this moment.
        lines = Path("/proc/locks").read_text().splitlines()
        return any("FLOCK" in line and place in line.split() for line in lines)

    def is_finished(self, last_step):
        """Whether the run has come to its end, be it by all steps or by early stopping."""
        if (self.root / "final").is_dir():
            return True
        train = self.config().get("train", {})
        return last_step is not None and last_step >= train.get("max_steps", float("inf"))


def step_of(line):
    """The step of a line of a record file. Raises ValueError for a line that has none."""
    begin = b'{"step":'
    if line.startswith(begin):
        number = line[len(begin) : line.find(b",")] if b"," in line else line[len(begin) : -1]
        try:
            return int(number)
        except ValueError:
            pass
    row = json.loads(line)
    if not isinstance(row, dict) or not isinstance(row.get("step"), int):
        raise ValueError("is no JSON object with a step")
    return row["step"]


def _toml():
    try:
        import tomllib
    except ImportError:
        try:
            import tomli as tomllib
        except ImportError:
            raise ImportError("tomli is not installed: run `pip install tomli`") from None
    return tomllib
