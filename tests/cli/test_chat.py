"""`cohort chat` and `cohort sample --prompt`, from outside: a tiny random model, pipes and a pseudo-terminal.

COHORT=build/cohort python3 tests/cli/test_chat.py
"""

import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import tempfile
import time
import unittest

from cli_case import CONFIG, DEMO, PROGRAM, run

TEMPLATE = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)


class ChatTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="cohort-chat-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        tokenizer = cls.folder / "tokenizer"
        tokenizer.mkdir()
        for name in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(DEMO / name, tokenizer)
        config = cls.folder / "config.json"
        config.write_text(json.dumps(CONFIG | {"max_position_embeddings": 100000}))
        cls.plain = cls.folder / "plain"
        made = run("init", "--config", config, "--tokenizer", tokenizer, "--seed", 3, "--output", cls.plain)
        assert made.returncode == 0, made.stderr
        cls.model = cls.folder / "model"
        shutil.copytree(cls.plain, cls.model)
        (cls.model / "chat_template.jinja").write_text(TEMPLATE)

    def small_context(self, name, tokens):
        model = self.folder / name
        shutil.copytree(self.model, model)
        config = json.loads((model / "config.json").read_text())
        (model / "config.json").write_text(json.dumps({**config, "max_position_embeddings": tokens}))
        return model

    def must_run(self, *arguments, stdin=""):
        result = run(*arguments, stdin=stdin)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def must_fail(self, part, *arguments, stdin=""):
        result = run(*arguments, stdin=stdin)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn(part, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def sampled(self, prompt, *more):
        """The text that `sample --input` gives for a row."""
        rows, output = self.folder / "rows.jsonl", self.folder / "output.jsonl"
        rows.write_text(json.dumps({"prompt": prompt}) + "\n", encoding="utf-8")
        self.must_run("sample", "--model", self.model, "--input", rows, "--output", output, *more)
        return json.loads(output.read_text(encoding="utf-8").split("\n")[0])["text"]


class SamplePromptTest(ChatTest):
    short = ("--max-completion-length", 12)

    def sample(self, *arguments, model=None):
        return self.must_run("sample", "--model", model or self.model, *self.short, *arguments).stdout

    def test_the_prompt_is_a_user_message(self):
        expected = self.sampled([{"role": "user", "content": "2 + 3 ="}], *self.short)
        self.assertEqual(self.sample("--prompt", "2 + 3 ="), expected + "\n")

    def test_a_system_message_stands_in_front(self):
        messages = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "2 + 3 ="}]
        expected = self.sampled(messages, *self.short)
        self.assertEqual(self.sample("--prompt", "2 + 3 =", "--system-prompt", "Be short."), expected + "\n")

    def test_raw_text_and_models_without_a_template(self):
        expected = self.sampled("2 + 3 =", *self.short)
        self.assertEqual(self.sample("--prompt", "2 + 3 =", "--raw"), expected + "\n")
        self.assertEqual(self.sample("--prompt", "2 + 3 =", model=self.plain), expected + "\n")

    def test_a_completion_that_is_cut_is_named(self):
        result = self.must_run("sample", "--model", self.model, *self.short, "--prompt", "2 + 3 =")
        self.assertIn("cut after 12 tokens, without a stop\n", result.stderr)

    def test_several_completions_and_an_output_file(self):
        output = self.folder / "several.jsonl"
        arguments = ("--prompt", "2 + 3 =", "--num-generations", 3)
        self.assertEqual(self.sample(*arguments, "--output", output), "")
        rows = [json.loads(line) for line in output.read_text(encoding="utf-8").split("\n")[:-1]]
        self.assertEqual(len({row["text"] for row in rows}), 3)
        printed = "".join(f"--- completion {i + 1}\n{row['text']}\n" for i, row in enumerate(rows))
        self.assertEqual(self.sample(*arguments), printed)

    def test_a_stop_string_ends_what_is_printed(self):
        whole = self.sampled("2 + 3 =", "--max-completion-length", 40)
        stop = whole[5:8]
        stops = ("--stop-strings", stop, "--max-completion-length", 40)
        expected = self.sampled("2 + 3 =", *stops)
        self.assertLess(len(expected), len(whole))
        self.assertEqual(self.sample("--prompt", "2 + 3 =", "--raw", *stops), expected + "\n")

    def test_wrong_flags(self):
        model = ("sample", "--model", self.model)
        self.must_fail("--prompt or --input is required", *model)
        self.must_fail("exclude each other", *model, "--prompt", "a", "--input", "b.jsonl")
        self.must_fail("no effect without --prompt", *model, "--raw", "--input", "b", "--output", "c")
        template = self.model / "chat_template.jinja"
        for flag, value in (
            ("--system_prompt", "b"),
            ("--chat_template", template),
            ("--chat_template_kwargs", "thinking=false"),
        ):
            self.must_fail(
                f"{flag} and --raw exclude each other", *model, "--prompt", "a", "--raw", flag, value
            )

    def test_the_context_is_named(self):
        model = self.small_context("sampled", 40)
        arguments = ("sample", "--model", model, "--prompt", "2 + 3 =", "--raw", "--max-completion-length")
        result = self.must_run(*arguments, 400)
        warning = (
            r"warning: max_completion_length = 400 passes the model's context of 40 tokens: (\d+) are left "
        )
        found = re.search(
            warning
            + r"after the prompt \((\d+) tokens, --prompt\); completions are cut there. Set it to (\d+)\n",
            result.stderr,
        )
        left, length, fits = map(int, found.groups())
        self.assertEqual((left, fits), (40 - length, 40 - length))
        self.assertNotIn("context", self.must_run(*arguments, fits).stderr)
        self.assertIn("Set it to", self.must_run(*arguments, fits + 1).stderr)
        rows = self.folder / "rows.jsonl"
        rows.write_text("".join(json.dumps({"prompt_ids": [5] * n}) + "\n" for n in (3, 9, 4)))
        output = self.folder / "cut.jsonl"
        result = self.must_run(
            "sample", "--model", model, "--input", rows, "--output", output, "--max-completion-length", 400
        )
        self.assertRegex(
            result.stderr,
            warning + r"after the longest prompt \(9 tokens, \S*rows.jsonl:2\), 37 after the shortest; "
            r"completions are cut there. Set it to 31\n",
        )
        self.assertEqual(result.stderr.count("warning: "), 1)

    def test_a_system_prompt_without_a_template_begins_the_text(self):
        told = self.sample("--prompt", "2 + 3 =", "--system-prompt", "4 + 1 = 5", model=self.plain)
        self.assertEqual(told, self.sample("--prompt", "4 + 1 = 5\n\n2 + 3 =", model=self.plain))
        self.assertNotEqual(told, self.sample("--prompt", "2 + 3 =", model=self.plain))


class PipeTest(ChatTest):
    greedy = ("--temperature", 0, "--max-completion-length", 12, "--dtype", "float32")

    def chat(self, stdin, *arguments):
        return self.must_run("chat", "--model", self.model, *(arguments or self.greedy), stdin=stdin).stdout

    def test_every_line_is_a_turn_of_one_conversation(self):
        first = self.sampled([{"role": "user", "content": "one"}], *self.greedy)
        messages = [
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": first},
            {"role": "user", "content": "two\tthree"},
        ]
        second = self.sampled(messages, *self.greedy)
        self.assertEqual(self.chat("one\n\n  \ntwo\tthree"), f"{first}\n{second}\n")
        self.assertEqual(self.chat("one\r\n/reset\r\none\r\n"), f"{first}\n{first}\n")

    def test_the_system_message_outlives_a_reset(self):
        messages = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "one"}]
        expected = self.sampled(messages, *self.greedy) + "\n"
        system = ("--system-prompt", "Be short.")
        self.assertEqual(self.chat("one\n/reset\none\n", *self.greedy, *system), expected * 2)

    def test_the_seed_decides(self):
        short = ("--max-completion-length", 12)
        texts = [self.chat("one\n", "--seed", seed, *short) for seed in (1, 1, 2)]
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])

    def test_the_context_is_named_once(self):
        model = self.small_context("talked", 200)
        result = self.must_run(
            "chat",
            "--model",
            model,
            "--max-completion-length",
            300,
            "--min-tokens",
            2,
            stdin="a\n/reset\nb\n",
        )
        self.assertEqual(result.stderr.count("warning: "), 1, result.stderr)
        self.assertRegex(
            result.stderr,
            r"\Awarning: max_completion_length = 300 passes the model's context of 200 tokens: (\d+) are left "
            r"after the prompt \(\d+ tokens, the conversation\); completions are cut there. Set it to \1\n",
        )

    def test_an_answer_that_is_cut_is_named(self):
        result = self.must_run("chat", "--model", self.model, *self.greedy, stdin="one\n")
        self.assertEqual(result.stderr, "[cut after 12 tokens by max_completion_length]\n")

    def test_generation_config_gives_the_defaults(self):
        path = self.model / "generation_config.json"
        self.addCleanup(path.unlink)
        path.write_text('{"do_sample": true, "top_k": 1}')
        short = ("--max-completion-length", 12, "--dtype", "float32")
        expected = self.sampled([{"role": "user", "content": "one"}], *self.greedy) + "\n"
        self.assertEqual(self.chat("one\n", "--seed", 7, *short), expected)
        self.assertNotEqual(self.chat("one\n", "--seed", 7, "--top-k", 0, *short), expected)
        path.write_text('{"do_sample": false, "temperature": 0.6}')
        self.assertEqual(self.chat("one\n", "--seed", 7, *short), expected)
        path.write_text('{"top_p": 0}')
        fault = f'{path}: "top_p" is 0'
        self.must_fail(fault, "chat", "--model", self.model, stdin="one\n")
        adapter = self.folder / "adapter"  # whose base model has the file
        adapter.mkdir()
        (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(self.model)}))
        self.must_fail(fault, "chat", "--model", adapter, stdin="one\n")

    def test_what_can_not_be_answered(self):
        self.must_fail("--model is required", "chat")
        self.must_fail("has no chat template", "chat", "--model", self.plain, stdin="one\n")
        self.must_fail("no such model directory", "chat", "--model", self.folder / "nowhere", stdin="one\n")
        many = "1 2 3 4 5 6 7 8 9 " * 12000
        self.must_fail("/reset begins a new one", "chat", "--model", self.model, *self.greedy, stdin=many)


class Terminal:
    """The program in a pseudo-terminal."""

    def __init__(self, *arguments):
        pid, self.descriptor = pty.fork()
        if pid == 0:
            os.execv(PROGRAM, [str(PROGRAM), *map(str, arguments)])
        self.pid, self.text = pid, ""

    def read_until(self, part, seconds=60):
        """Reads until `part` comes; returns what came before its end."""
        end = time.monotonic() + seconds
        while part not in self.text:
            ready, _, _ = select.select([self.descriptor], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"{part!r} did not come; read {self.text[-2000:]!r}")
            try:
                self.text += os.read(self.descriptor, 65536).decode("utf-8", "replace")
            except OSError:
                raise AssertionError(f"{part!r} did not come; read {self.text[-2000:]!r}") from None
        before, self.text = self.text.split(part, 1)
        return before

    def write(self, text):
        os.write(self.descriptor, text.encode())

    def wait(self):
        _, status = os.waitpid(self.pid, 0)
        os.close(self.descriptor)
        return os.waitstatus_to_exitcode(status)


class TerminalTest(ChatTest):
    def start(self, *arguments):
        terminal = Terminal(
            "chat", "--model", self.model, "--temperature", 0, "--dtype", "float32", *arguments
        )
        self.addCleanup(self.end, terminal)
        return terminal

    def end(self, terminal):
        try:
            os.kill(terminal.pid, signal.SIGKILL)
            os.waitpid(terminal.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass

    def test_a_conversation(self):
        terminal = self.start("--max-completion-length", 99000, "--min-tokens", 99000)
        self.assertIn("/reset", terminal.read_until("\n> "))
        terminal.write("one\n")
        expected = self.sampled(
            [{"role": "user", "content": "one"}],
            "--temperature",
            0,
            "--max-completion-length",
            8,
            "--min-tokens",
            8,
        )
        # The beginning is there while the rest is still to be drawn.
        terminal.read_until(expected.replace("\n", "\r\n"))
        terminal.write("\x03")
        terminal.read_until("[interrupted]")
        terminal.read_until("\n> ")
        # Ctrl-C without an answer under way forgets the line.
        terminal.write("two\x03")
        terminal.read_until("Ctrl-D ends the program.")
        terminal.read_until("\n> ")
        terminal.write("/reset\n")
        terminal.read_until("\n> ")
        terminal.write("one\n")
        terminal.read_until(expected.replace("\n", "\r\n"))
        terminal.write("\x03")
        terminal.read_until("\n> ")
        terminal.write("\x04")
        self.assertEqual(terminal.wait(), 0)

    def test_an_error_leaves_the_conversation_as_it_was(self):
        terminal = self.start("--max-completion-length", 8)
        terminal.read_until("\n> ")
        terminal.write("one\n")
        answer = terminal.read_until("\n> ")
        terminal.write("/reset\n")
        terminal.read_until("\n> ")
        os.write(terminal.descriptor, b"\xff\xfe\n")
        self.assertIn("not well-formed UTF-8", terminal.read_until("\n> "))
        terminal.write("one\n")
        self.assertEqual(terminal.read_until("\n> "), answer)
        terminal.write("\x04")
        self.assertEqual(terminal.wait(), 0)


if __name__ == "__main__":
    unittest.main()
