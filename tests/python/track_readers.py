"""What the trackers hold of a run, by their own packages: offline files of W&B and Comet, databases of Trackio and MLflow.

Each returns a Tracked. A point is (step, {figure: value}).
"""

import csv
import dataclasses
import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import zipfile


@dataclasses.dataclass
class Tracked:
    config: dict
    points: list
    tables: dict  # step -> list of (columns, rows)
    name: str
    group: str
    tags: list
    summary: dict
    ids: set  # of the tracker's runs
    places: list = dataclasses.field(default_factory=list)  # W&B's own steps
    files: dict = dataclasses.field(default_factory=dict)  # MLflow's artifacts


def read_wandb(folder):
    found = Tracked({}, [], {}, None, None, None, {}, set())
    for path in sorted(folder.glob("wandb/offline-run-*/*.wandb"), key=lambda one: one.stat().st_mtime_ns):
        for record in _wandb_records(path):
            kind = record.WhichOneof("record_type")
            if kind == "run":
                run = record.run
                found.ids.add(run.run_id)
                found.name, found.group, found.tags = run.display_name, run.run_group, list(run.tags)
            for item in (
                run.config.update if kind == "run" else record.config.update if kind == "config" else ()
            ):
                if item.key != "_wandb":
                    found.config[item.key] = json.loads(item.value_json)
            if kind == "summary":
                found.summary |= {
                    item.key: json.loads(item.value_json) for item in record.summary.update if item.key
                }
            if kind == "history":
                _add_history(found, record.history, path.parent / "files")
    return found


def _add_history(found, history, files):
    values = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in history.item}
    step = values.pop("step")
    if path := values.get("completions/path"):
        table = json.loads((files / path).read_text())
        found.tables.setdefault(step, []).append((table["columns"], table["data"]))
    figures = {key: value for key, value in values.items() if not key.startswith(("_", "completions/"))}
    found.points.append((step, figures))
    found.places.append(values["_step"])


def _wandb_records(path):
    """The records of a .wandb file: LevelDB's log format after seven bytes, with W&B's own protobuf in it."""
    from wandb.proto import wandb_internal_pb2

    content, place, parts = path.read_bytes(), 7, b""
    while place < len(content):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        _, size, kind = struct.unpack_from("<IHB", content, place)
        parts += content[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in (1, 4):  # whole, or the last part
            record = wandb_internal_pb2.Record()
            record.ParseFromString(parts)
            parts = b""
            yield record


# In a process of its own: Trackio reads TRACKIO_DIR when it is imported.
_TRACKIO = """
import json
from trackio import Api
from trackio.sqlite_storage import SQLiteStorage
runs = [(run.id, run.name, run.config, SQLiteStorage.get_logs("cohort", run.name, run_id=run.id)) for run in Api().runs("cohort")]
print("\\n" + json.dumps(runs))
"""


def read_trackio(folder):
    found = Tracked({}, [], {}, None, None, None, {}, set())
    variables = os.environ | {"TRACKIO_DIR": str(folder / "trackio")}
    out = subprocess.run(
        [sys.executable, "-c", _TRACKIO], env=variables, check=True, capture_output=True
    ).stdout
    for run_id, found.name, config, rows in json.loads(out.splitlines()[-1]):
        found.ids.add(run_id)
        found.group, found.tags = config["_Group"], config["tags"]
        found.config = {
            key: value for key, value in config.items() if key != "tags" and not key.startswith("_")
        }
        for row in rows:
            step = row.pop("step")
            row.pop("timestamp")
            if "summary" in row:
                found.summary = {one["figure"]: one["value"] for one in row["summary"]["_value"]}
                continue
            if table := row.pop("completions", None):
                cells = table["_value"]
                found.tables.setdefault(step, []).append(
                    (list(cells[0]), [list(one.values()) for one in cells])
                )
            found.points.append((step, row))
    return found


def read_mlflow(folder):
    import mlflow

    client = mlflow.MlflowClient(f"sqlite:///{folder}/mlflow.db")
    runs = client.search_runs([client.get_experiment_by_name("cohort").experiment_id])
    found = Tracked({}, [], {}, None, None, None, {}, {run.info.run_id for run in runs})
    for run in runs:
        found.config, tags = run.data.params, run.data.tags
        found.name, found.group = run.info.run_name, tags.get("cohort.group")
        found.tags = tags["cohort.tags"].split(", ")
        points = {}
        for name in run.data.metrics:
            for metric in client.get_metric_history(run.info.run_id, name):
                points.setdefault((metric.step, metric.timestamp), {})[name.replace("_at_", "@")] = (
                    metric.value
                )
        found.points += [(step, values) for (step, _), values in sorted(points.items())]
        artifacts = pathlib.Path(run.info.artifact_uri.removeprefix("file://"))
        for path in sorted((folder / artifacts).glob("completions/*.json")):
            table = json.loads(path.read_text())
            found.tables[int(path.stem.split("-")[1])] = [(table["columns"], table["data"])]
        found.files = {
            path.name: json.loads(path.read_text()) for path in (folder / artifacts).glob("*.json")
        }
        found.summary = found.files["summary.json"]
    return found


def read_comet(folder):
    found = Tracked({}, [], {}, None, None, None, {}, set())
    points = {}
    for path in sorted((folder / "comet").glob("*.zip"), key=lambda one: one.stat().st_mtime_ns):
        archive = zipfile.ZipFile(path)
        experiment = json.loads(archive.read("experiment.json"))
        found.ids.add(experiment["offline_id"])
        found.tags = experiment["tags"]
        for line in archive.read("messages.json").splitlines():
            _add_message(found, points, archive, path, json.loads(line))
    found.points = [(key[1], values) for key, values in points.items()]
    found.name, found.group = found.summary["Name"], found.summary.get("group")
    return found


def _add_message(found, points, archive, path, message):
    kind, payload = message["type"], message["payload"]
    if kind == "parameter_msg":
        one = payload.get("param") or payload["params"]
        if one["source"] == "manual":
            found.config[one["paramName"]] = one["paramValue"]
    elif kind == "metric_msg" and payload["metric"]["metricName"] != "process duration":
        metric = payload["metric"]
        values = points.setdefault((path, metric["step"], 0), {})
        if metric["metricName"] in values:  # sent again
            values = points.setdefault((path, metric["step"], 1), {})
        values[metric["metricName"]] = metric["metricValue"]
    elif kind == "log_other":
        found.summary[payload["key"]] = payload["value"]
    elif kind == "file_upload":
        name = payload["additional_params"]["fileName"]
        step = int(name.split("-")[1].split(".")[0])
        columns, *rows = csv.reader(io.StringIO(archive.read(payload["file_path"]).decode(), newline=""))
        found.tables.setdefault(step, []).append((columns, rows))


READERS = {"wandb": read_wandb, "trackio": read_trackio, "mlflow": read_mlflow, "comet": read_comet}
