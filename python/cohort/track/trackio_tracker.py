"""Trackio. TRACKIO_DIR, TRACKIO_SPACE_ID and TRACKIO_SERVER_URL are the package's own."""

from cohort.track.tracker import Tracker, TrackerError


class TrackioTracker(Tracker):
    package = "trackio"

    def begin(self, run):
        self._run = self.module.init(
            run.project,
            name=run.name,
            group=run.group,
            config={**run.config, "tags": run.tags},
            resume="allow" if run.tracker_id else "never",
            auto_log_cpu=False,
            auto_log_gpu=False,
            embed=False,
        )
        # It finds runs by name alone.
        if run.has_steps and self._run.id != run.tracker_id:
            raise TrackerError(
                f"project {run.project} has no run {run.name} of this run directory, or a newer one of this name; "
                "delete .track-trackio.jsonl and give another --name"
            )
        self._tags, self._table = run.tags, {}
        return self._run.id

    def configure(self, config):
        self._run.config.update({**config, "tags": self._tags})
        self._run._config_logged = False  # the package sends settings with the first figures alone

    def table(self, step, columns, rows):
        self._table = {"completions": self.module.Table(columns=columns, data=rows)}

    def log(self, step, position, figures):
        self._run.log({**figures, **self._table}, step=step)
        self._table = {}

    def end(self, status, summary):
        rows = [[name, value] for name, value in sorted(summary.items())]
        self._run.log(
            {"summary": self.module.Table(columns=["figure", "value"], data=rows)}, step=summary["last_step"]
        )
        self._run.finish()
