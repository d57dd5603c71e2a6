"""Every preset trains the demo task for 30 steps, and every number of every step is finite.

COHORT=build/cohort python3 tests/python/test_variants.py
"""

import pathlib
import sys
import tempfile
import tomllib
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "bench"))

import demo_task  # noqa: E402
import variants  # noqa: E402

STEPS = 30


class VariantsTest(unittest.TestCase):
    def test_every_preset_trains(self):
        """A short warm start and 32 completions a step, in four updates: the numbers, not what is learnt."""
        study = variants.Study(steps=STEPS, completions=32)
        presets = variants.presets()
        self.assertGreaterEqual(len(presets), 45)
        with tempfile.TemporaryDirectory() as folder:
            task = demo_task.DemoTask(folder, seed=1, sft_steps=150)
            for name, run_settings in presets.items():
                with self.subTest(name):
                    run, reason = variants.train(name, run_settings, task, study)
                    self.assertEqual(reason, "")
                    lines = variants.metrics_of(run)
                    self.assertEqual(len(lines), STEPS)
                    self.assertEqual([line["step"] for line in lines if not variants.is_finite(line)], [])
                    self.assertEqual(lines[-1]["skipped_steps"], 0)
                    self.check_objective(name, run)

    def check_objective(self, name, run):
        """The run has what the preset sets, whatever the demo's recipe says."""
        with open(run / "config.toml", "rb") as file:
            has = tomllib.load(file)["objective"]
        self.assertEqual(has["preset"], name)
        given = [str(flag)[2:].replace("-", "_") for flag in variants.SETTINGS.get(name, ())[::2]]
        for key, value in variants.objective_of(name).items():
            if key in has and key not in given:
                self.assertTrue(is_same(has[key], value), f"{key} is {has[key]}, {name} sets {value}")


def is_same(setting, text):
    if isinstance(setting, (bool, str)):
        return str(setting).lower() == text
    return setting == float(text)


class TableTest(unittest.TestCase):
    def test_a_number_that_is_not_finite_is_seen(self):
        line = dict.fromkeys(variants.ALWAYS, 0.5) | {"step": 1, "eval_reward": None}
        self.assertTrue(variants.is_finite(line))
        self.assertFalse(variants.is_finite(line | {"loss": None}))
        self.assertFalse(variants.is_finite(line | {"kl": float("nan")}))

    def test_steps_are_judged_by_their_arithmetic(self):
        right = ["<think>3 + 4 = 7", "8 / 2 = 4</think>", "2 - 6 = -4", "5 * 3 = 15"]
        wrong = ["<think>3 + 4 = 8", "8 / 3 = 2", "6 / 0 = 0", "2 - 6", "3 ^ 2 = 9", "a + 4 = 7", ""]
        self.assertTrue(all(map(demo_task.holds, right)))
        self.assertFalse(any(map(demo_task.holds, wrong)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
