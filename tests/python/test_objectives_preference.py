"""`cohort.objectives.preference_loss` against TRL 1.16's own code (see trl_preferences.py).

PYTHONPATH=build/python .venv-test/bin/python tests/python/test_objectives_preference.py
"""

import itertools
import unittest

import torch
import trl_preferences

from cohort import objectives

MASKS = {
    "full": [[1] * 6] * 6,
    "ragged": [
        [1, 1, 0, 0, 0, 0],
        [1, 1, 1, 1, 1, 0],
        [1, 1, 1, 0, 0, 0],
        [1, 0, 0, 0, 0, 0],
        [1] * 6,
        [1] * 6,
    ],
    "prompts of other lengths": [
        [0, 0, 1, 1, 0, 0],
        [0, 0, 1, 1, 1, 1],
        [0, 1, 1, 1, 1, 1],
        [0, 1, 1, 0, 0, 0],
        [0, 0, 0, 0, 1, 0],
        [0, 0, 0, 0, 1, 1],
    ],
}
METRICS = (
    "rewards/chosen",
    "rewards/rejected",
    "rewards/accuracies",
    "rewards/margins",
    "logps/chosen",
    "logps/rejected",
)
LOSSES = [
    ("sigmoid", 0.0),
    ("sigmoid_norm", 0.0),
    ("hinge", 0.0),
    ("ipo", 0.0),
    ("robust", 0.0),
    ("robust", 0.2),
]


def draw(seed, scale):
    return (
        torch.randn(6, 6, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * scale
        - 2 * scale
    )


def by_sides(rows):
    """Pairs side by side -> chosen ones before rejected ones."""
    return torch.cat([rows[0::2], rows[1::2]])


def theirs(policy, ref, mask, **settings):
    policy = policy.clone().requires_grad_()
    completion_mask = torch.nn.functional.pad(by_sides(mask), (1, 0))
    loss, metrics = trl_preferences.loss(
        trl_preferences.GivenLogprobs(by_sides(policy)),
        None if ref is None else trl_preferences.GivenLogprobs(by_sides(ref)),
        torch.zeros_like(completion_mask),
        completion_mask,
        **settings,
    )
    loss.backward()
    return loss.item(), policy.grad, metrics


def ours(policy, ref, mask, **settings):
    policy = policy.clone().requires_grad_()
    loss, metrics = objectives.preference_loss(policy, mask, ref_logprobs=ref, **settings)
    loss.backward()
    return loss.item(), policy.grad, metrics


class PreferenceTest(unittest.TestCase):
    def compare(self, policy, ref, mask, free, **settings):
        left = theirs(policy, ref, mask, **settings)
        right = ours(policy, ref, mask, **settings, **free)
        self.assertAlmostEqual(left[0], right[0], delta=1e-12)
        self.assertLess((left[1] - right[1]).abs().max().item(), 1e-12)
        self.assertGreater(left[1].abs().max().item(), 0)
        for name in METRICS:
            self.assertAlmostEqual(left[2][name], right[2][name], delta=1e-6, msg=name)  # float32 shares

    def test_every_combination(self):
        count = 0
        for (name, mask), (loss_type, flipped), beta, ld_alpha, has_ref in itertools.product(
            MASKS.items(), LOSSES, (0.05, 0.1, 0.7), (None, 0.0, 0.4, 1.0), (True, False)
        ):
            settings = dict(loss_type=loss_type, label_smoothing=flipped, beta=beta, ld_alpha=ld_alpha)
            with self.subTest(mask=name, ref=has_ref, **settings):
                policy = draw(count, 0.5)
                ref = policy + draw(count + 1000, 0.3) if has_ref else None
                free = {} if has_ref else {"reference_free": True}
                self.compare(policy, ref, torch.tensor(mask), free, **settings)
                count += 1
        print(f"{count} combinations")

    def test_float32_stays_float32(self):
        mask = torch.ones(2, 3)
        loss, _ = objectives.preference_loss(torch.zeros(2, 3), mask, ref_logprobs=torch.zeros(2, 3))
        self.assertEqual(loss.dtype, torch.float32)
        self.assertAlmostEqual(loss.item(), 0.693147, delta=1e-6)

    def test_what_is_not_there_is_never_read(self):
        mask = torch.tensor([[1, 0], [1, 1]])
        policy = torch.tensor([[-1.0, float("nan")], [-2.0, -3.0]])
        loss, _ = objectives.preference_loss(policy, mask, reference_free=True, beta=1.0)
        self.assertAlmostEqual(
            loss.item(), torch.nn.functional.softplus(torch.tensor(-4.0)).item(), delta=1e-6
        )

    def test_wrong_arguments(self):
        rows, mask = torch.zeros(2, 3), torch.ones(2, 3)
        for arguments, settings, part in [
            ((rows, mask), {}, "ref_logprobs"),
            ((torch.zeros(3, 3), torch.ones(3, 3)), {"reference_free": True}, "3 rows"),
            ((rows, torch.ones(2, 2)), {"reference_free": True}, "mask"),
            ((rows, mask), {"ref_logprobs": torch.zeros(2, 2)}, "ref_logprobs"),
            ((rows, mask), {"reference_free": True, "beta": 0.0}, "beta"),
            ((rows, mask), {"reference_free": True, "loss_type": "dpo"}, "loss_type"),
            ((rows, mask), {"reference_free": True, "label_smoothing": 0.1}, "label_smoothing"),
            ((rows, mask), {"reference_free": True, "epsilon": 0.1}, "epsilon"),
        ]:
            with self.subTest(part=part), self.assertRaisesRegex(ValueError, part):
                objectives.preference_loss(*arguments, **settings)


if __name__ == "__main__":
    unittest.main()
