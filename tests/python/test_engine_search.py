"""The search for an engine's best settings (bench/compare_engines.py), on an engine whose speeds are known."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import compare_engines
import engine_side
import llama_peer


class KnownEngine:
    name, version = "known", "1"
    SPEEDS = {("b", 2): 9.0, ("b", 1): 7.0, ("a", 2): 5.0, ("a", 1): 3.0}

    def choices(self, job):
        return {"letter": ["a", "b", "broken"], "number": [1, 2]}

    def speed(self, job, settings):
        return self.SPEEDS.get((settings["letter"], settings["number"]), 0.0)


class EngineSearchTest(unittest.TestCase):
    job = compare_engines.JOBS["decode-8"]

    def test_keeps_the_fastest_value_of_every_setting(self):
        self.assertEqual(compare_engines.search(KnownEngine(), self.job), {"letter": "b", "number": 2})

    def test_stops_if_no_setting_runs(self):
        engine = KnownEngine()
        engine.SPEEDS = {}
        with self.assertRaises(SystemExit):
            compare_engines.search(engine, self.job)

    def test_compares_with_the_fastest_peer(self):
        speeds = {"Cohort": [30.0, 10.0, 20.0], "slow": [1.0], "fast": [8.0, 16.0, 10.0]}
        self.assertEqual(compare_engines.ratio_to_best(speeds), (2.0, "fast"))

    def test_prefills_prompts_that_share_nothing(self):
        seen = []

        def seconds(engine, prompts, length):
            self.assertEqual((engine, length), ("engine", 1))
            self.assertEqual([len(prompt) for prompt in prompts], [5, 5, 5])
            seen.extend(map(tuple, prompts))
            return 4.0 if len(seen) == 3 else 2.0  # the first call warms up

        speed = engine_side.prefill_speed(seconds)
        job = {"streams": 3, "prompt_tokens": 5, "vocab_size": 1000}
        self.assertEqual([speed("engine", job), speed("engine", job)], [7.5, 7.5])
        self.assertEqual(len(set(seen)), 12)

    def test_llama_cpp_gets_a_unified_cache_only_if_it_is_faster(self):
        engine = object.__new__(llama_peer.LlamaCpp)
        engine.gguf = lambda dtype: f"model-{dtype}.gguf"
        for kind in ("decode-64", "prefill"):
            job = compare_engines.JOBS[kind]
            choices = engine.choices(job)
            self.assertCountEqual(choices["-kvu"], [False, True])
            settings = {key: values[0] for key, values in choices.items()}
            for is_unified in (False, True):
                options = engine.options(job, {**settings, "-kvu": is_unified})
                self.assertEqual("-kvu" in options, is_unified)
                self.assertEqual("-pps" in options, job.kind == "decode")
                # Every stream has a cache of its own that holds its prompt and its completion.
                self.assertGreaterEqual(
                    options["-c"], job.streams * (job.prompt_tokens + job.completion_tokens)
                )


if __name__ == "__main__":
    unittest.main()
