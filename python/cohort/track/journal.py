"""What was sent of a run: a file of JSON lines in the run's directory, so that a second start goes on where one ended.

.track-wandb.jsonl: {"id": ..., "project": ..., "name": ...}, then {"tracker_id": ...}, for each step that was sent
{"step": ..., "position": ..., "metrics": digest, "timings": digest}, and {"ended": status}.
"""

import fcntl
import json
import uuid
from pathlib import Path


class Journal:
    """Reads the file where there is one. Only `begin` makes one, and only one process at a time may hold it."""

    def __init__(self, root, tracker):
        self.path = Path(root) / f".track-{tracker}.jsonl"
        self.head = None
        self.tracker_id = None
        self.position = -1  # of the last step that was sent
        self.ended = None  # the status at the last end; None while steps were sent since
        self._digests = {}  # step -> kind -> digest
        self._file = None
        if self.path.exists():
            self._open()

    def close(self):
        """Lets another process have it."""
        if self._file is not None:
            self._file.close()

    def begin(self, project, name):
        """Makes the file of a run that was never sent. Does nothing where there is one."""
        if self._file is None:
            self._open()
        if self.head is None:
            self._write({"id": uuid.uuid4().hex, "project": project, "name": name})

    def note_tracker_id(self, tracker_id):
        if tracker_id != self.tracker_id:
            self._write({"tracker_id": tracker_id})

    def note_step(self, step, position, digests):
        self._write({"step": step, "position": position, **digests})

    def note_end(self, status):
        self._write({"ended": status})

    def has_steps(self):
        return bool(self._digests)

    def is_sent(self, step, kind, digest):
        """Whether this very line was sent."""
        return self._digests.get(step, {}).get(kind) == digest

    def is_sent_again(self, step, digests):
        """Whether other lines of the same step and file were sent: the run went back."""
        sent = self._digests.get(step, {})
        return any(sent.get(kind, digest) != digest for kind, digest in digests.items())

    def next_position(self, step):
        return max(step, self.position + 1)

    def _open(self):
        try:
            self._file = open(self.path, "ab+", buffering=0)
        except OSError as error:
            raise OSError(f"{self.path}: what was sent can't be noted here: {error.strerror}") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._read()
        except BlockingIOError:
            self.close()
            raise OSError(f"{self.path}: another `cohort track` sends this run; stop it first") from None
        except (ValueError, KeyError, TypeError):
            self.close()
            raise ValueError(
                f"{self.path}: is damaged; delete it, and the tracker's run, to send the run again"
            ) from None

    def _read(self):
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        self._file.truncate(whole)  # a line that a crash left half-written
        for line in content[:whole].splitlines():
            self._apply(json.loads(line))

    def _write(self, row):
        self._file.write(json.dumps(row).encode() + b"\n")
        self._apply(row)

    def _apply(self, row):
        if "project" in row:
            self.head = row
        elif "tracker_id" in row:
            self.tracker_id = row["tracker_id"]
        elif "ended" in row:
            self.ended = row["ended"]
        else:
            self.position = row["position"]
            self.ended = None
            kinds = {kind: row[kind] for kind in row if kind not in ("step", "position")}
            self._digests.setdefault(row["step"], {}).update(kinds)
