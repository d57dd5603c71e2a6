"""`cohort track`: sends a run's figures and completions to an experiment tracker, from a process of its own.

`run_files`, `steps` and `completions` read the run, `journal` remembers what was sent, `session` sends, and a module per
tracker (`wandb_tracker`, `trackio_tracker`, `mlflow_tracker`, `comet_tracker`) knows its package.
"""

from cohort.track.command import add_arguments, run

__all__ = ["add_arguments", "run"]
