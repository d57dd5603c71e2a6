"""`cohort sample` and `cohort eval`: completions of a model and the figures of their rewards.

COHORT=build/cohort python3 tests/cli/test_sample.py
"""

import json
import math
import struct
import unittest

import cli_case
from cli_case import (
    COMPLETION_LENGTH,
    CONFIG,
    CONTEXT,
    PROMPT_LENGTHS,
    CliTest,
    parse_lines,
    prompt_rows,
    read_lines,
    run,
    write_lines,
)

setUpModule = cli_case.setUpModule


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


if __name__ == "__main__":
    unittest.main()
