"""`GRPOTrainer` in a process with threads, forked children and an end.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_trainer_process.py
"""

import faulthandler
import gc
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import weakref

import torch
from trainer_case import TrainerTest, hashed
from transformers import TrainerCallback

SECONDS = 240  # of one test: after that the process ends, with the stacks of its threads

EXIT = """
import faulthandler, os, sys, threading, time
from cohort import GRPOConfig, GRPOTrainer
faulthandler.dump_traceback_later(200, exit=True)
def lengths(completions, **columns):
    {reward}
    return [float(len(one)) for one in completions]
args = GRPOConfig(output_dir="{output}", max_steps=10**6, per_device_train_batch_size=8, num_generations=4, bf16=False,
                  max_completion_length=12, report_to="none", disable_tqdm=True, save_strategy="no", logging_steps=10**6)
trainer = GRPOTrainer("{model}", lengths, args, train_dataset=[dict(prompt="Count to %d." % i) for i in range(8)])
{end}
"""


def letters(texts):
    return [float(len(text)) for text in texts]


class ProcessTest(TrainerTest):
    def setUp(self):
        super().setUp()
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        self.addCleanup(faulthandler.cancel_dump_traceback_later)

    def same(self, trainer, other):
        """Whether both ended with the same bytes."""
        return all(torch.equal(one, self.final(other)[name]) for name, one in self.final(trainer).items())

    def folder_of(self, name):
        return os.path.join(self.output, name)

    def run_threads(self, *calls):
        errors = []

        def caught(call):
            try:
                call()
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=caught, args=(call,)) for call in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return errors


class ThreadTest(ProcessTest):
    def test_trainers_in_threads(self):
        here = self.trainer(output_dir=self.folder_of("here"))
        here.train()
        others = [self.trainer(output_dir=self.folder_of(str(i))) for i in range(2)]
        self.assertEqual(self.run_threads(*(trainer.train for trainer in others)), [])
        made = []
        self.run_threads(lambda: made.append(self.trainer(output_dir=self.folder_of("made"))))
        made[0].train()
        for trainer in (*others, *made):
            self.assertTrue(self.same(trainer, here))

    def test_a_thread_reads_and_saves_meanwhile(self):
        whole = self.trainer(output_dir=self.folder_of("whole"), max_steps=30)
        whole.train()
        trainer = self.trainer(max_steps=30)
        thread = threading.Thread(target=trainer.train)
        count, saved, refused = 0, 0, set()
        while trainer._run is None:  # begins it
            if not thread.ident:
                thread.start()
            time.sleep(0.001)
        while thread.is_alive():
            count += trainer.state.global_step + len(trainer.state.log_history)
            self.assertEqual(len(list(trainer.model.parameters())), 20)
            try:
                trainer.save_model(self.folder_of("saved"))
                saved += 1
            except RuntimeError as error:
                refused.add(str(error))
        thread.join()
        self.assertEqual(trainer.state.global_step, 30)
        self.assertTrue(self.same(trainer, whole))
        self.assertTrue(refused)
        for text in refused:
            self.assertIn("busy with a step", text)
        trainer.save_model(self.folder_of("saved"))

    def test_a_reward_function_calls_its_trainer(self):
        refused = []

        def call(method, *arguments):
            try:
                method(*arguments)
            except RuntimeError as error:
                refused.append(str(error))

        def reward(prompts, completions, **columns):
            calls = (
                lambda: call(trainer.train),
                lambda: call(trainer.save_model, self.folder_of("saved")),
                lambda: call(trainer.evaluate),
            )
            for one in calls:
                one()
            self.assertEqual(
                self.run_threads(*calls), []
            )  # waits for threads that the step must not wait for
            return hashed(prompts, completions)

        reward.__name__ = "hashed"
        trainer = self.trainer(reward, more={"eval_dataset": self.rows[:2]})
        trainer.train()
        whole = self.trainer(output_dir=self.folder_of("whole"), more={"eval_dataset": self.rows[:2]})
        whole.train()
        self.assertTrue(self.same(trainer, whole))
        self.assertEqual(
            {text[:30] for text in refused},
            {"train() is at work already; ma", "the run is busy with a step: c"},
        )

    def test_signals(self):
        def reward(completions, trainer_state, **columns):
            if trainer_state.global_step == 1:
                os.kill(os.getpid(), signal.SIGINT)
            return letters(completions)

        trainer = self.trainer(reward)
        self.assertRaises(KeyboardInterrupt, trainer.train)
        self.assertEqual(os.listdir(os.path.join(trainer.args.output_dir, "checkpoints")), ["step-00000001"])
        self.trainer(reward_of_name(reward)).train(resume_from_checkpoint=True)

    def test_modes_of_torch_change_nothing(self):
        whole = self.trainer(output_dir=self.folder_of("whole"))
        whole.train()
        for place, mode in enumerate((torch.no_grad(), torch.inference_mode(), torch.autocast("cpu"))):
            with mode:
                trainer = self.trainer(output_dir=self.folder_of(str(place)))
                trainer.train()
            self.assertTrue(self.same(trainer, whole))


def reward_of_name(reward):
    def other(completions, **columns):
        return letters(completions)

    other.__name__ = reward.__name__
    return other


class ForkTest(ProcessTest):
    def test_children_of_a_reward_function(self):
        pools = []

        def reward(completions, **columns):
            child = os.fork()
            if child == 0:
                os._exit(5)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 5)
            subprocess.run([sys.executable, "-S", "-c", ""], check=True)
            with multiprocessing.get_context("fork").Pool(2) as pool:
                first = pool.map(letters, [completions])[0]
            if not pools:
                pools.append(multiprocessing.get_context("fork").Pool(1))  # stays
            self.assertEqual(pools[0].map(letters, [completions])[0], first)
            return first

        trainer = self.trainer(reward)
        trainer.train()
        whole = self.trainer(reward_of_name(reward), output_dir=self.folder_of("whole"))
        whole.train()
        self.assertTrue(self.same(trainer, whole))
        pools[0].terminate()

    def test_a_child_that_stays_leaves_the_run_to_others(self):
        def reward(completions, trainer_state, **columns):
            if trainer_state.global_step == 1:
                pools.append(multiprocessing.get_context("fork").Pool(1))
                raise ValueError("of the user")
            return letters(completions)

        pools = []
        self.assertRaisesRegex(ValueError, "of the user", self.trainer(reward).train)
        self.trainer(reward_of_name(reward)).train(resume_from_checkpoint=True)
        pools[0].terminate()

    def test_a_child_writes_nothing_into_the_run(self):
        codes = []

        def reward(completions, **columns):
            child = os.fork()
            if child == 0 and trainer.state.global_step == 1:
                sys.exit(7)
            if child:
                codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            return letters(completions)

        here, trainer = os.getpid(), self.trainer(reward)
        try:
            trainer.train()
        except SystemExit as error:
            os._exit(error.code if os.getpid() != here else 1)
        except RuntimeError as error:  # the child of another step
            os._exit(9 if os.getpid() != here and "belongs to process" in str(error) else 1)
        self.assertEqual(codes, [9, 7, 9])
        whole = self.trainer(reward_of_name(reward), output_dir=self.folder_of("whole"))
        whole.train()
        self.assertTrue(self.same(trainer, whole))
        self.assertEqual([row["step"] for row in self.metrics(trainer)], [1, 2, 3])
        self.assertEqual(os.listdir(os.path.join(trainer.args.output_dir, "checkpoints")), ["step-00000003"])


class ExitTest(ProcessTest):
    def ends(self, code, reward="pass", end="trainer.train()", output=None):
        output = output or tempfile.mkdtemp(dir=self.folder)
        script = EXIT.format(model=self.model, output=output, reward=reward, end=end)
        result = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, timeout=SECONDS
        )
        self.assertEqual(result.returncode, code, result.stderr[-2000:])
        self.assertNotIn("Fatal", result.stderr)
        folder = pathlib.Path(output) / "checkpoints"
        return sorted(os.listdir(folder)) if folder.is_dir() else []

    def test_within_a_reward_function(self):
        later = "if columns['trainer_state'].global_step == 2: "
        self.assertEqual(self.ends(7, later + "sys.exit(7)"), ["step-00000002"])
        self.assertEqual(self.ends(8, later + "os._exit(8)"), [])

    def test_with_an_open_run(self):
        stop = "sys.exit(3)"
        self.ends(3, end=f"trainer.save_model('{self.folder_of('saved')}'); {stop}")

    def test_with_a_thread_that_trains(self):
        start = "threading.Thread(target=trainer.train, daemon=True).start()\n"
        wait = "while trainer.state.global_step < 3: time.sleep(0.01)\n"
        self.ends(0, "time.sleep(0.02)", start + wait)
        self.ends(4, "pass", start + wait + "sys.exit(4)")


class FreedTest(ProcessTest):
    def test_trainers_are_freed(self):
        class Knows(TrainerCallback):
            trainer = None

        def make(name):
            def reward(prompts, completions, **columns):
                self.assertEqual(known[0].state.global_step, 0)
                return hashed(prompts, completions)

            known, callback = [], Knows()
            trainer = self.trainer(
                reward, output_dir=self.folder_of(name), max_steps=1, more={"callbacks": [callback]}
            )
            known.append(trainer)
            callback.trainer = trainer
            return trainer, weakref.ref(reward)

        trainer, reward = make("used")
        trainer.train()
        run, trainer = weakref.ref(trainer), None
        gc.collect()
        self.assertIsNone(run())
        self.assertIsNone(reward())

    def test_a_model_outlives_its_trainer(self):
        trainer = self.trainer()
        trainer.train()
        model, final = trainer.model, self.final(trainer)
        del trainer
        gc.collect()
        junk = [torch.full((1 << 14,), 7.0) for _ in range(200)]  # where memory was freed
        for name, weight in final.items():
            self.assertTrue(torch.equal(model.get_parameter(name), weight), name)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(1.0)
        self.assertEqual(len(junk), 200)


if __name__ == "__main__":
    unittest.main()
