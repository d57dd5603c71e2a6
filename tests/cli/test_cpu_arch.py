"""COHORT_CPU_ARCH from outside: what it forbids, what is printed, and what a wrong value says.

COHORT=build/cohort python3 tests/cli/test_cpu_arch.py
"""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

PROGRAM = pathlib.Path(os.environ["COHORT"]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
ALL = ["base", "avx2", "avx512", "avx512bf16", "amx"]


def cohort(*arguments, arch=None):
    environment = {name: value for name, value in os.environ.items() if name != "COHORT_CPU_ARCH"}
    if arch is not None:
        environment["COHORT_CPU_ARCH"] = arch
    command = [str(PROGRAM), *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


class CpuArchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.model = pathlib.Path(folder.name, "model")
        demo = ROOT / "recipes" / "demo"
        made = cohort("init", "--config", demo / "config.json", "--tokenizer", demo, "--output", cls.model)
        assert made.returncode == 0, made.stderr
        words = cls.processor_line(cohort("info", cls.model))
        cls.available = re.search(r"this machine runs ([a-z0-9, ]+)\)", words)[1].split(", ")

    @staticmethod
    def processor_line(result):
        return next(line for line in result.stdout.splitlines() if line.startswith("processor"))

    def bench(self, arch):
        result = cohort(
            "bench", "--model", self.model, "--dtype", "float32", "--measure", "prefill", "--repeats", 1,
            "--prompt-length", 8, "--completion-length", 2, "--json", arch=arch,
        )  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_each_instruction_set_of_the_machine_can_be_chosen(self):
        self.assertEqual(self.available, [arch for arch in ALL if arch in self.available])
        for arch in self.available:
            line = self.processor_line(cohort("info", self.model, arch=arch))
            self.assertRegex(line, rf"^processor +{arch} \(chosen by COHORT_CPU_ARCH; ")
            self.assertEqual(self.bench(arch)["cpu_arch"], arch)

    def test_without_the_variable_a_set_of_the_machine_is_used(self):
        self.assertIn(self.bench(None)["cpu_arch"], self.available)
        self.assertNotIn("COHORT_CPU_ARCH", self.processor_line(cohort("info", self.model, arch="")))

    def test_an_unknown_name_is_refused_in_one_line(self):
        for arguments in (["--help"], ["info", self.model], ["train", "missing.toml"]):
            result = cohort(*arguments, arch="avx3")
            self.assertEqual(result.returncode, 2)
            self.assertEqual(
                result.stderr,
                'cohort: COHORT_CPU_ARCH: unknown instruction set "avx3"; choose one of '
                + ", ".join(self.available) + "\n",
            )  # fmt: skip
            self.assertEqual(result.stdout, "")

    def test_a_set_that_the_machine_lacks_is_refused_in_one_line(self):
        for arch in set(ALL) - set(self.available):
            result = cohort("info", self.model, arch=arch)
            self.assertEqual(result.returncode, 2)
            self.assertEqual(
                result.stderr,
                f"cohort: COHORT_CPU_ARCH={arch}: this machine does not run it; choose one of "
                + ", ".join(self.available) + "\n",
            )  # fmt: skip


if __name__ == "__main__":
    unittest.main()
