"""Losses, gradients and advantages of `cohort.objectives` against TRL 1.16's own code (see trl_source.py).

PYTHONPATH=build/python .venv-test/bin/python tests/python/test_objectives_trl.py
"""

import itertools
import math
import unittest

import torch
import trl_source

from cohort import objectives

LOSS_TYPES = ("grpo", "bnpo", "dr_grpo", "dapo", "luspo", "cispo", "sapo", "vespo")
MODES = ("none", "token_truncate", "token_mask", "sequence_truncate", "sequence_mask")
TOLERANCE = 1e-6
LENGTH = 9

MASKS = {
    "full": [[1] * 6] * 4,
    "ragged": [[1, 1, 1, 1, 0, 0], [1] * 6, [1, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0]],
    "gaps and an empty row": [[1, 1, 0, 0, 1, 1], [0, 1, 0, 1, 0, 0], [0] * 6, [1, 1, 1, 0, 1, 0]],
}


def draw(seed, *shape, scale=1.0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * scale


class Data:
    """Log-ratios up to about one nat, so that every bound acts on some token and not on others."""

    def __init__(self, mask):
        self.mask = torch.tensor(MASKS[mask])
        self.policy = -draw(1, 4, 6).abs() - 0.1
        self.old = self.policy + draw(2, 4, 6, scale=0.4)
        self.ref = self.policy + draw(3, 4, 6, scale=0.4)
        self.sampler = self.old + draw(4, 4, 6, scale=0.3)
        # TRL takes their quantile in float32.
        self.entropies = draw(5, 4, 6).abs().float().double()
        self.advantages = torch.tensor([1.3, -0.7, 0.4, -1.1], dtype=torch.float64)


def leaf(tensor):
    return tensor.clone().requires_grad_()


def theirs(data, loss_type, num_items_in_batch=None, **settings):
    policy, entropies = leaf(data.policy), leaf(data.entropies)
    count = data.mask.sum() if num_items_in_batch is None else torch.tensor(num_items_in_batch)
    trainer = trl_source.Trainer(loss_type, max_completion_length=LENGTH, **settings)
    sampler = data.sampler if settings.get("mode", "none") != "none" or settings.get("with_sampler") else None
    loss = trainer.loss(policy, data.mask, data.advantages, data.old, data.ref, sampler, entropies, count)
    loss.backward()
    return loss.detach(), policy.grad, entropies.grad


def ours(data, loss_type, num_items_in_batch=None, **settings):
    policy, entropies = leaf(data.policy), leaf(data.entropies)
    names = {
        "level": "importance_sampling_level",
        "mode": "importance_sampling_mode",
        "clip_min": "importance_sampling_clip_min",
        "clip_max": "importance_sampling_clip_max",
    }
    has_sampler = settings.pop("with_sampler", False) or settings.get("mode", "none") != "none"
    loss, _ = objectives.loss(
        policy,
        data.mask,
        data.advantages,
        old_logprobs=data.old,
        ref_logprobs=data.ref,
        sampler_logprobs=data.sampler if has_sampler else None,
        entropies=entropies,
        num_items_in_batch=num_items_in_batch,
        loss_type=loss_type,
        max_completion_length=LENGTH,
        **{names.get(key, key): value for key, value in settings.items()},
    )
    loss.backward()
    return loss.detach(), policy.grad, entropies.grad


class LossTest(unittest.TestCase):
    def compare(self, data, loss_type, **settings):
        with self.subTest(loss_type=loss_type, **settings):
            for left, right in zip(theirs(data, loss_type, **settings), ours(data, loss_type, **settings)):
                zero = torch.zeros(())
                left, right = (zero if x is None else x for x in (left, right))
                self.assertLess((left - right).abs().max().item(), TOLERANCE)

    def test_every_combination(self):
        count = 0
        corrections = [(0.0, False), (0.07, False), (0.07, True)]
        for mask in MASKS:
            data = Data(mask)
            for loss_type, level, (beta, corrected), delta, mode in itertools.product(
                LOSS_TYPES, ("token", "sequence"), corrections, (None, 1.4), MODES
            ):
                is_refused = (level == "sequence" and corrected) or (
                    loss_type == "vespo" and mode.startswith("sequence")
                )
                if is_refused:
                    continue  # see DifferenceTest
                self.compare(
                    data,
                    loss_type,
                    level=level,
                    beta=beta,
                    use_bias_correction_kl=corrected,
                    delta=delta,
                    mode=mode,
                    clip_max=1.3,
                    clip_min=0.8 if delta else None,
                )
                count += 1
        print(f"{count} combinations")
        self.assertGreater(count, 1000)

    def test_bounds_masks_and_entropy(self):
        count = 0
        for mask, loss_type, level in itertools.product(MASKS, LOSS_TYPES, ("token", "sequence")):
            data = Data(mask)
            for change in (
                {"epsilon": 0.1, "epsilon_high": 0.6},
                {"off_policy_mask_threshold": 0.05},
                {"off_policy_mask_threshold": 0.05, "with_sampler": True, "beta": 0.1},
                {"top_entropy_quantile": 0.4, "beta": 0.1},
                {"top_entropy_quantile": 0.4, "entropy_coef": 0.03},
                {"entropy_coef": 0.03},
            ):
                self.compare(data, loss_type, level=level, **change)
                count += 1
            if loss_type in ("dapo", "cispo", "vespo"):
                self.compare(data, loss_type, level=level, num_items_in_batch=50)
        print(f"{count} combinations")

    def test_advantages_of_tokens(self):
        data = Data("gaps and an empty row")
        data.advantages = draw(6, 4, 6)
        for loss_type in LOSS_TYPES:
            self.compare(data, loss_type)

    def test_without_old_every_ratio_is_one(self):
        for loss_type, level in itertools.product(LOSS_TYPES, ("token", "sequence")):
            data = Data("ragged")
            data.old = None
            self.compare(data, loss_type, level=level)

    def test_a_token_that_the_sampler_could_not_score(self):
        data = Data("gaps and an empty row")
        data.sampler[0, 1] = data.sampler[3, 2] = float("nan")
        for loss_type, mode in itertools.product(LOSS_TYPES[:-1], MODES[1:]):
            self.compare(data, loss_type, mode=mode, clip_max=1.3, off_policy_mask_threshold=0.05)


class DifferenceTest(unittest.TestCase):
    """Where Cohort differs on purpose; docs/python/objectives.md says why."""

    def test_corrected_kl_of_a_sequence_is_refused(self):
        with self.assertRaisesRegex(ValueError, "importance_sampling_level"):
            ours(Data("full"), "grpo", level="sequence", beta=0.1, use_bias_correction_kl=True)

    def test_vespo_with_weights_of_sequences_is_refused(self):
        """TRL's trainer refuses it, too."""
        for mode in ("sequence_truncate", "sequence_mask"):
            with self.assertRaisesRegex(ValueError, "token_truncate"):
                ours(Data("full"), "vespo", mode=mode)

    def test_k3_is_not_corrected_unless_asked_for(self):
        data = Data("full")
        plain, _, _ = ours(data, "grpo", beta=0.1)
        named, _, _ = ours(data, "grpo", beta=0.1, use_bias_correction_kl=False)
        corrected, _, _ = theirs(data, "grpo", beta=0.1, use_bias_correction_kl=True)
        self.assertEqual(plain, named)
        self.assertGreater((plain - corrected).abs().item(), 1e-4)

    def test_a_log_ratio_has_bounds(self):
        """exp(20) and no gradient where TRL has exp(25) and one."""
        data = Data("full")
        data.old = data.policy.clone()
        data.old[0, 0] -= 25.0
        data.advantages[0] = -1.0
        loss, gradient, _ = ours(data, "grpo", epsilon=0.2)
        their_loss, their_gradient, _ = theirs(data, "grpo")
        share = 1 / 24
        self.assertAlmostEqual((their_loss / loss).item(), math.exp(5), delta=0.01)
        self.assertEqual(gradient[0, 0].item(), 0.0)
        self.assertAlmostEqual((their_gradient[0, 0] / math.exp(25)).item(), share, delta=1e-9)

    def test_several_normalised_rewards_need_not_be_whitened(self):
        """TRL whitens them over the batch, whatever `scale_rewards` says."""
        rewards = draw(7, 8, 2)
        plain = objectives.advantages(rewards, 4, multi_objective_aggregation="normalize_then_sum")
        parts = [trl_source.advantages(rewards[:, c : c + 1], 4) for c in range(2)]
        self.assertLess((plain - sum(parts)).abs().max().item(), TOLERANCE)
        whitened = trl_source.advantages(rewards, 4, aggregation="normalize_then_sum")
        self.assertGreater((plain - whitened).abs().max().item(), 1e-2)


class AdvantageTest(unittest.TestCase):
    NAN = float("nan")
    REWARDS = [
        [1.0, 0.2],
        [0.0, NAN],
        [NAN, NAN],
        [0.5, 0.9],
        [2.0, 0.1],
        [0.3, 0.4],
        [0.3, -1.0],
        [NAN, 0.6],
    ]

    def compare(self, rewards, **settings):
        expected = trl_source.advantages(rewards, 4, **settings)
        if "weights" in settings:
            settings["reward_weights"] = settings.pop("weights").tolist()
        if "aggregation" in settings:
            settings["multi_objective_aggregation"] = settings.pop("aggregation")
            settings["batch_whiten"] = True
        with self.subTest(**settings):
            actual = objectives.advantages(rewards, 4, **settings)
            self.assertLess((expected - actual).abs().max().item(), TOLERANCE)

    def test_scales(self):
        rewards = torch.tensor(self.REWARDS, dtype=torch.float64)
        for scale in ("group", "batch", "none"):
            self.compare(rewards, scale_rewards=scale)
            self.compare(rewards, scale_rewards=scale, weights=torch.tensor([0.5, 2.0]))

    def test_normalize_then_sum(self):
        rewards = torch.tensor(self.REWARDS, dtype=torch.float64)
        self.compare(rewards, aggregation="normalize_then_sum")
        self.compare(rewards, aggregation="normalize_then_sum", weights=torch.tensor([0.5, 2.0]))

    def test_a_group_without_a_difference_is_exactly_zero(self):
        """On purpose: rounding of the mean gives TRL about 1e-13 here and far more in float32."""
        rewards = torch.full((8, 1), 0.7, dtype=torch.float64)
        self.assertEqual(objectives.advantages(rewards, 4).abs().max().item(), 0.0)


def setUpModule():
    """TRL makes some numbers in torch's default dtype."""
    torch.set_default_dtype(torch.float64)


class EntropyMaskTest(unittest.TestCase):
    """The tables of TRL's TestGetHighEntropyMask, whose threshold is 1 - top_entropy_quantile."""

    FIRST = [[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.7, 0.8, 0.9, 1.0, 1.1, 1.2]]
    SECOND = [[0.1, 0.2, 0.3, 1.4, 0.5, 0.14], [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]]
    MASK = [[1] * 6, [1, 1, 1, 1, 0, 0]]
    NONE = [[0] * 6] * 2

    def test_tables(self):
        for entropies, mask, threshold, expected in (
            (self.FIRST, self.MASK, 0.8, [[0] * 6, [0, 0, 1, 1, 0, 0]]),
            (self.SECOND, [[1, 1, 1, 1, 0, 0]] * 2, 0.8, [[0, 0, 0, 1, 0, 0]] * 2),
            (self.FIRST, self.MASK, 0.5, [[0, 0, 0, 0, 0, 1], [1, 1, 1, 1, 0, 0]]),
            (self.FIRST, self.MASK, 0.0, self.MASK),
            (self.FIRST, self.MASK, 1.0, [[0] * 6, [0, 0, 0, 1, 0, 0]]),
            (self.FIRST, self.NONE, 0.5, self.NONE),
        ):
            chosen = torch.tensor(mask, dtype=torch.bool)
            found = torch.zeros(2, 6)
            found[chosen] = objectives.top_entropy_mask(
                torch.tensor(entropies)[chosen], share=1.0 - threshold
            )
            self.assertEqual(found.int().tolist(), expected, threshold)


if __name__ == "__main__":
    unittest.main(verbosity=2)
