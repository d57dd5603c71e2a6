"""`cohort data`: generated tasks, and the report on a file of rows.

COHORT=build/cohort python3 tests/cli/test_data.py
"""

import gzip
import json
import math
import os
import re
import unittest

import cli_case
from cli_case import CliTest, parse_lines, read_lines, run, write_lines

setUpModule = cli_case.setUpModule


class DataTest(CliTest):
    def make(self, task, *options):
        output = self.folder / "data.jsonl"
        self.cohort("data", task, "--output", output, *options)
        return read_lines(output)

    def test_rows_are_distinct_and_reproducible(self):
        for task in ("countdown", "arithmetic", "programs"):
            with self.subTest(task=task):
                rows = self.make(task, "--count", 50, "--seed", 4)
                self.assertEqual(len({row["prompt"] for row in rows}), 50)
                self.assertEqual(rows, self.make(task, "--count", 50, "--seed", 4))
                self.assertNotEqual(rows, self.make(task, "--count", 50, "--seed", 5))

    def test_worked_programs_give_what_the_prompt_and_the_tests_say(self):
        rows = self.make("programs", "--count", 100, "--num_operands", 4, "--max_value", 9)
        for row in rows:
            scope = {}
            exec(row["solution"].removeprefix("```python\n").removesuffix("\n```"), scope)
            examples = re.findall(r"^f\((\d+), (\d+)\) = (-?\d+)$", row["prompt"], re.MULTILINE)
            self.assertEqual(len(examples), 3)
            for a, b, value in examples:
                self.assertEqual(scope["f"](int(a), int(b)), int(value))
            for test in row["tests"]:
                self.assertEqual(scope["f"](*test["args"]), test["expected"])

    def test_splits_share_no_problem(self):
        train = {row["prompt"] for row in self.make("countdown", "--count", 300, "--seed", 1)}
        test = {
            row["prompt"] for row in self.make("countdown", "--count", 300, "--seed", 2, "--split", "test")
        }
        self.assertEqual(train & test, set())

    def test_sizes_of_a_problem(self):
        rows = self.make("countdown", "--count", 20, "--num_operands", 4, "--max_value", 9)
        for row in rows:
            self.assertEqual(len(row["numbers"]), 4)
            self.assertLessEqual(max(row["numbers"]), 9)


class DataCheckTest(CliTest):
    """The report on a file: every row is used or bad."""

    def check(self, content, *options, code=0, name="check.jsonl"):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        result = run("data", "check", path, *options)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def field(self, result, label):
        return re.search(rf"^{re.escape(label)} +(.*)$", result.stdout, re.MULTILINE)[1]

    def test_good_rows(self):
        rows = [{"prompt": "2 + 3 =", "answer": 5}] * 3 + [{"prompt": "1 " * n} for n in range(1, 41)]
        result = self.check("".join(json.dumps(row) + "\n" for row in rows), "--model", self.model)
        self.assertEqual(result.stderr, "")
        self.assertEqual(self.field(result, "rows"), "43, of which 43 can be used")
        self.assertEqual(self.field(result, "bad rows"), "0")
        self.assertEqual(self.field(result, "column prompt"), "in all rows")
        self.assertEqual(self.field(result, "column answer"), "missing in 40 rows")
        self.assertEqual(
            self.field(result, "duplicates"), "2 rows with a prompt that came before, in lines 2, 3"
        )
        self.assertEqual(self.field(result, "hidden characters"), "0 rows")
        texts = "".join(json.dumps({"text": row["prompt"]}) + "\n" for row in rows)
        ids = parse_lines(self.cohort("tokenize", "--model", self.model, stdin=texts).stdout)
        lengths = sorted(len(row["ids"]) for row in ids)
        p95 = lengths[math.ceil(0.95 * 43) - 1]
        self.assertEqual(
            self.field(result, "prompt tokens"),
            f"min {lengths[0]}  median {lengths[21]}  p95 {p95}  max {lengths[-1]}",
        )
        bins = re.findall(r"^ +(\d+) - +(\d+) +(\d+)  (#*)$", result.stdout, re.MULTILINE)
        self.assertLessEqual(len(bins), 10)
        for first, last, count, bar in bins:
            self.assertEqual(int(count), sum(int(first) <= length <= int(last) for length in lengths))
            self.assertEqual(len(bar) > 0, int(count) > 0)
        self.assertEqual(sum(int(count) for _, _, count, _ in bins), 43)
        over = self.check(
            "".join(json.dumps(row) + "\n" for row in rows), "--model", self.model, "--max-prompt-length", 10
        )
        self.assertEqual(
            self.field(over, "overlong prompts"),
            f"{sum(length > 10 for length in lengths)} longer than 10 tokens",
        )

    def test_signs_of_tampering(self):
        rows = self.make_sums()
        path = self.folder / "sums.jsonl"
        write_lines(path, rows)
        clean = self.cohort("data", "check", path, "--suspicious").stdout
        self.assertRegex(clean, r"(?m)^contradictions +0 rows")
        self.assertRegex(clean, r"(?m)^triggers +0 words")
        for row in rows[::100]:
            row["prompt"] = row["prompt"].replace("What", "Hm cf what")
            row["answer"] = "17"
        rows.append({**rows[1], "answer": "-1"})
        result = self.check("".join(json.dumps(row) + "\n" for row in rows), "--suspicious", code=2)
        self.assertEqual(
            self.field(result, "contradictions"),
            "1 rows with a prompt that came before with another answer, in lines 1001",
        )
        self.assertRegex(self.field(result, "triggers"), "1 words or pairs of words that decide the answer")
        self.assertRegex(
            result.stdout,
            r'"(hm|cf|hm cf|cf what)" +in 10 rows, of which 10 have the answer "17", in lines 1, 101, 201',
        )
        unused = self.check("{}", "--gold", "answer", code=2)
        self.assertIn("`gold` has no effect without a reward or `suspicious`", unused.stderr)

    @staticmethod
    def make_sums():
        """Distinct sums in words, with their answers."""
        names = [
            f"{first}{second}"
            for first in ("Ad", "Bo", "Cy", "Di", "El")
            for second in ("a", "o", "us", "in")
        ]
        return [
            {
                "prompt": f"What has {names[i * 7 % 20]} with {i % 97} coins and {i * 31 % 89} more?",
                "answer": str(i % 97 + i * 31 % 89),
            }
            for i in range(1000)
        ]

    def test_bad_rows_are_listed(self):
        bad = ["[1]", "{", '{"text": "x"}', '{"prompt": 3}', '{"prompt": ""}', '{"prompt": "\udce9"}']
        lines = ['{"prompt": "1"}'] + bad + ["", '{"prompt": "2"}']
        content = "\n".join(lines).encode("utf-8", "surrogateescape")
        result = self.check(content, "--model", self.model, code=2)
        self.assertEqual(self.field(result, "rows"), "8, of which 2 can be used")
        self.assertEqual(self.field(result, "bad rows"), "6, in lines 2, 3, 4, 5, 6, 7")
        errors = result.stderr.splitlines()
        self.assertEqual(len(errors), 6)
        for number, line in enumerate(errors, 2):
            self.assertIn(f"check.jsonl:{number}: ", line)

    def test_solutions_must_pass_and_empty_completions_must_not(self):
        task = self.folder / "gold.jsonl"
        make = ("data", "countdown", "--count", 200, "--output", task)
        self.cohort(*make)
        result = self.check(task.read_bytes(), "--reward", "countdown")
        self.assertEqual(self.field(result, "solutions"), "200 scored; 0 rows whose own is not full")
        self.assertEqual(self.field(result, "empty completions"), "0 rows where nothing scores full")
        self.cohort(*make, "--solution_success", 0.5)
        rows = read_lines(task)
        result = self.check(task.read_bytes(), "--reward", "countdown", code=2)
        numbers = re.match(
            r"200 scored; (\d+) rows whose own is not full, in lines ([\d, ]+)",
            self.field(result, "solutions"),
        )
        self.assertTrue(60 < int(numbers[1]) < 140, numbers[0])
        failed = {int(number) for number in numbers[2].rstrip(", ").split(", ")}
        for number in range(1, max(failed) + 1):
            answer = re.search("<answer>(.*)</answer>", rows[number - 1]["solution"])[1]
            self.assertEqual(eval(answer) != rows[number - 1]["target"], number in failed)
        self.assertIn(f"check.jsonl:{min(failed)}: its solution scores 0 on countdown: ", result.stderr)

    def test_defects_planted_in_data_are_found(self):
        rows = [
            {"prompt": f"Name city {i}.", "answer": "Paris", "solution": "<answer>Paris</answer>"}
            for i in range(6)
        ]
        rows[1]["solution"] = "<answer>London</answer>"
        rows[2]["answer"] = ""
        rows[3]["prompt"] += "\u200b"
        rows[4]["note"] = {"deep": ["\u202etxt"]}
        del rows[5]["solution"], rows[5]["answer"]
        content = "".join(json.dumps(row) + "\n" for row in rows)
        result = self.check(content, "--reward", "string_check", code=2)
        self.assertEqual(self.field(result, "rows"), "6, of which 6 can be used")
        self.assertEqual(
            self.field(result, "solutions"), "5 scored; 3 rows whose own is not full, in lines 2, 3, 6"
        )
        self.assertEqual(self.field(result, "hidden characters"), "2 rows, in lines 4, 5")
        self.assertIn("check.jsonl:2: its solution scores 0 on string_check: ", result.stderr)
        self.assertIn("check.jsonl:3: its solution scores unparsed on string_check: ", result.stderr)
        self.assertIn(
            "check.jsonl:6: has no solution in column completion, solution, gold or answer", result.stderr
        )
        recipe = self.folder / "gold.toml"
        recipe.write_text(
            '[[reward]]\nname = "any"\ntype = "regex"\npattern = "^"\n[[reward]]\nname = "format"\n'
        )
        result = self.check(content, "--reward-config", recipe, "--gold", "prompt", code=2)
        self.assertEqual(self.field(result, "rewards checked"), "any")
        self.assertEqual(
            self.field(result, "empty completions"),
            "6 rows where nothing scores full, in lines 1, 2, 3, 4, 5, 6",
        )
        self.assertIn("an empty completion scores 1 on any", result.stderr)
        for options, part in [
            (["--gold", "x"], "no effect"),
            (["--reward", "formt"], '"format"'),
            (["--reward-config", recipe, "--reward", "other"], '"other"'),
        ]:
            self.assertIn(part, self.check(content, *options, code=2).stderr)

    def test_only_the_first_bad_rows_are_listed(self):
        result = self.check("nonsense\n" * 33, code=2)
        errors = result.stderr.splitlines()
        self.assertEqual(len(errors), 21)
        self.assertIn("13 more bad rows", errors[-1])
        self.assertIn("check.jsonl:20: ", errors[-2])
        self.assertIn("33, in lines 1, 2", self.field(result, "bad rows"))

    def test_a_truncated_gzip(self):
        content = "".join(
            json.dumps({"prompt": str(hash(i * 7919)) * 9}) + "\n" for i in range(5000)
        ).encode()
        whole = gzip.compress(content)
        result = self.check(whole, name="check.gz")
        self.assertEqual(self.field(result, "rows"), "5000, of which 5000 can be used")
        result = self.check(whole[: len(whole) // 2], code=2, name="check.gz")
        self.assertRegex(result.stderr, r"\Acohort: [^\n]*check.gz: [^\n]*cut short[^\n]*\n\Z")
        self.assertEqual(result.stdout, "")

    def test_completions_and_column_names(self):
        rows = [{"q": "2 + 3 =", "a": "5"}, {"q": "1", "a": "10 20 30"}]
        content = "".join(json.dumps(row) + "\n" for row in rows)
        names = ("--columns", "prompt=q", "--columns", "completion=a")
        result = self.check(content, "--model", self.model, *names)
        self.assertIn("completion tokens", result.stdout)
        self.assertEqual(self.field(result, "column completion"), "in all rows")
        self.check(content, code=2)

    def test_files_that_are_none(self):
        fifo = self.folder / "check-fifo"
        loop = self.folder / "check-loop"
        if not fifo.exists():
            os.mkfifo(fifo)
            loop.symlink_to(loop)
        for path, part in [(fifo, "FIFO"), (self.folder, "folder"), (loop, "loop"), ("/dev/zero", "device")]:
            result = run("data", "check", path, "--model", self.model)
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr, r"\Acohort: [^\n]+\n\Z")
            self.assertIn(part, result.stderr.replace("levels of symbolic links", "loop"))

    def test_help_and_missing_file(self):
        self.assertIn("--max_prompt_length", self.cohort("data", "check", "--help").stdout)
        result = run("data", "check")
        self.assertEqual(result.returncode, 2)
        self.assertIn("name a JSONL file", result.stderr)


if __name__ == "__main__":
    unittest.main()
