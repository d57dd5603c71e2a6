"""The program that serves Python reward functions, from outside: what the function gets, and what its failures cost.

python3 tests/python/test_reward_functions.py

Plain python3, no packages.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest

ADAPTER = pathlib.Path(__file__).resolve().parents[2] / "apps/python/cohort_reward.py"

FUNCTIONS = """
import asyncio, decimal, fractions, functools, json, os, subprocess, sys

print("noise at import")
calls = 0

def lengths(completions, **columns):
    return [float(len(text)) for text in completions]

def arguments(**columns):
    global calls
    calls += 1
    columns = {name: value for name, value in columns.items() if name not in ("log_extra", "log_metric")}
    columns["log"] = calls
    raise RuntimeError(repr(columns))

def values(completions, **columns):
    table = {
        "none": None, "one": 1, "true": True, "half": fractions.Fraction(1, 2), "tenth": decimal.Decimal("0.1"),
        "nan": float("nan"), "infinity": float("inf"), "text": "1", "bytes": b"1", "list": [1], "object": object(),
        "large": 10 ** 400, "broken": Broken(),
    }
    return [table[text] for text in completions]

class Broken:
    def __float__(self): raise OSError("no number")
    def __repr__(self): raise OSError("no text")

def too_few(completions, **columns):
    return [1.0] * (len(completions) - 1)

def no_list(completions, **columns):
    return 1.0

def generated(completions, **columns):
    return (i for i, text in enumerate(completions))

def prints(completions, **columns):
    print("noise")
    os.write(1, b"more noise")
    subprocess.run(["echo", "noise of a child"])
    return [float(sys.stdin.read() == "")] * len(completions)

def leaves(completions, **columns):
    sys.exit("goodbye")

def strict(completions, answer):
    return [1.0] * len(completions)

def logs(completions, log_extra, log_metric, **columns):
    log_extra("seen", completions)
    log_extra("number", range(len(completions)))
    log_metric("accuracy", 0.5)
    return [1.0] * len(completions)

def logs_much(completions, log_extra, **columns):
    log_extra("seen", [json.loads(text) for text in completions])
    log_extra("long", ["x" * 3000000] * len(completions))
    return [1.0] * len(completions)

def raises(completions, **columns):
    kinds = {
        "interrupt": KeyboardInterrupt("stop"), "cancelled": asyncio.CancelledError("late"), "panic": Panic("a Rust panic"),
        "long": ValueError("x" * 6000000), "half": ValueError("\\ud83d"), "noted": noted(ValueError("the reason")),
    }
    raise kinds[completions[0]]

class Panic(BaseException): pass

class PanicsAsNumber:
    def __float__(self): raise Panic("no number")

def panics_as_number(completions, **columns):
    return [PanicsAsNumber() if text == "panic" else 1.0 for text in completions]

def noted(error):
    if hasattr(error, "add_note"): error.add_note("a note")
    return error

async def cancels(completions, **columns):
    asyncio.current_task().cancel()
    await asyncio.sleep(0)

first_loop = None

async def later(completions, **columns):
    global first_loop
    first_loop = first_loop or asyncio.get_running_loop()
    await asyncio.sleep(0.001)
    return [float(first_loop is asyncio.get_running_loop())] * len(completions)

partly = functools.partial(later, answer=["x"])

class Rewards:
    @staticmethod
    def lengths(completions, **columns): return [len(text) for text in completions]
    async def __call__(self, completions, **columns): return [2] * len(completions)

called = Rewards()
"""


def row(index, completion, **columns):
    return {
        "id": str(index),
        "prompt": "p",
        "completion": completion,
        "completion_ids": [index],
        **columns,
    }


class RewardFunctionTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.place = self.folder / "mine.py"
        self.place.write_text(FUNCTIONS)

    def ask(self, function, *requests, place=None, **options):
        """The rewards for each list of rows, from one run of the adapter."""
        lines = [json.dumps({"id": f"b{i}", "rows": rows}) for i, rows in enumerate(requests)]
        result = subprocess.run(
            [sys.executable, ADAPTER, f"{place or self.place}:{function}"],
            input="".join(line + "\n" for line in lines),
            capture_output=True,
            text=True,
            **options,
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        self.errors = result.stderr
        replies = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([reply["id"] for reply in replies], [f"b{i}" for i in range(len(requests))])
        for rows, reply in zip(requests, replies):
            self.assertEqual(
                [reward["id"] for reward in reply["rewards"]], [question["id"] for question in rows]
            )
        return [reply["rewards"] for reply in replies]

    def without_place(self, error):
        """The text behind "FILE:LINE: ", which must name a line of the function's file."""
        match = re.fullmatch(re.escape(str(self.place)) + r":(\d+): (.*)", error, re.DOTALL)
        self.assertIsNotNone(match, error)
        self.assertTrue(FUNCTIONS.splitlines()[int(match[1]) - 1].strip(), error)
        return match[2]

    def scores(self, function, *completions):
        (rewards,) = self.ask(function, [row(i, text) for i, text in enumerate(completions)])
        return [reward.get("score", "error") for reward in rewards]

    def test_one_reward_per_completion(self):
        self.assertEqual(self.scores("lengths", "a", "", "äöü\n\u2028"), [1, 0, 5])
        first, second = self.ask("lengths", [row(0, "a"), row(1, "bb")], [row(0, "ccc")])
        self.assertEqual([reward["score"] for reward in first + second], [1, 2, 3])

    def test_the_arguments_are_trls(self):
        messages = [{"role": "user", "content": "hello"}]
        plain = [row(0, "a", answer=1, id_column="x"), row(1, "b", level=[2])]
        chat = [row(0, "c", prompt_messages=messages)]
        first, second = self.ask("arguments", plain, chat)
        self.assertEqual(
            eval(self.without_place(first[0]["error"]).removeprefix("RuntimeError: ")),
            {
                "prompts": ["p", "p"],
                "completions": ["a", "b"],
                "completion_ids": [[0], [1]],
                "answer": [1, None],
                "level": [None, [2]],
                "id": ["x", None],
                "log": 1,
            },
        )
        self.assertEqual(
            eval(self.without_place(second[0]["error"]).removeprefix("RuntimeError: ")),
            {
                "prompts": [messages],
                "completions": [[{"role": "assistant", "content": "c"}]],
                "completion_ids": [[0]],
                "log": 2,
            },
        )

    def test_numbers_of_any_kind_and_nothing_else(self):
        self.assertEqual(
            self.scores("values", "none", "one", "true", "half", "tenth"), [None, 1, 1, 0.5, 0.1]
        )
        wrong = ["nan", "infinity", "text", "bytes", "list", "object", "large", "broken"]
        for name in wrong:
            (rewards,) = self.ask("values", [row(0, "one"), row(1, name), row(2, "half")])
            self.assertEqual([reward.get("score", "error") for reward in rewards], [1, "error", 0.5], name)
            self.assertIn("no finite number", rewards[1]["error"])
            self.assertLess(len(rewards[1]["error"]), 200)

    def test_another_number_of_rewards_fails_the_batch(self):
        (rewards,) = self.ask("too_few", [row(0, "a"), row(1, "b")])
        self.assertEqual(
            [reward["error"] for reward in rewards], ["the function returned 1 rewards for 2 completions"] * 2
        )
        (rewards,) = self.ask("no_list", [row(0, "a")])
        self.assertIn("TypeError", rewards[0]["error"])
        self.assertEqual(self.scores("generated", "a", "b"), [0, 1])

    def test_an_exception_fails_the_batch_and_the_program_lives_on(self):
        rewards = self.ask("values", [row(0, "one"), row(1, "no such")], [row(0, "half")])
        self.assertEqual(
            [self.without_place(reward["error"]) for reward in rewards[0]], ["KeyError: 'no such'"] * 2
        )
        self.assertEqual(rewards[1], [{"id": "0", "score": 0.5}])
        self.assertIn("Traceback", self.errors)
        rewards = self.ask("leaves", [row(0, "a")], [row(0, "b")])
        errors = [self.without_place(batch[0]["error"]) for batch in rewards]
        self.assertEqual(errors, ["SystemExit: goodbye"] * 2)
        (rewards,) = self.ask("strict", [row(0, "a", answer=1)])
        self.assertIn("unexpected keyword argument", rewards[0]["error"])

    def test_whatever_is_raised_is_an_error_and_the_program_lives_on(self):
        for name, reason in [
            ("interrupt", "KeyboardInterrupt: stop"),
            ("cancelled", "asyncio.exceptions.CancelledError: late"),
            ("panic", "mine.Panic: a Rust panic"),
            ("noted", "ValueError: the reason"),
            ("half", "ValueError: ?"),
            ("long", "ValueError: xxx"),
        ]:
            rewards = self.ask("raises", [row(0, name), row(1, "b")], [row(0, "noted")])
            errors = [self.without_place(reward["error"]) for reward in rewards[0]]
            if name == "long":
                self.assertEqual({len(reward["error"]) for reward in rewards[0]}, {503})
                errors = [error[: len(reason)] for error in errors]
            self.assertEqual(errors, [reason] * 2)
            self.assertEqual(self.without_place(rewards[1][0]["error"]), "ValueError: the reason")
        rewards = self.ask("cancels", [row(0, "a")], [row(0, "b")])
        for batch in rewards:
            self.assertIn("CancelledError", batch[0]["error"])
        (rewards,) = self.ask("panics_as_number", [row(0, "panic"), row(1, "b")])
        self.assertIn("no finite number", rewards[0]["error"])
        self.assertEqual(rewards[1]["score"], 1)
        (self.folder / "panics.py").write_text("raise BaseException('no module')\n")
        (rewards,) = self.ask("f", [row(0, "a")], place=self.folder / "panics.py")
        self.assertIn("panics.py:1: BaseException: no module", rewards[0]["error"])

    def test_texts_of_a_reply_are_short_and_whole(self):
        (rewards,) = self.ask("logs_much", [row(0, '"\\ud83d"'), row(1, '"\\ud83d\\ude00"')])
        self.assertEqual([reward["score"] for reward in rewards], [1, 1])
        self.assertEqual(
            [reward["detail"] for reward in rewards],
            ["seen = ?, long = " + "x" * 483 + "...", "seen = \U0001f600, long = " + "x" * 483 + "..."],
        )

    def test_columns_named_like_what_the_function_is_given_are_left_out(self):
        (rewards,) = self.ask("logs", [row(0, "a", log_extra=1, log_metric="x"), row(1, "b")])
        self.assertEqual([reward.get("score") for reward in rewards], [1, 1], rewards)

    def test_the_functions_own_output_and_input_are_elsewhere(self):
        self.assertEqual(self.scores("prints", "a"), [1])
        for text in ("noise at import", "noise\n", "more noise", "noise of a child"):
            self.assertIn(text, self.errors)

    def test_a_function_that_reads_input_waits_for_nothing(self):
        with subprocess.Popen(
            [sys.executable, ADAPTER, f"{self.place}:prints"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            killer = threading.Timer(60, process.kill)
            killer.start()
            print(json.dumps({"id": "b0", "rows": [row(0, "a")]}), file=process.stdin, flush=True)
            reply = process.stdout.readline()
            killer.cancel()
        self.assertEqual(json.loads(reply or "{}").get("rewards"), [{"id": "0", "score": 1.0}])

    def test_async_functions_share_one_loop(self):
        for function in ("later", "partly"):
            first, second = self.ask(function, [row(0, "a")], [row(0, "b")])
            self.assertEqual([first[0]["score"], second[0]["score"]], [1, 1])
        self.assertEqual(self.scores("called", "a", "b"), [2, 2])

    def test_what_is_logged_for_a_completion_is_its_detail(self):
        (rewards,) = self.ask("logs", [row(0, "a"), row(1, "b")])
        self.assertEqual(
            [reward["detail"] for reward in rewards], ["seen = a, number = 0", "seen = b, number = 1"]
        )

    def test_functions_of_modules_and_classes(self):
        self.assertEqual(self.scores("Rewards.lengths", "abc"), [3])
        (rewards,) = self.ask("lengths", [row(0, "abc")], place="mine", cwd=self.folder)
        self.assertEqual(rewards[0]["score"], 3)
        package = self.folder / "package"
        package.mkdir()
        (package / "inner.py").write_text("from mine import lengths\n")
        (rewards,) = self.ask("lengths", [row(0, "abc")], place="package.inner", cwd=self.folder)
        self.assertEqual(rewards[0]["score"], 3)
        # Files beside the function's can be imported, wherever it runs.
        (self.folder / "other.py").write_text("from mine import lengths\n")
        (rewards,) = self.ask("lengths", [row(0, "abc")], place=self.folder / "other.py", cwd="/")
        self.assertEqual(rewards[0]["score"], 3)

    def test_what_cannot_be_loaded_says_why_with_every_row(self):
        (self.folder / "wrong.py").write_text("def reward(:\n")
        (self.folder / "needs.py").write_text("import no_such_module\n")
        for place, function, reason in [
            (self.place, "no_such", "no attribute 'no_such'"),
            (self.folder / "none.py", "f", "FileNotFoundError"),
            (self.folder / "wrong.py", "reward", "SyntaxError"),
            (self.folder / "needs.py", "reward", "No module named 'no_such_module'"),
            ("no_such_module", "reward", "No module named 'no_such_module'"),
        ]:
            rewards = self.ask(function, [row(0, "a"), row(1, "b")], [row(0, "c")], place=place)
            for reward in rewards[0] + rewards[1]:
                self.assertIn(reason, reward["error"])

    def test_an_exception_names_the_line_of_the_functions_own_file(self):
        (self.folder / "helper.py").write_text("def half(text):\n    return text / 2\n")
        (self.folder / "deep.py").write_text(
            "import json\nfrom helper import half\n\n"
            "def parses(completions, **columns):\n    return [json.loads(text) for text in completions]\n\n"
            "def halves(completions, **columns):\n    return [half(text) for text in completions]\n"
        )
        for function, line, kind in [("parses", 5, "JSONDecodeError"), ("halves", 8, "TypeError")]:
            place = self.folder / "deep.py"
            ((reward,),) = self.ask(function, [row(0, "x")], place=place)
            self.assertRegex(reward["error"], rf"^{re.escape(str(place))}:{line}: .*{kind}: ")
        ((reward,),) = self.ask("halves", [row(0, "x")], place="deep", cwd=self.folder)
        self.assertRegex(reward["error"], "helper.py:2: TypeError: ")  # a module has no file of its own here

    def test_a_function_that_takes_messages_for_strings_is_told(self):
        chat = [row(0, "a", prompt_messages=[{"role": "user", "content": "hello"}])]
        (self.folder / "vowels.py").write_text(
            "def joins(completions, **columns):\n    return [''.join(text) for text in completions]\n\n"
            "def needs(completions, gold, **columns):\n    return [1.0] * len(completions)\n"
        )
        place = self.folder / "vowels.py"
        first, second = self.ask("joins", chat, [row(0, "a")], place=place)
        self.assertIn("are lists of messages: completion[0]['content']", first[0]["error"])
        self.assertNotIn("lists of messages", second[0]["error"])
        ((reward,),) = self.ask("needs", chat, place=place)
        self.assertNotIn("lists of messages", reward["error"])

    def test_a_name_that_is_none_is_answered_with_the_nearest(self):
        ((reward,),) = self.ask("length", [row(0, "a")])
        self.assertIn("has no attribute 'length'; did you mean 'lengths'?", reward["error"])
        ((reward,),) = self.ask("Rewards.lenghts", [row(0, "a")])
        self.assertIn("did you mean 'lengths'?", reward["error"])

    def test_an_argument_without_a_column_is_named_with_the_columns_that_are(self):
        (self.folder / "asks.py").write_text(
            "def plain(completions, ground_truth, **columns):\n    return [1.0] * len(completions)\n\n"
            "def defaults(completions, ground_truth=None, **columns):\n"
            "    return [float(ground_truth is None)] * len(completions)\n"
        )
        place = self.folder / "asks.py"
        first, second = self.ask(
            "plain", [row(0, "a", answer=1)], [row(0, "a"), row(1, "b", ground_truth=2)], place=place
        )
        self.assertIn("needs the argument 'ground_truth'", first[0]["error"])
        self.assertIn("the columns are: answer", first[0]["error"])
        self.assertEqual([reward.get("score") for reward in second], [1, 1])
        ((reward,),) = self.ask("defaults", [row(0, "a")], place=place)
        self.assertEqual(reward["score"], 1)

    def test_wrong_use_prints_how(self):
        for arguments in ([], ["mine.py"], ["mine.py:f", "more"]):
            result = subprocess.run([sys.executable, ADAPTER, *arguments], capture_output=True, text=True)
            self.assertEqual(result.returncode, 1)
            self.assertIn("my_rewards.py:my_reward", result.stderr)

    def test_it_ends_with_its_input(self):
        read, write = os.pipe()
        process = subprocess.Popen([sys.executable, ADAPTER, f"{self.place}:lengths"], stdin=read)
        os.close(read)
        os.close(write)
        self.assertEqual(process.wait(60), 0)


if __name__ == "__main__":
    unittest.main()
