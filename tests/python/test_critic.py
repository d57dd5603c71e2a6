"""Runs with a critic: PPO by a model and by a head, value pre-training, the share that falls, and resumption.

COHORT=build/cohort python3 tests/python/test_critic.py
"""

import json
import math
import signal
import time
import unittest

from tiny_run import TinyRunTest

MODEL_FILES = ("final/model.safetensors", "metrics.jsonl", "completions.jsonl")
CRITIC_METRICS = ("values/mean", "returns/mean", "vf_loss", "vf_clipfrac", "grad_norm", "lr", "share")


def tensors(path):
    """The bytes of each tensor of a safetensors file."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header.pop("__metadata__", None)
    data = content[8 + size :]
    return {name: data[slice(*entry["data_offsets"])] for name, entry in header.items()}


class CriticTest(TinyRunTest):
    def run_ppo(self, name, *more):
        run = self.start(name, "--objective.preset=ppo", "--critic.lr=1e-3", *more)
        _, errors = run.communicate()
        self.assertEqual(run.returncode, 0, errors)
        return [json.loads(line) for line in (self.folder / name / "metrics.jsonl").read_text().splitlines()]

    def end_of(self, run):
        _, errors = run.communicate()
        self.assertNotIn("internal error", errors)
        return run.returncode

    def timings(self, name):
        path = self.folder / name / "timings.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def checkpoint(self, name, step, file="model"):
        return tensors(self.folder / name / f"checkpoints/step-{step:08}" / f"{file}.safetensors")

    def test_both_kinds_learn(self):
        for kind in ("model", "head"):
            with self.subTest(kind):
                lines = self.run_ppo(kind, f"--critic.kind={kind}", "--save-steps=0")
                for line in lines:
                    for metric in CRITIC_METRICS:
                        self.assertTrue(math.isfinite(line[f"critic/{metric}"]), (metric, line))
                    self.assertGreater(line["critic/grad_norm"], 0)
                    self.assertGreater(line["grad_norm"], 0)
                    self.assertEqual(line["skipped_steps"], 0)
                self.assertAlmostEqual(lines[0]["value_loss"], 0.2 * lines[0]["critic/vf_loss"], delta=1e-2)
                has_pass = "timing_s/update_critic" in self.timings(kind)[0]
                self.assertEqual(has_pass, kind == "model")
                self.assertEqual((self.folder / kind / "critic/config.json").exists(), kind == "model")
        # What a run leaves is where another critic may begin.
        self.run_ppo("again", f"--critic.path={self.folder}/model/critic", "--max-steps=1")

    def test_pretraining_leaves_the_policy_alone(self):
        start = tensors(self.folder / "m/model.safetensors")
        for kind in ("model", "head"):
            with self.subTest(kind):
                options = ["--critic.pretrain-steps=2", "--max-steps=3", "--save-total-limit=9"]
                lines = self.run_ppo(kind, f"--critic.kind={kind}", *options)
                critics = [self.checkpoint(kind, step, "critic_weights") for step in (1, 2, 3)]
                self.assertNotEqual(critics[0], critics[1])
                self.assertNotEqual(critics[1], critics[2])
                for step in (1, 2):
                    self.assertEqual(self.checkpoint(kind, step), start)
                    self.assertEqual(lines[step - 1]["grad_norm"], 0)
                    self.assertNotIn("timing_s/update_actor", self.timings(kind)[step - 1])
                    self.assertGreater(lines[step - 1]["critic/vf_loss"], 0)
                self.assertNotEqual(self.checkpoint(kind, 3), start)
                self.assertGreater(lines[2]["grad_norm"], 0)

    def test_the_critic_leaves_when_its_share_is_0(self):
        lines = self.run_ppo("share", "--critic.share-steps=2", "--max-steps=4", "--save-total-limit=9")
        self.assertEqual([line["critic/share"] for line in lines], [1, 0.5, 0, 0])
        self.assertIn("timing_s/values", self.timings("share")[1])
        self.assertNotIn("timing_s/values", self.timings("share")[2])
        self.assertIsNone(lines[2]["critic/values/mean"])
        files = [self.checkpoint("share", step, "critic_weights") for step in (2, 4)]
        self.assertEqual(*files)
        rows = (self.folder / "share/completions.jsonl").read_text().splitlines()
        with_tokens = ["token_advantages" in json.loads(row) for row in rows]
        self.assertEqual(with_tokens, [True] * 32 + [False] * 32)

    def test_micro_batches_change_nothing(self):
        for kind in ("model", "head"):
            options = [f"--critic.kind={kind}", "--max-steps=1"]
            many = self.run_ppo(kind, *options)[0]
            few = self.run_ppo(f"{kind}-60", "--train.tokens-per-microbatch=60", *options)[0]
            for metric in ("critic/vf_loss", "critic/grad_norm", "critic/values/mean", "grad_norm", "loss"):
                self.assertAlmostEqual(few[metric], many[metric], delta=1e-4 * (1 + abs(many[metric])))

    def test_a_stopped_run_goes_on_bit_for_bit(self):
        for kind in ("model", "head"):
            with self.subTest(kind):
                options = ["--objective.preset=vapo", f"--critic.kind={kind}", "--critic.pretrain-steps=1"]
                options += ["--critic.share-steps=8", "--max-steps=8", "--critic.lr=1e-3"]
                whole, stopped = f"{kind}-whole", f"{kind}-stopped"
                self.assertEqual(self.end_of(self.start(whole, *options)), 0)
                run = self.start(stopped, *options)
                while not (self.folder / stopped / "checkpoints/step-00000003").exists():
                    self.assertIsNone(run.poll())
                    time.sleep(0.001)
                run.send_signal(signal.SIGTERM)
                self.assertEqual(self.end_of(run), 128 + signal.SIGTERM)
                self.assertEqual(self.end_of(self.start(stopped, "--resume", *options)), 0)
                names = [*MODEL_FILES, *(["critic/model.safetensors"] if kind == "model" else [])]
                for name in names:
                    content = (self.folder / stopped / name).read_bytes()
                    self.assertEqual(content, (self.folder / whole / name).read_bytes(), name)

    def test_adapters_with_a_critic(self):
        for kind in ("model", "head"):
            lines = self.run_ppo(f"lora-{kind}", "--lora.r=4", f"--critic.kind={kind}", "--max-steps=2")
            self.assertGreater(lines[1]["critic/grad_norm"], 0)
            self.assertGreater(lines[1]["grad_norm"], 0)


if __name__ == "__main__":
    unittest.main()
