"""What `cohort train` says before its first step, and which runs it refuses.

COHORT=build/cohort python3 tests/cli/test_preflight.py
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import cli_case
from cli_case import CONTEXT, CliTest, read_lines, run, write_lines

setUpModule = cli_case.setUpModule

FUNCTIONS = """
import os

calls = 0

def letters(completions, **columns):
    return [float(sum(map(str.isalpha, str(text)))) for text in completions]

def counted(completions, **columns):
    \"\"\"A function with a memory, and one that looks at its request.\"\"\"
    global calls
    calls += 1
    return [calls + len(text) / 100 for text in completions]

def raises(completions, **columns):
    raise LookupError("nothing here")

def asks(completions, reference, **columns):
    return [1.0] * len(completions)

def skips(completions, **columns):
    return [None] * len(completions)

def picky(completions, level, **columns):
    if any(value is None for value in level):
        raise ValueError("no level")
    return [float(len(text)) for text in completions]

def odd(completions, answer, **columns):
    if int(answer[0]) % 2:
        raise ValueError("odd")
    return [float(len(text)) for text in completions]

def slow(completions, **columns):
    import time
    time.sleep(3)

def logs(completions, **columns):
    with open(os.environ["SEEN"], "a") as file:
        print(len(completions), file=file)
    return [0.5] * len(completions)
"""

RECIPE = """
seed = 5
[model]
path = "MODEL"
dtype = "float32"
[data]
path = "rows.jsonl"
[rollout]
prompts_per_step = 2
num_generations = 4
max_completion_length = 12
[[reward]]
name = "mine"
REWARD
[optimizer]
learning_rate = 1e-3
[train]
max_steps = 3
"""

PYTHON = 'type = "python"\nfunction = "mine.py:NAME"\n'


class PreflightTest(CliTest):
    def setUp(self):
        self.place = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.place / "mine.py").write_text(FUNCTIONS)
        self.rows([{"prompt": f"{i} + 1 =", "answer": str(i + 1)} for i in range(8)])

    def rows(self, rows):
        write_lines(self.place / "rows.jsonl", rows)

    def train(self, reward, *options, command="train", name="run", model=None, **environment):
        recipe = RECIPE.replace("MODEL", str(model or self.model)).replace("REWARD", reward)
        (self.place / "recipe.toml").write_text(recipe)
        arguments = (command, "recipe.toml", "--run-dir", name, "--threads", 1, *options)
        return run(*arguments, cwd=self.place, env={**os.environ, **environment})

    def python(self, function, *options, **more):
        return self.train(PYTHON.replace("NAME", function), *options, **more)

    def lines(self, result):
        """The lines of the preflight, which are warnings or notes."""
        return [line for line in result.stderr.splitlines() if "preflight: " in line]

    def refused(self, result, *parts):
        """Refused before step 1, in one line, which ends the program's output; the directory is free again."""
        self.assertEqual(result.returncode, 2, result.stderr)
        last = result.stderr.splitlines()[-1]
        for part in ("cohort: reward mine", *parts):
            self.assertIn(part, last)
        self.assertNotIn("step 1", result.stderr)
        self.assertEqual((self.place / "run/metrics.jsonl").read_text(), "")
        self.assertFalse((self.place / "run/config.toml").exists())

    def finished(self, result, steps=3, name="run"):
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(read_lines(self.place / name / "metrics.jsonl")), steps)

    def test_functions_that_cannot_work_are_refused(self):
        (self.place / "broken.py").write_text("def f(:\n")
        (self.place / "needs.py").write_text("import no_such_thing\n")
        for function, parts in [
            ("raises", ["mine.py:16: LookupError: nothing here", "reward.0.function"]),
            ("letter", ["no attribute 'letter'", "did you mean 'letters'?"]),
            ("asks", ["'reference'", "the columns are: answer"]),
        ]:
            self.refused(self.python(function), *parts)
        for place, part in [
            ("broken.py:f", "SyntaxError"),
            ("needs.py:f", "needs.py:1: ModuleNotFoundError: No module named 'no_such_thing'"),
            ("no_such_module:f", "No module named 'no_such_module'"),
        ]:
            self.refused(self.train(f'type = "python"\nfunction = "{place}"'), part)
        # The directory of a run that was refused takes the mended one.
        self.finished(self.python("letters"))

    def test_programs_that_cannot_work_are_refused(self):
        for command, parts in [
            ('"/no/such/program"', ["exit status 127", "/no/such/program"]),
            ('["no-such-program", "x"]', ["No such file", "no-such-program x"]),
            ('"exit 3"', ["exit status 3"]),
            ('"cat"', ["reward"]),
        ]:
            self.refused(self.train(f'type = "command"\ncommand = {command}'), "reward.0.command", *parts)

    def test_a_column_that_no_row_has_is_refused(self):
        self.rows([{"prompt": "p", "target": 1}, {"prompt": "q", "target": 2}])
        for reward, part in [
            ("accuracy", '"answer"'),
            ("numeric", '"answer"'),
            ("string_check", '"answer"'),
            ("countdown", '"numbers"'),
            ("json_schema", '"schema"'),
        ]:
            self.refused(
                self.train(f'type = "{reward}"'), part, "the rows have the columns target", "data.columns"
            )

    def test_rows_of_which_some_lack_a_column_are_not(self):
        rows = [{"prompt": f"{i}", "answer": "1"} if i % 4 == 3 else {"prompt": f"{i}"} for i in range(64)]
        self.rows(rows)
        self.finished(self.train('type = "accuracy"', "--max-failed-share", 1))
        # The first step draws from one part of a mixture, and only the other has what the function reads.
        write_lines(self.place / "plain.jsonl", [{"prompt": "a"}] * 8)
        write_lines(self.place / "levels.jsonl", [{"prompt": "b", "level": 3}])
        recipe = PYTHON.replace("NAME", "picky") + (
            '[[data.source]]\npath = "plain.jsonl"\nweight = 0.99\n'
            '[[data.source]]\npath = "levels.jsonl"\nweight = 0.01\n'
        )
        text = RECIPE.replace('[data]\npath = "rows.jsonl"\n', "")
        (self.place / "mixture.toml").write_text(
            text.replace("MODEL", str(self.model)).replace("REWARD", recipe)
        )
        arguments = ("train", "mixture.toml", "--run-dir", "mixed", "--max-failed-share", 1)
        result = run(*arguments, cwd=self.place)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("warning: preflight: reward mine failed on all trial completions", result.stderr)

    def test_rewards_that_skip_all_stop_the_run_in_its_first_steps(self):
        result = self.python("skips")
        self.assertIn("every reward skipped every trial completion", result.stderr)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("step 2: every reward skipped all 16 completions in 2 steps", result.stderr)
        self.assertFalse((self.place / "run/final").exists())

    def test_a_reward_without_weight_is_a_warning(self):
        reward = PYTHON.replace("NAME", "letters") + '[[reward]]\nname = "log"\nweight = 0\n'
        result = self.train(reward + PYTHON.replace("NAME", "raises"))
        self.finished(result)
        self.assertIn("warning: preflight: reward log failed on all 8 trial completions", result.stderr)

    def test_late_answers_are_a_warning(self):
        result = self.train(PYTHON.replace("NAME", "slow") + "timeout_s = 0.5\n")
        self.assertIn("raise reward.0.timeout_s", self.lines(result)[0])
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("step 2: reward mine failed on all of its 16 completions in 2 steps", result.stderr)
        self.assertTrue((self.place / "run/checkpoints/step-00000002").exists())

    def test_a_server_that_is_down_stops_the_run_in_its_first_steps(self):
        result = self.train('type = "http"\nurl = "http://127.0.0.1:9/"\nretries = 0\n')
        self.assertIn("start the server, or correct reward.0.url", self.lines(result)[0])
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("step 2: reward mine failed on all of its 16 completions", result.stderr)

    def test_the_trial_changes_no_result(self):
        for name, options in (("with", []), ("without", ["--train.preflight", "false"])):
            result = self.train(PYTHON.replace("NAME", "counted") + "batch_size = 1\n", *options, name=name)
            self.finished(result, name=name)
            self.assertEqual(bool(self.lines(result)), name == "with", result.stderr)
        files = ["metrics.jsonl", "completions.jsonl", "final/model.safetensors"]
        for file in files:
            with_trial, without = ((self.place / name / file).read_bytes() for name in ("with", "without"))
            self.assertEqual(with_trial, without, file)

    def test_the_trial_is_small_and_left_out_when_a_run_goes_on(self):
        seen = self.place / "seen"
        self.finished(self.python("logs", "--prompts-per-step", 16, "--num-generations", 8, SEEN=str(seen)))
        drawn = sum(map(int, seen.read_text().split())) - 3 * 16 * 8
        self.assertEqual(drawn, 4 * 8)
        seen.unlink()
        options = ["--prompts-per-step", 16, "--num-generations", 8, "--resume"]
        result = self.python("logs", *options, SEEN=str(seen))
        self.assertEqual((result.returncode, self.lines(result)), (0, []), result.stderr)
        self.assertFalse(seen.exists())

    def test_what_will_go_wrong_is_said_with_its_setting(self):
        result = self.train('type = "format"')
        self.finished(result)
        text = "\n".join(self.lines(result))
        self.assertIn("all 8 trial completions were cut", text)
        self.assertIn("raise rollout.max_completion_length = 12", text)
        self.assertIn("no reward differs within any of 2 trial groups", text)
        self.assertLessEqual(len(self.lines(result)), 5)
        result = self.train('type = "format"', "--max-completion-length", 3, name="short")
        self.assertIn("reward mine can never be 1, because the tags alone take 4 tokens", result.stderr)
        result = self.train('type = "accuracy"', "--max-completion-length", 1, name="one")
        self.assertRegex(result.stderr, "found no answer in any of|no reward differs")

    def test_the_context_is_named(self):
        result = self.python("letters", "--max-completion-length", 400)
        self.finished(result)
        self.assertIn(
            f"rollout.max_completion_length = 400 passes the model's context of {CONTEXT} tokens",
            result.stderr,
        )
        self.assertRegex(result.stderr, r"longest prompt \(\d+ tokens, rows.jsonl:\d\)")
        self.assertNotIn("still divides", result.stderr)
        result = self.python("letters", "--max-completion-length", 400, "--preset", "dr_grpo", name="dr")
        self.assertIn("the loss still divides by 400", result.stderr)
        self.assertNotIn(
            "context of", self.python("letters", "--max-completion-length", 200, name="fits").stderr
        )

    def copy_of_model(self, name, **changes):
        model = self.place / name
        shutil.copytree(self.model, model)
        for file, change in changes.items():
            path = model / f"{file}.json"
            content = json.loads(path.read_text()) if path.exists() else {}
            change(content)
            path.write_text(json.dumps(content))
        return model

    def endless_model(self):
        return self.copy_of_model(
            "endless",
            config=lambda c: c.pop("eos_token_id", None),
            generation_config=lambda c: c.pop("eos_token_id", None),
            tokenizer_config=lambda c: c.pop("eos_token", None),
        )

    def test_a_model_without_a_stop_token(self):
        model = self.endless_model()
        said = "names a stop token"
        self.assertIn(said, self.python("letters", model=model).stderr)
        options = ["--stop-strings", "zzz"]
        self.assertNotIn(said, self.python("letters", *options, model=model, name="strings").stderr)
        self.assertNotIn(said, self.python("letters", "--ignore-eos", model=model, name="ignored").stderr)
        self.assertNotIn(said, self.python("letters", name="other").stderr)

    def chat_model(self, name, generation_prompt, end=""):
        model = self.copy_of_model(name)
        (model / "chat_template.jinja").write_text(
            "{% for m in messages %}<{{ m.role }}>{{ m.content }}" + end + "{% endfor %}"
            "{% if add_generation_prompt %}" + generation_prompt + "{% endif %}"
        )
        self.rows([{"prompt": [{"role": "user", "content": f"1+{i}?"}], "answer": "2"} for i in range(4)])
        return model

    def test_a_turn_that_ends_with_no_stop_token(self):
        model = self.chat_model("turns", "<bot>", end="<|endoftext|>")
        self.assertNotIn("ends the assistant's turn", self.python("letters", model=model).stderr)
        tokenizer = json.loads((model / "tokenizer.json").read_text())
        special = dict(
            tokenizer["added_tokens"][0], content="<|im_end|>", id=len(tokenizer["model"]["vocab"])
        )
        tokenizer["added_tokens"].append(special)
        (model / "tokenizer.json").write_text(json.dumps(tokenizer))
        (model / "chat_template.jinja").write_text(
            (model / "chat_template.jinja").read_text().replace("<|endoftext|>", "<|im_end|>")
        )
        result = self.python("letters", model=model, name="end")
        self.assertIn("ends the assistant's turn with <|im_end|>", result.stderr)

    def test_thinking_that_the_template_opens(self):
        model = self.chat_model("thinks", "<bot><think>\n")
        result = self.train('type = "format"', model=model)
        self.finished(result)
        self.assertIn('the prompt ends with "<think>"', result.stderr)
        self.assertIn("mine counts it as the completion's", result.stderr)
        result = self.train('type = "regex"\npattern = "^<think>.*"', model=model, name="pattern")
        self.assertIn("`pattern` asks for <think>", result.stderr)
        model = self.chat_model("plain", "<bot>")
        self.assertNotIn("<think>", self.train('type = "format"', model=model, name="plain-run").stderr)

    def test_texts_show_stop_strings_and_special_tokens_as_told(self):
        hot = ["--max-completion-length", 100, "--temperature", 2, "--max-steps", 1]

        def texts(name, *options):
            self.finished(self.python("letters", *hot, *options, name=name), 1, name)
            rows = read_lines(self.place / name / "completions.jsonl")
            return [row for row in rows if row["finish_reason"] == "stop"]

        shown = texts("shown", "--stop-strings", "e")
        cut = texts("cut", "--stop-strings", "e", "--rollout.include_stop_str_in_output", "false")
        self.assertEqual([r["completion_ids"] for r in shown], [r["completion_ids"] for r in cut])
        self.assertTrue(any("e" in row["completion"] for row in shown))
        self.assertFalse(any("e" in row["completion"] for row in cut))
        for whole, rest in zip(shown, cut):
            self.assertTrue(whole["completion"].startswith(rest["completion"]))
        ended = texts("special", "--rollout.skip_special_tokens", "false")
        self.assertTrue(ended)
        self.assertTrue(all(row["completion"].endswith("<|endoftext|>") for row in ended))

    def test_formats_that_no_text_can_have(self):
        for options, part in [
            (
                ["--stop-strings", "</answer>", "--include-stop-str-in-output", "false"],
                "cuts the stop string",
            ),
            (["--stop-strings", "</think>"], "the stop string </think> ends completions at </think>"),
            (["--skip-special-tokens", "false"], "texts show the stop token after the last section"),
            (["--stop-strings", "</answer>"], None),
        ]:
            result = self.train('type = "format"', *options, name=f"run-{len(list(self.place.iterdir()))}")
            self.assertEqual(result.returncode, 0, result.stderr)
            if part:
                self.assertIn("reward mine can never be 1, because", result.stderr)
                self.assertIn(part, result.stderr)
            else:
                self.assertNotIn("can never be 1", result.stderr)

    def test_groups_teach_nothing_only_where_they_are_compared(self):
        constant = PYTHON.replace("NAME", "logs")
        environment = {"command": "preflight", "SEEN": str(self.place / "seen")}
        result = self.train(constant, **environment)
        self.assertIn("100 % of 6 have rewards without difference and teach nothing", result.stdout)
        result = self.train(constant, "--num-generations", 1, "--preset", "reinforce_pp", **environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("teach nothing", result.stdout)
        self.assertNotIn("without difference", result.stdout)

    def test_the_command_counts_all_groups_that_are_drawn(self):
        (self.place / "mine.py").write_text(
            "def f(completions, answer, **columns):\n"
            "    return [len(text) * (int(n) % 4 == 0) for text, n in zip(completions, answer)]\n"
        )
        options = ("--dynamic-sampling", "true", "--max-num-gen-batches", 4, "--json")
        result = self.train('type = "python"\nfunction = "mine.py:f"\n', *options, command="preflight")
        said = json.loads(result.stdout)
        self.assertEqual(said["completions"], 4 * said["groups"])
        self.assertGreater(said["groups"], 6)
        self.assertEqual(said["trained_completions"], 24)
        self.assertLess(said["drawn_reward"], said["reward"])
        self.assertEqual((said["trial_prompts"], said["step_prompts"]), (2, 2))

    def test_the_command_draws_an_evaluation_and_times_it(self):
        write_lines(self.place / "held-out.jsonl", [{"prompt": f"{i} + 2 ="} for i in range(5)])
        seen = self.place / "seen"
        options = ("--data.eval_path", "held-out.jsonl", "--eval-steps", 1, "--json")
        result = self.python("logs", *options, command="preflight", SEEN=str(seen))
        said = json.loads(result.stdout)
        self.assertEqual(sum(map(int, seen.read_text().split())), 8 + 3 * 8 + 5 * 4)
        self.assertEqual(said["evaluations"], 3)
        self.assertGreater(said["evaluation_s"], 0)
        self.assertAlmostEqual(said["run_s"], 3 * said["step_s"] + 3 * said["evaluation_s"])

    def test_an_interrupted_command_leaves_nothing(self):
        scratch = self.place / "scratch"
        scratch.mkdir()
        recipe = RECIPE.replace("MODEL", str(self.model)).replace("REWARD", PYTHON.replace("NAME", "slow"))
        (self.place / "recipe.toml").write_text(recipe)
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen(
                [cli_case.PROGRAM, "preflight", "recipe.toml", "--run-dir", "run", "--threads", "1"],
                cwd=self.place,
                env={**os.environ, "TMPDIR": str(scratch)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            deadline = time.monotonic() + 60
            while not list(scratch.glob("cohort-preflight-*/0")) and time.monotonic() < deadline:
                time.sleep(0.05)
            self.assertTrue(list(scratch.glob("cohort-preflight-*/0")))
            process.send_signal(number)
            self.assertEqual(process.wait(30), -number)
            self.assertEqual(list(scratch.glob("cohort-preflight-*")), [])
        result = self.python("letters", command="preflight", TMPDIR=str(self.place / "missing"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("set TMPDIR to one that can be written to", result.stderr)
        self.assertNotIn("filesystem error", result.stderr)

    def test_the_command_names_what_is_wrong_with_broken_recipes(self):
        letters, no_stop = PYTHON.replace("NAME", "letters"), self.endless_model()
        cut_off = ("--stop-strings", "</answer>", "--include-stop-str-in-output", "false")
        for reward, options, parts in [
            (PYTHON.replace("NAME", "raises"), (), ["LookupError: nothing here", "reward.0.function"]),
            (PYTHON.replace("NAME", "asks"), (), ["'reference'", "the columns are: answer"]),
            ('type = "countdown"', (), ['"numbers"', "data.columns"]),
            ('type = "format"', (), ["no reward differs within any of 6 trial groups"]),
            (letters, (), ["all 24 trial completions were cut", "raise rollout.max_completion_length = 12"]),
            (
                letters,
                ("--learning-rate", 0.5),
                ["optimizer.learning_rate = 0.5 lets AdamW move each weight"],
            ),
            (
                letters,
                ("--learning-rate", 1e-9),
                ["optimizer.learning_rate = 1e-09 adds up to at most 3e-09"],
            ),
            (
                PYTHON.replace("NAME", "odd") + "batch_size = 1\n",
                (),
                ["of 24 trial completions: rows.jsonl:"],
            ),
            ('type = "format"', ("--max-completion-length", 3), ["can never be 1", "take 4 tokens"]),
            ('type = "format"', cut_off, ["cuts the stop string </answer> off: set it to true"]),
            (letters, ("--max-completion-length", 400), [f"passes the model's context of {CONTEXT}"]),
            (letters, ("--model.path", no_stop), ["names a stop token"]),
            (PYTHON.replace("NAME", "slow") + "timeout_s = 0.5\n", (), ["raise reward.0.timeout_s"]),
            ('type = "http"\nurl = "http://127.0.0.1:9/"\nretries = 0\n', (), ["start the server"]),
        ]:
            with self.subTest(reward=reward, options=options):
                result = self.train(reward, *options, command="preflight")
                for part in parts:
                    self.assertIn(part, result.stdout + result.stderr)
                self.assertFalse((self.place / "run").exists())


if __name__ == "__main__":
    unittest.main()
