"""The figures of a run's steps: the lines of metrics.jsonl and timings.jsonl, joined."""

import dataclasses
import hashlib
import itertools
import json

from cohort.track.run_files import LineFile, step_of

KINDS = ("metrics", "timings")
MAX_LINES = 500  # of a file at a time, so that a long run takes little memory


@dataclasses.dataclass
class StepFigures:
    """What is new of a step: its figures, and for each file that has them the digest of its line."""

    step: int
    figures: dict[str, float] = dataclasses.field(default_factory=dict)
    digests: dict[str, str] = dataclasses.field(default_factory=dict)


class StepReader:
    """Follows both files. `is_sent(step, kind, digest)` says which lines to leave out."""

    def __init__(self, root, is_sent):
        self._files = {kind: LineFile(root / f"{kind}.jsonl") for kind in KINDS}
        self._last_steps = dict.fromkeys(KINDS)  # the newest step in each file
        self._waiting = {}
        self._is_sent = is_sent
        self.has_more = False  # whether lines are left that could be read now
        self.last_step = None  # the newest one of metrics.jsonl
        self.last_values = {}  # of each figure, the newest value

    def read(self, flush=False):
        """Reads up to MAX_LINES of each file. Returns the steps that are complete, ascending. `flush`: no more lines come,
        so that every step is complete."""
        for kind, file in self._files.items():
            if file.was_cut():
                self._last_steps[kind] = None
                self._leave_out(kind)
        counts = [self._read(kind, file) for kind, file in self._files.items()]
        self.has_more = MAX_LINES in counts
        self.last_step = self._last_steps["metrics"]
        return self._complete(flush and not self.has_more)

    def _read(self, kind, file):
        number = 0
        for number, line in enumerate(itertools.islice(file.lines(), MAX_LINES), 1):
            self._take(kind, line, number)
        return number

    def _leave_out(self, kind):
        for step in list(self._waiting):
            self._waiting[step].pop(kind, None)
            if not self._waiting[step]:
                del self._waiting[step]

    def _take(self, kind, line, number):
        try:
            step, row = step_of(line), json.loads(line)
        except ValueError as error:
            raise ValueError(f"{self._files[kind].path}: new line {number}: {error}") from None
        self._last_steps[kind] = step
        figures = {name: value for name, value in row.items() if name != "step" and value is not None}
        self.last_values |= figures
        digest = hashlib.blake2b(line, digest_size=8).hexdigest()
        if not self._is_sent(step, kind, digest):
            self._waiting.setdefault(step, {})[kind] = figures, digest

    def _complete(self, flush):
        # A file's steps ascend, so that one with a later step will have no line of this one.
        known = -1 if None in self._last_steps.values() else min(self._last_steps.values())
        ready = []
        for step in sorted(self._waiting):
            parts = self._waiting[step]
            if not (flush or step <= known or len(parts) == len(KINDS)):
                continue
            del self._waiting[step]
            ready.append(StepFigures(step))
            for kind, (figures, digest) in parts.items():
                ready[-1].figures |= figures
                ready[-1].digests[kind] = digest
        return ready
