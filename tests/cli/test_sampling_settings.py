"""Penalties, biases and least lengths, from outside.

COHORT=build/cohort python3 tests/cli/test_sampling_settings.py
"""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))

from tiny_run import PROGRAM, TinyRunTest, subprocess  # noqa: E402


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, encoding="utf-8")


class SamplingSettingsTest(TinyRunTest):
    def sample(self, *options, prompt="2 + 3 ="):
        """Rows of four completions."""
        output = self.folder / "output.jsonl"
        rows = self.folder / "rows.jsonl"
        rows.write_text(json.dumps({"prompt": prompt}) + "\n")
        result = run(
            *("sample", "--model", self.folder / "m", "--input", rows, "--output", output),
            *("--num-generations", 4, "--max-completion-length", 30, *options),
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(line) for line in output.read_text(encoding="utf-8").split("\n")[:-1]]

    def test_a_bias_decides(self):
        for row in self.sample("--logit-bias", "70=100", "--stop-token-ids", 300):
            self.assertEqual(row["completion_ids"], [70] * 30)
            self.assertTrue(all(logprob > -1e-6 for logprob in row["logprobs"]))
        drawn = {i for row in self.sample() for i in row["completion_ids"]}
        barred = [f"--logit-bias={i}=-100" for i in drawn]
        self.assertFalse(drawn & {i for row in self.sample(*barred) for i in row["completion_ids"]})

    def test_penalties_keep_tokens_from_coming_again(self):
        greedy = ("--temperature", 0, "--ignore-eos")
        plain = self.sample(*greedy)[0]["completion_ids"]
        self.assertLess(len(set(plain)), 30)
        for penalty in ("--presence-penalty", "--frequency-penalty"):
            ids = self.sample(*greedy, penalty, 2)[0]["completion_ids"]
            self.assertEqual(len(set(ids)), 30, penalty)
        row = self.sample(*greedy, "--repetition-penalty", 1000)[0]
        self.assertEqual(len(set(row["completion_ids"])), 30)
        # It penalizes the prompt's tokens, too; the others do not.
        self.assertFalse(set(row["completion_ids"]) & set(row["prompt_ids"]))

    def test_own_stop_tokens_end_a_completion(self):
        bias = ("--logit-bias", "70=5", "--logit-bias", "71=5")
        for options in ((), ("--ignore-eos",)):
            for row in self.sample(*bias, "--stop-token-ids", 70, "--stop-token-ids", 71, *options):
                self.assertEqual(row["finish_reason"], "stop")
                self.assertIn(row["completion_ids"][-1], (70, 71))
                self.assertFalse({70, 71} & set(row["completion_ids"][:-1]))

    def test_nothing_stops_before_the_least_length(self):
        stops = ("--logit-bias", "0=50", "--stop-token-ids", 70, "--logit-bias", "70=50")
        for row in self.sample(*stops, "--min-tokens", 7):
            self.assertEqual(len(row["completion_ids"]), 8)
            self.assertFalse({0, 70} & set(row["completion_ids"][:7]))
            self.assertIn(row["completion_ids"][7], (0, 70))

    def test_completions_match_an_expression(self):
        pattern = r"(\d{2,3}|no)!"
        rows = self.sample("--structured-outputs-regex", pattern)
        for row in rows:
            self.assertRegex(row["text"], rf"^{pattern}$")
            self.assertEqual(row["finish_reason"], "stop")
        self.assertGreater(len({row["text"] for row in rows}), 1)

    def test_eval_takes_the_same_settings(self):
        output = self.folder / "eval.json"
        result = run(
            *("eval", "--model", self.folder / "m", "--input", self.folder / "train.jsonl"),
            *("--reward", "countdown", "--output", output, "--max-completion-length", 20),
            *("--logit-bias", "0=50", "--min-tokens", 5),
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(output.read_text())["lengths"], {"mean": 6.0, "min": 6, "max": 6})

    def test_wrong_values(self):
        for options, part in (
            (("--logit-bias", "x=1"), 'logit_bias: "x" is no token id'),
            (("--logit-bias", "384=1"), "logit_bias: 384 lies outside the model's vocabulary of 384 ids"),
            (("--logit-bias", "5=101"), "at most 100"),
            (("--stop-token-ids", 999), "stop_token_ids: 999 lies outside"),
            (("--repetition-penalty", 0), "above 0"),
            (("--presence-penalty", 2.5), "at most 2"),
            (
                ("--structured-outputs-regex", "(a"),
                "structured_outputs_regex: the regular expression, byte 3: a group has no end",
            ),
            (("--structured-outputs-regex", "a", "--ignore-eos"), "ignore_eos rules out"),
            (("--min-tokens", 31, "--max-completion-length", 30), "min_tokens (31) is above"),
        ):
            with self.subTest(options=options):
                result = run("sample", "--model", self.folder / "m", "--prompt", "a", *options)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(part, result.stderr)


class TrainTest(TinyRunTest):
    def train(self, name, *options):
        run_ = self.start(name, "--save-steps=0", "--max-steps=4", *options)
        _, errors = run_.communicate()
        self.assertEqual(run_.returncode, 0, errors)
        lines = (self.folder / name / "completions.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
        return [json.loads(line) for line in lines], errors

    def test_least_length_and_stop_tokens_in_training(self):
        stops = [f"--stop-token-ids={i}" for i in range(1, 200)]
        rows, errors = self.train("run", "--min-tokens=6", *stops)
        self.assertIn("agree exactly", errors)
        lengths = {len(row["completion_ids"]) for row in rows}
        self.assertGreaterEqual(min(lengths), 7)
        self.assertLess(min(lengths), 12)
        for row in rows:
            self.assertTrue(all(i >= 200 for i in row["completion_ids"][:6]))
        # Sampler and trainer agree on what was drawn from part of the vocabulary.
        self.check_exact("run")

    def check_exact(self, name):
        for line in (self.folder / name / "metrics.jsonl").read_text().splitlines():
            self.assertEqual(json.loads(line)["sampling/sampling_logp_difference/max"], 0.0)

    def test_an_expression_in_training(self):
        rows, errors = self.train("form", r"--structured-outputs-regex=\(?\d+( [-+*] \d+){1,2}\)?")
        self.assertIn("agree exactly", errors)
        ended = [row for row in rows if row["finish_reason"] == "stop"]
        self.assertGreater(len(ended), len(rows) / 4)
        for row in ended:
            self.assertRegex(row["completion"], r"^\(?\d+( [-+*] \d+){1,2}\)?$")
        for row in rows:
            self.assertRegex(row["completion"], r"^[-+*() \d]+$")
        self.check_exact("form")

    def test_what_contradicts_itself_is_refused(self):
        for options, part in (
            (
                ["--rollout.min-tokens=25"],
                "rollout.min_tokens (25) is above rollout.max_completion_length (24)",
            ),
            (["--rollout.stop-token-ids=384"], "stop_token_ids: 384 lies outside"),
            (
                ["--structured-outputs-regex=a|*"],
                "rollout.structured_outputs_regex: the regular expression, byte 3: there is nothing to repeat",
            ),
            (["--structured-outputs-regex=a", "--ignore-eos"], "rollout.ignore_eos rules out"),
        ):
            with self.subTest(options=options):
                run_ = self.start("refused", *options)
                _, errors = run_.communicate()
                self.assertEqual(run_.returncode, 2, errors)
                self.assertIn(part, errors)


if __name__ == "__main__":
    unittest.main()
