"""cohort.datasets.rows: data sets of any kind as rows that JSON can hold.

.venv-test/bin/python tests/python/test_rows.py
"""

import datetime
import decimal
import gzip
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import uuid

import datasets
import numpy
import PIL.Image
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import torch

datasets.disable_progress_bars()

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from cohort.datasets import rows, write_jsonl  # noqa: E402

STANDARD = [{"prompt": "1 + 1 =", "answer": "2"}, {"prompt": "1 + 2 =", "answer": None}]
CONVERSATIONAL = [
    {
        "prompt": [{"role": "user", "content": "Weather in Rome?"}],
        "tools": [
            {"type": "function", "function": {"name": "weather", "parameters": {"city": {"type": "string"}}}}
        ],
    },
    {
        "prompt": [
            {"role": "user", "content": "Now?"},
            {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "clock"}}]},
        ],
        "tools": [{"type": "function", "function": {"name": "clock", "parameters": {}}}],
    },
]


class RowsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def refused(self, data, message, error=ValueError, **options):
        with self.assertRaises(error) as caught:
            list(rows(data, **options))
        self.assertIn(message, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path


class KindsTest(RowsTest):
    def test_lists_generators_and_datasets_give_the_same_rows(self):
        kinds = [
            STANDARD,
            (row for row in STANDARD),
            datasets.Dataset.from_list(STANDARD),
            datasets.Dataset.from_list(STANDARD).to_iterable_dataset(),
            datasets.Dataset.from_list(STANDARD).with_format("torch"),
            datasets.Dataset.from_list(STANDARD).with_format("pandas"),
            datasets.DatasetDict(train=datasets.Dataset.from_list(STANDARD)),
        ]
        for kind in kinds:
            self.assertEqual(list(rows(kind)), STANDARD, type(kind))

    def test_a_split_must_be_chosen_and_exist(self):
        both = datasets.DatasetDict(
            train=datasets.Dataset.from_list(STANDARD), test=datasets.Dataset.from_list(STANDARD[:1])
        )
        self.assertEqual(list(rows(both, "test")), STANDARD[:1])
        self.refused(both, "choose one by split: the data set has train, test")
        self.refused(both, "has no split 'dev': the data set has train, test", split="dev")
        self.refused(STANDARD, "a list, which has no splits", split="train")

    def test_a_transform_is_part_of_the_data(self):
        dataset = datasets.Dataset.from_list(STANDARD).with_transform(
            lambda batch: {"prompt": [text.upper() + "!" for text in batch["prompt"]]}
        )
        self.assertEqual(list(rows(dataset)), [{"prompt": "1 + 1 =!"}, {"prompt": "1 + 2 =!"}])

    def test_messages_and_tools_come_back_without_the_keys_that_arrow_adds(self):
        wanted = [
            CONVERSATIONAL[0],
            {
                "prompt": CONVERSATIONAL[1]["prompt"],
                "tools": [{"type": "function", "function": {"name": "clock", "parameters": {}}}],
            },
        ]
        dataset = datasets.Dataset(pyarrow.Table.from_pylist(CONVERSATIONAL))
        self.assertIn("tool_calls", dataset[0]["prompt"][0])  # the case is what it says
        self.assertEqual(list(rows(dataset)), wanted)
        pyarrow.parquet.write_table(dataset.data.table, self.folder / "t.parquet")
        self.assertEqual(list(rows(self.folder / "t.parquet")), wanted)
        self.assertEqual(list(rows(CONVERSATIONAL)), CONVERSATIONAL)

    def test_tools_may_be_json_text(self):
        text = [{"prompt": "x", "tools": json.dumps(CONVERSATIONAL[0]["tools"])}]
        self.assertEqual(list(rows(text))[0]["tools"], CONVERSATIONAL[0]["tools"])
        self.refused([{"tools": "weather"}], 'row 1: column "tools" is text, but no JSON')

    def test_other_types_are_refused(self):
        self.refused({"prompt": ["a"]}, "the data are a dict", TypeError)
        self.refused(7, "the data are a int", TypeError)
        self.refused(["a"], "row 1: is a str; a row is a dict of columns")
        self.refused([{1: "a"}], "row 1: the column 1 has no text as its name")
        self.refused(STANDARD, "for ids of the Hub alone", revision="main")


class ValuesTest(RowsTest):
    def value(self, value):
        (row,) = rows([{"x": value}])
        json.dumps(row, allow_nan=False)
        return row["x"]

    def test_numbers_of_libraries(self):
        for value, wanted in [
            (numpy.int64(3), 3),
            (numpy.float32(0.5), 0.5),
            (numpy.bool_(True), True),
            (numpy.str_("a"), "a"),
            (numpy.arange(3), [0, 1, 2]),
            (numpy.array([numpy.int8(1), None], dtype=object), [1, None]),
            (torch.tensor(2), 2),
            (torch.ones(1, 2), [[1.0, 1.0]]),
            ((1, (2,)), [1, [2]]),
            (2**70, 2**70),
        ]:
            result = self.value(value)
            self.assertEqual(result, wanted)
            self.assertIs(type(result), type(wanted))

    def test_times_decimals_and_ids_become_text(self):
        day = datetime.date(2026, 2, 28)
        for value, wanted in [
            (day, "2026-02-28"),
            (
                datetime.datetime(2026, 2, 28, 1, 2, 3, tzinfo=datetime.timezone.utc),
                "2026-02-28T01:02:03+00:00",
            ),
            (datetime.time(1, 2), "01:02:00"),
            (datetime.timedelta(minutes=1.5), 90.0),
            (numpy.datetime64("2026-02-28T01:02:03.5", "ns"), "2026-02-28T01:02:03.500000"),
            (numpy.timedelta64(1500, "ms"), 1.5),
            (decimal.Decimal("1.10"), "1.10"),
            (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ]:
            self.assertEqual(self.value(value), wanted)

    def test_what_json_cannot_hold_is_refused_with_row_and_column(self):
        image = PIL.Image.new("RGB", (1, 1))
        deep = []
        for _ in range(300):
            deep = [deep]
        for value, reason in [
            (float("nan"), "is nan"),
            (float("-inf"), "is -inf"),
            (numpy.float32("nan"), "is nan"),
            (torch.tensor([1.0, torch.inf]), "is inf"),
            (decimal.Decimal("NaN"), "is NaN"),
            (numpy.datetime64("NaT"), "is NaT"),
            (b"abc", "holds bytes"),
            ({"bytes": b"abc", "path": None}, "holds bytes"),
            ([image], "holds an image"),
            ({1, 2}, "holds a set"),
            ({1: 2}, "has the key 1"),
            ("\ud800", "has half a surrogate pair"),
            (deep, "is nested more than 256 levels"),
        ]:
            self.refused([{"a": 1}, {"a": 2, "b": value}], f'row 2: column "b" {reason}')

    def test_columns_of_images_are_refused_before_they_are_decoded(self):
        png = io.BytesIO()
        PIL.Image.new("RGB", (1, 1)).save(png, "png")
        dataset = datasets.Dataset.from_dict(
            {"prompt": ["x"], "image": [{"bytes": png.getvalue(), "path": None}]}
        )
        self.refused(dataset, 'row 1: column "image" holds bytes')
        dataset = dataset.cast_column("image", datasets.Image())
        self.refused(dataset, 'row 1: column "image" is a column of the type image')
        self.refused(dataset.to_iterable_dataset(), 'column "image" is a column of the type image')
        self.assertEqual(list(rows(dataset.remove_columns("image"))), [{"prompt": "x"}])
        pictures = datasets.Dataset.from_dict({"images": [[PIL.Image.new("RGB", (1, 1))]]})
        self.refused(pictures, 'row 1: column "images" holds an image')


class FilesTest(RowsTest):
    def test_each_format_gives_the_same_rows(self):
        lines = "".join(json.dumps(row) + "\n" for row in STANDARD)
        table = pyarrow.Table.from_pylist(STANDARD)
        paths = [
            self.write("a.jsonl", "\ufeff" + lines.replace("\n", "\r\n\n")),
            self.write("a.jsonl.gz", gzip.compress(lines.encode())),
            self.write("lines.json", lines),
            self.write("a.json", json.dumps(STANDARD, indent=1)),
        ]
        pyarrow.parquet.write_table(table, self.folder / "a.parquet", row_group_size=1)
        pyarrow.feather.write_feather(table, self.folder / "a.feather")
        with pyarrow.ipc.new_stream(self.folder / "a.arrow", table.schema) as stream:
            stream.write_table(table)
        for path in [*paths, *(self.folder / f"a.{name}" for name in ("parquet", "feather", "arrow"))]:
            self.assertEqual(list(rows(path)), STANDARD, path)

    def test_values_of_csv_are_texts(self):
        path = self.write("a.csv", '\ufeffprompt,answer\r\n"1, ""2""\nand 3",007\r\n\r\nx,\r\n')
        wanted = [{"prompt": '1, "2"\nand 3', "answer": "007"}, {"prompt": "x", "answer": ""}]
        self.assertEqual(list(rows(path)), wanted)
        self.assertEqual(list(rows(self.write("a.tsv", "a\tb\n1,5\tx\n"))), [{"a": "1,5", "b": "x"}])

    def test_a_saved_dataset_is_read(self):
        datasets.Dataset.from_list(STANDARD).save_to_disk(self.folder / "one")
        self.assertEqual(list(rows(self.folder / "one")), STANDARD)
        self.refused(self.folder / "one", "has no splits", split="train")
        datasets.DatasetDict(test=datasets.Dataset.from_list(STANDARD)).save_to_disk(self.folder / "several")
        self.assertEqual(list(rows(self.folder / "several", "test")), STANDARD)

    def test_directories_and_patterns(self):
        for name in ("data/train-00000-of-00002.jsonl", "data/train-00001-of-00002.jsonl", "data/test.jsonl"):
            self.write(name, json.dumps({"prompt": name}))
        self.write("README.md", "# Data")
        self.write(".cache/x.jsonl", "{}")
        names = [row["prompt"][5:10] for row in rows(self.folder, "train")]
        self.assertEqual(names, ["train", "train"])
        self.assertEqual(list(rows(str(self.folder / "data/t*n-*.jsonl"))), list(rows(self.folder, "train")))
        self.refused(self.folder, "files of the splits test, train; choose one by split")
        self.refused(self.folder, "has no split 'validation'; it has test, train", split="validation")
        self.refused(self.folder / "none*.jsonl", "no such file", FileNotFoundError)
        self.refused(self.folder / "none.jsonl", "no such file", FileNotFoundError)
        self.refused(self.write("a.xlsx", "PK"), "no ending of a known format: .jsonl")

    def test_damaged_files_are_refused_by_line(self):
        for name, content, message in [
            ("a.jsonl", '{"a": 1}\n{"a": }\n', "a.jsonl:2: Expecting value"),
            ("b.jsonl", '{"a": NaN}', "b.jsonl:1: NaN is no JSON"),
            ("c.jsonl", '{"a": 1, "a": 2}', "c.jsonl:1: the key 'a' comes twice"),
            ("d.jsonl", b'{"a": 1}\n{"a": "\xff"}', "is not UTF-8 text"),
            ("e.jsonl", "[1]", "e.jsonl:1: is a list; a row is a dict"),
            ("a.csv", "a,b\n1,2\n3\n", "a.csv:3: has 1 values for 2 columns"),
            ("b.csv", "a,a\n1,2\n", "b.csv:1: two columns have the same name"),
            ("c.csv", "", "c.csv:1: is empty"),
            ("d.csv", 'a\n"x\n', "d.csv:2: unexpected end of data"),
            ("a.parquet", b"PAR1" + bytes(40), "a.parquet: "),
            ("a.arrow", b"\xff\xff\xff\xff" + bytes(40), "a.arrow: "),
        ]:
            self.refused(self.write(name, content), message)


class WriteTest(RowsTest):
    def test_the_file_appears_whole_or_not_at_all(self):
        path = self.folder / "out.jsonl"
        self.assertEqual(write_jsonl(rows([{"a": "ü"}]), path), 1)
        self.assertEqual(path.read_text(encoding="utf-8"), '{"a": "ü"}\n')
        with self.assertRaises(ValueError):
            write_jsonl(rows([{"a": 1}, {"a": b"x"}]), path)
        with self.assertRaises(ValueError):
            write_jsonl(iter([]), path)
        self.assertEqual([p.name for p in self.folder.iterdir()], ["out.jsonl"])
        self.assertEqual(path.read_text(encoding="utf-8"), '{"a": "ü"}\n')

    def test_the_command(self):
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(STANDARD), self.folder / "a.parquet")
        self.assertEqual(self.convert("a.parquet", "a.jsonl"), (0, "wrote 2 rows to a.jsonl\n", ""))
        self.assertEqual(list(rows(self.folder / "a.jsonl")), STANDARD)
        code, _, message = self.convert("no.parquet", "a.jsonl")
        self.assertEqual((code, message.count("\n")), (2, 1))
        self.assertTrue(message.startswith("cohort: no.parquet: no such file"), message)

    def test_the_program_hands_over_to_the_package(self):
        program = str(pathlib.Path(os.environ["COHORT"]).resolve())
        self.write("a.csv", "prompt\nx\n")
        done = self.run_command(program, "data", "convert", "a.csv", "a.jsonl")
        self.assertEqual(done, (0, "wrote 1 rows to a.jsonl\n", ""))
        for arguments in (
            ("data", "convert", "a.csv"),
            ("get", "smolm2"),
            ("data", "convert", "a.csv", "b", "--x"),
        ):
            code, _, message = self.run_command(program, *arguments)
            self.assertEqual((code, message.count("\n")), (2, 1), message)
            self.assertTrue(message.startswith("cohort: "), message)
        code, _, message = self.run_command(program, "data", "convert", "a.csv", "b.jsonl", PYTHONPATH="")
        self.assertEqual((code, message.count("\n")), (2, 1), message)
        self.assertIn("has no package cohort, which this command needs", message)

    def convert(self, *arguments):
        return self.run_command(sys.executable, "-m", "cohort", "data", "convert", *arguments)

    def run_command(self, *command, **environment):
        path = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = os.environ | {"PYTHONPATH": str(ROOT / "python"), "PATH": path} | environment
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr


class ImportTest(unittest.TestCase):
    def test_nothing_heavy_is_imported(self):
        code = (
            "import sys, cohort, cohort.datasets, cohort.hub, cohort.commands;"
            "print(sorted({'torch', 'numpy', 'datasets', 'transformers', 'pyarrow', 'huggingface_hub'} & set(sys.modules)))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT / "python", capture_output=True, text=True, check=True
        )
        self.assertEqual(done.stdout, "[]\n")


if __name__ == "__main__":
    unittest.main()
