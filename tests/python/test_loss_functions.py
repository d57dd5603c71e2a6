"""Losses written in Python, in cohort.Engine.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_loss_functions.py
"""

import unittest

import torch
from engine_model import EngineTest, columns, flat

from cohort import LossBatch


def surrogate(ratio, advantages, low=0.2, high=0.2):
    return -torch.minimum(ratio * advantages, ratio.clamp(1 - low, 1 + high) * advantages)


def grpo(policy, old, advantages, mask, batch):
    losses = surrogate((policy - old).exp(), advantages) * mask
    return (losses.sum(1) / mask.sum(1).clamp_min(1)).sum() / batch.num_completions


def dapo(policy, old, advantages, mask, batch):
    losses = surrogate((policy - old).exp(), advantages, high=0.28) * mask
    return losses.sum() / batch.num_loss_tokens, {"tokens": mask.sum()}


def gspo(policy, old, advantages, mask, batch):
    lengths = mask.sum(1, keepdim=True).clamp_min(1)
    log_ratio = ((policy - old) * mask).sum(1, keepdim=True) / lengths
    losses = surrogate(log_ratio.exp(), advantages, 3e-4, 4e-4) * mask
    return (losses / lengths).sum() / batch.num_completions


def with_kl(policy, old, advantages, mask, batch):
    difference = (batch.ref_logprobs - policy) * mask
    kl = (difference.exp() - difference - 1) / mask.sum(1, keepdim=True).clamp_min(1)
    return grpo(policy, old, advantages, mask, batch) + 0.1 * kl.sum() / batch.num_completions


class LossFunctionTest(EngineTest):
    def batch(self, **params):
        groups = self.rollout(self.load(), **params)
        for i, completion in enumerate(c for group in groups for c in group.completions):
            completion.old_logprobs = completion.logprobs + 0.3 * torch.sin(
                torch.arange(1.0 * len(completion.token_ids)) + i
            )
        return groups

    def results(self, groups, loss, tokens=0, **objective):
        engine = self.load(tokens_per_microbatch=tokens)
        metrics = engine.forward_backward(groups, loss, **objective)
        metrics |= engine.optim_step(lr=1e-2)
        return metrics, torch.cat(flat(engine.logprobs(groups)))

    def check_same(self, groups, function, preset, **objective):
        for tokens in (0, 40):
            ours, after = self.results(groups, function, tokens)
            wanted, wanted_after = self.results(groups, preset, tokens, **objective)
            self.assertAlmostEqual(ours["loss"], wanted["loss"], delta=1e-6)
            self.assertAlmostEqual(ours["grad_norm"], wanted["grad_norm"], delta=1e-6 * wanted["grad_norm"])
            torch.testing.assert_close(after, wanted_after, rtol=0, atol=1e-4)

    def test_restated_presets(self):
        groups = self.batch()
        self.check_same(groups, grpo, "grpo")
        self.check_same(groups, dapo, "dapo", epsilon_high=0.28)
        self.check_same(groups, gspo, "gspo")
        for group in groups:
            for completion in group.completions:
                length = len(completion.token_ids)
                completion.mask = [1, 0] * (length // 2) + [1] * (length % 2)
                completion.advantage = [0.1 * t - completion.advantage for t in range(length)]
        self.check_same(groups, dapo, "dapo", epsilon_high=0.28)
        for completion, reference in zip(
            (c for g in groups for c in g.completions), columns(groups, "logprobs")
        ):
            completion.ref_logprobs = reference - 0.2
        self.check_same(groups, with_kl, "grpo", beta=0.1)

    def test_what_a_function_is_told(self):
        groups, seen = self.batch(), []
        groups[0].completions[0].reward = 2.5

        def loss(policy, old, advantages, mask, batch):
            self.assertIsInstance(batch, LossBatch)
            self.assertTrue(policy.requires_grad and batch.entropies.requires_grad)
            self.assertFalse(old.requires_grad or advantages.requires_grad or mask.requires_grad)
            for tensor in (old, advantages, mask, batch.sampler_logprobs, batch.entropies):
                self.assertEqual((tensor.shape, tensor.dtype), (policy.shape, torch.float32))
            self.assertEqual((batch.num_completions, batch.num_groups), (9, 3))
            seen.append((mask.sum().item(), batch.group_ends, batch.rewards.tolist()))
            return policy.sum() - batch.entropies.sum(), {"rows": len(policy)}

        metrics, _ = self.results(groups, loss)
        tokens = sum(map(len, columns(groups, "token_ids")))
        self.assertEqual(sum(count for count, _, _ in seen), tokens)
        self.assertEqual(metrics["rows"], 9)
        self.assertIn(2.5, [reward for _, _, rewards in seen for reward in rewards])

    def test_exceptions(self):
        groups, engine = self.batch(), self.load(tokens_per_microbatch=40)
        before = flat(engine.logprobs(groups))

        class Own(Exception):
            pass

        def raising(*given):
            raise Own("of the user")

        class Backward(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.sum()

            @staticmethod
            def backward(ctx, gradient):
                raise Own("in the backward pass")

        for kind, words, loss in [
            (Own, "of the user", raising),
            (Own, "in the backward pass", lambda policy, *rest: Backward.apply(policy)),
            (TypeError, "tensor", lambda *given: 1.0),
            (TypeError, "tensor", lambda *given: None),
            (ValueError, "scalar", lambda policy, *rest: policy),
            (ValueError, "no gradient", lambda policy, *rest: policy.detach().sum()),
            (TypeError, "", lambda policy, *rest: (policy.sum(), {"x": "y"} | {"z": None})),
            (RuntimeError, "busy", lambda *given: engine.logprobs(groups)),
        ]:
            with self.assertRaisesRegex((kind, ValueError) if words == "" else kind, words):
                engine.forward_backward(groups, loss)
            with self.assertRaisesRegex(RuntimeError, "no gradient"):
                engine.optim_step(lr=1e-3)
        with self.assertRaisesRegex(TypeError, "epsilon has no effect"):
            engine.forward_backward(groups, grpo, epsilon=0.1)
        engine.forward_backward(groups, lambda policy, *rest: policy.sum() * float("nan"))
        self.assertEqual(engine.optim_step(lr=1e-2)["skipped"], 1.0)
        for old, new in zip(before, flat(engine.logprobs(groups))):
            self.assertTrue(torch.equal(old, new))

    def test_a_snapshot_within_a_loss(self):
        groups, engine = self.batch(), self.load()
        snapshot, lengths = engine.snapshot(), []

        def loss(policy, *rest):
            lengths.append(sum(map(len, flat(snapshot.logprobs(groups)))))
            return policy.sum()

        engine.forward_backward(groups, loss)
        self.assertEqual(set(lengths), {sum(map(len, columns(groups, "token_ids")))})


if __name__ == "__main__":
    unittest.main(verbosity=2)
