"""Runs whose completions are trees (TreePO): exact, forwarded once, the same for every cache and resume, replayed, and refused where they cannot be.

COHORT=build/cohort python3 tests/cli/test_trees.py
"""

import unittest

from cli_case import read_lines, run, setUpModule, write_lines  # noqa: F401
from run_case import RunsTest

TREE = ("--objective.preset", "treepo", "--rollout.tree-depth", 4, "--tree-first-branches", 3)
SIZES = ("--rollout.num-generations", 10, "--rollout.max-completion-length", 12, "--run.save-batches", "true")


class TreeTest(RunsTest):
    def grow(self, name, *options, code=0):
        return self.train(name, *TREE, *SIZES, *options, code=code)

    def groups(self, name):
        groups = {}
        for row in read_lines(self.place / name / "completions.jsonl"):
            groups.setdefault((row["step"], row["prompt_id"]), []).append(row)
        return groups

    def metrics(self, name):
        return read_lines(self.place / name / "metrics.jsonl")

    def check_exact(self, name):
        for line in self.metrics(name):
            self.assertEqual(line["sampling/sampling_logp_difference/max"], 0)

    def test_forks_have_the_beginnings_of_others(self):
        self.grow("run")
        shared = {}
        num_forks = num_late = 0
        for (step, _), rows in self.groups("run").items():
            self.assertEqual([row["sample"] for row in rows], list(range(10)))
            for row in rows:
                tokens = shared.setdefault(step, [0, 0])
                tokens[1] += len(row["completion_ids"])
                fork = row.get("fork")
                if fork is None:
                    continue
                num_forks += 1
                other, count = rows[fork["of"]], fork["num_tokens"]
                num_late += other["finish_reason"] == "stop"
                tokens[0] += count
                self.assertLess(fork["of"], row["sample"])
                self.assertEqual(count % 3, 0)
                self.assertGreater(len(other["completion_ids"]), count)
                for column in ("completion_ids", "logprobs"):
                    self.assertEqual(row[column][:count], other[column][:count])
                self.assertNotEqual(row["completion_ids"], other["completion_ids"])
        self.assertGreater(num_forks, 40)
        self.check_exact("run")
        for line in self.metrics("run"):
            part, whole = shared[line["step"]]
            self.assertEqual(line["rollout/shared_tokens"], part / whole)

    def test_advantages_are_those_of_paths(self):
        self.grow("run", "--objective.token-whiten", "false", "--max-steps", 2)
        for rows in self.groups("run").values():
            paths = []
            for row in rows:
                fork = row.get("fork", {"of": 0, "num_tokens": 0})
                shared = fork["num_tokens"] // 3
                own = [(row["sample"], k) for k in range(shared, 5)]
                paths.append((paths[fork["of"]][:shared] if shared else []) + own)
            for path, row in zip(paths, rows, strict=True):
                gaps = []
                for depth in range(5):
                    group = [
                        r["reward"] for p, r in zip(paths, rows, strict=True) if p[:depth] == path[:depth]
                    ]
                    if depth == 0 or len(group) > 1:
                        gaps.append(row["reward"] - sum(group) / len(group))
                self.assertAlmostEqual(row["advantage"], sum(gaps) / len(gaps), places=12)

    def test_scored_again_in_another_process(self):
        for dtype in ("float32", "bfloat16"):
            with self.subTest(dtype):
                self.grow(dtype, "--max-steps", 1, "--dtype", dtype)
                self.check_exact(dtype)
                rows = read_lines(self.place / dtype / "completions.jsonl")
                source, output = self.place / "in.jsonl", self.place / "out.jsonl"
                write_lines(source, [{k: r[k] for k in ("prompt_ids", "completion_ids")} for r in rows])
                files = ("--input", source, "--output", output)
                result = run("score", "--model", self.model, "--dtype", dtype, *files)
                self.assertEqual(result.returncode, 0, result.stderr)
                scored = [line["logprobs"] for line in read_lines(output)]
                self.assertEqual(scored, [row["logprobs"] for row in rows])

    def test_adapters_and_mini_batches_are_exact(self):
        self.grow("lora", "--lora.r", 4)
        self.check_exact("lora")
        self.grow("parts", "--train.steps-per-generation", 2, "--rollout.top-p", 0.9)
        self.check_exact("parts")

    def test_cache_and_resume_change_nothing(self):
        self.grow("whole", "--save-steps", 1, "--save-total-limit", 9)
        self.grow("small", "--cache-tokens", 96)
        self.same_records(self.place / "whole", self.place / "small")
        self.grow("resumed")
        self.step_back(self.place / "resumed")
        self.grow("resumed", "--resume")
        self.same_records(self.place / "whole", self.place / "resumed")
        result = run("replay", self.place / "whole", "--check")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_micro_batches_change_no_sample(self):
        self.grow("one", "--max-steps", 1)
        self.grow("many", "--max-steps", 1, "--tokens-per-microbatch", 24)
        one, many = self.metrics("one")[0], self.metrics("many")[0]
        self.assertAlmostEqual(one["loss"], many["loss"], places=6)
        self.assertAlmostEqual(one["grad_norm"], many["grad_norm"], places=5)

    def test_what_does_not_combine_is_refused(self):
        cases = [
            (("--rollout.tree-depth", 1), "set 2 or more"),
            (("--rollout.tree-depth", 13), "no more than rollout.max_completion_length"),
            (("--rollout.tree-first-branches", 2, "--tree-branches", 3), "raise it"),
            (("--rollout.keep-generations", 4), "would take some"),
            (("--rollout.tree-depth", 0, "--tree-first-branches", 8), "compares the completions of a tree"),
            (
                ("--rollout.tree-depth", 0, "--objective.preset", "grpo"),
                "have no effect without rollout.tree_depth",
            ),
            (("--environment.name", "guess_number"), "lets completions of one turn fork"),
        ]
        for options, reason in cases:
            with self.subTest(options):
                self.assertIn(reason, self.grow("refused", *options, code=2))
                self.assertFalse((self.place / "refused").exists())


if __name__ == "__main__":
    unittest.main()
