"""Weights & Biases. WANDB_MODE, WANDB_DIR, WANDB_ENTITY and the login are the package's own."""

from cohort.track.tracker import Tracker, TrackerError


class WandbTracker(Tracker):
    package = "wandb"

    def begin(self, run):
        settings = self.module.Settings(
            console="off", disable_git=True, disable_code=True, x_disable_stats=True
        )
        self._run = self.module.init(
            id=run.id,
            resume="allow",
            project=run.project,
            name=run.name,
            group=run.group,
            tags=run.tags,
            config=run.config,
            settings=settings,
        )
        if self._run is None or self._run.id != run.id:
            raise TrackerError("wandb began another run than it was told to")
        # W&B takes no earlier position, so that a step that is sent again has its own position and the same "step".
        self._run.define_metric("*", step_metric="step")
        self._table = {}
        return self._run.id

    def configure(self, config):
        self._run.config.update(config, allow_val_change=True)

    def table(self, step, columns, rows):
        self._table = {"completions": self.module.Table(columns=columns, data=rows)}

    def log(self, step, position, figures):
        self._run.log({**figures, **self._table, "step": step}, step=position, commit=True)
        self._table = {}

    def end(self, status, summary):
        self._run.summary.update(summary)
        self._run.finish(exit_code=1 if status == "stopped" else 0)
