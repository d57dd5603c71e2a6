"""Identities, finite differences, masks, orders of rows and wrong input of `cohort.objectives`.

PYTHONPATH=build/python .venv-test/bin/python tests/python/test_objectives_algebra.py
"""

import math
import unittest

import torch
from test_objectives import FORMULAS, LENGTH, Drawn, double

from cohort import objectives

NAN = float("nan")


def given_of(preset, drawn):
    given = dict(FORMULAS[preset][1])
    if "demonstration_mask" in given:
        given["demonstration_mask"] = torch.tensor(given["demonstration_mask"])
    if "group_size" in given:
        given["rewards"] = drawn.rewards
    return given


def call(preset, drawn, policy=None, rows=slice(None), **changes):
    given = given_of(preset, drawn)
    for name in ("demonstration_mask", "rewards"):
        if name in given:
            given[name] = given[name][rows]
    policy = drawn.policy if policy is None else policy
    given |= {
        "old_logprobs": drawn.old[rows],
        "sampler_logprobs": drawn.sampler[rows],
        "ref_logprobs": drawn.ref[rows],
    }
    given |= changes
    return objectives.loss(policy[rows], drawn.mask[rows], drawn.advantages[rows], preset=preset, **given)[0]


def gradient(preset, drawn, rows=slice(None), **changes):
    policy = drawn.policy.clone().requires_grad_()
    call(preset, drawn, policy, rows, **changes).backward()
    return policy.grad


def equal(case, left, right, tolerance=1e-12):
    case.assertLess((left - right).abs().max().item(), tolerance)


class IdentityTest(unittest.TestCase):
    def setUp(self):
        self.drawn = Drawn(7)

    def test_on_policy_gradients_are_reinforces(self):
        """-c A of every token, with c from the aggregation."""
        d = self.drawn
        lengths = d.mask.sum(1, keepdim=True)
        scores = -d.advantages[:, None] * d.mask
        weights = {
            "grpo gspo gspo_token gmpo sapo reinforce_pp grpo_s v3_2 edge_grpo": 1 / (8 * lengths),
            "dapo cispo vespo lite_ppo gtpo gpg lambda_grpo": 1 / d.mask.sum(),
            "luspo rloo reinforce remax tic_grpo": 1 / 8,
            "dr_grpo drpo": 1 / (8 * LENGTH),
        }
        for presets, weight in weights.items():
            for preset in presets.split():
                changes = {"beta": 0.0, "off_policy_mask_threshold": None, "length_preference": 0.0}
                if preset == "cispo":
                    changes["epsilon_high"] = 5.0
                with self.subTest(preset=preset):
                    actual = gradient(preset, d, old_logprobs=None, sampler_logprobs=None, **changes)
                    equal(self, actual, scores * weight)

    def test_gspo_is_gspo_token_for_one_advantage_a_sequence(self):
        equal(self, call("gspo", self.drawn), call("gspo_token", self.drawn))
        equal(self, gradient("gspo", self.drawn), gradient("gspo_token", self.drawn))

    def test_a_turn_is_a_run_of_the_mask(self):
        """Log-ratios 0.1 and 0.3, a gap, 0.6: ratios exp(0.2) twice and exp(0.6), clipped at 1.5; then 0.4 alone."""
        mask = torch.tensor([[1, 1, 0, 1], [0, 0, 0, 1]])
        policy, old = torch.full((2, 4), -1.0), double([[-1.1, -1.3, -9, -1.6], [-9, -9, -9, -1.4]])
        loss, _ = objectives.loss(
            policy, mask, double([1, 1]), old_logprobs=old, importance_sampling_level="turn", epsilon=0.5
        )
        expected = -((2 * math.exp(0.2) + 1.5) / 3 + math.exp(0.4)) / 2
        self.assertAlmostEqual(loss.item(), expected, delta=1e-12)

    def test_length_preference_zero_is_dapo(self):
        """As a tensor: as a number, 0 leaves the weights out."""
        for zero in (0.0, torch.tensor(0.0)):
            weighted = gradient("lambda_grpo", self.drawn, length_preference=zero)
            equal(self, weighted, gradient("dapo", self.drawn))

    def test_lam_po_with_equal_likelihoods_is_rloo(self):
        """Every weight of a pair is then 1/2."""
        rewards, old = double([1, 0, 2, 5, 3, 3, 0, 1]), torch.full((8, 3), -0.5)
        plain = objectives.advantages(rewards, 4, preset="rloo")
        equal(self, objectives.advantages(rewards, 4, preset="lam_po", old_logprobs=old), plain)

    def test_a_loss_type_is_surrogate_and_aggregation(self):
        d = self.drawn
        for loss_type, preset, changes in (
            ("dapo", "dapo", {"epsilon_high": 0.28}),
            ("cispo", "cispo", {"epsilon_high": 1.2}),
            ("sapo", "sapo", {}),
            ("vespo", "vespo", {}),
            ("dr_grpo", "dr_grpo", {"max_completion_length": LENGTH}),
        ):
            with self.subTest(loss_type=loss_type):
                named = gradient("grpo", d, loss_type=loss_type, beta=0.0, **changes)
                equal(self, named, gradient(preset, d))

    def test_sampler_weights_of_one_change_nothing(self):
        for mode in ("token_truncate", "token_mask", "sequence_truncate", "sequence_mask"):
            plain = gradient("grpo", self.drawn, sampler_logprobs=None)
            equal(
                self,
                plain,
                gradient("grpo", self.drawn, sampler_logprobs=self.drawn.old, importance_sampling_mode=mode),
            )


class DifferenceTest(unittest.TestCase):
    """Finite differences in float64 of everything whose gradient is the gradient of its value."""

    def check(self, function, *inputs):
        self.assertTrue(
            torch.autograd.gradcheck(function, [x.clone().requires_grad_() for x in inputs], atol=1e-7)
        )

    def test_losses(self):
        d = Drawn(5)
        names = (
            "grpo dr_grpo dapo gspo luspo gmpo sapo drpo lambda_grpo grpo_s tic_grpo rloo gpg vapo hybrid_dpo luffy "
            "kimi_k2 reinforce_pp_baseline"
        )
        for preset in names.split():
            with self.subTest(preset=preset):
                self.check(lambda policy, p=preset: call(p, d, policy), d.policy)

    def test_divergences(self):
        d = Drawn(5)
        for estimator in ("k1", "k2", "k3"):
            with self.subTest(estimator=estimator):
                self.check(lambda policy, e=estimator: call("grpo", d, policy, kl_estimator=e), d.policy)
        self.check(lambda policy: call("grpo", d, policy, use_bias_correction_kl=True), d.policy)

    def test_entropy_bonus(self):
        d = Drawn(5)
        entropies = d.policy.abs() + 0.1
        self.check(
            lambda policy, h: call("grpo", d, policy, entropies=h, entropy_coef=0.1), d.policy, entropies
        )

    def test_length_preference(self):
        d = Drawn(5)
        self.check(
            lambda policy, x: call("lambda_grpo", d, policy, length_preference=x),
            d.policy,
            torch.tensor(-0.7),
        )


class RowsTest(unittest.TestCase):
    def test_what_a_mask_hides_is_never_read(self):
        drawn, dirty = Drawn(6), Drawn(6)
        for name in ("policy", "old", "ref", "sampler"):
            setattr(dirty, name, getattr(dirty, name).masked_fill(dirty.mask == 0, NAN))
        for preset in FORMULAS:
            with self.subTest(preset=preset):
                clean, grad = gradient(preset, drawn), gradient(preset, dirty)
                self.assertTrue(torch.equal(clean, grad))
                self.assertEqual(grad[drawn.mask == 0].abs().max().item(), 0.0)

    def test_masks_of_any_type(self):
        drawn = Drawn(6)
        plain = call("grpo", drawn)
        for dtype in (torch.bool, torch.uint8, torch.int32, torch.float32, torch.bfloat16):
            drawn.mask = drawn.mask.to(dtype)
            self.assertEqual(call("grpo", drawn).item(), plain.item())

    def test_the_order_of_groups_changes_no_gradient(self):
        drawn = Drawn(8)
        order = [4, 5, 6, 7, 0, 1, 2, 3]
        for preset in FORMULAS:
            with self.subTest(preset=preset):
                equal(self, gradient(preset, drawn), gradient(preset, drawn, order))

    def test_micro_batches_add_up(self):
        drawn = Drawn(8)
        count = int(drawn.mask.sum())
        for preset in ("dapo", "cispo", "vespo", "lite_ppo", "gpg", "lambda_grpo"):
            parts = [
                gradient(preset, drawn, list(rows), num_items_in_batch=count)
                for rows in (range(4), range(4, 8))
            ]
            with self.subTest(preset=preset):
                equal(self, gradient(preset, drawn), sum(parts))
        for preset in ("grpo", "gspo", "gmpo", "sapo", "rloo", "dr_grpo", "kimi_k2"):
            parts = [gradient(preset, drawn, list(rows)) for rows in (range(4), range(4, 8))]
            with self.subTest(preset=preset):
                equal(self, gradient(preset, drawn), sum(parts) / 2)

    def test_a_row_without_tokens_counts_in_means_over_rows(self):
        drawn = Drawn(8)
        drawn.mask[3] = 0
        rows = [0, 1, 2, 4, 5, 6, 7]
        equal(self, gradient("grpo", drawn) * 8 / 7, gradient("grpo", drawn, rows))
        equal(self, gradient("dapo", drawn), gradient("dapo", drawn, rows))

    def test_no_token_at_all(self):
        drawn = Drawn(8)
        drawn.mask[:] = 0
        for preset in FORMULAS:
            with self.subTest(preset=preset):
                self.assertEqual(gradient(preset, drawn).abs().max().item(), 0.0)
                self.assertEqual(call(preset, drawn).item(), 0.0)

    def test_float32(self):
        drawn = Drawn(9)
        exact = call("gspo", drawn)
        for name in ("policy", "old", "ref", "sampler", "advantages"):
            setattr(drawn, name, getattr(drawn, name).float())
        loss = call("gspo", drawn)
        self.assertEqual(loss.dtype, torch.float32)
        self.assertAlmostEqual(loss.item(), exact.item(), delta=1e-5)


class WrongInputTest(unittest.TestCase):
    def setUp(self):
        self.drawn = Drawn(3)
        self.parts = [self.drawn.policy, self.drawn.mask, self.drawn.advantages]

    def refuse(self, pattern, *args, **settings):
        with self.assertRaisesRegex((ValueError, TypeError), pattern):
            objectives.loss(*(args or self.parts), **settings)

    def test_shapes(self):
        policy, mask, advantages = self.parts
        self.refuse("policy_logprobs", policy[0], mask, advantages)
        self.refuse("mask", policy, mask[:, :5], advantages)
        self.refuse("advantages", policy, mask, advantages[:7])
        self.refuse("advantages", policy, mask, advantages[:, None])
        self.refuse("old_logprobs", old_logprobs=policy[:7])
        self.refuse("sampler_logprobs", sampler_logprobs=policy[:, :5])
        self.refuse("rewards", rewards=advantages[:7])
        self.refuse("demonstration_mask", demonstration_mask=mask)
        self.refuse("group_size", group_size=3)
        self.refuse("group_size", group_size=0)
        self.refuse("num_items_in_batch", num_items_in_batch=0)
        self.refuse("no rows", policy[:0], mask[:0], advantages[:0])

    def test_values(self):
        policy, mask, advantages = self.parts
        self.refuse("mask", policy, mask * 2, advantages)
        self.refuse("float", policy.half(), mask, advantages)
        self.refuse("float", policy.long(), mask, advantages)
        self.refuse("nope", preset="nope")
        self.refuse("loss_type", loss_type="nope")
        self.refuse("epsilon", epsilon=-1.0)
        self.refuse("epsilon", epsilon="wide")
        self.refuse("epsilon", epsilon=None)
        self.refuse("epsilon", epsilon=[0.1])
        self.refuse("aggregation", aggregation="sum")
        self.refuse("epsilon", epslion=0.1)

    def test_what_a_setting_needs(self):
        self.refuse("ref_logprobs", beta=0.1)
        self.refuse("entropies", entropy_coef=0.1)
        self.refuse("sampler_logprobs", importance_sampling_mode="token_mask")
        self.refuse("max_completion_length", preset="dr_grpo")
        self.refuse("group", preset="hybrid_dpo", rewards=self.drawn.rewards)
        self.refuse("rewards", preset="hybrid_dpo", group_size=4)

    def test_advice(self):
        self.assertEqual(objectives.advice("dapo"), [])
        self.assertIn("cap", objectives.advice("cispo", epsilon_high=0.2)[0])
        with self.assertRaisesRegex(ValueError, "corrects the mismatch already"):
            objectives.advice("dppo", importance_sampling_mode="token_mask")

    def test_none_unsets_a_key(self):
        symmetric = call("dapo", self.drawn, epsilon_high=None)
        equal(self, symmetric, call("lite_ppo", self.drawn))

    def test_keys_of_both_functions(self):
        """One set of keys serves both, as in a recipe."""
        equal(self, call("dapo", self.drawn, scale_rewards="none"), call("dapo", self.drawn))
        self.assertIn("scale_rewards = ", objectives.settings())
        self.assertIn("epsilon_high = ", objectives.settings())


def setUpModule():
    torch.set_default_dtype(torch.float64)


if __name__ == "__main__":
    unittest.main(verbosity=2)
