"""`cohort verify`: rewards for the rows of a file, by built-in verifiers and by programs and functions of one's own.

COHORT=build/cohort python3 tests/cli/test_verify.py
"""

import json
import pathlib
import re
import subprocess
import time
import unittest

import cli_case
from cli_case import PROGRAM, CliTest, read_lines, run, write_lines

setUpModule = cli_case.setUpModule


def is_gone_soon(pid):
    """Whether a process ends within half a minute; a zombie waits only for whoever started it."""
    for _ in range(3000):
        try:
            state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.01)
    return False


class VerifyTest(CliTest):
    ROWS = [
        {"completion": "The answer is B.", "answer": "B", "completion_ids": [1, 2, 3]},
        {"completion": "A or B", "answer": "B", "completion_ids": [1, 1, 1]},
        {"messages": [{"role": "assistant", "content": "(b)"}], "answer": "B", "completion_ids": [1]},
        {"completion": "B", "completion_ids": []},
    ]

    def verify(self, *options, rows=None):
        source = write_lines(self.folder / "verify.jsonl", rows or self.ROWS)
        output = self.folder / "verified.jsonl"
        self.cohort("verify", "--input", source, "--output", output, *options)
        return read_lines(output)

    def test_a_line_a_row_in_order(self):
        lines = self.verify("--reward", "choice")
        self.assertEqual([line["score"] for line in lines], [1, 0, 1, None])
        self.assertEqual([line["status"] for line in lines], ["ok", "ok", "ok", "unparsed"])
        self.assertIn("verify.jsonl:4", lines[3]["detail"])

    def test_links_are_written_through(self):
        source = write_lines(self.folder / "verify.jsonl", self.ROWS)
        target, link = self.folder / "target.jsonl", self.folder / "link.jsonl"
        target.write_text("what was there\n")
        link.symlink_to(target)
        self.cohort("verify", "--input", source, "--output", link, "--reward", "choice")
        self.assertTrue(link.is_symlink())
        self.assertEqual(len(read_lines(target)), len(self.ROWS))
        # A link as /dev/stdout is one, in a place where it may be lost.
        stdout = self.folder / "stdout"
        stdout.symlink_to("/proc/self/fd/1")
        with open(self.folder / "redirected.jsonl", "w") as file:
            command = [PROGRAM, "verify", "--input", source, "--output", stdout, "--reward", "choice"]
            subprocess.run([str(word) for word in command], stdout=file, check=True)
        self.assertTrue(stdout.is_symlink())
        self.assertEqual(len(read_lines(self.folder / "redirected.jsonl")), len(self.ROWS))

    def test_tables_of_a_file(self):
        path = self.folder / "rewards.toml"
        path.write_text(
            '[[reward]]\nname = "which"\ntype = "choice"\nweight = 2.0\n'
            '[[reward]]\nname = "repeats"\ntype = "repetition"\nngram_size = 1\n'
        )
        lines = self.verify("--reward-config", path)
        self.assertAlmostEqual(lines[0]["score"], 2.0)
        self.assertAlmostEqual(lines[1]["score"], -2 / 3)
        self.assertEqual(lines[1]["rewards"]["which"]["score"], 0)
        self.assertEqual((lines[3]["score"], lines[3]["status"]), (None, "unparsed"))
        self.assertTrue(lines[3]["detail"].startswith("which: "))
        one = self.verify("--reward-config", path, "--reward", "repeats")
        self.assertAlmostEqual(one[1]["score"], -2 / 3)

    def test_more_rows_than_are_held_at_once(self):
        lines = self.verify("--reward", "choice", rows=self.ROWS[:2] * 1500)
        self.assertEqual([line["score"] for line in lines], [1, 0] * 1500)

    # A completion for each verifier of text, and what its explanation must show.
    EXPLAINED = {
        "accuracy": (
            {"completion": "so \\boxed{\\frac{1}{2}}", "answer": "0.5"},
            ["frac{1}{2}", "divide(1, 2)", "0.5"],
        ),
        "choice": (
            {"completion": "The answer is B.", "answer": "(b)"},
            ["The answer is B.", "read as", "ABCDEFGHIJ"],
        ),
        "countdown": (
            {"completion": "<answer>2 * 3 + 1</answer>", "numbers": [1, 2, 3], "target": 6},
            ["2 * 3 + 1", "value 7; numbers 2 3 1", "does not equal the target"],
        ),
        "format": (
            {"completion": "<think></think>4"},
            ["<answer>", "missing", "<think>", "1 time, at byte 1"],
        ),
        "json_schema": (
            {
                "completion": '```json\n{"a": [1, "x"]}\n```',
                "schema": {"properties": {"a": {"items": {"type": "integer"}}}},
            },
            ["the last fenced block", "an object of 1", "/a/1", "not of type integer"],
        ),
        "language_consistency": (
            {
                "prompt": "Please tell me how many apples there are.",
                "completion": "There are seven apples in the basket.",
            },
            ["en, the prompt's", "words in en", "There are seven"],
        ),
        "numeric": ({"completion": "It is 12.5 %", "answer": "0.125"}, ["12.5 %", "tolerance", "0.125"]),
        "string_check": ({"completion": "\\boxed{Paris}", "answer": "Paris"}, ["Paris", "operation", "eq"]),
        "tag_count": ({"completion": "<answer>4</answer>"}, ["<think>", "missing"]),
        "text_similarity": (
            {"completion": "the cat", "answer": "the dog"},
            ["the cat", "the dog", "rouge_l"],
        ),
        "repetition": ({"completion": "x", "completion_ids": [1, 2, 1, 2, 1, 2]}, ["n-grams repeat"]),
    }

    def test_explanations_show_what_was_read_and_why(self):
        for reward, (row, parts) in self.EXPLAINED.items():
            with self.subTest(reward=reward):
                source = write_lines(self.folder / "explain.jsonl", [row])
                text = self.cohort("verify", "--explain", "--reward", reward, "--input", source).stdout
                self.assertRegex(text, rf"\A[^\n]*explain.jsonl:1\n  {reward}: [-0-9.]+")
                for part in parts:
                    self.assertIn(part, text)

    def test_explanations_of_many_rows_beside_the_output(self):
        path = self.folder / "rewards.toml"
        path.write_text(
            '[[reward]]\nname = "which"\ntype = "choice"\n[[reward]]\nname = "match"\ntype = "regex"\npattern = "B"\n'
        )
        source = write_lines(self.folder / "verify.jsonl", self.ROWS[:2] * 700)
        output = self.folder / "verified.jsonl"
        options = ("--reward-config", path, "--input", source, "--output", output)
        text = self.cohort("verify", "--explain", *options).stdout
        self.assertEqual(
            re.findall(r"^\S*verify.jsonl:(\d+)$", text, re.MULTILINE), [str(i) for i in range(1, 1401)]
        )
        self.assertEqual(re.findall(r"^  which: (\d)", text, re.MULTILINE), ["1", "0"] * 700)
        self.assertIn('"B" at byte 15', text)
        self.assertEqual([line["rewards"]["which"]["score"] for line in read_lines(output)], [1, 0] * 700)
        result = run("verify", "--reward", "choice", "--input", source)
        self.assertEqual(result.returncode, 2)
        self.assertIn("--output", result.stderr)

    def table(self, **keys):
        """A file with one [[reward]], whose values are texts and lists in JSON, which TOML reads too."""
        path = self.folder / "own.toml"
        lines = [f"{key} = {json.dumps(value)}\n" for key, value in {"name": "own", **keys}.items()]
        path.write_text("[[reward]]\n" + "".join(lines))
        return path

    def test_a_program_of_ones_own(self):
        program = self.folder / "own.py"
        program.write_text(
            "import json, sys\n"
            "def answer(row):\n"
            "    if row['completion'] == 'missing': return []\n"
            "    if row['completion'] == 'text': return [{'id': row['id'], 'score': 'much'}]\n"
            "    if row['completion'] == 'none': return [{'id': row['id'], 'score': None}]\n"
            "    return [{'id': row['id'], 'score': int(row['completion']) + row['more']}]\n"
            "for line in sys.stdin:\n"
            "    request = json.loads(line)\n"
            "    rewards = [entry for row in request['rows'][::-1] for entry in answer(row)]\n"
            "    print(json.dumps({'id': request['id'], 'rewards': rewards}), flush=True)\n"
        )
        texts = [str(i) if i % 7 else ("missing", "text", "none")[i // 7 % 3] for i in range(70)]
        rows = [{"completion": text, "more": i / 2} for i, text in enumerate(texts)]
        for command in (["python3", str(program)], f"cd / && exec python3 {program}"):
            table = self.table(type="command", command=command, workers=2, batch_size=4)
            lines = self.verify("--reward-config", table, rows=rows)
            self.assertEqual(
                [line["score"] for line in lines], [i * 1.5 if i % 7 else None for i in range(70)]
            )
            for i, line in enumerate(lines):
                expected = "ok" if i % 7 else ("error", "error", "skipped")[i // 7 % 3]
                self.assertEqual(line["status"], expected)
                if expected == "error":
                    self.assertIn(f"verify.jsonl:{i + 1}: ", line["detail"])
                self.assertTrue(expected == "ok" or line["detail"])

    def test_a_python_function_as_trl_calls_it(self):
        module = self.folder / "own_rewards.py"
        module.write_text(
            "print('loaded')\n"
            "def texts(prompts, completions, completion_ids, answer, **columns):\n"
            "    print('noise')\n"
            "    return [None if a is None else float(p + c == a) + len(i)\n"
            "            for p, c, i, a in zip(prompts, completions, completion_ids, answer)]\n"
            "async def chats(prompts, completions, **columns):\n"
            "    return [float([m['role'] for m in p + c] == ['user', 'assistant'] and c[0]['content'] == '4')\n"
            "            for p, c in zip(prompts, completions)]\n"
        )
        table = self.table(type="python", function=f"{module}:texts", batch_size=3)
        rows = [
            {"prompt": "2+2=", "completion": "4", "completion_ids": [1, 2], "answer": "2+2=4"},
            {"prompt": "2+2=", "completion": "5", "answer": "2+2=4"},
            {"prompt": "2+2=", "completion": "5"},
        ]
        lines = self.verify("--reward-config", table, rows=rows)
        self.assertEqual([line["score"] for line in lines], [3, 0, None])
        self.assertEqual(lines[2]["status"], "skipped")
        table = self.table(type="python", function=f"{module}:chats")
        user, four = {"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}
        rows = [
            {"prompt": [user], "completion": [four]},
            {"prompt": [user], "completion": "4"},
            {"messages": [user, four]},
            {"completion": [four]},
        ]
        lines = self.verify("--reward-config", table, rows=rows)
        self.assertEqual([line["score"] for line in lines], [1, 1, 1, 0])

    def test_a_killed_run_leaves_no_program(self):
        program = self.folder / "sleeper.py"
        pids = self.folder / "pids"
        program.write_text(
            "import os, pathlib, subprocess, time\n"
            "input()\n"
            "child = subprocess.Popen(['sleep', '1000']).pid\n"
            f"pathlib.Path({str(pids)!r}).write_text(f'{{os.getpid()}} {{child}} ')\n"
            "time.sleep(1000)\n"
        )
        source = write_lines(self.folder / "verify.jsonl", self.ROWS)
        table = self.table(type="command", command=f"cd / && python3 {program}", timeout_s=1000)
        arguments = ["verify", "--reward-config", table, "--input", source, "--output", self.folder / "OUT"]
        with subprocess.Popen([PROGRAM, *map(str, arguments)]) as process:
            while not pids.exists() or not pids.read_text().endswith(" "):
                time.sleep(0.01)
            process.kill()
        for pid in pids.read_text().split():
            self.assertTrue(is_gone_soon(pid))


if __name__ == "__main__":
    unittest.main()
