"""The loss of every preset against the papers' formulas: numbers worked out by hand, and plain loops on drawn data.

PYTHONPATH=build/python .venv-test/bin/python tests/python/test_objectives.py
"""

import math
import unittest

import objectives_reference as formula
import torch

from cohort import objectives

LENGTH = 10
TOLERANCE = 1e-9
log, exp, sqrt = math.log, math.exp, math.sqrt


def sigmoid(x):
    return 1 / (1 + exp(-x))


# Two completions of two tokens and one. The ratios to the old policy are 1.5 and 0.5, and 2; those of the reference to
# the policy are 0.5 and 2, and 1. Advantages are 2 and -1.
PROBS = [[0.6, 0.2], [0.4, 0.9]]
OLD_PROBS = [[0.4, 0.4], [0.2, 0.5]]
REF_PROBS = [[0.3, 0.4], [0.4, 0.1]]
MASK = [[1, 1], [1, 0]]

PLAIN = -(2 * log(0.12) - log(0.4))  # -sum A log p, with 0.12 = 0.6 * 0.2
K3 = 0.1 * 0.25 / 2  # beta times (0.5 - log 0.5 - 1 + 2 - log 2 - 1) / 2 over two completions
SECOND_DPO = 0.01 * log(1 + exp(-0.2 * (log(0.12) / 2 - log(0.4))))
NLL = -0.1 * log(0.12) / 2

# preset: (loss where old is the policy, loss, what else is given)
HAND = {
    "grpo": (-0.5, -(1.7 - 2) / 2, {}),
    "dr_grpo": (-3 / 20, -(3.4 - 2) / 20, {"max_completion_length": LENGTH}),
    "dapo": (-1, -(2.56 + 1 - 2) / 3, {}),
    "treepo": (-1, -(2.56 + 1 - 2) / 3, {}),
    "lite_ppo": (-1, -(2.4 + 1 - 2) / 3, {}),
    "gtpo": (-1, -(2.4 + 1 - 2) / 3, {}),
    "gfpo": (-1, -(2.4 + 1 - 2) / 3, {}),
    "ppo": (-1, -(2.4 + 1 - 2) / 3, {}),
    "gspo": (-0.5, 1 - sqrt(0.75), {}),
    "gspo_token": (-0.5, 1 - sqrt(0.75), {}),
    "luspo": (-1.5, 1 - 2 * sqrt(0.75), {}),
    "gmpo": (-0.5, 1 - sqrt(0.5 * exp(0.4)), {}),
    "cispo": (PLAIN / 3, -(2 * (1.5 * log(0.6) + 0.5 * log(0.2)) - 2 * log(0.4)) / 3, {"epsilon_high": 5.0}),
    "sapo": (-(4 - 2 / 1.05) / 2, -(4 - 4 / 1.05 * sigmoid(1.05)) / 2, {}),
    "vespo": (PLAIN / 3, -(2 * 0.5625 * exp(0.75) * log(0.12) - 8 * exp(-2) * log(0.4)) / 3, {}),
    "drpo": (-3 / 20, -(4 - 2 - 0.024) / 20, {"max_completion_length": LENGTH}),
    "lambda_grpo": (-1, -(2.56 + 1 - 2) / 3, {"group_size": 2}),
    "grpo_s": (-0.5, 0.0, {}),
    "tic_grpo": (-0.5, -(1.5 - 2) / 2, {}),
    "rloo": (PLAIN / 2, PLAIN / 2, {}),
    "reinforce": (PLAIN / 2, PLAIN / 2, {}),
    "remax": (PLAIN / 2, PLAIN / 2, {}),
    "gpg": (PLAIN / 3, PLAIN / 3, {}),
    "reinforce_pp": (-0.5, 0.15, {}),
    "reinforce_pp_baseline": (-0.5 + 0.1 * log(2) ** 2 / 4, 0.15 + 0.1 * log(2) ** 2 / 4, {"beta": 0.1}),
    "v3_2": (-0.5 + K3, 0.15 + 0.1 * (log(2) - 0.25) / 4, {"beta": 0.1}),
    "vapo": (-1 + NLL, -0.52 + NLL, {"rewards": [1.0, 0.0], "group_size": 2}),
    "hybrid_dpo": (-0.5 + SECOND_DPO, 0.15 + SECOND_DPO, {"rewards": [2.0, 0.0], "group_size": 2}),
    "luffy": (-3.2 / 20, -3.2 / 20, {"max_completion_length": LENGTH, "demonstration_mask": [0, 1]}),
    "drpo_decoupled": (
        log(0.4) - log(0.12) / 2,
        log(0.4) - log(0.12) / 2,
        {"max_completion_length": LENGTH, "rewards": [1.0, 0.0], "group_size": 2},
    ),
    "kimi_k2": (
        (4 + 1) / 2,
        ((2 - 0.5 * log(0.75)) ** 2 + (-1 - 0.5 * log(2)) ** 2) / 2,
        {"kimi_tau": 0.5, "rewards": [1.0, 0.0], "group_size": 2},
    ),
    "dppo": (
        (-log(0.12) + log(0.4)) / 2,
        (-log(0.2) / 2 + 2 * log(0.4)) / 2,
        {},
    ),
}
# These make advantages of their own and leave GRPO's loss as it is.
SAME_AS_GRPO = (
    "grpo_process gigpo axpo edge_grpo mo_grpo gdpo pow3r two_grpo opo bnpo mc_grpo pass_at_k lam_po".split()
)
HAND |= {name: HAND["grpo"] for name in SAME_AS_GRPO}


def double(values):
    return torch.tensor(values, dtype=torch.float64)


def tensor_or_none(values):
    return None if values is None else torch.tensor(values)


def call(preset, policy, mask, advantages, old=None, ref=None, sampler=None, **given):
    for name in ("rewards", "demonstration_mask"):
        if name in given:
            given[name] = torch.as_tensor(given[name])
    loss, _ = objectives.loss(
        policy,
        mask,
        advantages,
        old_logprobs=old,
        ref_logprobs=ref,
        sampler_logprobs=sampler,
        preset=preset,
        **given,
    )
    return loss


class HandTest(unittest.TestCase):
    def compare(self, preset, expected, old):
        policy = double(PROBS).log()
        actual = call(
            preset,
            policy,
            torch.tensor(MASK),
            double([2, -1]),
            old=old,
            ref=double(REF_PROBS).log(),
            sampler=old,
            **HAND[preset][2],
        )
        with self.subTest(preset=preset, is_on_policy=old is None):
            self.assertEqual(actual.dtype, torch.float64)
            self.assertAlmostEqual(actual.item(), expected, delta=1e-12)

    def test_on_policy(self):
        for preset, (expected, _, _) in HAND.items():
            self.compare(preset, expected, None)

    def test_off_policy(self):
        for preset, (_, expected, _) in HAND.items():
            self.compare(preset, expected, double(OLD_PROBS).log())

    def test_every_preset_has_an_example(self):
        whole_runs = {"deepseek_math", "r1_zero", "dapo_paper", "v3_2_math"}
        self.assertEqual(set(HAND) | whole_runs, set(objectives.presets()))

    def test_k3_of_grpo(self):
        for old, plain in ((None, -0.5), (double(OLD_PROBS).log(), 0.15)):
            loss = call(
                "grpo",
                double(PROBS).log(),
                torch.tensor(MASK),
                double([2, -1]),
                old,
                double(REF_PROBS).log(),
                beta=0.1,
            )
            self.assertAlmostEqual(loss.item(), plain + K3, delta=1e-12)

    def test_advantages_of_tokens(self):
        """Ratios 1.5, 0.5 and 2 with advantages 2, -2 and -1: 2.4, -1.6 and -2."""
        advantages = double([[2, -2], [-1, 7]])
        loss = call(
            "grpo_process", double(PROBS).log(), torch.tensor(MASK), advantages, double(OLD_PROBS).log()
        )
        self.assertAlmostEqual(loss.item(), -(0.4 - 2) / 2, delta=1e-12)


# preset: (the paper's loss of a batch, what else is given)
FORMULAS = {
    "grpo": (lambda b: formula.grpo(b, beta=0.1), {"beta": 0.1}),
    "dr_grpo": (lambda b: formula.dr_grpo(b, LENGTH), {"max_completion_length": LENGTH}),
    "dapo": (formula.dapo, {}),
    "treepo": (formula.dapo, {}),
    "lite_ppo": (formula.lite_ppo, {}),
    "gtpo": (formula.lite_ppo, {}),
    "gfpo": (formula.lite_ppo, {}),
    "ppo": (formula.lite_ppo, {}),
    "gspo": (formula.gspo, {}),
    "gspo_token": (formula.gspo_token, {}),
    "luspo": (formula.luspo, {}),
    "gmpo": (formula.gmpo, {}),
    "cispo": (lambda b: formula.cispo(b, 1.2), {"epsilon_high": 1.2}),
    "sapo": (formula.sapo, {}),
    "vespo": (formula.vespo, {}),
    "dppo": (lambda b: formula.mean_of_means(formula.dppo(b)), {}),
    "drpo": (lambda b: formula.drpo(b, LENGTH, 0.3), {"max_completion_length": LENGTH, "drpo_delta": 0.3}),
    "drpo_decoupled": (
        lambda b: sum(formula.drpo_decoupled(b, LENGTH)),
        {"max_completion_length": LENGTH, "group_size": 4},
    ),
    "lambda_grpo": (lambda b: formula.lambda_grpo(b, -2.0), {"length_preference": -2.0, "group_size": 4}),
    "grpo_s": (formula.grpo_s, {}),
    "tic_grpo": (formula.tic_grpo, {}),
    "rloo": (formula.reinforce, {}),
    "reinforce": (formula.reinforce, {}),
    "remax": (formula.reinforce, {}),
    "gpg": (formula.gpg, {}),
    "reinforce_pp": (formula.grpo, {}),
    "reinforce_pp_baseline": (lambda b: formula.reinforce_pp_baseline(b, 0.1), {"beta": 0.1}),
    "v3_2": (
        lambda b: formula.v3_2(b, 0.1, threshold=0.02),
        {"beta": 0.1, "off_policy_mask_threshold": 0.02},
    ),
    "vapo": (formula.vapo, {"group_size": 4}),
    "hybrid_dpo": (formula.hybrid_dpo, {"group_size": 4}),
    "luffy": (
        lambda b: formula.luffy(b, LENGTH),
        {"max_completion_length": LENGTH, "demonstration_mask": [0, 0, 0, 1, 0, 0, 1, 0]},
    ),
    "kimi_k2": (lambda b: formula.kimi(b, 0.3), {"kimi_tau": 0.3, "group_size": 4}),
}
FORMULAS |= {name: FORMULAS["grpo"] for name in SAME_AS_GRPO}


class Drawn:
    """Two groups of four completions with gaps in their masks; log-ratios up to about one nat."""

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)

        def draw(*shape, scale=1.0):
            return torch.randn(*shape, generator=generator, dtype=torch.float64) * scale

        self.mask = (torch.rand(8, 6, generator=generator) < 0.7).long()
        self.mask[:, 2] = 1
        self.policy = -draw(8, 6).abs() - 0.05
        self.old = torch.minimum(self.policy + draw(8, 6, scale=0.4), torch.tensor(-0.01))
        self.ref = self.policy + draw(8, 6, scale=0.4)
        self.sampler = torch.minimum(self.old + draw(8, 6, scale=0.2), torch.tensor(-0.01))
        self.advantages = draw(8)
        self.rewards = double([2, 0, 0, 2, 2, 0, 2, 0])

    def batch(self, policy, is_on_policy, given, advantages):
        return formula.batch(
            policy,
            self.mask,
            advantages,
            group_size=4,
            rewards=self.rewards.tolist(),
            demonstration=given.get("demonstration_mask"),
            old=None if is_on_policy else self.old,
            ref=self.ref,
            sampler=policy.detach() if is_on_policy else self.sampler,
        )


class FormulaTest(unittest.TestCase):
    def compare(self, preset, drawn, is_on_policy):
        rule, given = FORMULAS[preset]
        advantages = drawn.rewards - 1 if preset == "kimi_k2" else drawn.advantages
        theirs, ours = (drawn.policy.clone().requires_grad_() for _ in range(2))
        expected = rule(drawn.batch(theirs, is_on_policy, given, advantages.tolist()))
        expected.backward()
        actual = call(
            preset,
            ours,
            drawn.mask,
            advantages,
            old=None if is_on_policy else drawn.old,
            ref=drawn.ref,
            sampler=None if is_on_policy else drawn.sampler,
            **({"rewards": drawn.rewards} if "group_size" in given else {}),
            **given,
        )
        actual.backward()
        with self.subTest(preset=preset, is_on_policy=is_on_policy):
            self.assertAlmostEqual(actual.item(), expected.item(), delta=TOLERANCE)
            self.assertLess((ours.grad - theirs.grad).abs().max().item(), TOLERANCE)
            self.assertGreater(theirs.grad.abs().max().item(), 1e-4)

    def test_every_preset(self):
        for preset in FORMULAS:
            self.compare(preset, Drawn(1), True)
            self.compare(preset, Drawn(2), False)

    def test_divergence_kl(self):
        drawn = Drawn(4)
        policy = drawn.policy.clone().requires_grad_()
        losses = formula.dppo(
            drawn.batch(policy, False, {}, drawn.advantages.tolist()), 0.05, 0.05, divergence="kl"
        )
        actual = call(
            "dppo",
            policy,
            drawn.mask,
            drawn.advantages,
            drawn.old,
            sampler=drawn.sampler,
            divergence="kl",
            epsilon=0.05,
            epsilon_high=0.05,
        )
        self.assertAlmostEqual(actual.item(), formula.mean_of_means(losses).item(), delta=TOLERANCE)


def setUpModule():
    torch.set_default_dtype(torch.float64)


if __name__ == "__main__":
    unittest.main(verbosity=2)
