"""Runs in which the environment fails in some episodes: those alone are masked or answered with an error, and no process stays.

COHORT=build/cohort python3 tests/cli/test_environment_faults.py

The model of chain_model.py calls the tool `add` twice and then answers. The environment is faulty_environment.py. Of three
rows, the first fails in all episodes, the second in one of three, and the third in none.
"""

import os
import pathlib
import re
import statistics
import subprocess
import sys
import time
import unittest

from chain_model import make_chain_model
from cli_case import PROGRAM, CliTest, read_lines, setUpModule, write_lines  # noqa: F401

ENVIRONMENT = pathlib.Path(__file__).with_name("faulty_environment.py")
RECIPE = """
seed = 3
[model]
path = "{model}"
dtype = "float32"
[data]
path = "{folder}/rows.jsonl"
[rollout]
prompts_per_step = 3
num_generations = 3
max_completion_length = 200
[environment]
{environment}
workers = {workers}
timeout_s = {timeout_s}
[optimizer]
learning_rate = 1e-5
[train]
max_steps = 2
save_steps = 0
preflight = false
"""
NUM_ROWS, NUM_SEATS = 6, 3
FAULTY = {(n, s) for n in range(NUM_ROWS) for s in range(NUM_SEATS) if n % 3 == 0 or n % 3 == 1 and s == 0}


def processes_with(mark):
    """The command lines of all living processes that have `mark` in their environment."""
    found = []
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (place / "environ").read_bytes():
                found.append((place / "cmdline").read_bytes())
        except OSError:  # it has ended, or is somebody else's
            continue
    return found


class FaultsTest(CliTest):
    def setUp(self):
        self.chain = self.folder / "chain"
        if not self.chain.exists():
            make_chain_model(self.chain)

    def train(self, fault, is_program=False, workers=9, timeout_s=60, faulty=FAULTY):
        """Two steps, which must end well. Each of 9 workers has one episode of a step."""
        self.place = self.folder / f"{self.id().rsplit('.', 1)[1]}-{fault}-{is_program}".replace(" ", "-")
        self.seats = self.place / "seats"
        self.seats.mkdir(parents=True)
        rows = []
        for number in range(NUM_ROWS):
            row = {"prompt": [{"role": "user", "content": f"Game {number}."}], "number": number}
            seats = sum((number, seat) in faulty for seat in range(NUM_SEATS))
            rows.append(row | ({"fault": fault, "seats": seats} if seats else {}))
        write_lines(self.place / "rows.jsonl", rows)
        command = f'command = ["{sys.executable}", "{ENVIRONMENT}"]'
        recipe = self.place / "recipe.toml"
        recipe.write_text(
            RECIPE.format(
                model=self.chain,
                folder=self.place,
                environment=command if is_program else f'python = "{ENVIRONMENT}:Faulty"',
                workers=workers,
                timeout_s=timeout_s,
            )
        )
        with open(self.place / "log", "w+", encoding="utf-8") as log:  # a pipe would wait for what stays
            code = subprocess.run(
                [PROGRAM, "train", recipe, "--run-dir", self.place / "run", "--threads", "1"],
                stdout=log,
                stderr=log,
                env={**os.environ, "SEATS": str(self.seats)},
            ).returncode
            log.seek(0)
            self.assertEqual(code, 0, log.read())
        self.check_that_no_process_stays()
        self.metrics = read_lines(self.place / "run/metrics.jsonl")
        self.episodes = read_lines(self.place / "run/completions.jsonl")
        self.assertEqual(len(self.episodes), NUM_ROWS * NUM_SEATS)
        for line in self.metrics:
            self.assertEqual(line["sampling/sampling_logp_difference/max"], 0)

    def check_that_no_process_stays(self):
        mark = f"SEATS={self.seats}"
        end = time.monotonic() + 5
        while (left := processes_with(mark)) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(left, [])

    def check_metrics(self):
        """The counts of each step are those of its episodes."""
        for line in self.metrics:
            episodes = [one for one in self.episodes if one["step"] == line["step"]]
            replies = [text for one in episodes for text in self.replies(one)]
            errors = sum(text.startswith('{"error":') for text in replies)
            self.assertEqual(line["episodes/failed"], sum("environment_failure" in one for one in episodes))
            self.assertEqual(
                line["rewards/environment/error"], sum(one["reward"] is None for one in episodes)
            )
            self.assertAlmostEqual(line["tools/call_frequency"], len(replies) / len(episodes))
            self.assertAlmostEqual(line["tools/failure_frequency"], errors / len(replies) if replies else 0.0)

    def check_advantages(self):
        """Those of each group come from its episodes with a reward alone."""
        for number in range(NUM_ROWS):
            group = [one for one in self.episodes if self.number(one) == number]
            rewards = [one["reward"] for one in group if one["reward"] is not None]
            for one in group:
                expected = 0.0
                if one["reward"] is not None and len(rewards) > 1:
                    deviation = statistics.stdev(rewards) + 1e-4
                    expected = (one["reward"] - statistics.mean(rewards)) / deviation
                self.assertAlmostEqual(one["advantage"], expected, places=4)

    def replies(self, episode):
        return [message["content"] for message in episode["messages"] if message["role"] == "tool"]

    def number(self, episode):
        return int(re.search(r"Game (\d)", episode["prompt"])[1])

    def judged(self, episodes):
        """(row, seat) and the tool's results of each episode with a reward, which names its seat."""
        for one in episodes:
            number = self.number(one)
            seat = round(10 * (one["reward"] - number))
            self.assertAlmostEqual(one["reward"], number + seat / 10)
            yield (number, seat), self.replies(one)

    def sound(self, seat):
        return ["{}.{}: 5".format(*seat)] * 2

    def check_masked(self, reason):
        failed = [one for one in self.episodes if "environment_failure" in one]
        for one in failed:
            self.assertRegex(one["environment_failure"], reason.format(number=self.number(one)))
            self.assertEqual((one["reward"], one["advantage"], self.replies(one)), (None, 0, []))
        self.check_that_the_rest_is_sound(failed)

    def check_that_the_rest_is_sound(self, failed):
        rest = dict(self.judged(one for one in self.episodes if one not in failed))
        self.assertEqual(rest.keys(), self.all_seats() - FAULTY)
        for seat, replies in rest.items():
            self.assertEqual(replies, self.sound(seat))
        self.assertEqual(sorted(self.number(one) for one in failed), sorted(number for number, _ in FAULTY))
        self.check_metrics()
        self.check_advantages()

    def check_answered(self, reply):
        """No episode is masked; the faulty ones have `reply` as the tool's result."""
        self.assertFalse([one for one in self.episodes if "environment_failure" in one])
        judged = dict(self.judged(self.episodes))
        self.assertEqual(judged.keys(), self.all_seats())
        for seat, replies in judged.items():
            expected = [reply.format(number=seat[0])] * 2 if seat in FAULTY and reply else self.sound(seat)
            self.assertEqual(replies, expected)
        self.check_metrics()
        self.check_advantages()

    def check_not_judged(self, detail):
        failed = [one for one in self.episodes if one["rewards"]["environment"]["status"] == "error"]
        for one in failed:
            self.assertIn(detail, one["rewards"]["environment"]["detail"])
            self.assertNotIn("environment_failure", one)
            self.assertEqual((one["reward"], one["advantage"]), (None, 0))
            self.assertRegex(self.replies(one)[0], rf"^{self.number(one)}\.\d: 5$")
        self.check_that_the_rest_is_sound(failed)

    def all_seats(self):
        return {(number, seat) for number in range(NUM_ROWS) for seat in range(NUM_SEATS)}

    def test_reset_fails(self):
        for fault, reason in (
            ("reset raises", "ValueError: no game {number}$"),
            ("reset returns a number", "must return a text or None"),
        ):
            with self.subTest(fault):
                self.train(fault, workers=2)
                self.check_masked(reason)

    def test_a_tool_that_raises_is_answered_with_an_error(self):
        self.train("raises", workers=2)
        self.check_answered('{{"error":"no sum in game {number}"}}')

    def test_any_value_of_a_tool_in_python_is_a_text(self):
        self.train("returns bytes", workers=2)
        self.check_answered("b'bytes'")

    def test_what_a_tool_prints_is_no_answer(self):
        self.train("prints", workers=2)
        self.check_answered("")
        self.assertGreater((self.place / "log").stat().st_size, 3_000_000)

    def test_the_process_of_a_tool_breaks(self):
        for fault, reason, timeout_s in (
            ("hangs", "did not answer within 5 s", 5),
            ("floods", "its answer is longer than 4 MiB", 60),
            ("dies", "the program ended with exit status 3", 60),
            ("closes its pipes", "closed its input or output", 60),
        ):
            with self.subTest(fault):
                self.train(fault, timeout_s=timeout_s)
                self.check_masked(reason)

    def test_a_program_answers_nonsense(self):
        for fault, reason in (
            ("answers another request", 'wrote .*"{number}\\.\\d: 5.*", which answers no request'),
            ("answers a number", "the tool add answered no text"),
            ("says an error", "^game {number} is broken$"),
            ("writes no JSON", 'wrote "5", which answers no request'),
            ("writes two lines", "it answered with more than one line"),
            ("raises", "the program ended with exit status 1"),
        ):
            with self.subTest(fault):
                self.train(fault, is_program=True)
                self.check_masked(reason)

    def test_tools_are_those_that_the_program_described_first(self):
        self.train("changes its tools", is_program=True)
        self.check_answered('{{"error":"game {number} has no tool add"}}')
        self.assertEqual(len(list(self.seats.glob("described-*"))), 1)
        for one in self.episodes:
            self.assertIn('"name": "add"', one["prompt"])

    def test_a_reward_that_is_no_number_fails_alone(self):
        for fault, is_program, detail in (
            ("no number as reward", False, "get_reward() returned nan, which is no finite number"),
            ("a text as reward", False, "could not convert string to float: 'much'"),
            ("a text as reward", True, 'the environment\'s "score" is no number'),
        ):
            with self.subTest(fault, is_program=is_program):
                self.train(fault, is_program, workers=2)
                self.check_not_judged(detail)

    def test_processes_that_a_tool_leaves_end_with_the_run(self):
        self.train("leaves processes", workers=2)
        self.assertEqual(len(list(self.seats.glob("left-*"))), 4 * len(FAULTY))
        self.check_answered("")

    def test_a_process_that_dies_takes_only_its_own_episodes_along(self):
        faulty = {(number, seat) for number in (0, 3) for seat in range(NUM_SEATS)}
        self.train("dies", workers=6, faulty=faulty)  # half of the processes have two episodes of a step
        sound = dict(self.judged(one for one in self.episodes if one["reward"] is not None))
        self.assertGreaterEqual(len(sound), 6)
        for seat, replies in sound.items():
            self.assertNotIn(seat, faulty)
            self.assertEqual(replies, self.sound(seat))
        reasons = "exit status 3$|failed in another episode and lost this one$"
        for one in self.episodes:
            if one["reward"] is None:
                self.assertRegex(one["rewards"]["environment"]["detail"], reasons)
                self.assertEqual(one["advantage"], 0)
        self.check_metrics()
        self.check_advantages()


if __name__ == "__main__":
    unittest.main()
