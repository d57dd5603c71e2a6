"""The program from outside: every command on a tiny random model, and what it says to wrong input.

COHORT=build/cohort python3 tests/cli/test_cli.py

Plain python3, no packages. The model is made by `cohort init` with the demo's tokenizer.
"""

import functools
import gzip
import json
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import time
import unittest

# Threads that wait by spinning take the cores from each other where tests run side by side: 17 s became 0.8.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

PROGRAM = pathlib.Path(os.environ["COHORT"]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
DEMO = ROOT / "recipes" / "demo"
COMMANDS = [
    "sample",
    "score",
    "eval",
    "verify",
    "dpo",
    "reward-train",
    "tokenize",
    "detokenize",
    "render",
    "data",
    "get",
    "init",
    "info",
    "bench",
    "docs",
]

# A large initializer_range, so that the tokens' probabilities differ widely and every weight matters.
CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "vocab_size": 420,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 256,
    "initializer_range": 0.4,
    "tie_word_embeddings": False,
    "eos_token_id": 0,
}
CONTEXT, VOCABULARY = CONFIG["max_position_embeddings"], CONFIG["vocab_size"]
COMPLETION_LENGTH = 12

# Lengths around the edges of cache pages (16) and attention tiles (64).
PROMPT_LENGTHS = [1, 15, 16, 17, 64, 130]


def run(*arguments, stdin=None):
    return subprocess.run(
        [PROGRAM, *map(str, arguments)], input=stdin, capture_output=True, text=True, encoding="utf-8"
    )


def must_run(*arguments):
    result = run(*arguments)
    assert result.returncode == 0, result.stderr


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def parse_lines(text):
    """Not str.splitlines, which cuts at U+2028 too."""
    return [json.loads(line) for line in text.split("\n")[:-1]]


def read_lines(path):
    return parse_lines(path.read_text(encoding="utf-8"))


def prompt_rows():
    """Any ids of the vocabulary, those without a token in the tokenizer included."""
    return [{"prompt_ids": [(7 + 31 * i + 101 * n) % VOCABULARY for i in range(n)]} for n in PROMPT_LENGTHS]


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


def num_parameters():
    c = CONFIG
    hidden, width = c["hidden_size"], c["head_dim"]
    attention = 2 * hidden * width * (c["num_attention_heads"] + c["num_key_value_heads"]) + 2 * width
    layer = attention + 3 * hidden * c["intermediate_size"] + 2 * hidden
    return 2 * c["vocab_size"] * hidden + c["num_hidden_layers"] * layer + hidden


def setUpModule():
    """One model for all tests, which only read it."""
    folder = tempfile.TemporaryDirectory(prefix="cohort-cli-")
    unittest.addModuleCleanup(folder.cleanup)
    files = CliTest
    files.folder = pathlib.Path(folder.name)
    files.config = files.folder / "config.json"
    files.config.write_text(json.dumps(CONFIG))
    files.tokenizer = files.folder / "tokenizer"
    files.tokenizer.mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(DEMO / name, files.tokenizer)
    files.model = files.folder / "model"
    must_run(
        "init", "--config", files.config, "--tokenizer", files.tokenizer, "--seed", 3, "--output", files.model
    )
    files.no_tokenizer = files.folder / "no-tokenizer"
    shutil.copytree(files.model, files.no_tokenizer)
    (files.no_tokenizer / "tokenizer.json").unlink()
    files.prompts = write_lines(files.folder / "prompts.jsonl", prompt_rows())
    files.texts = write_lines(
        files.folder / "texts.jsonl", [{"prompt": "2 + 3 ="}, {"prompt": "numbers: 4 5 6"}]
    )
    files.countdown = files.folder / "countdown.jsonl"
    must_run("data", "countdown", "--count", 6, "--seed", 1, "--output", files.countdown)


class CliTest(unittest.TestCase):
    def cohort(self, *arguments, stdin=None):
        result = run(*arguments, stdin=stdin)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def sample(self, *options, model=None, prompts=None, generations=3, seed=5):
        output = self.folder / "samples.jsonl"
        self.cohort(
            *(
                "sample",
                "--model",
                model or self.model,
                "--input",
                prompts or self.prompts,
                "--output",
                output,
            ),
            *("--num-generations", generations, "--max-completion-length", COMPLETION_LENGTH, "--seed", seed),
            *options,
        )
        return read_lines(output)

    def score(self, rows, *options):
        output = self.folder / "scores.jsonl"
        samples = write_lines(self.folder / "samples-to-score.jsonl", rows)
        self.cohort("score", "--model", self.model, "--input", samples, "--output", output, *options)
        return [row["logprobs"] for row in read_lines(output)]


class HelpTest(CliTest):
    def test_every_command_lists_its_keys(self):
        usage = self.cohort("--help").stdout
        for command in COMMANDS:
            with self.subTest(command=command):
                self.assertIn(command, usage)
                text = self.cohort(command, "--help").stdout
                self.assertTrue(text.startswith(f"cohort {command} "), text)
        self.assertIn("--temperature", self.cohort("sample", "--help").stdout)

    def test_no_command_prints_the_usage(self):
        result = run()
        self.assertEqual(result.returncode, 2)
        self.assertIn("sample", result.stdout)

    def test_version_names_the_project_and_torch(self):
        self.assertRegex(self.cohort("--version").stdout, r"^cohort \d+\.\d+\.\d+, with torch \d+\.\d+")

    def test_docs_prints_the_page_that_lies_in_docs(self):
        page = self.cohort("docs", "configuration").stdout
        self.assertEqual(page, (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8"))


class ThreadsTest(CliTest):
    """How long threads wait for each other before they sleep; libgomp prints what it took."""

    def spin_count(self, **environment):
        names = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
        rest = {name: value for name, value in os.environ.items() if name not in names}
        result = subprocess.run(
            [PROGRAM, "--help"],
            env={**rest, "OMP_DISPLAY_ENV": "verbose", **environment},
            capture_output=True,
            text=True,
        )
        return re.search(r"GOMP_SPINCOUNT = '(\w+)'", result.stderr)[1]

    def test_short_spinning_unless_told_otherwise(self):
        self.assertEqual(self.spin_count(), "30000")
        self.assertEqual(self.spin_count(GOMP_SPINCOUNT="77"), "77")
        self.assertEqual(self.spin_count(OMP_WAIT_POLICY="passive"), "0")


class TextTest(CliTest):
    def test_tokens_of_a_text_and_back(self):
        texts = [
            "",
            "2 + 3",
            "<think>so</think><answer>1</answer>",
            "é 漢字 🎲\n\ttab",
            "line\u2028end",
            '"\\',
        ]
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        tokens = self.cohort("tokenize", "--model", self.tokenizer, stdin=lines).stdout
        rows = parse_lines(tokens)
        self.assertEqual(len(rows), len(texts))
        self.assertEqual(rows[0], {"ids": []})
        self.assertEqual(rows[2]["ids"][0], 1)  # <think> is one token of the demo's tokenizer
        back = self.cohort("detokenize", "--model", self.tokenizer, stdin=tokens).stdout
        self.assertEqual(parse_lines(back), [{"text": text} for text in texts])

    def test_offsets_are_in_code_points(self):
        lines = json.dumps({"text": "é<think>"}) + "\n"
        row = parse_lines(
            self.cohort("tokenize", "--model", self.tokenizer, "--offsets", stdin=lines).stdout
        )[0]
        self.assertEqual(row["ids"][-1], 1)
        self.assertEqual(row["offsets"][-1], [1, 8])
        self.assertEqual({tuple(span) for span in row["offsets"][:-1]}, {(0, 1)})

    def test_special_tokens_can_be_left_out(self):
        line = '{"ids": [0, 1]}\n'
        self.assertEqual(
            self.cohort("detokenize", "--model", self.tokenizer, "--skip-special-tokens", stdin=line).stdout,
            '{"text":"<think>"}\n',
        )
        shown = self.cohort("detokenize", "--model", self.tokenizer, stdin=line).stdout
        self.assertEqual(shown, '{"text":"<|endoftext|><think>"}\n')

    def test_ids_of_a_padded_vocabulary_have_no_text(self):
        line = json.dumps({"ids": [VOCABULARY - 1]}) + "\n"
        self.assertEqual(self.cohort("detokenize", "--model", self.model, stdin=line).stdout, '{"text":""}\n')


class RenderTest(CliTest):
    TEMPLATE = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content or raise_exception('say something') }}{% endfor %}"
        "{{ strftime_now('|%a %d %b %Y %H:%M:%S') }}"
    )

    def render(self, text, *options, template=TEMPLATE):
        model = self.folder / "chat"
        shutil.rmtree(model, ignore_errors=True)
        shutil.copytree(self.tokenizer, model)
        if template is not None:
            (model / "chat_template.jinja").write_text(template)
        path = self.folder / "chat.jsonl"
        path.write_text(text, encoding="utf-8")
        return run("render", "--model", model, "--input", path, *options)

    def test_a_refusal_is_said_on_its_line_and_the_rest_goes_on(self):
        lines = [
            '{"messages": [{"role": "user", "content": "hi"}]}',
            '{"messages": [{"role": "user", "content": ""}]}',
            "",
            '{"messages": [{"role": "user"',
            '{"prompt": "hi"}',
            '{"messages": [{"role": "user", "content": {"a": 1}}], "continue_final_message": 5}',
            '{"messages": [{"role": "user", "content": "hi"}], "add_generation_prompt": "yes"}',
            '{"messages": [{"role": "user", "content": "hé"}], "unknown": 1}',
        ]
        result = self.render("\n".join(lines), "--now", "2027-03-04T05:06:07")
        rows = parse_lines(result.stdout)
        self.assertEqual([sorted(row) for row in rows], [["ids", "text"], *[["error"]] * 5, ["ids", "text"]])
        self.assertEqual(rows[0]["text"], "<user>hi|Thu 04 Mar 2027 05:06:07")
        self.assertEqual(rows[1]["error"], "say something")
        self.assertIn("chat.jsonl:4: malformed JSON at byte", rows[2]["error"])
        self.assertIn("messages", rows[3]["error"])
        self.assertIn("continue_final_message", rows[4]["error"])
        self.assertIn("add_generation_prompt", rows[5]["error"])
        self.assertEqual(result.returncode, 2)
        self.assertIn("chat.jsonl: 5 conversations were refused", result.stderr)

    def test_ids_are_those_of_the_text_without_more(self):
        result = self.render(
            '{"messages": [{"role": "user", "content": "2 + 3"}]}\n', template="{{ messages[0].content }}"
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        text = self.cohort("detokenize", "--model", self.tokenizer, stdin=result.stdout).stdout
        self.assertEqual(parse_lines(text), [{"text": "2 + 3"}])

    def test_wrong_arguments(self):
        for now in ["now", "2027-03-04", "2027-02-30T00:00:00", "2027-03-04T05:06:07Z"]:
            result = self.render("", "--now", now)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(f'--now must be a time such as 2027-03-04T05:06:07, not "{now}"', result.stderr)
        result = self.render("", template=None)
        self.assertEqual(result.returncode, 2)
        self.assertIn("has no chat template", result.stderr)
        result = self.render("", template="{% if %}")
        self.assertEqual(result.returncode, 2)
        self.assertIn("chat_template.jinja: line 1: ", result.stderr)


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


class DatasetTest(CliTest):
    """Training on compressed files, mixtures and splits, and resuming in the middle of them."""

    RECIPE = """
        seed = 4
        [[reward]]
        name = "format"
        [rollout]
        prompts_per_step = 3
        num_generations = 2
        max_completion_length = 4
        [optimizer]
        learning_rate = 1e-3
        [train]
        save_steps = 1
    """

    def write_recipe(self, data):
        path = self.folder / "data-recipe.toml"
        path.write_text(self.RECIPE + data)
        return path

    def rows(self, name, count):
        return "".join(json.dumps({"prompt": f"{name} {i}"}) + "\n" for i in range(count))

    def mixture(self):
        (self.folder / "mix-a.jsonl").write_text(self.rows("a", 8))
        (self.folder / "mix-b1.gz").write_bytes(gzip.compress(self.rows("b", 3).encode()))
        (self.folder / "mix-b2.gz").write_bytes(
            gzip.compress(self.rows("c", 2).replace("prompt", "question").encode())
        )
        return self.write_recipe(f"""
            [[data.source]]
            path = "{self.folder}/mix-a.jsonl"
            weight = 2
            domain = "letters"
            [[data.source]]
            path = ["{self.folder}/mix-b1.*"]
            weight = 1
            """)

    def train(self, recipe, name, *options, code=0):
        run_dir = self.folder / name
        places = ("--model.path", self.model, "--run-dir", run_dir)
        result = run("train", recipe, *places, "--threads", 1, *options)
        self.assertEqual(result.returncode, code, result.stderr)
        return run_dir, result.stderr

    def drawn(self, run_dir):
        rows = read_lines(run_dir / "completions.jsonl")
        return [row["prompt"] for row in rows if row["sample"] == 0]

    def test_a_mixture_keeps_its_weights_and_resumes_exactly(self):
        recipe = self.mixture()
        whole, log = self.train(recipe, "mix-whole", "--max-steps", 9)
        self.assertIn("67% of the draws", log)
        prompts = self.drawn(whole)
        self.assertEqual(len(prompts), 27)
        for step in range(9):
            self.assertEqual(sum(p.startswith("a") for p in prompts[3 * step : 3 * step + 3]), 2)
        tags = {(row["prompt"][0], row.get("domain")) for row in read_lines(whole / "completions.jsonl")}
        self.assertEqual(tags, {("a", "letters"), ("b", None)})
        # Every row comes before any comes again.
        self.assertEqual(len({p for p in prompts if p.startswith("a")}), 8)
        self.assertEqual(sorted(p for p in prompts if p.startswith("b"))[::3], ["b 0", "b 1", "b 2"])

    def test_sources_take_columns_that_they_do_not_name_from_the_data_section(self):
        self.mixture()
        recipe = self.write_recipe(f"""
            [data]
            columns = {{prompt = "question"}}
            [[data.source]]
            path = "{self.folder}/mix-a.jsonl"
            columns = {{prompt = "prompt"}}
            [[data.source]]
            path = "{self.folder}/mix-b2.gz"
            """)
        run_dir, _ = self.train(recipe, "columns-run", "--num-train-epochs", 1)
        self.assertEqual(set(self.drawn(run_dir)[:10]), {*(f"a {i}" for i in range(8)), "c 0", "c 1"})

    def test_resuming_on_edited_data_is_refused(self):
        recipe = self.mixture()
        options = ("--max-steps", 4, "--train.save_total_limit", 9)
        run_dir, _ = self.train(recipe, "mix-edited", *options)
        expected = self.drawn(run_dir)
        for step in (3, 4):
            shutil.rmtree(run_dir / "checkpoints" / f"step-{step:08}")
        self.train(recipe, "mix-edited", *options, "--resume")
        self.assertEqual(self.drawn(run_dir), expected)
        for step in (3, 4):
            shutil.rmtree(run_dir / "checkpoints" / f"step-{step:08}")
        path = self.folder / "mix-a.jsonl"
        path.write_text(path.read_text().replace("a 5", "a 9"))
        _, errors = self.train(recipe, "mix-edited", *options, "--resume", code=2)
        self.assertIn("mix-a.jsonl has changed since the checkpoint", errors)

    def test_held_out_prompts_are_evaluated_and_not_trained_on(self):
        (self.folder / "split.jsonl").write_text(self.rows("s", 30))
        recipe = self.write_recipe(
            f'[data]\npath = "{self.folder}/split.jsonl"\ntest_split_size = 0.3\nshuffle_dataset = false\n'
        )
        run_dir, log = self.train(
            recipe, "split-run", "--num-train-epochs", 1, "--eval-steps", 5, "--num-generations-eval", 2
        )
        used = int(re.search(r"training data .*: (\d+) of 30 rows", log)[1])
        held_out = int(re.search(r"evaluation data .*: (\d+) of 30 rows", log)[1])
        self.assertEqual(used + held_out, 30)
        self.assertGreater(held_out, 2)
        self.assertEqual(len(set(self.drawn(run_dir))), used)
        self.assertIn("eval_reward", read_lines(run_dir / "metrics.jsonl")[-1])

    def test_overlong_prompts_and_columns(self):
        rows = [{"question": "1 " * n} for n in (1, 2, 60)]
        write_lines(self.folder / "long-q.jsonl", rows)
        recipe = self.write_recipe(
            f'[data]\npath = "{self.folder}/long-q.jsonl"\ncolumns = {{prompt = "question"}}\n'
            "max_prompt_length = 20\n"
        )
        _, errors = self.train(recipe, "long-run", "--max-steps", 1, code=2)
        self.assertIn("long-q.jsonl:3: the prompt has", errors)
        self.assertFalse((self.folder / "long-run").exists())
        run_dir, log = self.train(recipe, "long-run", "--max-steps", 1, "--filter-overlong-prompts")
        self.assertIn("1 too long", log)
        self.assertEqual({prompt.strip() for prompt in self.drawn(run_dir)}, {"1", "1 1"})

    def test_wrong_settings(self):
        recipe = self.mixture()
        for options, part in [
            (("--data.path", "x"), "exclude each other"),
            (("--data.source.2.path", "x"), "some have a weight and others none"),
            (("--data.source.2.weight", 1), "data.source.2.path is not set"),
            (("--data.source.0.weight", 0), "above 0"),
            (("--data.test_split_size", 1), "below 1"),
            (("--data.deduplicate", "yes"), "none, prompt or row"),
            (("--data.columns", "prompt"), "table of strings"),
            (("--data.source.1.columns", "prompt=nowhere"), '"nowhere"'),
        ]:
            with self.subTest(options=options):
                _, errors = self.train(recipe, "wrong-run", "--max-steps", 1, *options, code=2)
                self.assertIn(part, errors)
                self.assertFalse((self.folder / "wrong-run").exists())


class ModelDirectoryTest(CliTest):
    def init(self, name, *options):
        output = self.folder / name
        self.cohort(
            "init", "--config", self.config, "--tokenizer", self.tokenizer, "--output", output, *options
        )
        return output

    def test_init_is_a_function_of_the_seed(self):
        weights = (self.model / "model.safetensors").read_bytes()
        self.assertEqual((self.init("same", "--seed", 3) / "model.safetensors").read_bytes(), weights)
        self.assertNotEqual((self.init("other", "--seed", 4) / "model.safetensors").read_bytes(), weights)

    def test_init_writes_a_whole_directory(self):
        folder = self.init("half/", "--dtype", "bfloat16")
        names = sorted(path.name for path in folder.iterdir())
        self.assertEqual(
            names, ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
        )
        self.assertEqual(json.loads((folder / "config.json").read_text())["dtype"], "bfloat16")

    def test_info_states_sizes(self):
        count = num_parameters()
        text = self.cohort("info", self.model).stdout
        for part in [
            "Qwen3ForCausalLM",
            f"parameters    {count}\n",
            f"{CONTEXT} tokens",
            "of Float",
            "0 <|endoftext|>",
            "KV cache 512 bytes a token",  # 2 layers, keys and values of 2 heads of 16, 4 bytes each
            "KV cache 256 bytes a token",
            "float32       20 bytes a parameter to train",
            "bfloat16      18 bytes a parameter to train",
            f"gradients {4 * count / 1024:.1f} KiB, optimizer {8 * count / 1024:.1f} KiB",
            f"weights {6 * count / 1024:.1f} KiB, program",
            f"planned for   8 prompts of {CONTEXT // 2} tokens x 8 completions of {CONTEXT - CONTEXT // 2}",
        ]:
            self.assertIn(part, text)
        self.assertIn("prompts must be token ids", self.cohort("info", self.no_tokenizer).stdout)

    def test_info_lists_every_unsupported_key(self):
        folder = self.folder / "unsupported"
        shutil.copytree(self.model, folder)
        config = json.loads((folder / "config.json").read_text())
        config |= {"hidden_act": "relu", "quantization_config": {"bits": 4}, "head_dim": 3}
        config["rope_parameters"] = {"rope_type": "spiral", "rope_theta": 1e4}
        (folder / "config.json").write_text(json.dumps(config))
        result = run("info", folder)
        self.assertEqual(result.returncode, 2)
        self.assertIn("listed above", result.stderr)
        lines = [line for line in result.stdout.splitlines() if line.startswith("unsupported")]
        self.assertEqual(len(lines), 4, lines)
        for key in ("hidden_act", "quantization_config", "head_dim", "rope_parameters"):
            self.assertTrue(any(f'"{key}' in line for line in lines), key)
        self.assertIn("Qwen3ForCausalLM", result.stdout)


class SampleTest(CliTest):
    def test_rows_have_the_stated_form(self):
        rows = self.sample()
        self.assertEqual(
            [row["prompt_index"] for row in rows], [i for i in range(len(PROMPT_LENGTHS)) for _ in "abc"]
        )
        given = prompt_rows()
        for row in rows:
            self.assertEqual(
                list(row),
                ["prompt_index", "prompt_ids", "completion_ids", "logprobs", "finish_reason", "text"],
            )
            self.assertEqual(row["prompt_ids"], given[row["prompt_index"]]["prompt_ids"])
            self.assertEqual(len(row["logprobs"]), len(row["completion_ids"]))
            self.assertLessEqual(len(row["completion_ids"]), COMPLETION_LENGTH)
            stopped = row["completion_ids"][-1] == CONFIG["eos_token_id"]
            self.assertEqual(row["finish_reason"], "stop" if stopped else "length")
            self.assertTrue(stopped or len(row["completion_ids"]) == COMPLETION_LENGTH)
            for value in row["logprobs"]:
                self.assertLessEqual(value, 0.0)
                self.assertEqual(
                    struct.unpack("f", struct.pack("f", value))[0], value, "not the bits of a float32"
                )
        self.assertGreater(len({tuple(row["completion_ids"]) for row in rows}), len(PROMPT_LENGTHS))

    def test_text_is_what_detokenize_gives(self):
        rows = self.sample()
        lines = "".join(json.dumps({"ids": row["completion_ids"]}) + "\n" for row in rows)
        options = ("--model", self.model, "--skip-special-tokens")
        texts = parse_lines(self.cohort("detokenize", *options, stdin=lines).stdout)
        self.assertEqual([row["text"] for row in rows], [text["text"] for text in texts])

    def test_text_prompts_are_tokenized(self):
        lines = self.texts.read_text().replace('"prompt"', '"text"')
        tokens = parse_lines(self.cohort("tokenize", "--model", self.model, stdin=lines).stdout)
        ids = [row["ids"] for row in tokens]
        by_ids = write_lines(self.folder / "by-ids.jsonl", [{"prompt_ids": row} for row in ids])
        self.assertEqual(self.sample(prompts=self.texts), self.sample(prompts=by_ids))

    def test_greedy_takes_the_likeliest_token(self):
        greedy = self.sample("--temperature", 0, generations=2)
        self.assertEqual(greedy, self.sample("--temperature", 0, generations=2, seed=6))
        for first, second in zip(greedy[::2], greedy[1::2]):
            self.assertEqual(first, second)
        # No other token is likelier: a first token sampled elsewhere never has a larger log-probability.
        best = {row["prompt_index"]: row["logprobs"][0] for row in greedy}
        for row in self.sample("--max-completion-length", 1, generations=16):
            self.assertLessEqual(row["logprobs"][0], best[row["prompt_index"]])

    def test_top_k_of_one_is_certain(self):
        rows = self.sample("--top-k", 1, generations=1)
        greedy = self.sample("--temperature", 0, generations=1)
        self.assertEqual([row["completion_ids"] for row in rows], [row["completion_ids"] for row in greedy])
        self.assertEqual({value for row in rows for value in row["logprobs"]}, {0.0})

    def test_every_filter_renormalises_over_what_it_keeps(self):
        for filter in (("--top-k", 5), ("--top-p", 0.5), ("--min-p", 0.3)):
            with self.subTest(filter=filter):
                rows = self.sample(*filter)
                over_all = self.score(rows)
                gains = [a - b for row, whole in zip(rows, over_all) for a, b in zip(row["logprobs"], whole)]
                self.assertGreaterEqual(min(gains), 0.0)
                self.assertGreater(max(gains), 0.1)

    def test_ignore_eos_goes_on_to_the_length(self):
        # Every token of the vocabulary is as likely as any other at this temperature, so that stops do occur.
        hot = ("--temperature", 1e6, "--max-completion-length", 100)
        rows = self.sample(*hot, prompts=self.texts, generations=16)
        self.assertIn("stop", {row["finish_reason"] for row in rows})
        rows = self.sample(*hot, "--ignore-eos", prompts=self.texts, generations=16)
        self.assertEqual(
            {(row["finish_reason"], len(row["completion_ids"])) for row in rows}, {("length", 100)}
        )

    def test_the_context_ends_a_completion(self):
        full = write_lines(self.folder / "full.jsonl", [{"prompt_ids": [5] * (CONTEXT - 3)}])
        rows = self.sample("--ignore-eos", "--max-completion-length", 10000, prompts=full)
        self.assertEqual([len(row["completion_ids"]) for row in rows], [3, 3, 3])

    def test_stop_strings_end_the_text(self):
        plain = self.sample("--temperature", 0, prompts=self.texts, generations=1)
        text = plain[0]["text"]
        self.assertGreater(len(text), 4)
        stop = text[2:4]
        stops = ["--temperature", 0, "--stop-strings", stop, "--stop-strings", "never seen"]
        whole = self.sample(*stops, prompts=self.texts, generations=1)
        stops += ["--include-stop-str-in-output", "false"]
        cut = self.sample(*stops, prompts=self.texts, generations=1)
        self.assertEqual(cut[0]["text"], text[: text.index(stop)])
        self.assertTrue(text.startswith(whole[0]["text"]))
        self.assertTrue(whole[0]["text"].startswith(text[: text.index(stop) + len(stop)]))
        self.assertEqual(whole[0]["completion_ids"], cut[0]["completion_ids"])
        self.assertEqual(cut[0]["finish_reason"], "stop")
        count = len(cut[0]["completion_ids"])
        self.assertLess(count, len(plain[0]["completion_ids"]))
        self.assertEqual(cut[0]["completion_ids"], plain[0]["completion_ids"][:count])

    def test_a_model_without_tokenizer_takes_ids(self):
        rows = self.sample()
        output = self.folder / "ids-only.jsonl"
        arguments = ["--num-generations", 3, "--max-completion-length", COMPLETION_LENGTH, "--seed", 5]
        result = self.cohort(
            "sample", "--model", self.no_tokenizer, "--input", self.prompts, "--output", output, *arguments
        )
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertIn("no tokenizer.json", result.stderr)
        self.assertEqual(read_lines(output), [{**row, "text": ""} for row in rows])


class ExactnessTest(CliTest):
    """The tokens and their log-probabilities are the same bits whatever the machinery around them does."""

    DTYPES = ("float32", "bfloat16")

    def test_score_gives_the_bits_of_sample(self):
        for dtype in self.DTYPES:
            for temperature in (1.0, 0.7):
                settings = ("--dtype", dtype, "--temperature", temperature)
                rows = self.sample(*settings)
                expected = [row["logprobs"] for row in rows]
                self.assertGreater(len({value for row in expected for value in row}), 100)
                self.assertEqual(self.score(rows, *settings), expected)
        self.assertNotEqual(self.score(rows, "--dtype", "bfloat16", "--temperature", 0.71), expected)

    def test_score_does_not_depend_on_threads_or_budget(self):
        for dtype in self.DTYPES:
            rows = self.sample("--dtype", dtype)
            expected = [row["logprobs"] for row in rows]
            for threads, budget in ((1, 1), (2, 100), (3, 37), (5, 8192), (8, 250)):
                with self.subTest(dtype=dtype, threads=threads, budget=budget):
                    options = ("--dtype", dtype, "--threads", threads, "--tokens_per_microbatch", budget)
                    self.assertEqual(self.score(rows, *options), expected)
            alone = [self.score([row], "--dtype", dtype)[0] for row in rows[::7]]
            self.assertEqual(alone, expected[::7])

    def test_sample_does_not_depend_on_threads_or_cache(self):
        least = self.least_cache_tokens()
        for dtype in self.DTYPES:
            expected = self.sample("--dtype", dtype)
            for threads, cache in ((1, 0), (2, least), (3, least + 64), (5, 4096), (8, least + 16)):
                with self.subTest(dtype=dtype, threads=threads, cache=cache):
                    options = ("--dtype", dtype, "--threads", threads, "--cache-tokens", cache)
                    self.assertEqual(self.sample(*options), expected)

    def test_filters_do_not_depend_on_threads_or_cache(self):
        filters = ("--top-k", 20, "--top-p", 0.9, "--min-p", 0.01)
        expected = self.sample(*filters)
        self.assertNotEqual(expected, self.sample())
        cache = self.least_cache_tokens()
        self.assertEqual(self.sample(*filters, "--threads", 3, "--cache-tokens", cache), expected)

    def least_cache_tokens(self):
        """Room for the longest prompt and one completion of it: the other sequences must give way again and again."""
        longest = max(PROMPT_LENGTHS)
        pages = math.ceil(longest / 16) + math.ceil((longest % 16 + COMPLETION_LENGTH) / 16)
        ask = [
            "sample",
            "--model",
            self.model,
            "--input",
            self.prompts,
            "--output",
            self.folder / "none.jsonl",
        ]
        less = run(*ask, "--max-completion-length", COMPLETION_LENGTH, "--cache-tokens", 16 * (pages - 1))
        self.assertEqual(less.returncode, 2, less.stderr)
        self.assertIn(f"give at least {16 * pages}", less.stderr)
        return 16 * pages

    def test_sample_does_not_depend_on_the_other_prompts(self):
        given = prompt_rows()
        expected = {}
        for row in self.sample():
            expected.setdefault(row["prompt_index"], []).append(row)
        others = [{"prompt_ids": [9, 9, 9 + i]} for i in range(len(given))]
        for kept in (0, 3, 5):
            for rows in ([*others[:kept], given[kept], *others[kept + 1 :]], [*others[:kept], given[kept]]):
                prompts = write_lines(self.folder / "mixed.jsonl", rows)
                result = [row for row in self.sample(prompts=prompts) if row["prompt_index"] == kept]
                self.assertEqual(result, expected[kept])

    def test_sample_does_not_depend_on_the_group_size(self):
        large = self.sample(generations=5)
        small = self.sample(generations=2)
        self.assertEqual([large[i] for i in range(len(large)) if i % 5 < 2], small)

    def test_many_prompts_are_cut_into_rollouts(self):
        rows = [{"prompt_ids": [1 + i % 400, 2]} for i in range(600)]
        prompts = write_lines(self.folder / "many.jsonl", rows)
        many = self.sample("--max-completion-length", 2, prompts=prompts, generations=1)
        self.assertEqual([row["prompt_index"] for row in many], list(range(600)))
        # Twice the completions are cut at other prompts.
        twice = self.sample("--max-completion-length", 2, prompts=prompts, generations=2)
        self.assertEqual(many, twice[::2])
        # The same prompt at another place has other random numbers.
        ids = [row["completion_ids"] for row in many]
        self.assertNotEqual(ids[:200], ids[400:])


class EvalTest(CliTest):
    def evaluate(self, *options, prompts=None):
        output = self.folder / "eval.json"
        self.cohort(
            "eval", "--model", self.model, "--input", prompts or self.countdown, "--output", output, *options
        )
        return json.loads(output.read_text())

    def test_figures_are_those_of_the_samples(self):
        judge = self.folder / "judge.py"
        judge.write_text(
            "import json, sys\n"
            "def score(ids): return len(ids) % 2 + ids[0] % 2 / 2\n"
            "for line in sys.stdin:\n"
            "    request = json.loads(line)\n"
            "    rewards = [{'id': row['id'], 'score': score(row['completion_ids'])} for row in request['rows']]\n"
            "    print(json.dumps({'id': request['id'], 'rewards': rewards}), flush=True)\n"
            "def judge(completion_ids, **columns): return list(map(score, completion_ids))\n"
        )
        options = ("--num-generations", 5, "--max-completion-length", 16, "--temperature", 2.0, "--seed", 9)
        result = self.evaluate("--reward", "command", "--command", f"python3 {judge}", *options)
        words = ("--command", "python3", "--command", judge)
        self.assertEqual(self.evaluate("--reward", "command", *words, *options), result)
        by_function = self.evaluate("--reward", "python", "--function", f"{judge}:judge", *options)
        self.assertEqual({**by_function, "reward": "command"}, result)
        output = self.folder / "samples.jsonl"
        self.cohort("sample", "--model", self.model, "--input", self.countdown, "--output", output, *options)
        rows = read_lines(output)
        lengths = [len(row["completion_ids"]) for row in rows]
        scores = [len(row["completion_ids"]) % 2 + row["completion_ids"][0] % 2 / 2 for row in rows]
        self.assertEqual(result["num_prompts"], 6)
        self.assertAlmostEqual(result["mean"], sum(scores) / 30, places=12)
        self.assertEqual(list(result["pass@k"]), ["1", "2", "4"])
        successes = [sum(score >= 1 for score in scores[i : i + 5]) for i in range(0, 30, 5)]
        for k in (1, 2, 4):
            expected = sum(1 - math.comb(5 - c, k) / math.comb(5, k) for c in successes) / 6
            self.assertAlmostEqual(result["pass@k"][str(k)], expected, places=12)
        self.assertEqual(
            result["lengths"], {"mean": sum(lengths) / 30, "min": min(lengths), "max": max(lengths)}
        )
        stopped = sum(row["finish_reason"] == "stop" for row in rows) / 30
        self.assertAlmostEqual(result["finish_reasons"]["stop"], stopped, places=12)
        self.assertEqual(result["reward_statuses"]["ok"], 30)

    def test_built_in_rewards_judge_a_random_model(self):
        result = self.evaluate("--reward", "countdown", "--num-generations", 2, "--max-completion-length", 8)
        self.assertEqual(result["mean"], 0.0)
        self.assertEqual(result["pass@k"], {"1": 0.0, "2": 0.0})
        self.assertEqual(result["reward_statuses"]["ok"], 12)

    def test_what_could_not_be_judged_is_no_zero(self):
        output = self.folder / "none.json"
        places = ("--model", self.model, "--input", self.texts, "--output", output)
        run_result = run("eval", *places, "--reward", "countdown", "--max-completion-length", 4)
        self.assertEqual(run_result.returncode, 2, run_result.stderr)
        self.assertIn("reward countdown failed on all 2 completions", run_result.stderr)
        result = json.loads(output.read_text())
        self.assertIsNone(result["mean"])
        self.assertEqual(result["pass@k"], {})
        self.assertEqual(result["reward_statuses"]["unparsed"], 2)


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


class BenchTest(CliTest):
    def test_every_measurement_stands_beside_its_ceiling(self):
        sizes = ("--prompt_length", 20, "--completion_length", 4, "--repeats", 1, "--dtype", "float32")
        report = json.loads(self.cohort("bench", "--json", "--model", self.model, *sizes).stdout)
        table = self.cohort("bench", "--model", self.model, *sizes).stdout
        names = ["prefill", "decode, 1 stream", "decode, 8 streams", "decode, 64 streams", "training"]
        self.assertEqual([line["name"] for line in report["lines"]], names)
        for line in report["lines"]:
            self.assertGreater(line["tokens_per_s"], 0)
            self.assertGreater(line["ceiling_tokens_per_s"], 0)
            self.assertAlmostEqual(line["share"], line["tokens_per_s"] / line["ceiling_tokens_per_s"])
            self.assertIn(line["name"], table)
        self.assertGreater(report["gflops"], 0)
        self.assertGreater(report["peak_memory_bytes"], 1 << 20)

    def test_decodes_as_many_streams_as_asked_for(self):
        sizes = ("--prompt_length", 20, "--completion_length", 4, "--repeats", 1, "--dtype", "float32")
        asked = ("--json", "--model", self.model, "--measure", "decode", "--streams", 3)
        report = json.loads(self.cohort("bench", *asked, *sizes).stdout)
        self.assertEqual([line["name"] for line in report["lines"]], ["decode, 3 streams"])


class MemoryTest(CliTest):
    """What a run says before its first step is what it takes, within a tenth."""

    SHAPE = {"hidden_size": 384, "intermediate_size": 1024, "num_hidden_layers": 8, "head_dim": 64}

    def test_the_plan_holds(self):
        config = self.folder / "wide.json"
        config.write_text(json.dumps({**CONFIG, **self.SHAPE, "max_position_embeddings": 512}))
        model = self.folder / "wide"
        self.cohort("init", "--config", config, "--tokenizer", DEMO, "--seed", 1, "--output", model)
        recipe = self.folder / "memory.toml"
        recipe.write_text(
            "[rollout]\nprompts_per_step = 3\nmax_completion_length = 100\nignore_eos = true\n"
            '[[reward]]\nname = "format"\n[objective]\nbeta = 0.1\n[train]\nmax_steps = 1\n'
        )
        for dtype in ("float32", "bfloat16"):
            for recompute in ("false", "true"):
                with self.subTest(dtype=dtype, recompute=recompute):
                    planned, taken = self.memory(recipe, model, dtype, recompute)
                    self.assertLess(taken, 1.1 * planned)
                    self.assertGreater(taken, 0.9 * planned)

    def test_the_plan_counts_reward_models(self):
        config = self.folder / "wide.json"
        config.write_text(json.dumps({**CONFIG, **self.SHAPE, "max_position_embeddings": 512}))
        model, judge = self.folder / "wide-policy", self.folder / "wide-judge"
        self.cohort("init", "--config", config, "--tokenizer", DEMO, "--seed", 1, "--output", model)
        recipe = self.folder / "judge.toml"
        recipe.write_text("[train]\nmax_steps = 1\n")
        pairs = write_lines(self.folder / "wide.jsonl", [{"prompt": "1", "chosen": "2", "rejected": "3"}])
        self.cohort("reward-train", recipe, "--model.path", model, "--data.path", pairs, "--run-dir", judge)
        recipe = self.folder / "judged.toml"
        recipe.write_text(
            "[rollout]\nprompts_per_step = 3\nmax_completion_length = 100\nignore_eos = true\n"
            f'[[reward]]\nname = "model"\npath = "{judge}/final"\n[train]\nmax_steps = 1\n'
        )
        planned, taken = self.memory(recipe, model, "float32", "false", "judged-")
        self.assertLess(taken, 1.1 * planned)
        self.assertGreater(taken, 0.9 * planned)

    def test_the_plan_counts_pairs_and_their_reference(self):
        config = self.folder / "wide.json"
        config.write_text(json.dumps({**CONFIG, **self.SHAPE, "max_position_embeddings": 512}))
        model = self.folder / "wide-pairs"
        self.cohort("init", "--config", config, "--tokenizer", DEMO, "--seed", 1, "--output", model)
        recipe = self.folder / "pairs.toml"
        recipe.write_text("[train]\nmax_steps = 1\n")
        row = {"prompt": "1", "chosen": " 2" * 100, "rejected": " 3" * 100}
        pairs = write_lines(self.folder / "wide-pairs.jsonl", [row] * 8)
        measured = {}
        for before in ("false", "true"):
            options = ("--precompute_ref_log_probs", before)
            planned, taken = self.memory(
                recipe, model, "float32", "false", f"pairs-{before}-", "dpo", pairs, *options
            )
            self.assertLess(taken, 1.1 * planned)
            self.assertGreater(taken, 0.9 * planned)
            measured[before] = planned, taken
        for beside, without in zip(measured["false"], measured["true"]):
            self.assertLess(without, 0.95 * beside)

    def test_the_plan_counts_a_critic(self):
        config = self.folder / "wide.json"
        config.write_text(json.dumps({**CONFIG, **self.SHAPE, "max_position_embeddings": 512}))
        model = self.folder / "wide-actor"
        self.cohort("init", "--config", config, "--tokenizer", DEMO, "--seed", 1, "--output", model)
        recipe = self.folder / "critic.toml"
        recipe.write_text(
            "[rollout]\nprompts_per_step = 3\nmax_completion_length = 100\nignore_eos = true\n"
            '[[reward]]\nname = "format"\n[objective]\npreset = "ppo"\n[train]\nmax_steps = 1\n'
        )
        planned, taken = self.memory(recipe, model, "bfloat16", "false", "critic-")
        self.assertLess(taken, 1.1 * planned)
        self.assertGreater(taken, 0.9 * planned)

    def memory(self, recipe, model, dtype, recompute, name="", command="train", data=None, *options):
        run_dir = self.folder / f"memory-{name}{dtype}-{recompute}"
        places = ("--model.path", model, "--data.path", data or self.countdown, "--run-dir", run_dir)
        settings = ("--model.dtype", dtype, "--recompute", recompute, "--seed", 1, *options)
        result = self.cohort(command, recipe, *places, *settings)
        amount, unit = re.search(r"memory planned: ([0-9.]+) (MiB|GiB)", result.stderr).groups()
        timings = read_lines(run_dir / "timings.jsonl")
        return float(amount) / (1024 if unit == "MiB" else 1), timings[-1]["perf/max_memory_allocated_gb"]


class RunTest(CliTest):
    """Whole GRPO steps: mixed prompt lengths, pages that do not suffice, filters on, every reward different."""

    RECIPE = """
        seed = 4
        [rollout]
        prompts_per_step = 4
        num_generations = 6
        max_completion_length = 20
        top_k = 60
        top_p = 0.95
        cache_tokens = 192
        [[reward]]
        name = "hash"
        type = "python"
        function = "{reward}:hash_reward"
        [objective]
        loss_type = "grpo"
        [optimizer]
        learning_rate = 1e-3
        [train]
        max_steps = {steps}
        tokens_per_microbatch = 1000
    """

    def setUp(self):
        words = ["2 + 3 =", "a", "Numbers: 4 5 6. " * 5, "target " * 7, "the sum of 1 and 2 is", "x" * 40]
        self.texts = write_lines(self.folder / "run-texts.jsonl", [{"prompt": text} for text in words])

    def train(self, name, *options, steps=2, threads=1):
        recipe = self.folder / "run.toml"
        recipe.write_text(self.RECIPE.format(reward=ROOT / "bench" / "hash_reward.py", steps=steps))
        run_dir = self.folder / f"run-{name}"
        places = ("--model.path", self.model, "--data.path", self.texts, "--run-dir", run_dir)
        arguments = [PROGRAM, "train", recipe, *places, *options]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        result = subprocess.run(
            list(map(str, arguments)), capture_output=True, text=True, env=environment, check=False
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        return run_dir

    def test_the_trainer_sees_the_samplers_log_probabilities(self):
        for dtype in ("float32", "bfloat16"):
            run_dir = self.train(f"exact-{dtype}", "--model.dtype", dtype)
            completions = read_lines(run_dir / "completions.jsonl")
            first = read_lines(run_dir / "metrics.jsonl")[0]
            self.assertEqual(first["sampling/sampling_logp_difference/max"], 0)
            groups = {row["prompt_id"]: row for row in completions if row["step"] == 1}
            self.assertGreater(len({len(row["prompt_ids"]) for row in groups.values()}), 2)
            prompt_rows = sum(len(row["prompt_ids"]) for row in groups.values())
            completion_rows = sum(len(row["completion_ids"]) - 1 for row in completions if row["step"] == 1)
            self.assertEqual(first["rows/prompt"], prompt_rows)
            self.assertEqual(first["rows/completion"], completion_rows)
            self.assertEqual(first["rows/repeated_prompt"], 0)

    def test_one_seed_gives_the_same_bytes(self):
        one, two = (self.train(f"again-{i}", threads=2) for i in range(2))
        for name in ("metrics.jsonl", "completions.jsonl", "final/model.safetensors"):
            self.assertEqual((one / name).read_bytes(), (two / name).read_bytes(), name)
        other = self.train("other-seed", "--seed", 5)
        self.assertNotEqual(
            (one / "completions.jsonl").read_bytes(), (other / "completions.jsonl").read_bytes()
        )

    def test_threads_do_not_change_the_first_step(self):
        for dtype in ("float32", "bfloat16"):
            for name, options in (
                ("many", ()),
                # One prompt whose completions must take turns: a single live row a pass.
                ("single", ("--prompts-per-step", 1, "--num-generations", 2, "--cache-tokens", 144)),
            ):
                expected = None
                for threads in (1, 2, 3, 5, 8):
                    with self.subTest(dtype=dtype, name=name, threads=threads):
                        settings = ("--model.dtype", dtype, *options)
                        run_dir = self.train(
                            f"threads-{dtype}-{name}-{threads}", *settings, steps=1, threads=threads
                        )
                        rows = read_lines(run_dir / "completions.jsonl")
                        drawn = [(row["completion_ids"], row["logprobs"]) for row in rows]
                        expected = expected or drawn
                        self.assertEqual(drawn, expected)


class SftTest(CliTest):
    """Adapters with dropout: which elements a row loses depends on the row, not on how a batch is cut."""

    RECIPE = """
        [optimizer]
        learning_rate = 1e-3
        lr_scheduler_type = "constant"
        [train]
        max_steps = 3
        sequences_per_step = 8
        [lora]
        r = 4
    """

    def losses(self, name, *options):
        rows = [{"prompt": f"{i} + {i} =", "completion": f" {2 * i} " + "so " * i} for i in range(1, 9)]
        data = write_lines(self.folder / "sft-rows.jsonl", rows)
        recipe = self.folder / "sft.toml"
        recipe.write_text(self.RECIPE)
        run_dir = self.folder / f"sft-{name}"
        places = ("--model.path", self.model, "--data.path", data, "--run-dir", run_dir)
        self.cohort("sft", recipe, *places, *options)
        return [(row["loss"], row["grad_norm"]) for row in read_lines(run_dir / "metrics.jsonl")]

    def largest_difference(self, left, right):
        pairs = [pair for steps in zip(left, right, strict=True) for pair in zip(*steps, strict=True)]
        return max(abs(a - b) / abs(b) for a, b in pairs)

    def test_dropout_does_not_depend_on_microbatches(self):
        dropout = ("--lora.dropout", 0.4)
        whole = self.losses("whole", *dropout)
        cut = self.losses("cut", *dropout, "--tokens_per_microbatch", 1)
        # Sums of another order, over three updates; another draw moves the norms of gradients by far more.
        self.assertLess(self.largest_difference(cut, whole), 1e-4)
        for name, options in (("none", ()), ("seed", (*dropout, "--seed", 9))):
            self.assertGreater(self.largest_difference(self.losses(name, *options), whole), 1e-2)


class RewardModelTest(CliTest):
    """Reward models trained from the program, and runs that are judged by them."""

    PAIRS = [{"prompt": f"{i} +", "chosen": f" {i} = {2 * i}", "rejected": f" {i} is"} for i in range(12)]
    STEPS = [
        {"prompt": f"{i}:", "completions": [f"{i} + 1", f"{i} - 1"], "labels": [True, i % 2 == 0]}
        for i in range(12)
    ]
    RECORDS = ("metrics.jsonl", "final/model.safetensors", "final/config.json")
    RECIPE = """
        [model]
        dtype = "float32"
        [optimizer]
        learning_rate = 1e-3
        [train]
        max_steps = 6
        rows_per_step = 4
        save_steps = 2
    """

    def train(self, name, rows, *options, command="reward-train", recipe=RECIPE):
        data = write_lines(self.folder / f"{name}-rows.jsonl", rows)
        path = self.folder / f"{name}.toml"
        path.write_text(recipe)
        run_dir = self.folder / f"reward-{name}"
        places = ("--model.path", self.model, "--data.path", data, "--run-dir", run_dir)
        result = self.cohort(command, path, *places, "--threads", 1, *options)
        self.assertEqual(result.stdout, f"{run_dir}\n")
        return run_dir

    def resume(self, run_dir, records, train):
        """Takes the newest checkpoint and the final model away and goes on."""
        expected = {record: (run_dir / record).read_bytes() for record in records}
        shutil.rmtree(max((run_dir / "checkpoints").iterdir()))
        shutil.rmtree(run_dir / "final")
        train("--resume")
        for record, content in expected.items():
            self.assertEqual((run_dir / record).read_bytes(), content, record)

    def test_both_heads_are_trained_and_resumed(self):
        for head, rows in (("model", self.PAIRS), ("process", self.STEPS)):
            with self.subTest(head=head):
                options = ("--head.type", head)
                run_dir = self.train(head, rows, *options)
                metrics = read_lines(run_dir / "metrics.jsonl")
                self.assertEqual(len(metrics), 6)
                names = {
                    "loss",
                    "accuracy",
                    "min_reward",
                    "mean_reward",
                    "max_reward",
                    "grad_norm",
                    "num_tokens",
                }
                self.assertLessEqual(names, set(metrics[0]))
                self.assertEqual("margin" in metrics[0], head == "model")
                self.assertLess(metrics[-1]["loss"], metrics[0]["loss"])
                kind = {"model": "Sequence", "process": "Token"}[head]
                config = json.loads((run_dir / "final/config.json").read_text())
                self.assertEqual(config["architectures"], [f"Qwen3For{kind}Classification"])
                again = functools.partial(self.train, head, rows, *options)
                self.resume(run_dir, self.RECORDS, again)

    def test_a_trained_model_goes_on_with_a_replay_of_old_rows(self):
        first = self.train("first", self.PAIRS)
        old = write_lines(self.folder / "old.jsonl", self.PAIRS)
        log = self.cohort(
            *(
                "reward-train",
                self.folder / "first.toml",
                "--model.path",
                first / "final",
                "--replay_path",
                old,
            ),
            *("--data.path", self.folder / "first-rows.jsonl", "--run-dir", self.folder / "second"),
        ).stderr
        self.assertIn("10% of the draws", log)
        self.assertIn("memory planned", log)

    def test_held_out_rows_choose_the_best_model(self):
        held_out = write_lines(self.folder / "held-out.jsonl", self.PAIRS[:5])
        run_dir = self.train("held", self.PAIRS, "--eval_path", held_out, "--eval_steps", 3)
        metrics = read_lines(run_dir / "metrics.jsonl")
        self.assertEqual(["eval_accuracy" in row for row in metrics], [False, False, True] * 2)
        self.assertTrue((run_dir / "best/model.safetensors").exists())

    GRPO = """
        [rollout]
        prompts_per_step = 2
        num_generations = 4
        max_completion_length = 12
        [[reward]]
        name = "outcome"
        type = "model"
        path = "{outcome}"
        [[reward]]
        name = "steps"
        type = "process"
        path = "{process}"
        step_separator = " "
        aggregation = "mean"
        [objective]
        loss_type = "grpo"
        [model]
        dtype = "float32"
        [optimizer]
        learning_rate = 1e-3
        [train]
        max_steps = 4
        save_steps = 2
    """

    def grpo(self, name, *options):
        recipe = self.GRPO.format(
            outcome=self.folder / "reward-judge/final", process=self.folder / "reward-judge-steps/final"
        )
        prompts = [{"prompt": text} for text in ("2 + 3 =", "a b c", "Numbers: 4 5", "the sum of")]
        return self.train(name, prompts, *options, command="train", recipe=recipe)

    def test_runs_judged_by_models(self):
        self.train("judge", self.PAIRS)
        self.train("judge-steps", self.STEPS, "--head.type", "process")
        for credit in ("sequence", "steps"):
            with self.subTest(credit=credit):
                options = ("--credit", credit)
                run_dir = self.grpo(f"run-{credit}", *options)
                rows = read_lines(run_dir / "completions.jsonl")
                for row in rows:
                    self.check_steps(row, credit == "steps")
                metrics = read_lines(run_dir / "metrics.jsonl")
                self.assertEqual(metrics[0]["frac_reward_zero_std"], 0)
                self.assertEqual(metrics[0]["rewards/steps/error"], 0)
                records = (*self.RECORDS, "completions.jsonl")
                again = functools.partial(self.grpo, f"run-{credit}", *options)
                self.resume(run_dir, records, again)

    def check_steps(self, row, is_process):
        cell = row["rewards"]["steps"]
        steps = cell["steps"]
        self.assertEqual(steps[-1]["end"], len(row["completion_ids"]))
        self.assertAlmostEqual(cell["score"], sum(step["score"] for step in steps) / len(steps), places=12)
        self.assertEqual("token_advantages" in row, is_process)
        if is_process:
            tokens = row["token_advantages"]
            self.assertEqual(len(tokens), len(row["completion_ids"]))
            # It changes behind the end of a step and nowhere else.
            changes = {i for i in range(1, len(tokens)) if tokens[i] != tokens[i - 1]}
            self.assertLessEqual(changes, {step["end"] for step in steps})

    def test_verify_and_eval_know_models(self):
        path = self.train("known", self.STEPS, "--head.type", "process") / "final"
        tables = self.folder / "known-rewards.toml"
        tables.write_text(f'[[reward]]\nname = "steps"\ntype = "process"\npath = "{path}"\n')
        rows = write_lines(self.folder / "known.jsonl", [{"prompt": "3:", "completion": "3 + 1\n3 - 1"}])
        output = self.folder / "known-out.jsonl"
        self.cohort("verify", "--reward-config", tables, "--input", rows, "--output", output)
        line = read_lines(output)[0]
        self.assertEqual([line["status"], len(line["steps"])], ["ok", 2])
        self.assertEqual(line["score"], min(step["score"] for step in line["steps"]))
        result = self.folder / "known-eval.json"
        self.cohort(
            *("eval", "--model", self.model, "--input", self.countdown, "--max-completion-length", 8),
            *("--reward", "steps", "--reward-config", tables, "--output", result),
        )
        self.assertEqual(json.loads(result.read_text())["reward_statuses"]["ok"], 6)


class LocalJudgeTest(CliTest):
    """Judges that the program loads itself: tiny models that learnt two answers by heart."""

    # What is judged is all that their chat templates show.
    TEMPLATE = "{{ 'good' if 'good' in messages[-1].content else 'bad' }} {{ messages[0].role }}:"
    NO_SYSTEM = "{{ raise_exception('no system') if messages[0].role == 'system' }}" + TEMPLATE
    RECIPE = """
        [model]
        dtype = "float32"
        [optimizer]
        learning_rate = 1e-2
        [train]
        max_steps = 60
        sequences_per_step = 8
        save_steps = 0
    """
    ANSWERS = {"good": '{"quality": 9}', "bad": '<think>{"quality": 1}</think> {"quality": 2}'}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        rows = [
            {"prompt": f"{word} {role}:", "completion": answer}
            for word, answer in cls.ANSWERS.items()
            for role in ("system", "user")
        ]
        data = write_lines(cls.folder / "answers.jsonl", rows)
        recipe = cls.folder / "judge-sft.toml"
        recipe.write_text(cls.RECIPE)
        cls.judge = cls.folder / "judge"
        places = ("--model.path", cls.model, "--data.path", data, "--run-dir", cls.judge)
        must_run("sft", recipe, *places)

    def verify(self, completions, *options, template=TEMPLATE, model=None):
        """The lines that `cohort verify` writes, and how it ended."""
        model = model or self.judge / "final"
        (model / "chat_template.jinja").write_text(template)
        table = self.folder / "judge.toml"
        table.write_text("\n".join(['[[reward]]\ntype = "judge"\nname = "j"', f'path = "{model}"', *options]))
        rows = [{"prompt": "say", "completion": text} for text in completions]
        rows, output = write_lines(self.folder / "rows.jsonl", rows), self.folder / "judged.jsonl"
        result = run("verify", "--reward-config", table, "--input", rows, "--output", output)
        return result, read_lines(output) if result.returncode == 0 else []

    def test_scores_are_those_of_its_answers(self):
        for template in (self.TEMPLATE, self.NO_SYSTEM):
            with self.subTest(template=template):
                result, lines = self.verify(["a good one", "worse"] * 10, template=template)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(
                    [(line["score"], line["status"]) for line in lines], [(0.9, "ok"), (0.2, "ok")] * 10
                )
                self.assertEqual(lines[1]["detail"], '{"scores":{"quality":[2.0]}}')

    def test_texts_end_no_turn(self):
        seen = self.TEMPLATE.replace("'good' in", "'<|endoftext|>' not in")
        self.assertEqual(self.verify(["say <|endoftext|>"], template=seen)[1][0]["score"], 0.9)

    def test_votes_depend_on_the_row_alone(self):
        options = ("votes = 8", "temperature = 1.3", "max_completion_length = 48")
        texts = ["good", "bad", "so good", "worse"]
        judged = [self.verify(order, *options)[1] for order in (texts, texts, texts[::-1])]
        self.assertIn("failed_votes", judged[0][0]["detail"])  # they do differ
        self.assertEqual(judged[0], judged[1])
        self.assertEqual(judged[0], judged[2][::-1])
        self.assertEqual(judged[0][0], judged[0][2])  # the same to the judge

    def test_answers_without_a_score_are_errors(self):
        result, lines = self.verify(["good"], "max_completion_length = 2")
        self.assertEqual([lines[0]["score"], lines[0]["status"]], [None, "error"])
        self.assertIn("did not end within 2 tokens", lines[0]["detail"])
        result, lines = self.verify(["good"], 'rubric = "{completion} {answer}"')
        self.assertEqual(lines[0]["status"], "unparsed")
        self.assertIn('no column "answer"', lines[0]["detail"])
        long = "{% for i in range(3000) %}1 2 {% endfor %}"
        self.assertEqual(self.verify(["good"], template=long)[1][0]["status"], "unparsed")

    def test_settings_that_cannot_work(self):
        for option, part in (
            ("votes = 2", "`temperature`"),
            ('url = "http://127.0.0.1"', "`url`"),
            ("workers = 2", "`workers`"),
            ('criteria = ["reason"]', "`criteria`"),
        ):
            with self.subTest(option=option):
                result = self.verify(["good"], option)[0]
                self.assertEqual(result.returncode, 2)
                self.assertIn(part, result.stderr)
        self.assertEqual(self.verify(["good"], template="{{ raise_exception('never') }}")[0].returncode, 2)

    def test_a_run_judged_by_it(self):
        data = write_lines(self.folder / "words.jsonl", [{"prompt": "say "}])
        recipe = self.folder / "judged.toml"
        recipe.write_text(
            '[model]\ndtype = "float32"\n[rollout]\nprompts_per_step = 1\nnum_generations = 4\n'
            f'max_completion_length = 8\n[[reward]]\ntype = "judge"\nname = "j"\npath = "{self.judge}/final"\n'
            '[objective]\nloss_type = "grpo"\n[optimizer]\nlearning_rate = 1e-3\n[train]\nmax_steps = 2\n'
        )
        self.verify([])  # sets the template
        run_dir = self.folder / "judged"
        places = ("--model.path", self.model, "--data.path", data, "--run-dir", run_dir)
        result = self.cohort("train", recipe, *places)
        self.assertIn("memory planned", result.stderr)
        self.assertEqual({row["reward"] for row in read_lines(run_dir / "completions.jsonl")}, {0.2})


class DpoTest(CliTest):
    """Preference training from the program: what a run records, resumes and writes."""

    PAIRS = [{"prompt": f"{i} +", "chosen": f" {i} = {2 * i}", "rejected": f" {i} is so"} for i in range(12)]
    RECORDS = ("metrics.jsonl", "final/model.safetensors", "final/config.json")
    RECIPE = """
        [model]
        dtype = "float32"
        [optimizer]
        learning_rate = 1e-3
        [train]
        max_steps = 6
        pairs_per_step = 4
        save_steps = 2
    """

    def train(self, name, *options):
        data = write_lines(self.folder / "dpo-rows.jsonl", self.PAIRS)
        path = self.folder / "dpo.toml"
        path.write_text(self.RECIPE)
        run_dir = self.folder / f"dpo-{name}"
        places = ("--model.path", self.model, "--data.path", data, "--run-dir", run_dir)
        result = self.cohort("dpo", path, *places, "--threads", 1, *options)
        self.assertEqual(result.stdout, f"{run_dir}\n")
        self.assertIn("memory planned", result.stderr)
        return run_dir

    def contents(self, run_dir):
        return {record: (run_dir / record).read_bytes() for record in self.RECORDS}

    def test_pairs_are_learnt_and_a_run_is_resumed(self):
        run_dir = self.train("whole")
        metrics = read_lines(run_dir / "metrics.jsonl")
        names = ["chosen", "rejected", "accuracies", "margins"]
        names = {*(f"rewards/{name}" for name in names), "logps/chosen", "logps/rejected", "loss", "entropy"}
        self.assertLessEqual(names | {"grad_norm", "learning_rate", "epoch", "num_tokens"}, set(metrics[0]))
        self.assertAlmostEqual(metrics[0]["loss"], 0.693147, delta=1e-6)
        self.assertEqual(metrics[0]["rewards/margins"], 0)
        self.assertEqual(metrics[-1]["rewards/accuracies"], 1)
        self.assertLess(metrics[-1]["loss"], 0.5)
        self.assertIn("timing_s/ref", read_lines(run_dir / "timings.jsonl")[0])
        expected = self.contents(run_dir)
        shutil.rmtree(max((run_dir / "checkpoints").iterdir()))
        shutil.rmtree(run_dir / "final")
        self.train("whole", "--resume")
        self.assertEqual(self.contents(run_dir), expected)

    def test_where_the_reference_is_computed_changes_no_byte(self):
        held_out = write_lines(self.folder / "dpo-held-out.jsonl", self.PAIRS[:5])
        options = ("--eval_path", held_out, "--eval_steps", 3, "--ld_alpha", 0.5)
        beside = self.contents(self.train("beside", *options))
        run_dir = self.train("before", *options, "--precompute_ref_log_probs", "true")
        self.assertEqual(self.contents(run_dir), beside)
        shutil.rmtree(max((run_dir / "checkpoints").iterdir()))
        shutil.rmtree(run_dir / "final")
        self.train("before", *options, "--precompute_ref_log_probs", "true", "--resume")
        self.assertEqual(self.contents(run_dir), beside)

    def test_held_out_pairs_choose_the_best_model(self):
        run_dir = self.train("held", "--test_split_size", 0.3, "--eval_steps", 3)
        metrics = read_lines(run_dir / "metrics.jsonl")
        for name in ("eval_loss", "eval_rewards/accuracies", "eval_logps/chosen"):
            self.assertEqual([name in row for row in metrics], [False, False, True] * 2)
        self.assertLess(metrics[-1]["eval_loss"], metrics[2]["eval_loss"])
        best = (run_dir / "best/model.safetensors").read_bytes()
        self.assertEqual(best, (run_dir / "final/model.safetensors").read_bytes())

    def test_without_a_reference(self):
        metrics = read_lines(self.train("free", "--reference_free", "true") / "metrics.jsonl")
        self.assertAlmostEqual(metrics[0]["rewards/chosen"], 0.1 * metrics[0]["logps/chosen"], delta=1e-9)
        self.assertNotEqual(metrics[0]["rewards/margins"], 0)

    def test_adapters(self):
        run_dir = self.train("lora", "--lora.r", 4, "--learning_rate", 1e-2)
        metrics = read_lines(run_dir / "metrics.jsonl")
        self.assertEqual(metrics[0]["rewards/margins"], 0)
        self.assertEqual(metrics[-1]["rewards/accuracies"], 1)
        self.assertTrue((run_dir / "final/adapter_model.safetensors").exists())


class WrongInputTest(CliTest):
    """One clear line, exit code 2, and nothing written."""

    def refused(self, arguments, *parts, stdin=None):
        output = self.folder / "refused"
        result = run(*[output if argument == "OUT" else argument for argument in arguments], stdin=stdin)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertRegex(result.stderr, r"\Acohort: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(str(part), result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertFalse(output.exists())

    def sampling(self, content, *options, model=None):
        path = self.folder / "wrong.jsonl"
        path.write_text(content, encoding="utf-8")
        return ["sample", "--model", model or self.model, "--input", path, "--output", "OUT", *options]

    def scoring(self, content):
        return ["score", *self.sampling(content)[1:]]

    def broken_model(self, name, change):
        """A copy of the model, changed."""
        folder = self.folder / f"broken-{name}"
        if not folder.exists():
            shutil.copytree(self.model, folder)
            change(folder)
        return folder

    def with_config(self, name, **changes):
        def change(folder):
            config = json.loads((folder / "config.json").read_text())
            (folder / "config.json").write_text(json.dumps({**config, **changes}))

        return self.broken_model(name, change)

    def test_arguments(self):
        ask = ["sample", "--model", self.model, "--input", self.prompts, "--output", "OUT"]
        for arguments, parts in [
            (["smaple"], ['"smaple"', '"sample"']),
            ([*ask, "--temprature", 1], ["--temprature", "temperature"]),
            ([*ask, "--temperature", "warm"], ["--temperature", "warm"]),
            ([*ask, "--temperature", -1], ["--temperature", "at least 0"]),
            ([*ask, "--top-p", 0], ["--top-p", "above 0"]),
            ([*ask, "--num-generations", 0], ["--num-generations", "at least 1"]),
            ([*ask, "--num-generations", 1.5], ["--num-generations", "1.5"]),
            ([*ask, "--dtype", "float16"], ["--dtype", "float32"]),
            ([*ask, "--seed"], ["--seed", "needs a value"]),
            ([*ask, "more"], ['"more"']),
            ([*ask, "--stop-strings", ""], ["stop_strings"]),
            ([*ask, "--cache-tokens", 1], ["cache_tokens", "give at least"]),
            (ask[:3], ["--input"]),
            (["sample", "--input", self.prompts, "--output", "OUT"], ["--model"]),
            (["sample", "--model", self.model, "--input", self.prompts], ["--output"]),
            ([*ask[:-1], self.folder / "no" / "where.jsonl"], ["where.jsonl", "does not exist"]),
            ([*ask[:-1], self.folder], [self.folder, "folder"]),
            (["info"], ["model directory"]),
            (["info", self.model, "more"], ['"more"']),
            (["info", "--model", self.model], ["--model", "none here"]),
            (["verify", "--input", self.prompts, "--output", "OUT"], ["--reward"]),
            (["verify", "--reward", "formt", "--input", self.prompts, "--output", "OUT"], ['"format"']),
            (["verify", "--reward", "format", "--input", self.prompts, "--output", "OUT"], ["completion"]),
            (["docs"], ["configuration"]),
            (["docs", "metrics"], ['"metrics"', "configuration"]),
            (["tokenize"], ["--model"]),
        ]:
            with self.subTest(arguments=arguments):
                self.refused(arguments, *parts)

    def test_rows(self):
        here = "wrong.jsonl:"
        for content, part in [
            ('{"prompt_ids": [1]}\n{"prompt_ids": [1\n', here + "2: malformed JSON"),
            ('{"prompt_ids": [1]}\n\n[1, 2]\n', here + "3: expected a JSON object"),
            ('{"prompt_ids": [1]}\n{"promt": "x"}\n', here + '2: give either "prompt"'),
            ('{"prompt": "x", "prompt_ids": [1]}\n', here + '1: give either "prompt"'),
            ('{"prompt": 5}\n', here + '1: the column "prompt" must be a string'),
            ('{"prompt_ids": 5}\n', here + '1: "prompt_ids" must be a list'),
            ('{"prompt_ids": [1, "2"]}\n', here + '1: "prompt_ids" holds "2"'),
            ('{"prompt_ids": [1.0]}\n', here + '1: "prompt_ids" holds 1.0'),
            ('{"prompt_ids": [-1]}\n', here + '1: "prompt_ids" holds -1'),
            ('{"prompt_ids": [18446744073709551615]}\n', here + '1: "prompt_ids" holds 18446744073709551615'),
            (
                '{"prompt_ids": [1]}\n{"prompt_ids": [1, 420]}\n',
                here + "2: id 420 lies outside the vocabulary",
            ),
            ('{"prompt_ids": []}\n', here + "1: the prompt has no tokens"),
            ('{"prompt": ""}\n', here + "1: the prompt has no tokens"),
            (json.dumps({"prompt_ids": [1] * CONTEXT}), here + f"1: the prompt has {CONTEXT} tokens"),
            ('{"prompt": "\\ud800"}\n', here + "1: "),
            ("\n", "holds no prompts"),
        ]:
            with self.subTest(content=content[:60]):
                self.refused(self.sampling(content), part)
        self.refused(
            self.sampling('{"prompt": "x"}\n', model=self.no_tokenizer), here + "1: ", "tokenizer.json"
        )
        ids = '{"prompt_ids": [1]}\n'
        self.refused(self.sampling(ids, "--stop-strings", "x", model=self.no_tokenizer), "tokenizer.json")

    def test_a_bad_row_behind_the_first_rollout_is_found_before_it(self):
        self.refused(
            self.sampling('{"prompt_ids": [1]}\n' * 600 + '{"prompt_ids": [999]}\n'),
            "wrong.jsonl:601: id 999",
        )

    def test_rows_to_score(self):
        for content, part in [
            ('{"prompt_ids": [1]}\n', 'wrong.jsonl:1: "completion_ids" must be a list'),
            ('{"prompt_ids": [1], "completion_ids": [420]}\n', "wrong.jsonl:1: id 420"),
            ('{"prompt_ids": [1], "completion_ids": [2]}\nnull\n', "wrong.jsonl:2: expected a JSON object"),
            (
                json.dumps({"prompt_ids": [1], "completion_ids": [1] * CONTEXT}),
                f"wrong.jsonl:1: {CONTEXT + 1} tokens",
            ),
        ]:
            with self.subTest(content=content[:60]):
                self.refused(self.scoring(content), part)

    def test_standard_input(self):
        for command, lines, part in [
            ("tokenize", '{"text": 3}', '<stdin>:1: "text" must be a string'),
            ("tokenize", "text", "<stdin>:1: malformed JSON"),
            ("detokenize", '{"text": "x"}', '<stdin>:1: "ids" must be a list'),
            ("detokenize", '{"ids": [420]}', "<stdin>:1: id 420 lies outside the vocabulary of 420"),
            ("detokenize", '\n{"ids": [true]}', '<stdin>:2: "ids" holds true'),
        ]:
            with self.subTest(command=command, lines=lines):
                self.refused([command, "--model", self.model], part, stdin=lines)
        self.refused(["tokenize", "--model", self.folder / "absent"], "absent", stdin="")
        self.refused(["tokenize", "--model", self.no_tokenizer], "tokenizer.json", stdin="")

    def test_missing_files(self):
        absent = self.folder / "absent.jsonl"
        self.refused(["sample", "--model", self.model, "--input", absent, "--output", "OUT"], absent)
        self.refused(["score", "--model", self.model, "--input", absent, "--output", "OUT"], absent)
        self.refused(["sample", "--model", absent, "--input", self.prompts, "--output", "OUT"], absent)
        self.refused(
            ["sample", "--model", self.model, "--input", self.folder, "--output", "OUT"], self.folder
        )
        self.refused(["info", absent], absent)

    def test_model_files_that_do_not_fit_together(self):
        def truncate(folder):
            path = folder / "model.safetensors"
            path.write_bytes(path.read_bytes()[:-8])

        def break_json(folder):
            (folder / "config.json").write_text('{\n  "vocab_size": 4,,\n}')

        def remove_weights(folder):
            (folder / "model.safetensors").unlink()

        for model, parts in [
            (self.with_config("wide", hidden_size=64), ["broken-wide", "tensor"]),
            (self.with_config("deep", num_hidden_layers=3), ["broken-deep", "layers.2."]),
            (self.with_config("shallow", num_hidden_layers=1), ["broken-shallow", "layers.1."]),
            (
                self.with_config("family", architectures=["LlamaForCausalLM"], model_type="llama"),
                ["broken-family", "k_norm.weight", "LlamaForCausalLM"],
            ),
            (
                self.with_config("unknown", architectures=["MambaForCausalLM"]),
                ["config.json", "MambaForCausalLM"],
            ),
            (self.with_config("rope", rope_scaling={"rope_type": "mrope"}), ["config.json", "mrope"]),
            (self.with_config("text", vocab_size="many"), ["config.json", '"vocab_size"']),
            (self.broken_model("short", truncate), ["broken-short", "model.safetensors"]),
            (self.broken_model("json", break_json), ["config.json:2: malformed JSON"]),
            (self.broken_model("empty", remove_weights), ["broken-empty"]),
        ]:
            with self.subTest(model=model.name):
                self.refused(self.sampling('{"prompt_ids": [1]}\n', model=model), *parts)

    def test_a_tokenizer_of_another_model(self):
        small = self.folder / "small.json"
        small.write_text(json.dumps({**CONFIG, "vocab_size": 100}))
        arguments = ["init", "--config", small, "--tokenizer", self.tokenizer, "--output", "OUT"]
        self.refused(arguments, "tokenizer.json", "vocab_size is 100")

    def test_init(self):
        ask = ["init", "--config", self.config, "--tokenizer", self.tokenizer, "--output"]
        self.refused([*ask, self.model], self.model, "exists already")
        self.refused([*ask, self.prompts], self.prompts, "exists already")
        self.refused(["init", "--config", self.folder / "none.json", *ask[3:], "OUT"], "none.json")
        self.refused([*ask[:4], self.no_tokenizer, "--output", "OUT"], "tokenizer.json")
        self.assertTrue((self.model / "model.safetensors").exists())

    def test_data(self):
        for arguments, parts in [
            (["data", "--output", "OUT"], ["countdown", "arithmetic"]),
            (["data", "countdow", "--output", "OUT"], ['"countdow"', '"countdown"']),
            (["data", "countdown", "more", "--output", "OUT"], ['"more"']),
            (["data", "countdown"], ["--output"]),
            (["data", "countdown", "--count", 0, "--output", "OUT"], ["--count", "at least 1"]),
            (["data", "countdown", "--split", "dev", "--output", "OUT"], ["--split", "train"]),
            (["data", "countdown", "--num_operands", 9, "--output", "OUT"], ["--num_operands", "6"]),
            (
                [
                    "data",
                    "countdown",
                    "--num_operands",
                    2,
                    "--max_value",
                    4,
                    "--count",
                    100000,
                    "--output",
                    "OUT",
                ],
                ["countdown", "distinct"],
            ),
        ]:
            with self.subTest(arguments=arguments):
                self.refused(arguments, *parts)

    def test_eval(self):
        ask = ["eval", "--model", self.model, "--input", self.countdown, "--output", "OUT"]
        self.refused(ask, "--reward")
        self.refused([*ask, "--reward", "countdwn"], "countdwn", "countdown")
        self.refused([*ask, "--reward", "command"], "command")
        self.refused([*ask, "--reward", "python"], "function", "FILE.py:NAME")
        self.refused([*ask, "--reward", "python", "--function", "none.py:f"], "no file none.py")
        self.refused([*ask, "--reward", "format", "--command", "cat"], "command", "no effect")
        self.refused([*ask, "--reward", "format", "--timeout-s", 3], "timeout_s", "no effect")
        self.refused(
            [*ask[:4], self.prompts, *ask[5:], "--reward", "format"], 'prompts.jsonl:1: the column "prompt"'
        )
        self.refused([*ask[:2], self.no_tokenizer, *ask[3:], "--reward", "format"], "tokenizer.json")
        long = write_lines(self.folder / "long.jsonl", [{"prompt": "1 " * CONTEXT}])
        self.refused([*ask[:4], long, *ask[5:], "--reward", "format"], "long.jsonl:1: the prompt has")

    def test_train(self):
        recipe = self.folder / "wrong.toml"
        recipe.write_text(
            '[[reward]]\nname = "format"\n[[reward]]\nname = "countdown"\n[train]\nmax_steps = 1\n'
            "[rollout]\nmax_completion_length = 4\n"
        )
        ask = ["train", recipe, "--model.path", self.model, "--data.path", self.countdown, "--run-dir", "OUT"]
        misspelt = self.folder / "misspelt.toml"
        misspelt.write_text("[train]\nmax_stps = 1\n")
        ids = write_lines(self.folder / "no-prompt.jsonl", [{"prompt": "1"}, {"text": "1"}])
        weightless = ("--reward.0.weight", 0, "--reward.1.weight", 0)
        for arguments, parts in [
            (["train", misspelt, *ask[2:]], ["misspelt.toml:2", "max_stps", "max_steps"]),
            ([*ask[:2], *ask[4:]], ["model.path"]),
            (ask[:6], ["run.dir"]),
            ([*ask, "--data.path", ids], ["no-prompt.jsonl:2", "prompt"]),
            (
                [*ask, "--rollout.num_generations", 1],
                ["rollout.num_generations = 1", "leaves a completion no other"],
            ),
            ([*ask, "--cache-tokens", 16], ["rollout.cache_tokens", "countdown.jsonl", "give at least"]),
            ([*ask, "--stop-strings", ""], ["stop_strings"]),
            ([*ask, "--stop-strings", "a<|endoftext|>"], ["stop_strings", "<|endoftext|>"]),
            ([*ask, "--steps-per-generation", 3], ["prompts_per_step", "steps_per_generation"]),
            ([*ask, "--eval-path", self.countdown], ["eval_path", "eval_steps"]),
            ([*ask, "--reward.0.timeout_s", 1], ["timeout_s", "no effect"]),
            ([*ask, "--reward.2.weight", 1], ["reward.name"]),
            ([*ask, *weightless], ["reward.weight"]),
            ([*ask[:-1], self.model], [self.model, "choose a new run.dir"]),
        ]:
            with self.subTest(arguments=arguments):
                self.refused(arguments, *parts)
        self.assertTrue((self.model / "model.safetensors").exists())
        self.cohort(*ask[:-1], self.folder / "one-weight", "--reward.1.weight", 2)

    def test_a_model_that_gives_no_numbers(self):
        broken = self.broken_model("nan", self.poison)
        recipe = self.folder / "nan.toml"
        recipe.write_text('[[reward]]\nname = "format"\n[train]\nmax_steps = 1\n')
        arguments = ["train", recipe, "--model.path", broken, "--data.path", self.countdown]
        result = run(*arguments, "--run-dir", self.folder / "nan-run")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("not finite", result.stderr)

    @staticmethod
    def poison(folder):
        """NaN into the last bytes of the weights."""
        path = folder / "model.safetensors"
        data = path.read_bytes()
        path.write_bytes(data[:-400] + b"\xff\xff\xff\x7f" * 100)

    def test_sft(self):
        recipe = self.folder / "sft-wrong.toml"
        recipe.write_text("[train]\nmax_steps = 1\n")
        ask = ["sft", recipe, "--model.path", self.model, "--run-dir", "OUT", "--data.path"]
        for row, parts in [
            ({"prompt": "1"}, ["bad-sft.jsonl:1", "completion"]),
            ({"prompt": 1, "completion": "2"}, ["bad-sft.jsonl:1", "prompt"]),
            ({"prompt": "1 " * CONTEXT, "completion": "2"}, ["bad-sft.jsonl:1", "context"]),
        ]:
            with self.subTest(row=row):
                self.refused([*ask, write_lines(self.folder / "bad-sft.jsonl", [row])], *parts)
        self.refused([*ask, self.folder / "nowhere.jsonl"], "nowhere.jsonl")

    def test_reward_train(self):
        recipe = self.folder / "reward-wrong.toml"
        recipe.write_text("[train]\nmax_steps = 1\n")
        ask = ["reward-train", recipe, "--model.path", self.model, "--run-dir", "OUT", "--data.path"]
        pair = {"prompt": "1", "chosen": "2", "rejected": "3"}
        steps = {"prompt": "1", "completions": ["2"], "labels": [True]}
        for row, options, parts in [
            ({"prompt": "1", "chosen": "2"}, [], ["bad-pair.jsonl:1", "rejected"]),
            ({**pair, "chosen": "2 " * CONTEXT}, [], ["bad-pair.jsonl:1", "context"]),
            (steps, [], ["bad-pair.jsonl:1", '"chosen" is missing']),
            (pair, ["--head.type", "process"], ["bad-pair.jsonl:1", '"completions" is missing']),
            (pair, ["--head.type", "proces"], ["head.type", "process"]),
            (pair, ["--step_separator", "x"], ["head.step_separator", "no effect"]),
            (pair, ["--replay_share", 0.5], ["data.replay_share", "no effect"]),
            (pair, ["--eval_steps", 5], ["train.eval_steps", "data.eval_path"]),
        ]:
            with self.subTest(row=row, options=options):
                data = write_lines(self.folder / "bad-pair.jsonl", [row])
                self.refused([*ask, data, *options], *parts)

    def test_dpo(self):
        recipe = self.folder / "dpo-wrong.toml"
        recipe.write_text("[train]\nmax_steps = 1\n")
        ask = ["dpo", recipe, "--model.path", self.model, "--run-dir", "OUT", "--data.path"]
        pair = {"prompt": "1", "chosen": "2", "rejected": "3"}
        for row, options, parts in [
            ({"prompt": "1", "rejected": "2"}, [], ["bad-pair.jsonl:1", '"chosen" is missing']),
            ({**pair, "chosen": ["2"]}, [], ["bad-pair.jsonl:1", '"chosen" holds a message']),
            ({**pair, "chosen": [{"role": "assistant"}]}, [], ["bad-pair.jsonl:1", '"prompt" and "chosen"']),
            ({**pair, "chosen": 2}, [], ["bad-pair.jsonl:1", '"chosen" must be']),
            ({**pair, "rejected": "2"}, [], ["bad-pair.jsonl:1", "the same"]),
            ({**pair, "prompt": ""}, [], ["bad-pair.jsonl:1", "no tokens"]),
            ({**pair, "rejected": "2 " * CONTEXT}, [], ["bad-pair.jsonl:1", "context"]),
            (pair, ["--loss_type", "ippo"], ["objective.loss_type", "ipo"]),
            (pair, ["--beta", 0], ["objective.beta", "above 0"]),
            (pair, ["--label_smoothing", 0.1], ["objective.label_smoothing", "robust"]),
            (pair, ["--ld_alpha", 1.5], ["objective.ld_alpha", "at most 1"]),
            (pair, ["--lora.r", 2, "--lora.dropout", 0.1], ["lora.dropout", "must be 0"]),
            (pair, ["--lora.alpha", 2], ["lora.r"]),
            (pair, ["--eval_steps", 5], ["train.eval_steps", "data.eval_path"]),
            (pair, ["--router_aux_loss_coef", 0.1], ["train.router_aux_loss_coef", "no experts"]),
            (
                pair,
                ["--precompute_ref_log_probs", "true", "--reference_free", "true"],
                ["train.precompute_ref_log_probs", "no effect"],
            ),
        ]:
            with self.subTest(row=row, options=options):
                data = write_lines(self.folder / "bad-pair.jsonl", [row])
                self.refused([*ask, data, *options], *parts)

    def test_rewards_that_are_models(self):
        recipe = self.folder / "model-wrong.toml"
        ask = ["train", recipe, "--model.path", self.model, "--data.path", self.countdown, "--run-dir", "OUT"]
        for reward, more, parts in [
            ('name = "model"', [], ["reward model", "`path`"]),
            (f'name = "model"\npath = "{self.model}"', [], ["Qwen3ForCausalLM", "classification"]),
            ('name = "modl"', [], ['"model"']),
            ('name = "format"', ["--credit", "steps"], ["objective.credit", "steps"]),
        ]:
            recipe.write_text(f"[[reward]]\n{reward}\n[train]\nmax_steps = 1\n")
            with self.subTest(reward=reward):
                self.refused([*ask, *more], *parts)


if __name__ == "__main__":
    unittest.main()
