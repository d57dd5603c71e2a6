"""Comet. COMET_API_KEY, COMET_WORKSPACE, COMET_START_ONLINE and COMET_OFFLINE_DIRECTORY are the package's own."""

import csv
import io

from cohort.track.tracker import Tracker, TrackerError, flat, table_file, text_of


class CometTracker(Tracker):
    package = "comet_ml"

    def begin(self, run):
        settings = self.module.ExperimentConfig(
            name=run.name,
            tags=run.tags,
            log_code=False,
            log_graph=False,
            parse_args=False,
            log_git_metadata=False,
            log_git_patch=False,
            log_env_details=False,
            auto_output_logging=False,
            auto_param_logging=False,
            auto_metric_logging=False,
            auto_log_co2=False,
            display_summary_level=0,
        )
        self._experiment = self.module.start(
            project_name=run.project, experiment_key=run.id, mode="get_or_create", experiment_config=settings
        )
        if not self._experiment.alive:
            raise TrackerError("comet_ml can't begin the experiment; its own message says why")
        if run.group:
            self._experiment.log_other("group", run.group)
        self.configure(run.config)
        return self._experiment.get_key()

    def configure(self, config):
        self._experiment.log_parameters(
            {key: text_of(value) for key, value in flat(config).items()}, nested_support=False
        )

    def table(self, step, columns, rows):
        text = io.StringIO()
        csv.writer(text).writerows([columns, *rows])
        if self._experiment.log_asset_data(text.getvalue(), f"{table_file(step)}.csv", step=step) is None:
            raise TrackerError("comet_ml can't store a table; its own message says why")

    def log(self, step, position, figures):
        self._experiment.log_metrics(figures, step=step)

    def end(self, status, summary):
        self._experiment.log_others(summary)
        self._experiment.end()
