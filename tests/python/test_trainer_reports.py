"""What `GRPOTrainer` reports to W&B, trackio, MLflow and TensorBoard, read back by the readers of each.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_trainer_reports.py
"""

import json
import os
import pathlib
import unittest
from unittest import mock

from trainer_case import TrainerTest, hashed

SUMMARY = {"train_runtime", "train_samples_per_second", "train_steps_per_second", "train_loss"}


def noting(completions, log_extra, **columns):
    log_extra("note", [f"{len(one)} characters" for one in completions])
    return hashed(completions=completions, **columns)


def renamed(line):
    """The names of transformers' integrations: eval/reward for eval_reward, and train/reward for reward."""
    return {
        "eval/" + name.removeprefix("eval_") if name.startswith("eval_") else "train/" + name: value
        for name, value in line.items()
    }


class ReportTest(TrainerTest):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        home = str(cls.folder)
        tools = {
            "HOME": home, "TRACKIO_DIR": os.path.join(home, "trackio"), "WANDB_CONFIG_DIR": home, "WANDB_CACHE_DIR": home,
            "WANDB_MODE": "offline", "WANDB_SILENT": "true", "MLFLOW_ALLOW_FILE_STORE": "true",
        }  # fmt: skip
        cls.enterClassContext(mock.patch.dict(os.environ, tools))

    def train(self, tool, **environment):
        with mock.patch.dict(os.environ, environment):
            trainer = self.trainer(
                noting, report_to=tool, run_name="first", project="sums", log_completions=True,
                num_completions_to_print=1, eval_strategy="steps", eval_steps=2, num_generations_eval=2,
                more={"eval_dataset": self.rows[:2]},
            )  # fmt: skip
            trainer.train()
        return trainer

    def lines(self, trainer):
        """The log's lines by their steps, without what is said once a run; the first ones are metrics.jsonl's rows."""
        lines = [
            {name: value for name, value in line.items() if name not in SUMMARY}
            for line in trainer.state.log_history
        ]
        steps = [line for line in lines if "reward" in line]
        for line, row in zip(steps, self.metrics(trainer), strict=True):
            for name in ("reward", "rewards/noting/mean", "loss", "grad_norm", "learning_rate", "entropy"):
                self.assertEqual(line[name], row[name], name)
        self.assertEqual([line["step"] for line in lines if "eval_reward" in line], [2, 3])
        return [(line.pop("step"), line) for line in lines]

    def check_table(self, rows, trainer):
        """The last step's completions, as completions.jsonl has them."""
        path = pathlib.Path(trainer.args.output_dir) / "completions.jsonl"
        written = [json.loads(line) for line in path.read_text().splitlines()]
        last = [row for row in written if row["step"] == 3]
        self.assertEqual(len(last), 8)
        for ours, row in zip(rows, last, strict=True):
            self.assertEqual(
                ours,
                {
                    "step": 3,
                    "prompt": row["prompt"],
                    "completion": row["completion"],
                    "noting": row["rewards"]["noting"]["score"],
                    "note": f"{len(row['completion'])} characters",
                    "advantage": row["advantage"],
                },
            )

    def test_wandb(self):
        import wandb
        from wandb.proto import wandb_internal_pb2
        from wandb.sdk.internal.datastore import DataStore

        trainer = self.train("wandb", WANDB_DIR=self.output, WANDB_PROJECT="sums")
        wandb.finish()
        wandb.teardown()
        file = next(pathlib.Path(self.output).glob("wandb/offline-run-*/run-*.wandb"))
        store, run, history, summary = DataStore(), None, [], {}
        store.open_for_scan(str(file))
        while (data := store.scan_data()) is not None:
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            kind = record.WhichOneof("record_type")
            if kind == "run":
                run = record.run
                config = {one.key: json.loads(one.value_json) for one in run.config.update}
            elif kind == "config":
                config |= {
                    one.key or one.nested_key[0]: json.loads(one.value_json) for one in record.config.update
                }
            elif kind == "history":
                row = {
                    one.key or "/".join(one.nested_key): json.loads(one.value_json)
                    for one in record.history.item
                }
                history.append({name: value for name, value in row.items() if not name.startswith("_")})
            elif kind == "summary":
                summary |= {one.key: json.loads(one.value_json) for one in record.summary.update}
        self.assertEqual((run.project, run.display_name), ("sums", "first"))
        self.assertEqual(
            (config["learning_rate"], config["num_generations"], config["model_type"]), (1e-3, 4, "llama")
        )
        self.assertEqual(
            config["model/num_parameters"], sum(one.numel() for one in trainer.model.parameters())
        )
        scalars = [row for row in history if "completions/path" not in row]
        expected = [{**renamed(line), "train/global_step": step} for step, line in self.lines(trainer)]
        self.assertEqual(scalars, expected)
        store.close()
        self.assertEqual(summary["train_loss"], trainer.state.log_history[-1]["train_loss"])
        tables = [row["completions/path"] for row in history if "completions/path" in row]
        self.assertEqual(len(tables), 3)
        table = json.loads((file.parent / "files" / tables[-1]).read_text())
        rows = [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]
        self.check_table(rows, trainer)

    def test_trackio(self):
        import trackio
        from trackio.sqlite_storage import SQLiteStorage

        trainer = self.train("trackio")
        (run,) = trackio.Api().runs("sums")
        self.assertEqual(run.name, "first")
        self.assertEqual((run.config["learning_rate"], run.config["model_type"]), (1e-3, "llama"))
        logs = [
            {name: value for name, value in row.items() if name not in ("step", "timestamp")}
            for row in SQLiteStorage.get_logs("sums", "first")
        ]
        scalars = [row for row in logs if "completions" not in row]
        expected = [{**renamed(line), "train/global_step": step} for step, line in self.lines(trainer)]
        self.assertEqual(scalars, expected)
        tables = [row["completions"] for row in logs if "completions" in row]
        self.assertEqual(len(tables), 3)
        self.check_table(tables[-1]["_value"], trainer)

    def test_mlflow(self):
        import mlflow

        uri = "file:" + os.path.join(self.output, "mlflow")
        trainer = self.train(
            "mlflow", MLFLOW_TRACKING_URI=uri, MLFLOW_EXPERIMENT_NAME="sums", MLFLOW_TAGS='{"release": "1"}',
            MLFLOW_FLATTEN_PARAMS="true",
        )  # fmt: skip
        client = mlflow.MlflowClient(uri)
        (run,) = client.search_runs([client.get_experiment_by_name("sums").experiment_id])
        self.assertEqual((run.info.run_name, run.info.status), ("first", "FINISHED"))
        self.assertEqual(run.data.tags["release"], "1")
        self.assertEqual(
            (run.data.params["learning_rate"], run.data.params["model_type"]), ("0.001", "llama")
        )
        found = {}
        for name in run.data.metrics:
            for metric in client.get_metric_history(run.info.run_id, name):
                found.setdefault((name, metric.step), []).append(metric.value)
        expected = {}
        for step, line in self.lines(trainer):
            for name, value in line.items():
                if value is not None:
                    name = name.replace("@", "_")  # MLflow takes no other names
                    expected.setdefault((name, step), []).append(value)
        for name in SUMMARY:
            expected[name, 3] = [trainer.state.log_history[-1][name]]
        self.assertEqual(found, expected)

    def test_tensorboard(self):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        folder = os.path.join(self.output, "events")
        trainer = self.train("tensorboard", TENSORBOARD_LOGGING_DIR=folder)
        events = EventAccumulator(folder).Reload()
        found = {
            (name, event.step): event.value
            for name in events.Tags()["scalars"]
            for event in events.Scalars(name)
        }
        expected = {
            (name, step): value
            for step, line in self.lines(trainer)
            for name, value in renamed(line).items()
            if value is not None
        }
        for name in SUMMARY:
            expected["train/" + name, 3] = trainer.state.log_history[-1][name]
        self.assertEqual(found.keys(), expected.keys())
        for key, value in expected.items():  # the events hold float32
            self.assertAlmostEqual(found[key], value, delta=1e-6 * abs(value), msg=key)

    def test_uploads_of_checkpoints_are_refused(self):
        for tool, name, value in (
            ("wandb", "WANDB_LOG_MODEL", "checkpoint"),
            ("mlflow", "HF_MLFLOW_LOG_ARTIFACTS", "TRUE"),
        ):
            with self.assertRaisesRegex(ValueError, f"{name}={value} is not supported"):
                self.train(tool, **{name: value})


if __name__ == "__main__":
    unittest.main()
