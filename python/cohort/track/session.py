"""Sends a run to a tracker, to its end or as far as it is."""

import dataclasses
import signal
import threading

from cohort.track import completions
from cohort.track.steps import StepReader
from cohort.track.tracker import TrackedRun, TrackerError

TRIES = 6  # of a call that fails, with pauses that double


@dataclasses.dataclass
class Options:
    project: str | None = None
    name: str | None = None
    group: str | None = None
    tags: list[str] = dataclasses.field(default_factory=list)
    completions: int = 8  # rows of a step's table; 0: no tables
    completions_every: int = 10  # steps
    follow: bool | None = None  # None: while a process writes to the run
    interval_s: float = 2.0  # between two looks at the files
    pause_s: float = 2.0  # after the first call that fails


class Session:
    """Reads a run's files and hands each step to a tracker once. `say` prints a line."""

    def __init__(self, run, tracker, to, journal, options, say):
        self._run, self._tracker, self._to, self._journal = run, tracker, to, journal
        self._options, self._say = options, say
        self._steps = StepReader(run.root, journal.is_sent)
        self._completions = completions.CompletionReader(run.root, say)
        self._has_begun = False
        self._config_version = None
        self._sent_again = None  # the last step that was sent again
        self._stop = threading.Event()
        self.num_steps = self.num_completions = 0
        self.signal = None

    def stop_at_signals(self):
        """SIGINT and SIGTERM end it after the step that is being sent; a second one ends the process."""

        def stop(number, _):
            self.signal = number
            self._stop.set()
            signal.signal(number, signal.SIG_DFL)

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)

    def run(self):
        """Returns the status of the run: finished, stopped or running; None where it has no step."""
        while not self._stop.is_set():
            goes_on = not self._run.exists() or self._run.is_written()  # asked before the last lines are read
            for step in self._steps.read(flush=not goes_on):
                if self._stop.is_set():
                    break
                self._send(step)
            if self._steps.has_more:
                continue
            if self._is_last_look(goes_on):
                break
            self._stop.wait(self._options.interval_s)
        return self._end()

    def _is_last_look(self, goes_on):
        if self._options.follow is None:
            return not goes_on
        if self._options.follow:
            return not goes_on and self._run.is_finished(self._steps.last_step)
        return True

    def _send(self, step):
        self._begin()
        self._take_settings()
        if self._journal.is_sent_again(step.step, step.digests):
            self._note_return(step.step)
        if "metrics" in step.digests:
            self._send_completions(step.step)
        position = self._journal.next_position(step.step)
        self._attempt(lambda: self._tracker.log(step.step, position, step.figures))
        self._journal.note_step(step.step, position, step.digests)
        self.num_steps += 1

    def _send_completions(self, step):
        if self._options.completions == 0 or step == 0 or step % self._options.completions_every != 0:
            return
        columns, rows = completions.table(self._completions.lines(step, self._options.completions))
        if rows:
            self._attempt(lambda: self._tracker.table(step, columns, rows))
            self.num_completions += len(rows)

    def _note_return(self, step):
        if self._sent_again is None or step != self._sent_again + 1:
            self._say(
                f"the run went back: from step {step} on, {self._to} has the left values and the new ones"
            )
        self._sent_again = step

    def _begin(self):
        if self._has_begun:
            return
        options, journal = self._options, self._journal
        journal.begin(options.project or "cohort", options.name or self._run.root.resolve().name)
        self._check_names()
        head = journal.head
        self._config_version = self._run.config_version()
        run = TrackedRun(
            head["id"],
            journal.tracker_id,
            head["project"],
            head["name"],
            options.group,
            ["cohort", *options.tags],
            self._run.config(),
            journal.has_steps(),
        )
        journal.note_tracker_id(self._refuse(lambda: self._tracker.begin(run)))
        self._has_begun = True

    def _check_names(self):
        head = self._journal.head
        for flag, key in (("--project", "project"), ("--name", "name")):
            wanted = getattr(self._options, key)
            if wanted is not None and wanted != head[key]:
                raise ValueError(
                    f"{flag} {wanted}: the run was sent as {head[key]!r} before; leave the flag out, or delete "
                    f"{self._journal.path} to send it once more"
                )

    def _take_settings(self):
        version = self._run.config_version()
        if version != self._config_version:
            config = self._run.config()
            self._attempt(lambda: self._tracker.configure(config))
            self._config_version = version

    def _end(self):
        if not self._run.exists():
            return None
        is_written = self._run.is_written()
        finished = not is_written and self._run.is_finished(self._steps.last_step)
        status = "running" if is_written or self.signal else "finished" if finished else "stopped"
        if not self._has_begun and not self._journal.has_steps():
            return None
        if not self._has_begun and self._journal.ended == status:
            self._check_names()
            return status
        self._begin()
        summary = self._steps.last_values | {
            "status": status,
            "last_step": self._steps.last_step,
            "rollbacks": self._run.num_rollbacks(),
        }
        self._refuse(lambda: self._tracker.end(status, summary))
        self._journal.note_end(status)
        return status

    def _refuse(self, call):
        try:
            return call()
        except Exception as error:
            raise TrackerError(f"{self._to}: {one_line(error)}; run the command again to go on") from None

    def _attempt(self, call):
        pause_s = self._options.pause_s
        for _ in range(TRIES - 1):
            try:
                return call()
            except Exception as error:
                self._say(f"{self._to}: {one_line(error)}; tries again in {pause_s:g} s")
            if self._stop.wait(pause_s):
                break
            pause_s *= 2
        return self._refuse(call)


def one_line(error):
    """An exception's text as one line that a terminal shows as it is."""
    text = " ".join(str(error).split())[:500] or type(error).__name__
    text = "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
    return text if isinstance(error, TrackerError) else f"{type(error).__name__}: {text}"
