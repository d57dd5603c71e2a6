"""Runs from outside: what may change at --resume, and records that were removed.

COHORT=build/cohort python3 tests/cli/test_runs.py
"""

import json
import os
import re
import shutil
import subprocess
import time
import unittest

import cli_case
from cli_case import PROGRAM, read_lines, run, write_lines
from run_case import REWARD, RunsTest

setUpModule = cli_case.setUpModule


def fill_with_nan(path):
    """Every float32 of a safetensors file."""
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    path.write_bytes(content[:start] + b"\x00\x00\xc0\x7f" * ((len(content) - start) // 4))


class ResumeTest(RunsTest):
    def test_settings_that_change_no_result_are_taken(self):
        self.train("whole")
        again = self.place / "again"
        for options in (
            ("--train.tokens_per_microbatch", 64),
            ("--train.recompute", "true"),
            ("--rollout.cache_tokens", 2048),
            ("--reward.0.timeout_s", 33),
            ("--reward.0.workers", 2, "--reward.0.batch_size", 3),
            ("--train.save_steps", 1, "--train.save_total_limit", 7),
            ("--train.max_nonfinite_steps", 9, "--train.failed_share_window", 77),
        ):
            with self.subTest(options=options):
                shutil.rmtree(again, ignore_errors=True)
                shutil.copytree(self.place / "whole", again)
                self.step_back(again)
                log = self.train("again", *options, "--resume")
                self.assertRegex(log, f"from here on .*{re.escape(options[0][2:])} = {options[1]}")
                # Other micro-batches add up gradients in another order.
                if "recompute" not in options[0] and "micro" not in options[0]:
                    self.same_records(self.place / "whole", again)
                key = options[0].rsplit(".", 1)[1]
                self.assertIn(f"{key} = {options[1]}", (again / "config.toml").read_text())
                changes = read_lines(again / "changes.jsonl")
                changed = [row for row in changes if row["key"] != "run.dir"]
                self.assertEqual(changed[0]["key"], options[0][2:])
                self.assertEqual(changed[0]["after_step"], 2)
                # What was taken is the run's own from here on.
                self.assertNotIn("from here on", self.train("again", *options, "--resume"))

    def test_all_settings_that_change_results_are_named(self):
        self.train("run")
        self.step_back(self.place / "run")
        config = (self.place / "run/config.toml").read_text()
        options = ("--seed", 4, "--optimizer.learning_rate", 2e-3, "--train.save_steps", 1)
        error = self.train("run", *options, "--resume", code=2).splitlines()[-1]
        for part in (
            "run/config.toml",
            "seed (3 in the run, 4 now)",
            "optimizer.learning_rate (0.001 in the run, 0.002 now)",
            "--accept-changed seed --accept-changed data --accept-changed optimizer.learning_rate",
        ):
            self.assertIn(part, error)
        self.assertNotIn("save_steps", error)
        self.assertEqual((self.place / "run/config.toml").read_text(), config)
        self.assertFalse((self.place / "run/changes.jsonl").exists())

        options = options[2:]
        error = self.train("run", *options, "--accept-changed", "optimizer", "--resume")
        self.assertIn("optimizer.learning_rate = 0.002 (0.001 before)", error)
        rows = read_lines(self.place / "run/metrics.jsonl")
        self.assertEqual([row["learning_rate"] for row in rows], [1e-3, 1e-3, 2e-3, 2e-3])

    def test_a_model_that_is_not_finite_ends_without_a_model(self):
        for command, columns in (("sft", {"completion": "2"}), ("dpo", {"chosen": "2", "rejected": "3"})):
            write_lines(self.data, [{"prompt": "1 + 1 =", **columns}] * 2)
            recipe = self.place / f"{command}.toml"
            recipe.write_text('[model]\ndtype = "float32"\n[optimizer]\nlearning_rate = 1e-3\n')
            broken = self.place / f"broken-{command}"
            shutil.copytree(self.model, broken)
            fill_with_nan(broken / "model.safetensors")
            options = ("--model.path", broken, "--max-steps", 2)
            error = self.train("run-" + command, *options, command=command, recipe=recipe, code=2)
            self.assertIn("no step of the run had a finite loss and gradient", error)
            self.assertFalse((self.place / f"run-{command}" / "final").exists())

    def test_another_seed_goes_on_with_the_rows_in_its_order(self):
        self.train("run")
        self.step_back(self.place / "run")
        accepted = ("--seed", 4, "--resume", "--accept-changed", "seed")
        error = self.train("run", *accepted, code=2)
        self.assertIn("saved with another seed than 4", error)
        self.assertIn("--accept-changed data", error)
        log = self.train("run", *accepted, "--accept-changed", "data")
        self.assertIn("from here on seed = 4 (3 before)", log)

    def test_names_that_nothing_has_are_not_accepted(self):
        self.train("run")
        for name, nearest in (
            ("optimiser", "optimizer"),
            ("reward.5", "reward.0"),
            ("train.max_step", "train.max_steps"),
        ):
            error = self.train("run", "--resume", "--accept-changed", name, code=2)
            self.assertIn(
                f"--accept-changed {name}: is no key or section of this recipe; did you mean {nearest}?",
                error,
            )

    def test_a_model_that_is_gone_is_named(self):
        self.train("run")
        gone = self.place / "gone"
        error = self.train("run", "--resume", "--model.path", gone, code=2)
        self.assertIn(f"model.path: {gone}: no such directory", error)

    def test_whole_tables_can_be_accepted(self):
        self.train("run")
        self.step_back(self.place / "run")
        options = ("--reward.1.name", "format", "--monitor.0.metric", "entropy", "--monitor.0.above", 1e9)
        error = self.train("run", *options, "--resume", code=2)
        self.assertIn("reward.1 (absent in the run, a table now), monitor.0 (absent in the run", error)
        self.train("run", *options, "--resume", "--accept-changed", "reward.1", "--accept-changed", "monitor")
        rows = read_lines(self.place / "run/metrics.jsonl")
        self.assertEqual(["rewards/format/mean" in row for row in rows], [False, False, True, True])
        error = self.train("run", *options, "--accept-changed", "seed", code=2)
        self.assertIn("--accept-changed has no effect without --resume", error)

    def test_a_moved_run_and_moved_files_go_on(self):
        self.train("whole")
        self.train("run")
        self.step_back(self.place / "run")
        (self.place / "run").rename(self.place / "moved")
        model = self.place / "model"
        shutil.copytree(self.model, model)
        data = self.place / "other-name.jsonl"
        self.data.rename(data)
        where = os.getcwd()
        os.chdir(self.place)
        self.addCleanup(os.chdir, where)
        paths = ("--model.path", "model", "--data.path", "other-name.jsonl", "--run-dir", "moved")
        result = run("train", self.recipe, *paths, "--threads", 1, "--resume")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.same_records(self.place / "whole", self.place / "moved")

        # Another model at the old place is found.
        self.step_back(self.place / "moved")
        weights = model / "model.safetensors"
        content = bytearray(weights.read_bytes())
        content[-9] ^= 1
        weights.write_bytes(content)
        result = run("train", self.recipe, *paths, "--threads", 1, "--resume")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn(
            "model.path (its model.safetensors in the run, another model.safetensors now)", result.stderr
        )

    def test_a_function_whose_file_moved_goes_on(self):
        self.train("run")
        elsewhere = self.place / "elsewhere"
        elsewhere.mkdir()
        other = elsewhere / self.reward.name
        other.write_text(REWARD + "\n# another file\n")
        options = ("--reward.0.function", f"{other}:rising", "--max-steps", 5, "--resume")
        error = self.train("run", *options, code=2)
        self.assertIn("settings that change results differ: reward.0.function", error)
        self.reward.rename(other)
        self.assertIn("from here on", self.train("run", *options))
        error = self.train(
            "run", "--reward.0.function", f"{other}:other", "--resume", "--max-steps", 5, code=2
        )
        self.assertIn("reward.0.function", error)

    def test_more_steps(self):
        self.train("whole", "--max-steps", 6)
        self.train("run")
        log = self.train("run", "--max-steps", 6, "--resume")
        self.assertIn("from here on train.max_steps = 6 (4 before)", log)
        self.same_records(self.place / "whole", self.place / "run")
        error = self.train("run", "--max-steps", 3, "--resume", code=2)
        self.assertIn("is after the last step of the run, 3: raise train.max_steps", error)

    def test_a_schedule_that_ends_with_the_run_is_said_to_move(self):
        linear = ("--optimizer.lr_scheduler_type", "linear")
        self.train("run", *linear)
        log = self.train("run", *linear, "--max-steps", 8, "--resume")
        self.assertIn('lr_scheduler_type = "linear" ends with the run: the learning rate is now', log)
        rates = [row["learning_rate"] for row in read_lines(self.place / "run/metrics.jsonl")]
        expected = [1e-3 * (1 - i / 4) for i in range(4)] + [1e-3 * (1 - i / 8) for i in range(4, 8)]
        for rate, value in zip(rates, expected, strict=True):
            self.assertAlmostEqual(rate, value, places=12)
        self.train("other", "--optimizer.lr_scheduler_type", "inverse_sqrt")
        log = self.train(
            "other", "--optimizer.lr_scheduler_type", "inverse_sqrt", "--max-steps", 5, "--resume"
        )
        self.assertNotIn("ends with the run", log)

    def test_mended_rows_go_on_when_they_are_accepted(self):
        self.train("run")
        self.step_back(self.place / "run")
        rows = read_lines(self.data)
        rows[5]["answer"] = "ten"
        write_lines(self.data, [*rows, {"prompt": "more", "answer": "0"}])
        error = self.train("run", "--resume", code=2)
        self.assertIn("rows.jsonl has changed since the checkpoint: 7 rows", error)
        self.assertIn("--accept-changed data", error)
        log = self.train("run", "--resume", "--accept-changed", "data")
        self.assertIn("8 rows", log)
        self.assertEqual(len(read_lines(self.place / "run/metrics.jsonl")), 4)

    def test_other_kinds_of_runs(self):
        pairs = [{"prompt": f"{i}", "completion": f" {i}"} for i in range(6)]
        self.data = write_lines(self.place / "pairs.jsonl", pairs)
        recipe = self.place / "sft.toml"
        recipe.write_text("[train]\nmax_steps = 2\nsequences_per_step = 2\n")
        self.train("sft", command="sft", recipe=recipe)
        sft = {"command": "sft", "recipe": recipe}
        error = self.train("sft", "--resume", "--sequences-per-step", 3, "--lora.r", 2, code=2, **sft)
        self.assertIn("lora.r (0 in the run, 2 now), train.sequences_per_step (2 in the run, 3 now)", error)
        self.train("sft", "--resume", "--tokens-per-microbatch", 99, "--max-steps", 3, **sft)
        self.assertEqual(len(read_lines(self.place / "sft/metrics.jsonl")), 3)

    def test_records_that_were_deleted(self):
        self.train("whole")
        for name in ("completions.jsonl", "timings.jsonl"):
            shutil.copytree(self.place / "whole", self.place / "run")
            self.step_back(self.place / "run")
            (self.place / "run" / name).unlink()
            log = self.train("run", "--resume")
            self.assertIn(f"{name}: was deleted", log)
            self.same_records(self.place / "whole", self.place / "run")
            self.assertEqual({row["step"] for row in read_lines(self.place / "run" / name)}, {3, 4})
            shutil.rmtree(self.place / "run")
        shutil.copytree(self.place / "whole", self.place / "run")
        self.step_back(self.place / "run")
        path = self.place / "run/completions.jsonl"
        path.write_bytes(path.read_bytes()[:40])
        error = self.train("run", "--resume", code=2)
        self.assertIn("delete it to go on without", error)

    def test_checkpoints_that_are_gone(self):
        self.train("whole")
        for whole in (False, True):
            with self.subTest(whole=whole):
                run_dir = self.place / f"run-{whole}"
                shutil.copytree(self.place / "whole", run_dir)
                for path in [run_dir / "checkpoints"] if whole else (run_dir / "checkpoints").iterdir():
                    shutil.rmtree(path)
                before = (run_dir / "metrics.jsonl").read_bytes()
                error = self.train(run_dir.name, "--resume", code=2).splitlines()
                self.assertEqual(len(error), 1, error)
                self.assertIn(f"{run_dir}/checkpoints: holds no checkpoint, but the run wrote some", error[0])
                self.assertIn("put one back", error[0])
                self.assertIn("choose another run.dir", error[0])
                self.assertEqual((run_dir / "metrics.jsonl").read_bytes(), before)
        shutil.copytree(self.place / "whole/checkpoints", self.place / "run-True/checkpoints")
        self.step_back(self.place / "run-True")
        self.train("run-True", "--resume")
        self.same_records(self.place / "whole", self.place / "run-True")

    def test_a_run_that_was_killed_before_its_first_checkpoint(self):
        self.train("whole")
        run_dir = self.place / "run"
        arguments = self.arguments("train", self.recipe, run_dir, "--save-steps", 0, "--max-steps", 100000)
        with subprocess.Popen([PROGRAM, *map(str, arguments)], stderr=subprocess.DEVNULL) as process:
            metrics = run_dir / "metrics.jsonl"
            while not metrics.exists() or metrics.stat().st_size == 0:
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            process.kill()
        self.train("run", "--resume")
        self.same_records(self.place / "whole", run_dir)

    def test_completions_can_be_left_out(self):
        self.train("whole")
        self.train("run", "--train.log_completions", "false")
        self.same_records(self.place / "whole", self.place / "run")
        self.assertFalse((self.place / "run/completions.jsonl").exists())
        self.step_back(self.place / "run")
        self.train("run", "--resume")
        self.assertEqual({row["step"] for row in read_lines(self.place / "run/completions.jsonl")}, {3, 4})

    def test_completions_and_influence_are_printed(self):
        self.train("run", "--data.test-split-size", 0.3, "--eval-steps", 1)
        run_dir = self.place / "run"
        rows = read_lines(run_dir / "completions.jsonl")
        for options, wanted in (
            (("--step", 2), [row for row in rows if row["step"] == 2]),
            (
                ("--prompt-id", rows[0]["prompt_id"]),
                [r for r in rows if r["prompt_id"] == rows[0]["prompt_id"]],
            ),
            ((), rows),
        ):
            printed = run("completions", run_dir, *options).stdout
            self.assertEqual([json.loads(line) for line in printed.splitlines()], wanted)
        self.assertIn("has no such completions", run("completions", run_dir, "--step", 9).stderr)
        ledger = run("influence", run_dir, "--metric", "eval_reward", "--json", "--top", 0).stdout
        shares = {row["prompt_id"]: row["share"] for row in map(json.loads, ledger.splitlines())}
        self.assertEqual(set(shares), {row["prompt_id"] for row in rows})
        self.assertAlmostEqual(sum(shares.values()), 1.0)
        for arguments, reason in (
            ((run_dir, "--metric", "eval_rewar"), 'has no metric "eval_rewar"'),
            ((), "name the directory of a run"),
            ((self.place,), "metrics.jsonl: is missing"),
        ):
            result = run("influence", *arguments)
            self.assertEqual((result.returncode, len(result.stderr.splitlines())), (2, 1), result.stderr)
            self.assertIn(reason, result.stderr)


if __name__ == "__main__":
    unittest.main()
