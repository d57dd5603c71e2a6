"""MLflow. MLFLOW_TRACKING_URI and the login are the package's own."""

import re
import time

from cohort.track.tracker import Tracker, TrackerError, flat, table_file, text_of


class MlflowTracker(Tracker):
    package = "mlflow"

    def begin(self, run):
        self._client = self.module.MlflowClient()
        self._id = self._find(run) or self._create(run)
        self._client.update_run(self._id, status="RUNNING", name=run.name)
        tags = {"cohort.tags": ", ".join(run.tags), "cohort.group": run.group}
        for key, value in tags.items():
            if value:
                self._client.set_tag(self._id, key, value)
        self.configure(run.config)
        return self._id

    def _find(self, run):
        if run.tracker_id is None:
            return None
        try:
            found = self._client.get_run(run.tracker_id)
        except self.module.MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            found = None
        if found is None or found.info.lifecycle_stage != "active":
            raise TrackerError(
                f"{self.module.get_tracking_uri()} has no run {run.tracker_id}, to which the run was sent before; set "
                "MLFLOW_TRACKING_URI, or delete .track-mlflow.jsonl to send it once more"
            )
        return run.tracker_id

    def _create(self, run):
        experiment = self._client.get_experiment_by_name(run.project)
        experiment_id = (
            experiment.experiment_id if experiment else self._client.create_experiment(run.project)
        )
        return self._client.create_run(
            experiment_id, run_name=run.name, tags={"cohort.id": run.id}
        ).info.run_id

    def configure(self, config):
        known = self._client.get_run(self._id).data.params
        values = {clean_name(key): text_of(value) for key, value in flat(config).items()}
        new = [self.module.entities.Param(key, value) for key, value in values.items() if key not in known]
        for first in range(0, len(new), 100):
            self._client.log_batch(self._id, params=new[first : first + 100])
        # A parameter is for good; config.json has what holds now.
        self._client.log_dict(self._id, config, "config.json")

    def table(self, step, columns, rows):
        self._client.log_dict(self._id, {"columns": columns, "data": rows}, f"{table_file(step)}.json")

    def log(self, step, position, figures):
        now = int(time.time() * 1000)
        metrics = [
            self.module.entities.Metric(clean_name(name), value, now, step) for name, value in figures.items()
        ]
        for first in range(0, len(metrics), 1000):
            self._client.log_batch(self._id, metrics=metrics[first : first + 1000])

    def end(self, status, summary):
        self._client.log_dict(self._id, summary, "summary.json")
        if status != "running":
            self._client.set_terminated(self._id, "FINISHED" if status == "finished" else "KILLED")


def clean_name(name):
    """A name as MLflow takes it: pass@8 is pass_at_8."""
    return re.sub(r"[^/\w.\- :]", "_", name.replace("@", "_at_"))
