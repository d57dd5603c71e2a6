"""`GRPOTrainer` in several processes: the same bytes as in one, and an end for all where one can't go on.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_trainer_shared.py
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

from shared_case import free_port
from trainer_case import TrainerTest

SCRIPT = pathlib.Path(__file__).with_name("shared_run.py")
FILES = ("metrics.jsonl", "completions.jsonl", "final/model.safetensors")


def results_in(output):
    """What processes print at their end, among transformers' lines of the log."""
    return (json.loads(line) for line in output.splitlines() if line.startswith('{"rank"'))


class SharedTest(TrainerTest):
    def spec(self, name, **spec):
        return {"model": self.model, "output_dir": os.path.join(self.output, name), **spec}

    def run_on(self, size, name, codes=None, **spec):
        """The results of the processes by rank, as they print them, and their texts of standard error."""
        port = free_port()
        processes = []
        for rank in range(size):
            place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "MASTER_PORT": port}
            place = {key: str(value) for key, value in place.items()} if size > 1 else {}
            environment = {**os.environ, **place, "MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": "1"}
            environment["SPEC"] = json.dumps(self.spec(name, **spec))
            processes.append(
                subprocess.Popen(
                    [sys.executable, SCRIPT],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    env=environment,
                )
            )
        self.addCleanup(lambda: [process.kill() for process in processes])
        ended = [process.communicate(timeout=200) for process in processes]
        errors = [error for _, error in ended]
        self.assertEqual([process.returncode for process in processes], codes or [0] * size, errors)
        return [next(results_in(output), None) for output, _ in ended], errors

    def same_files(self, one, other, files=FILES):
        for file in files:
            mine, theirs = (pathlib.Path(self.output, name, file).read_bytes() for name in (one, other))
            if file.endswith(".jsonl"):  # which names the folder of its rows
                mine, theirs = (
                    text.replace(os.path.join(self.output, name).encode(), b"")
                    for text, name in ((mine, one), (theirs, other))
                )
            self.assertTrue(mine == theirs, f"{file} differs between {one} and {other}")

    def test_the_same_bytes_as_one_process(self):
        spec = {
            "evaluates": True,
            "args": {"bf16": True, "eval_strategy": "steps", "eval_steps": 2, "log_completions": True},
        }
        (alone,), _ = self.run_on(1, "one", **spec)
        results, _ = self.run_on(2, "two", **spec)
        self.same_files("one", "two", (*FILES, "saved/model.safetensors"))
        self.assertEqual([result["first"] for result in results], [True, False])
        for result in results:
            for name in ("eval", "given", "weights"):
                self.assertEqual(result[name], alone[name], name)
            for mine, theirs in zip(result["log"][:-1], alone["log"][:-1], strict=True):
                if "train_runtime" not in mine:
                    self.assertEqual(mine, theirs)
        self.assertIn("seen", alone["log"][0])
        self.assertIn("eval_seen", alone["eval"])
        self.assertEqual(results[0]["shown"], alone["shown"])
        self.assertEqual(len(alone["shown"]), 3 * 16)
        for completion, extra in alone["shown"]:
            self.assertEqual(completion, extra)
        self.assertEqual(results[1]["shown"], [])

    def test_a_model_object_gets_the_weights_in_each_process(self):
        results, _ = self.run_on(2, "two", object=True, args={"bf16": True})
        self.assertEqual(results[0]["weights"], results[1]["weights"])

    def test_functions_of_the_objective(self):
        own = {"loss": "surrogate", "advantages": "random_advantages"}
        results, _ = self.run_on(2, "two", functions=own, accelerator=True)
        self.assertEqual(results[0]["weights"], results[1]["weights"])
        self.assertEqual([result["accelerator"] for result in results], [[2, True], [2, False]])
        (alone,), _ = self.run_on(1, "one", functions={"loss": "surrogate"})
        self.run_on(2, "shared", functions={"loss": "surrogate"})
        self.same_files("one", "shared")
        self.assertIn("own_ratio", alone["log"][0])

    def test_a_reward_function_sees_whole_groups(self):
        self.run_on(1, "one", reward="ranked")
        self.run_on(3, "three", reward="ranked", args={"per_device_train_batch_size": 4, "recipe": {}})
        self.run_on(2, "two", reward="ranked")
        self.same_files("one", "two")

    def test_a_rollout_function_samples_in_each_process(self):
        self.run_on(1, "engine")
        for name in ("groups", "completions"):
            functions = {"rollout_func": "sampled_" + name}
            self.run_on(1, "one-" + name, functions=functions)
            self.run_on(2, "two-" + name, functions=functions)
            self.same_files("one-" + name, "two-" + name)
            self.same_files("engine", "two-" + name, ("final/model.safetensors",))

    def test_environments(self):
        results = [self.run_on(size, f"on-{size}", plays=True)[0][0] for size in (1, 2)]
        self.same_files("on-1", "on-2")
        self.assertEqual(*[[line.get("rewards/Board/mean") for line in one["log"]] for one in results])

    def test_callbacks_of_one_process_speak_for_all(self):
        results, _ = self.run_on(2, "two", wishes=True)
        self.assertEqual([result["step"] for result in results], [2, 2])
        checkpoints = os.listdir(os.path.join(self.output, "two/checkpoints"))
        self.assertEqual(sorted(checkpoints), ["step-00000001", "step-00000002"])

    def test_goes_on_after_a_process_was_lost(self):
        more = {"reward": "dying", "died": os.path.join(self.output, "died")}
        args = {"args": {"save_strategy": "steps", "save_steps": 1}}
        self.run_on(1, "one", **args)
        _, errors = self.run_on(2, "two", codes=[1, 9], **more, **args)
        self.assertRegex(errors[0], r"RankLost: rank 1 \([^)]*\) has given no sign")
        self.run_on(2, "two", resume=True, **more, **args)
        self.same_files("one", "two")

    def test_an_error_in_one_process_ends_all(self):
        _, errors = self.run_on(2, "two", codes=[1, 1], reward="failing")
        self.assertIn("LookupError: no such row", errors[1])
        self.assertRegex(errors[0], r"RankLost: rank 1 \([^)]*\) has ended by an error")

    def test_what_differs_is_refused_before_the_run(self):
        for words, spec in [
            ('another setting than rank 0: "learning_rate = 0.5" there', {"args_1": {"learning_rate": 0.5}}),
            ("another train_dataset than rank 0", {"other_rows": [{"prompt": "a", "level": 0}] * 12}),
        ]:
            with self.subTest(words=words):
                _, errors = self.run_on(2, "two", codes=[1, 1], **spec)
                for error in errors:
                    self.assertIn("ValueError: rank 1 was started with " + words, error)
                self.assertFalse(os.path.exists(os.path.join(self.output, "two")))
        _, errors = self.run_on(2, "two", codes=[1, 1], sft=True)
        self.assertIn("SFTTrainer trains in one process, and there are 2", errors[0])

    def test_under_torchrun(self):
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        environment["SPEC"] = json.dumps(self.spec("launched", accelerator=True))
        launcher = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(free_port()))
        done = subprocess.run(
            [sys.executable, *launcher, SCRIPT], capture_output=True, text=True, env=environment, timeout=200
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        results = sorted(results_in(done.stdout), key=lambda result: result["rank"])
        self.assertEqual([result["accelerator"] for result in results], [[2, True], [2, False]])
        self.run_on(1, "one")
        self.same_files("one", "launched")


if __name__ == "__main__":
    unittest.main(verbosity=2)
