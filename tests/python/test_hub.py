"""cohort.hub.model_directory and data sets of the Hub, by huggingface_hub's own client and a server on loopback.

COHORT=build/cohort .venv-test/bin/python tests/python/test_hub.py
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from hub_stand_in import TOKEN, Hub, Repository

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = {
    "config.json": '{"model_type": "llama"}',
    "generation_config.json": "{}",
    "tokenizer.json": "{}",
    "chat_template.jinja": "{{ messages }}",
    "additional_chat_templates/tool.jinja": "{{ tools }}",
    "model.safetensors": bytes(range(256)) * 40,
}
UNREAD = {
    "README.md": "# A model",
    "pytorch_model.bin": "torch",
    "consolidated.safetensors": "twice",
    "onnx/model.onnx": "onnx",
    "original/params.json": "{}",
}
GET_MODEL = """
import sys
from cohort import hub
arguments = eval(sys.argv[1])
try:
    print(hub.model_directory(*arguments[0], **arguments[1]))
except (OSError, ValueError) as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""
GET_ROWS = """
import json, sys
from cohort import datasets
arguments = eval(sys.argv[1])
try:
    print(json.dumps(list(datasets.rows(*arguments[0], **arguments[1]))))
except (OSError, ValueError) as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


class HubTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.hub = Hub()
        self.addCleanup(self.hub.close)
        self.hub.repositories = {
            ("models", "org/tiny"): Repository(MODEL | UNREAD),
            ("models", "org/private"): Repository(MODEL, "private"),
            ("models", "org/gated"): Repository(MODEL, "gated"),
            ("models", "org/pickled"): Repository({"config.json": "{}", "pytorch_model.bin": "x"}),
            ("models", "org/other"): Repository({"model.safetensors": "x"}),
        }

    def run_python(self, code, *arguments, environment=None, **options):
        """(standard output, the last line of standard error) of a process of its own: the client reads HF_ENDPOINT once."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
        clean |= {
            "HF_ENDPOINT": self.hub.address,
            "HF_HOME": str(self.folder / "home"),
            "NO_PROXY": "127.0.0.1",
        }
        clean |= {
            "PYTHONPATH": str(ROOT / "python"),
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
        } | (environment or {})
        command = [sys.executable, "-W", "ignore", "-c", code, repr((arguments, options))]
        done = subprocess.run(command, cwd=self.folder, env=clean, capture_output=True, text=True)
        return done.stdout.strip(), done.stderr

    def model(self, *arguments, environment=None, **options):
        place, errors = self.run_python(GET_MODEL, *arguments, environment=environment, **options)
        self.assertTrue(place, errors)
        return pathlib.Path(place)

    def refused(self, message, *arguments, code=GET_MODEL, environment=None, **options):
        place, errors = self.run_python(code, *arguments, environment=environment, **options)
        self.assertEqual((place, errors.count("\n")), ("", 1), errors)
        self.assertTrue(errors.startswith(message), errors)


class ModelTest(HubTest):
    def files(self, directory):
        return {
            str(path.relative_to(directory)): path.read_bytes()
            for path in directory.rglob("*")
            if path.is_file()
        }

    def test_what_the_engine_reads_is_downloaded_once(self):
        directory = self.model("org/tiny")
        wanted = {path: text if isinstance(text, bytes) else text.encode() for path, text in MODEL.items()}
        self.assertEqual(self.files(directory), wanted)
        self.assertIn(str(self.folder / "home/hub/models--org--tiny/snapshots/"), str(directory))
        self.hub.requests.clear()
        self.assertEqual(self.model("org/tiny"), directory)
        self.assertEqual([path for path in self.hub.requests if "/resolve/" in path], [])

    def test_the_cache_serves_without_the_hub(self):
        directory = self.model("org/tiny", environment={"HF_HUB_CACHE": str(self.folder / "cache")})
        offline = {"HF_HUB_CACHE": str(self.folder / "cache"), "HF_HUB_OFFLINE": "1"}
        self.hub.requests.clear()
        self.assertEqual(self.model("org/tiny", environment=offline), directory)
        self.assertEqual(self.hub.requests, [])
        self.refused(
            "OSError: org/gone: is not in the local cache, and HF_HUB_OFFLINE forbids",
            "org/gone",
            environment=offline,
        )
        self.hub.failure = 500
        self.assertEqual(
            self.model("org/tiny", environment={"HF_HUB_CACHE": str(self.folder / "cache")}), directory
        )
        (directory / "model.safetensors").unlink()
        self.refused(
            "OSError: org/tiny: some of its files are not in the local cache, and",
            "org/tiny",
            environment=offline,
        )

    def test_a_directory_is_taken_as_it_is(self):
        (self.folder / "org/tiny").mkdir(parents=True)
        self.assertEqual(self.model("org/tiny"), pathlib.Path("org/tiny"))
        self.assertEqual(self.hub.requests, [])
        self.refused(
            "ValueError: org/tiny: is a directory, which has no revision", "org/tiny", revision="main"
        )

    def test_a_token_opens_what_is_not_public(self):
        self.refused(
            "OSError: org/private: no such directory, and no model of this name at http://127", "org/private"
        )
        self.refused("OSError: org/gated: the model is gated: accept its terms at http://127", "org/gated")
        for name in ("org/private", "org/gated"):
            self.assertEqual(self.model(name, token=TOKEN), self.model(name, environment={"HF_TOKEN": TOKEN}))

    def test_revisions(self):
        before = self.hub.repositories["models", "org/tiny"].commit
        self.assertEqual(self.model("org/tiny", revision=before).name, before)
        self.refused("OSError: org/tiny: the model has no such revision at http", "org/tiny", revision="v2")

    def test_what_cannot_be_used_is_one_line(self):
        self.refused("OSError: org/gone: no such directory, and no model of this name at http", "org/gone")
        self.refused("OSError: runs/x/final: no such model directory, and no id of the Hub", "runs/x/final")
        self.refused("OSError: org/a--b: no such directory, and no id of the Hub: ", "org/a--b")
        self.refused("OSError: org/pickled: has no weights in safetensors", "org/pickled")
        self.refused("OSError: org/other: has no config.json", "org/other")
        self.hub.failure = 500
        self.refused("OSError: org/tiny: is not in the local cache, and http://127.0.0.1:", "org/tiny")
        dead = {"HF_ENDPOINT": "http://127.0.0.1:1"}
        self.refused(
            "OSError: org/tiny: is not in the local cache, and http://127.0.0.1:1 can't be reached",
            "org/tiny",
            environment=dead,
        )


class DataTest(HubTest):
    def setUp(self):
        super().setUp()
        self.hub.repositories |= {
            ("datasets", "org/sums"): Repository(
                {
                    "README.md": "---\nlicense: mit\n---\n# Sums",
                    "data/train.jsonl": '{"prompt": "1+1="}\n{"prompt": "1+2="}\n',
                    "data/test.jsonl": '{"prompt": "2+2="}\n',
                }
            ),
            ("datasets", "org/empty"): Repository({"notes.txt~": "x"}),
            ("datasets", "org/gated"): Repository({"train.jsonl": '{"prompt": "x"}\n'}, "gated"),
        }

    def test_rows_of_a_split(self):
        rows, errors = self.run_python(GET_ROWS, "org/sums", "train")
        self.assertEqual(json.loads(rows or "[]"), [{"prompt": "1+1="}, {"prompt": "1+2="}], errors)
        rows, errors = self.run_python(GET_ROWS, "org/gated", token=TOKEN)
        self.assertEqual(json.loads(rows or "[]"), [{"prompt": "x"}], errors)

    def test_what_cannot_be_read_is_one_line(self):
        self.refused(
            "ValueError: choose one by split: the data set has train, test", "org/sums", code=GET_ROWS
        )
        self.refused("OSError: org/gone: no such file or directory", "org/gone", code=GET_ROWS)
        self.refused("OSError: org/empty: ", "org/empty", code=GET_ROWS)
        self.refused("OSError: org/gated: ", "org/gated", code=GET_ROWS)
        self.refused(
            "OSError: org/sums: ",
            "org/sums",
            "train",
            code=GET_ROWS,
            environment={"HF_HUB_OFFLINE": "1", "HF_HOME": str(self.folder / "other")},
        )


if __name__ == "__main__":
    unittest.main()
