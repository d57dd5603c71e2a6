"""`cohort replay`: steps of runs, read back from their batches and recomputed from their checkpoints.

COHORT=build/cohort python3 tests/python/test_replay.py
"""

import json
import math
import struct
import subprocess
import unittest

import tiny_run
from tiny_run import PROGRAM, cohort


def replay(*arguments):
    return subprocess.run(
        [PROGRAM, "replay", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={"OMP_NUM_THREADS": "1"},
    )


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


class ReplayTest(tiny_run.TinyRunTest):
    def train(self, name, *more):
        steps = ["--train.max_steps", 3, "--train.save_total_limit", 9, "--train.steps_per_generation", 1]
        cohort("train", self.recipe, "--run-dir", self.folder / name, "--threads", 1, *steps, *more)
        return self.folder / name

    def batches(self, run):
        return sorted(file.name for file in (run / "batches").iterdir())

    def test_the_last_batch_is_always_kept(self):
        run = self.train("one")
        self.assertEqual(self.batches(run), ["step-00000003.batch"])
        done = replay(run, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        samples = lines(done)
        with open(run / "completions.jsonl") as file:
            rows = [row for row in map(json.loads, file) if row["step"] == 3]
        self.assertEqual([row["completion"] for row in samples], [row["completion"] for row in rows])
        self.assertEqual([row["reward"] for row in samples], [row["reward"] for row in rows])
        self.assertEqual([row["advantage"] for row in samples], [row["advantage"] for row in rows])
        early = replay(run, "--step", 1)
        self.assertEqual(early.returncode, 2)
        self.assertIn("run.save_batches = true", early.stderr)

    def test_every_step_is_recomputed_bit_for_bit(self):
        for name, flags in {
            "plain": [],
            "reference": ["--objective.beta", 0.05],
            "adapters": ["--lora.r", 4, "--objective.beta", 0.05],
            "entropies": ["--objective.preset", "gtpo"],
            "top_k": ["--rollout.top_k", 20],
        }.items():
            with self.subTest(name):
                run = self.train(name, "--run.save_batches", "true", *flags)
                self.assertEqual(len(self.batches(run)), 3)
                for step in (1, 2, 3):
                    done = replay(run, "--step", step, "--check")
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    self.assertIn("16 samples recomputed, every bit the same", done.stdout)

    def test_a_changed_batch_and_other_weights_are_told(self):
        run = self.train("changed", "--run.save_batches", "true")
        batch = run / "batches/step-00000002.batch"
        data = bytearray(batch.read_bytes())
        with open(run / "completions.jsonl") as file:
            row = next(row for row in map(json.loads, file) if row["step"] == 2)
        place = data.find(struct.pack("<d", row["reward"]))
        data[place] ^= 1
        batch.write_bytes(data)
        done = replay(run, "--step", 2, "--check")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("differ", done.stdout)
        (run / "checkpoints/step-00000002").rename(run / "gone")
        done = replay(run, "--step", 3, "--check")
        self.assertEqual(done.returncode, 2)
        self.assertIn("checkpoints/step-00000002 is missing", done.stderr)

    def test_tokens_of_a_sample(self):
        run = self.train("tokens", "--run.save_batches", "true", "--objective.beta", 0.05)
        with open(run / "completions.jsonl") as file:
            rows = [row for row in map(json.loads, file) if row["step"] == 2]
        row = rows[5]  # group 1, sample 1
        done = replay(run, "--step", 2, "--group", 1, "--sample", 1, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        *tokens, gradient = lines(done)
        self.assertEqual([token["id"] for token in tokens], row["completion_ids"])
        for token, logprob in zip(tokens, row["logprobs"]):
            self.assertAlmostEqual(token["sampler_logprob"], logprob, places=5)
            self.assertEqual(token["policy_logprob"], token["sampler_logprob"])
            self.assertEqual(token["ratio"], 1.0)
            self.assertFalse(token["clipped"])
            self.assertEqual(token["advantage"], row["advantage"])
            self.assertIn("ref_logprob", token)
        shares = []
        for group in range(4):
            for sample in range(4):
                done = replay(run, "--step", 2, "--group", group, "--sample", sample, "--json")
                shares.append(lines(done)[-1])
        self.assertAlmostEqual(sum(share["gradient_share"] for share in shares), 1.0, places=4)
        self.assertEqual(gradient, shares[5])
        with open(run / "metrics.jsonl") as file:
            metrics = next(line for line in map(json.loads, file) if line["step"] == 2)
        self.assertAlmostEqual(gradient["batch_gradient_norm"], metrics["grad_norm"], places=5)

    def test_gradients_of_tokens(self):
        # By hand: where every ratio is 1, the loss's derivative by a token's log-probability is minus its advantage times
        # its weight: 1 / (its completion's tokens) of "grpo", 1 / (the batch's tokens) of "dapo".
        for loss_type, weight in {
            "grpo": lambda row: 1 / len(row["logprobs"]),
            "dapo": lambda row: 1,
        }.items():
            run = self.train("pushed-" + loss_type, "--objective.loss_type", loss_type)
            with open(run / "completions.jsonl") as file:
                rows = [row for row in map(json.loads, file) if row["step"] == 3]
            pushes = [row["advantage"] * weight(row) for row in rows]
            total = sum(abs(push) * len(row["logprobs"]) for push, row in zip(pushes, rows))
            self.assertGreater(total, 0)
            for place in (0, 5, 15):
                group, sample = divmod(place, 4)
                done = replay(run, "--group", group, "--sample", sample, "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                *tokens, _ = lines(done)
                self.assertEqual(len(tokens), len(rows[place]["logprobs"]))
                for token in tokens:
                    self.assertAlmostEqual(token["gradient"], pushes[place] / total, places=7)

    def test_gradients_of_prompts(self):
        for name, flags in {"whole": [], "adapters": ["--lora.r", 4]}.items():
            run = self.train("moved-" + name, *flags)
            done = replay(run, "--gradients", "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            groups = lines(done)
            self.assertEqual([group["group"] for group in groups], [0, 1, 2, 3])
            self.assertAlmostEqual(sum(group["gradient_share"] for group in groups), 1.0, places=4)
            names = list(groups[0]["weights"])
            part = "lora_A" if name == "adapters" else "q_proj.weight"
            self.assertTrue(any(part in weight for weight in names), names)
            for group in groups:
                squares = sum(weight["norm"] ** 2 for weight in group["weights"].values())
                self.assertAlmostEqual(squares**0.5, group["gradient_norm"], places=6)
            for weight in names:
                norms = [group["weights"][weight]["norm"] for group in groups]
                total = sum(group["weights"][weight]["share"] for group in groups)
                self.assertAlmostEqual(total, 1.0 if any(norms) else 0.0, places=3, msg=weight)
            with open(run / "metrics.jsonl") as file:
                last = [json.loads(line) for line in file][-1]
            self.assertAlmostEqual(groups[0]["batch_gradient_norm"], last["grad_norm"], places=5)
        samples = [lines(replay(run, "--group", 0, "--sample", i, "--json"))[-1] for i in range(4)]
        own_share = sum(sample["gradient_share"] for sample in samples)
        self.assertAlmostEqual(own_share, groups[0]["gradient_share"], places=4)
        text = replay(run, "--gradients").stdout.splitlines()
        self.assertEqual(len(text), 4 * (1 + 3))
        largest = max(groups[0]["weights"], key=lambda weight: groups[0]["weights"][weight]["norm"])
        self.assertTrue(text[1].endswith(" " + largest), text[1])

    def test_the_weights_after_a_step_have_moved(self):
        run = self.train("after", "--run.save_batches", "true", "--optimizer.learning_rate", 0.05)
        done = replay(run, "--step", 1, "--group", 0, "--sample", 0, "--weights", "after", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        *tokens, _ = lines(done)
        self.assertTrue(any(token["ratio"] != 1.0 for token in tokens))
        for token in tokens:
            ratio = math.exp(token["policy_logprob"] - token["sampler_logprob"])
            self.assertAlmostEqual(token["ratio"], ratio, places=9)
            past = ratio > 1.2 if token["advantage"] > 0 else ratio < 0.8
            self.assertEqual(token["clipped"], past and token["advantage"] != 0)

    def test_wrong_arguments(self):
        run = self.train("wrong")
        for arguments, message in {
            (): "name the directory of a run",
            (self.folder,): "holds no run",
            (run, "--sample", 1): "give both",
            (run, "--group", 1): "give both",
            (run, "--group", 9, "--sample", 0): "has groups 0 to 3, not 9",
            (run, "--group", 0, "--sample", 7): "has samples 0 to 3, not 7",
            (run, "--check", "--weights", "after"): "before it",
            (run, "--gradients", "--check"): "those of all groups",
        }.items():
            with self.subTest(arguments):
                done = replay(*arguments)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(message, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
