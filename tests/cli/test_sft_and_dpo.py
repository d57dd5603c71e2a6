"""Runs on given texts: `cohort sft` with adapters, and `cohort dpo`.

COHORT=build/cohort python3 tests/cli/test_sft_and_dpo.py
"""

import shutil
import unittest

import cli_case
from cli_case import CliTest, read_lines, write_lines

setUpModule = cli_case.setUpModule


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

    def refused(self, *arguments, text):
        result = cli_case.run(*arguments)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn(text, result.stderr)

    def test_texts_are_learnt_and_evaluated(self):
        data = write_lines(
            self.folder / "sft-texts.jsonl", [{"text": f"{i} and {i} is {2 * i}"} for i in range(40)]
        )
        recipe = self.folder / "sft.toml"
        recipe.write_text(self.RECIPE)
        run_dir = self.folder / "sft-texts"
        places = ("--model.path", self.model, "--data.path", data, "--run-dir", run_dir)
        self.cohort("sft", recipe, *places, "--test-split-size", 0.3, "--eval-steps", 1, "--eval-on-start")
        losses = [row["eval_loss"] for row in read_lines(run_dir / "metrics.jsonl")]
        self.assertEqual(len(losses), 4)
        self.assertLess(losses[-1], losses[0])
        self.assertTrue((run_dir / "best/adapter_model.safetensors").is_file())

    def test_refuses_rows_and_settings_that_contradict_each_other(self):
        data = write_lines(self.folder / "sft-texts.jsonl", [{"text": "one"}])
        places = ("--model.path", self.model, "--data.path", data, "--run-dir", self.folder / "sft-bad")
        for options, text in (
            (("--assistant-only-loss",), "sft-texts.jsonl:1: train.assistant_only_loss needs `messages`"),
            (
                ("--assistant-only-loss", "--completion-only-loss", "false"),
                "train.assistant_only_loss does not go with train.completion_only_loss = false",
            ),
            (("--eval-steps", 2), "train.eval_steps needs data.eval_path"),
            (("--max-length", 1), "max_length"),
        ):
            self.refused("sft", *places, "--max-steps", 1, *options, text=text)
        write_lines(data, [{"text": 3}])
        self.refused("sft", *places, "--max-steps", 1, text='sft-texts.jsonl:1: "text" must be a string')
        self.assertFalse((self.folder / "sft-bad").exists())


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


if __name__ == "__main__":
    unittest.main()
