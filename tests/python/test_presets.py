"""Algorithms by name: every preset trains or says why not, and keys of a recipe override what it sets.

COHORT=build/cohort python3 tests/python/test_presets.py
"""

import json
import math
import re
import tomllib
import unittest

from tiny_run import PROGRAM, TinyRunTest, subprocess

# What a run lacks for these, by a part of the refusal.
REFUSED = {
    "grpo_process": "needs a [[reward]] that judges steps",
    "gigpo": "compares turns from the same state",
    "pow3r": "between two rewards of one category",
    "axpo": "num_rerolls adds groups to a step",
    "luffy": 'the column "demonstration" is missing',
}

# Where groups of four do not do.
SIZES = {"gfpo": ["--gfpo-k=2"], "mc_grpo": ["--num-generations=5"]}

# The second update's loss shows, through Adam, how the first one's gradients were rounded: here 1.02e-5.
LOSS_DELTAS = {"vespo": 2e-5}


def preset_names():
    text = subprocess.run([PROGRAM, "objectives"], check=True, capture_output=True, text=True).stdout
    return re.findall(r"^(\w+)  \(", text, re.MULTILINE)


class PresetCase(TinyRunTest):
    def run_preset(self, name, preset, *more):
        run = self.start(name, "--objective.preset", preset, *more)
        _, errors = run.communicate()
        return run.returncode, errors

    def small(self, *more):
        """Sizes that presets of whole runs set otherwise, and two updates of one generation."""
        sizes = ["--prompts-per-step=4", "--num-generations=4", "--rollout.max-completion-length=24"]
        return [*sizes, "--steps-per-generation=2", "--save-steps=0", "--learning-rate=1e-3", *more]

    def lines(self, name):
        return [json.loads(line) for line in (self.folder / name / "metrics.jsonl").read_text().splitlines()]

    def config(self, name):
        return tomllib.loads((self.folder / name / "config.toml").read_text())["objective"]


class MicroBatchTest(PresetCase):
    def test_other_micro_batches_change_no_update(self):
        """Cut into other micro-batches, both updates of the first step are the same."""
        # Clipping at 0.001 of MAD makes MC-GRPO's updates so large that rounding shows in the next one.
        for preset in set(preset_names()) - set(REFUSED) - {"mc_grpo"}:
            with self.subTest(preset):
                options = self.small("--max-steps=1", *SIZES.get(preset, ()))
                self.assertEqual(self.run_preset(preset, preset, *options)[0], 0)
                options = [*options, "--train.tokens-per-microbatch=60"]
                self.assertEqual(self.run_preset(f"{preset}-60", preset, *options)[0], 0)
                few, many = self.lines(f"{preset}-60")[0], self.lines(preset)[0]
                delta = LOSS_DELTAS.get(preset, 1e-5) * (1 + abs(many["loss"]))
                self.assertAlmostEqual(few["loss"], many["loss"], delta=delta)
                self.assertAlmostEqual(few["grad_norm"] / many["grad_norm"], 1, delta=1e-4)


class PresetTest(PresetCase):
    def test_every_preset_trains_or_says_what_it_lacks(self):
        names = preset_names()
        self.assertGreaterEqual(len(names), 45)
        self.assertLessEqual(set(REFUSED), set(names))
        for preset in names:
            with self.subTest(preset):
                more = SIZES.get(preset, ())
                code, errors = self.run_preset(preset, preset, *self.small("--max-steps=2", *more))
                if preset in REFUSED:
                    self.assertEqual(code, 2)
                    self.assertIn(REFUSED[preset], errors)
                    continue
                self.assertEqual(code, 0, errors)
                for line in self.lines(preset):
                    self.assertEqual(line["skipped_steps"], 0)
                    self.assertTrue(math.isfinite(line["loss"]) and line["grad_norm"] > 0, line)
                    self.assertEqual(line["sampling/sampling_logp_difference/max"], 0)
                self.assertEqual(self.config(preset)["preset"], preset)

    def test_settings_that_need_a_pass_of_their_own(self):
        cases = [
            ("gtpo", ["--mask-truncated-completions"]),
            ("reinforce_pp", ["--beta=0.05", "--mask-truncated-completions"]),
            ("edge_grpo", ["--top-entropy-quantile=0.5"]),
            ("grpo", ["--kl-cov-ratio=0.1", "--second-moment-max=0.01"]),
            ("grpo", ["--beta=0.1", "--kl-estimator=k2"]),
            ("drpo_decoupled", ["--kl-budget-coef=10"]),
            ("grpo", ["--entropy-coef=0.01", "--top-entropy-quantile=0.5"]),
            ("rloo", ["--beta=0.05", "--use-adaptive-beta"]),
            ("gspo", ["--domain-beta", "none=0.1"]),
        ]
        for i, (preset, options) in enumerate(cases):
            with self.subTest(preset=preset, options=options):
                code, errors = self.run_preset(f"pass-{i}", preset, *self.small("--max-steps=2", *options))
                self.assertEqual(code, 0, errors)
                for line in self.lines(f"pass-{i}"):
                    self.assertEqual(line["skipped_steps"], 0)
                    self.assertTrue(math.isfinite(line["loss"]) and math.isfinite(line["grad_norm"]), line)
                    self.assertEqual("kl" in line, any("beta" in option for option in options))

    def test_groups_of_one(self):
        one = ["--num-generations=1", "--prompts-per-step=8", "--steps-per-generation=1", "--max-steps=2"]
        cases = [(preset, []) for preset in ("reinforce_pp", "ppo", "remax")]
        cases += [
            ("grpo", [f"--baseline={baseline}", "--scale-rewards=none"])
            for baseline in ("none", "batch_mean")
        ]
        for i, (preset, options) in enumerate(cases):
            with self.subTest(preset=preset, options=options):
                code, errors = self.run_preset(f"one-{i}", preset, *self.small(*one, *options))
                self.assertEqual(code, 0, errors)
                for line in self.lines(f"one-{i}"):
                    self.assertEqual(line["skipped_steps"], 0)
                    self.assertTrue(math.isfinite(line["loss"]) and line["grad_norm"] > 0, line)
        code, errors = self.run_preset("one", "grpo", *self.small(*one))
        self.assertEqual(code, 2, errors)
        self.assertIn("num_generations = 1 leaves a completion no other", errors)

    def test_coefficients_and_the_reference_move(self):
        options = ["--use-adaptive-entropy", "--entropy-target=99", "--beta=0.1", "--use-adaptive-beta"]
        options += ["--kl-horizon=64", "--sync-ref-model", "--ref-model-sync-steps=3"]
        self.assertEqual(
            self.run_preset("moving", "lambda_grpo", *self.small("--max-steps=3", *options))[0], 0
        )
        lines = self.lines("moving")
        # Two updates a step; below its target the entropy's weight goes up by 0.005 after each, and it acts from
        # the second update on.
        for i, line in enumerate(lines):
            self.assertAlmostEqual(line["entropy_coef"], 0.005 * 2 * (i + 1), places=12)
            self.assertLess(line["entropy_loss"], 0)
        # The first step's KL is below the target of 0.1 by more than a fifth: 0.1 * (1 - 0.2 * 16 / 64).
        self.assertAlmostEqual(lines[0]["beta"], 0.095, places=12)
        preferences = [line["length_preference"] for line in lines]
        self.assertEqual(len(set(preferences)), 3)

    def test_a_demonstration_joins_each_group(self):
        options = ["--columns", "demonstration=solution", "--max-steps=2"]
        for rows in ([], ["--train.tokens-per-microbatch=60"]):
            code, errors = self.run_preset(f"luffy-{len(rows)}", "luffy", *self.small(*options, *rows))
            self.assertEqual(code, 0, errors)
        lines = self.lines("luffy-0")
        for line, cut in zip(lines, self.lines("luffy-1")):
            self.assertEqual(line["skipped_steps"], 0)
            self.assertEqual(line["sampling/sampling_logp_difference/max"], 0)
            self.assertEqual(line["demonstration/reward"], cut["demonstration/reward"])
        self.assertAlmostEqual(self.lines("luffy-1")[0]["grad_norm"] / lines[0]["grad_norm"], 1, delta=1e-4)
        solutions = {}
        for row in (self.folder / "train.jsonl").read_text().splitlines():
            solutions[json.loads(row)["prompt"]] = json.loads(row)["solution"]
        rows = (self.folder / "luffy-0/completions.jsonl").read_text().splitlines()
        rows = [json.loads(row) for row in rows if json.loads(row)["step"] == 1]
        shown = [row for row in rows if "demonstration" in row]
        self.assertEqual((len(rows), len(shown)), (4 * 5, 4))
        for row in shown:
            self.assertEqual(row["completion"], solutions[row["prompt"]])
            self.assertEqual((row["completion_ids"][-1], row["finish_reason"]), (0, "stop"))
        # Metrics of the policy's completions leave the demonstrations out; advantages are over all five.
        mean = sum(row["reward"] for row in shown) / 4
        self.assertAlmostEqual(lines[0]["demonstration/reward"], mean, places=12)
        own = [row for row in rows if "demonstration" not in row]
        self.assertAlmostEqual(lines[0]["reward"], sum(row["reward"] for row in own) / 16, places=12)
        longest = max(len(row["completion_ids"]) for row in own)
        self.assertEqual(lines[0]["completions/max_length"], longest)
        group = [row for row in rows if row["prompt_id"] == rows[0]["prompt_id"]]
        centre = sum(row["reward"] for row in group) / 5
        for row in group:
            self.assertAlmostEqual(row["advantage"], row["reward"] - centre, places=12)

    def test_keys_override_the_preset(self):
        options = self.small("--max-steps=1", "--epsilon-high=0.4", "--scale-rewards=none")
        self.assertEqual(self.run_preset("own", "dapo", *options)[0], 0)
        config = self.config("own")
        self.assertEqual((config["epsilon_high"], config["scale_rewards"]), (0.4, "none"))
        self.assertEqual(config["aggregation"], "token_mean")

    def test_a_loss_type_stands_for_two_keys_that_override_it(self):
        options = self.small("--max-steps=1", "--loss-type=cispo", "--epsilon-high=5")
        self.assertEqual(self.run_preset("type", "grpo", *options)[0], 0)
        config = self.config("type")
        self.assertEqual((config["surrogate"], config["aggregation"]), ("cispo", "token_mean"))
        options.append("--objective.aggregation=seq_mean_token_mean")
        self.assertEqual(self.run_preset("both", "grpo", *options)[0], 0)
        self.assertEqual(self.config("both")["aggregation"], "seq_mean_token_mean")

    def test_a_loss_type_over_a_chosen_preset_is_said(self):
        options = self.small("--max-steps=1", "--loss-type=grpo")
        code, errors = self.run_preset("said", "vespo", *options)
        self.assertEqual(code, 0, errors)
        self.assertEqual(self.config("said")["surrogate"], "ppo")
        self.assertIn('loss_type = "grpo" sets surrogate to ppo over preset vespo\'s vespo', errors)
        self.assertIn("sets aggregation to seq_mean_token_mean over preset vespo's token_mean", errors)
        code, errors = self.run_preset("silent", "sapo", *self.small("--max-steps=1"))
        self.assertEqual((code, self.config("silent")["surrogate"]), (0, "sapo"), errors)
        self.assertNotIn("loss_type", errors)

    def test_what_cannot_be_is_refused(self):
        for preset, options, part in (
            ("grpoo", [], 'did you mean "grpo"'),
            ("gspo", ["--beta=0.1", "--use-bias-correction-kl"], "importance_sampling_level"),
            ("grpo", ["--use-adaptive-beta"], "a beta to start from"),
            ("grpo", ["--sync-ref-model"], "sync_ref_model has no effect"),
            (
                "grpo",
                ["--sync-ref-model", "--beta=0.1", "--lora.r=4"],
                "the reference of a run with adapters",
            ),
            ("grpo", ["--credit=gae"], "critic"),
            ("grpo", ["--credit=gae", "--baseline=critic", "--scale-rewards=none"], "value_coef is 0"),
            ("grpo", ["--value-coef=0.1"], "value_coef has no effect"),
            ("grpo", ["--critic.pretrain-steps=3"], "[critic] has no effect"),
            ("ppo", ["--critic.pretrain-steps=3", "--max-steps=3"], "none is left to train the policy"),
            ("ppo", ["--critic.kind=head", "--critic.path=x"], "critic.path has no effect"),
            (
                "grpo",
                ["--use-demonstrations", "--kl-budget-coef=1"],
                "use_demonstrations: kl_budget_coef",
            ),
            ("grpo", ["--loss-type=bnpo"], 'set loss_type = "dapo"'),
            ("grpo", ["--importance-sampling-mode=token_truncate"], "sampler and trainer agree exactly"),
            ("grpo", ["--epsilon=-1"], "epsilon"),
        ):
            with self.subTest(preset=preset, options=options):
                code, errors = self.run_preset("refused", preset, *self.small(*options))
                self.assertEqual(code, 2, errors)
                self.assertIn(part, errors)
                self.assertEqual(len(errors.strip().splitlines()), 1, errors)


if __name__ == "__main__":
    unittest.main()
