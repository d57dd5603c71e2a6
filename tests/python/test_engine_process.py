"""cohort.Engine within a Python process: import, threads, signals and torch's modes.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_engine_process.py
"""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest

import torch
from engine_model import PROMPTS, EngineTest, columns, flat

import cohort as package

IMPORT = """
import sys, time, torch
begin = time.process_time()  # of the processor: the machine may be busy
import cohort
print(time.process_time() - begin)
print(*sorted(set(m.split(".")[0] for m in sys.modules)))
"""
EXIT = """
import threading, time, cohort
engine = cohort.Engine.load("{model}", dtype="float32")
def work():
    while True:
        engine.generate(["a"] * 8, cohort.SamplingParams(n=64, max_tokens=200, ignore_eos=True))
threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
print("end")
"""
HAS_ASAN = "libasan" in os.environ.get("LD_PRELOAD", "")  # tools/asan_python.sh
LONG = {"n": 64, "max_tokens": 200, "ignore_eos": True}


class ImportTest(unittest.TestCase):
    def test_import_is_quick_and_takes_little(self):
        output = subprocess.run([sys.executable, "-c", IMPORT], check=True, capture_output=True, text=True)
        seconds, modules = output.stdout.splitlines()
        self.assertLess(float(seconds), 1.0)
        self.assertFalse({"transformers", "datasets", "trl", "peft", "tokenizers"} & set(modules.split()))

    def test_documentation(self):
        for name in package.__all__:
            self.assertTrue(getattr(package, name).__doc__, name)


class ProcessTest(EngineTest):
    def test_the_lock_is_released(self):
        engine, count, done = self.load(), 0, threading.Event()

        def counting():
            nonlocal count
            while not done.is_set():
                count += 1

        thread = threading.Thread(target=counting)
        thread.start()
        try:
            before = count
            engine.generate(PROMPTS, package.SamplingParams(**LONG))
            self.assertGreater(count - before, 1000)
        finally:
            done.set()
            thread.join()

    def test_one_call_at_a_time(self):
        engine, refused = self.load(), []
        groups = self.rollout(engine)

        def call():
            try:
                engine.zero_grad()
            except RuntimeError as error:
                refused.append(str(error))

        def loss(policy, old, advantages, mask, batch):
            thread = threading.Thread(target=call)  # while forward_backward() works
            thread.start()
            thread.join()
            return (policy * mask).sum()

        engine.forward_backward(groups, loss)
        self.assertTrue(refused)
        self.assertIn("busy", refused[0])
        engine.zero_grad()

    def test_a_thread_that_works_at_exit(self):
        code = EXIT.format(model=self.model)
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stdout), (0, "end\n"), result.stderr)

    def interrupted(self, call):
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            call()
        timer.join()
        return time.monotonic() - begin

    def test_interrupts(self):
        engine = self.load()
        wanted = self.rollout(engine)
        long = package.SamplingParams(**LONG)
        batch = engine.generate(PROMPTS, long)

        def repeat(call):
            for _ in range(1000):
                call()

        limit = 60.0 if HAS_ASAN else 5.0
        self.assertLess(self.interrupted(lambda: engine.generate(PROMPTS * 40, long)), limit)
        self.assertLess(self.interrupted(lambda: repeat(lambda: engine.forward_backward(batch))), limit)
        engine.zero_grad()
        again = self.rollout(engine)
        self.assertEqual(columns(wanted, "token_ids"), columns(again, "token_ids"))

    def results(self):
        engine = self.load()
        groups = self.rollout(engine)
        metrics = engine.forward_backward(groups) | engine.optim_step(lr=1e-3)
        return columns(groups, "token_ids"), metrics, [row.tolist() for row in flat(engine.logprobs(groups))]

    def test_modes_of_torch_change_nothing(self):
        wanted = self.results()
        with torch.no_grad():
            self.assertEqual(self.results(), wanted)
        with torch.inference_mode():
            self.assertEqual(self.results(), wanted)
        with torch.autocast("cpu", torch.bfloat16):
            self.assertEqual(self.results(), wanted)
        torch.set_default_dtype(torch.float64)
        try:
            self.assertEqual(self.results(), wanted)
        finally:
            torch.set_default_dtype(torch.float32)

    @unittest.skipIf(HAS_ASAN, "ASan keeps what was freed for a while")
    def test_engines_are_freed(self):
        def resident():
            return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096

        for i in range(30):
            if i == 5:
                before = resident()
            self.results()
        self.assertLess(resident() - before, 60 << 20)


if __name__ == "__main__":
    unittest.main(verbosity=2)
