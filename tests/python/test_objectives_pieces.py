"""The single pieces from Python: that all are there, against hand arithmetic and the presets, and their gradients.

PYTHONPATH=build/python .venv-test/bin/python tests/python/test_objectives_pieces.py
"""

import ast
import inspect
import math
import pathlib
import re
import sys
import unittest

import torch
from cohort._cohort import objectives as _objectives
from torch.autograd import gradcheck

from cohort import objectives

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import make_stubs  # noqa: E402

# Functions of the headers that Python has in another form.
ELSEWHERE = {
    "advantages_of": "advantages()",
    "plain_numbers": "tensors are the numbers here",
    "read_batch": "a part of advantages_of",
    "read_steps": "a part of advantages_of",
    "credit_of_steps": "a part of advantages_of",
    "policy_loss": "loss()",
    "check_loss_input": "a part of loss()",
    "check_batch_input": "a part of whole_batch_of",
    "select_completions": "cuts packed batches; rows are cut by indexing here",
    "whole_batch_of": "num_items_in_batch, and loss() on the whole batch",
    "nll_tokens": "a part of whole_batch_of",
    "token_view": "a part of loss()",
    "policy_term": "loss() with one surrogate",
    "record_mean": "metrics of loss()",
    "record_ratio": "metrics of loss()",
    "total_length": "sum(lengths)",
    "check_group_ends": "the check of every group_ends",
    "spread_of": "torch.std and torch.mean",
    "constant_groups": "a part of advantages_of",
    "clear_groups": "a part of advantages_of",
    "informative_factor": "a part of advantages_of",
    "for_each_group": "a loop over group_ends",
}
PARAMETERS = r"at::Tensor|std::span|std::vector<(?:double|int64_t|uint8_t)>|AdvantageInput|LossInput"


def declared():
    """The functions of cohort/objectives/*.h that take tensors or numbers in rows, outside of classes."""
    names = set()
    for path in sorted((ROOT / "cohort/objectives").glob("*.h")):
        text = re.sub(r"//.*", "", path.read_text())
        for name, parameters in re.findall(
            r"^(?=\S)[\w:<>,\s&]*?\b(\w+)\(([^;{]*?)\)\s*[;{]", text, re.MULTILINE
        ):
            if re.search(PARAMETERS, parameters):
                names.add(name)
    return names


def double(values, needs_gradient=False):
    return torch.tensor(values, dtype=torch.float64, requires_grad=needs_gradient)


class CoverageTest(unittest.TestCase):
    def test_every_function_of_the_headers_is_here_or_elsewhere(self):
        names = declared()
        self.assertGreater(len(names), 60)
        self.assertEqual({name for name in names - set(ELSEWHERE) if not hasattr(objectives, name)}, set())
        self.assertEqual(set(ELSEWHERE) & set(objectives.__all__), set())

    def test_all_of_the_module_is_public(self):
        private = {name for name in vars(_objectives) if not name.startswith("_")}
        self.assertEqual(private, set(objectives.__all__))

    def test_every_piece_says_what_it_is(self):
        for name in objectives.__all__:
            text = inspect.getdoc(getattr(objectives, name))
            self.assertGreater(len(text), 50, name)

    def test_the_stubs_are_those_of_the_modules(self):
        """Made anew by tools/make_stubs.py; the formatter may break their lines."""
        for name, module in make_stubs.modules().items():
            written = (ROOT / f"python/cohort/_cohort/{name}.pyi").read_text()
            self.assertEqual(ast.unparse(ast.parse(written)), ast.unparse(ast.parse(make_stubs.text(module))))


# Two completions of three tokens and two, packed.
LENGTHS = [3, 2]
POLICY = [-0.5, -1.2, -0.3, -2.0, -0.7]
OLD = [-0.6, -1.0, -0.9, -1.5, -0.7]
REF = [-0.9, -1.1, -0.2, -2.5, -0.4]
RATIO = [1.1, 0.85, 1.4, 0.6, 1.0]
LOG_RATIO = [0.1, -0.2, 0.6, -0.5, 0.05]
ADVANTAGES = [1.0, 1.0, 1.0, -0.5, -0.5]

# piece: the arguments that carry gradient, then those that do not, by name; outputs beyond the first are masks.
GRADIENTS = {
    "importance_ratio": ({"policy_logprobs": POLICY}, {"old_logprobs": OLD}),
    "token_ratio": ({"log_ratio": LOG_RATIO}, {}),
    "segment_mean_ratio": ({"log_ratio": LOG_RATIO}, {"lengths": LENGTHS}),
    "sequence_mean_ratio": ({"log_ratio": LOG_RATIO}, {"lengths": LENGTHS}),
    "sequence_product_ratio": ({"log_ratio": LOG_RATIO}, {"lengths": LENGTHS}),
    "ratio_at_level": (
        {"log_ratio": LOG_RATIO},
        {"level": "turn", "lengths": LENGTHS, "turn_lengths": [1, 2, 2]},
    ),
    "clipped_surrogate": (
        {"ratio": RATIO},
        {"advantages": double(ADVANTAGES), "low": 0.8, "high": 1.2, "cap": 3.0},
    ),
    "gmpo_surrogate": ({"log_ratio": LOG_RATIO}, {"advantages": double(ADVANTAGES), "lengths": LENGTHS}),
    "reinforce_loss": ({"policy_logprobs": POLICY}, {"advantages": double(ADVANTAGES)}),
    "cispo_loss": ({"policy_logprobs": POLICY}, {"ratio": RATIO, "advantages": ADVANTAGES, "cap": 1.2}),
    "sapo_loss": ({"ratio": RATIO}, {"advantages": ADVANTAGES}),
    "dppo_loss": (
        {"policy_logprobs": POLICY},
        {"ratio": RATIO, "advantages": ADVANTAGES, "mask": [1.0, 0.0, 1.0, 1.0, 1.0], "truncation": 1.2},
    ),
    "drpo_loss": ({"ratio": RATIO}, {"advantages": ADVANTAGES, "anchor_logprobs": OLD, "delta": 0.3}),
    "shaped_demonstration_loss": ({"policy_logprobs": POLICY}, {"advantages": ADVANTAGES}),
    "regression_loss": ({"log_ratio": LOG_RATIO}, {"advantages": ADVANTAGES, "lengths": LENGTHS, "tau": 0.3}),
    "kl_k3": ({"policy_logprobs": POLICY}, {"ref_logprobs": REF}),
    "kl_estimate": ({"policy_logprobs": POLICY}, {"estimator": "k2", "ref_logprobs": REF}),
    "bias_corrected_k3": ({"policy_logprobs": POLICY, "ratio": RATIO}, {"ref_logprobs": REF}),
    "clipped_value_loss": (
        {"values": [0.1, 0.5, 0.9, -0.2, 0.4]},
        {"old_values": [0.0, 0.1, 0.8, -0.1, 0.4], "returns": [1.0, 1.0, 1.0, 0.0, 0.0]},
    ),
    "length_preference_weights": ({"preference": 0.7}, {"lengths": [3, 5, 9, 4], "group_ends": [2, 4]}),
    "discriminative_loss_sum": (
        {"policy_logprobs": POLICY},
        {"rewards": [1.0, 0.0], "lengths": LENGTHS, "group_ends": [2], "max_completion_length": 8},
    ),
    "pair_logprobs": ({"policy_logprobs": POLICY}, {"lengths": LENGTHS, "ref_logprobs": REF}),
    "sequence_logprobs": ({"logprobs": POLICY}, {"lengths": LENGTHS, "ld_alpha": 0.4}),
    "pair_losses": ({"lead": [-1.0, 0.4, 2.0]}, {"beta": 0.5, "loss_type": "robust", "label_smoothing": 0.1}),
    "pair_loss_sum": ({"logprobs": [-1.0, -0.4, -2.0]}, {"winners": [0, 1], "losers": [2, 0], "beta": 0.5}),
}
# Their gradient is that of another function, or there is none.
NO_SLOPE = {
    "sequence_token_ratio": "a stop-gradient inside",
    "loss": "test_objectives_algebra.py",
    "preference_loss": "test_objectives_preference.py",
    "pack": "test_packing",
    "unpack": "test_packing",
}
CONSTANT = """mismatch_weights vespo_weights divergence_mask off_policy_mask log_ratio_band second_moment_mask
top_entropy_mask token_covariance kl_cov_mask clip_cov_mask completion_weights num_contrasts preference_pairs
centred_scores scaled_scores beta_density_weights whitened standard_scores median_of median_absolute_deviation
best_of_groups without_pivots adaptive_group_k suffix_credit segment_credit discounted_returns
generalised_advantages length_adaptive_lambda state_group_advantages anchor_state_advantages gtpo_rewards gtpo_advantages grpo_s_rewards
grpo_s_advantages edge_advantages adapted_beta adapted_entropy_coef applied_entropy_coef advantages advice presets
settings""".split()


def constant(value):
    is_row = isinstance(value, list) and any(isinstance(item, float) for item in value)
    return double(value) if is_row else value


class GradientTest(unittest.TestCase):
    def test_every_piece_is_listed(self):
        listed = [*GRADIENTS, *NO_SLOPE, *CONSTANT]
        self.assertEqual(sorted(listed), sorted(set(listed)))
        self.assertEqual(set(listed), set(objectives.__all__))

    def test_finite_differences(self):
        for name, (variable, given) in GRADIENTS.items():
            piece = getattr(objectives, name)
            constants = {key: constant(value) for key, value in given.items()}

            def call(*values, piece=piece, constants=constants, keys=tuple(variable)):
                result = piece(**dict(zip(keys, values)), **constants)
                return result[0] if isinstance(result, tuple) else result

            inputs = tuple(double(value, needs_gradient=True) for value in variable.values())
            with self.subTest(name):
                self.assertEqual(call(*inputs).dtype, torch.float64)
                self.assertTrue(gradcheck(call, inputs, eps=1e-7, atol=1e-6))
                gradients = torch.autograd.grad(call(*inputs).sum(), inputs, allow_unused=True)
                self.assertTrue(all(gradient is not None for gradient in gradients))

    def test_a_token_of_a_sequence_has_its_own_gradient(self):
        """Value of the geometric mean, gradient of the token alone: eq. 14 of GSPO."""
        log_ratio = double(LOG_RATIO, needs_gradient=True)
        ratio = objectives.sequence_token_ratio(log_ratio, LENGTHS)
        means = [math.exp(0.5 / 3)] * 3 + [math.exp(-0.45 / 2)] * 2
        torch.testing.assert_close(ratio, double(means))
        (gradient,) = torch.autograd.grad(ratio[1], log_ratio)
        torch.testing.assert_close(gradient, double([0, means[0], 0, 0, 0]))

    def test_constants_are_without_gradient(self):
        policy = double(POLICY, needs_gradient=True)
        self.assertFalse(
            objectives.off_policy_mask(
                policy, double(OLD), double(ADVANTAGES), LENGTHS, threshold=0.1
            ).requires_grad
        )
        self.assertFalse(objectives.vespo_weights(policy, double(ADVANTAGES), LENGTHS).requires_grad)
        self.assertFalse(objectives.standard_scores(policy).requires_grad)


class ValueTest(unittest.TestCase):
    def close(self, actual, expected):
        torch.testing.assert_close(actual, double(expected), rtol=1e-12, atol=1e-12)

    def test_baselines_and_scales(self):
        """Two groups, (4, 1, 1) and (0, 2): means 2 and 1, others' means 1, 2.5, 2.5 and 2, 0."""
        scores, ends = double([4, 1, 1, 0, 2]), [3, 5]
        centred = objectives.centred_scores(scores, ends, "group_mean")
        self.close(centred, [2, -1, -1, -1, 1])
        self.close(objectives.centred_scores(scores, ends, "group_loo"), [3, -1.5, -1.5, -2, 2])
        self.close(
            objectives.centred_scores(scores, ends, "greedy", greedy_scores=double([1, 3])), [3, 0, 0, -3, -1]
        )
        # The third leaves the second after one segment: of both, over their subtree, 0.
        tree = {"fork_of": [-1, -1, 1, -1, -1], "fork_segments": [0, 0, 1, 0, 0]}
        self.close(objectives.centred_scores(scores, ends, "subtrees", **tree), [2, -0.5, -0.5, -1, 1])
        weighted = objectives.centred_scores(scores, ends, "group_len_weighted", lengths=[2, 1, 1, 3, 1])
        self.close(weighted, [1.5, -1.5, -1.5, -0.5, 1.5])
        deviation = math.sqrt(3)
        self.close(
            objectives.scaled_scores(centred, scores, ends, epsilon=0.0),
            [2 / deviation, -1 / deviation, -1 / deviation, -1 / math.sqrt(2), 1 / math.sqrt(2)],
        )
        self.close(
            objectives.whitened(double([3, 0]), counts=[1, 3], ddof=0, epsilon=0.0),
            [math.sqrt(3), -1 / math.sqrt(3)],
        )
        self.assertEqual(objectives.median_absolute_deviation(double([1, 2, 4, 9])), 1.5)

    def test_filters(self):
        scores = double([1, 0, 1, 0.5])
        self.assertEqual(
            objectives.best_of_groups(scores, [4], [5, 3, 9, 4], [2]).tolist(), [False, True, False, True]
        )
        self.assertEqual(objectives.without_pivots(double([3, 1, 2]), [3]).tolist(), [True, True, False])
        self.assertEqual(objectives.adaptive_group_k(0.9, double([0.1, 0.2, 0.3, 0.4])), 4)

    def test_credit(self):
        self.close(objectives.suffix_credit(double([1, -0.5]), [0, 2], 4, gamma=0.5), [0.75, -0.5, -0.5, 0])
        self.close(objectives.segment_credit(double([1, -0.5]), [0, 2], 4), [1, -0.5, -0.5, 0])
        self.close(objectives.discounted_returns(1.0, double([0.1, 0, 0.2]), gamma=0.5), [0.1, 0.4, 0.8])
        gae = objectives.generalised_advantages(
            double([0, 1]), double([0.5, 0.25]), gamma=1.0, gae_lambda=0.5
        )
        self.close(gae, [-0.25 + 0.5 * 0.75, 0.75])
        self.assertEqual(objectives.length_adaptive_lambda(0.05, 40), 0.5)

    def test_entropy_credit(self):
        """One right completion with entropies 1 and 3, one wrong with 2: each is alone at a position."""
        given = (double([1, 0]), [2], [2, 1], double([1, 3, 2]))
        self.close(objectives.gtpo_rewards(*given, share_weight=0.5), [1.5, 1.5, -1.5])
        self.close(objectives.grpo_s_rewards(*given, share_weight=0.5), [1.5, -1.5])
        self.close(
            objectives.edge_advantages(double([1, -1]), double([1, 0]), [2], [2, 1], double([1, 2, 0.5])),
            [1 / 1.5, -2],
        )

    def test_aggregation(self):
        mean = objectives.completion_weights(LENGTHS, aggregation="seq_mean_token_mean")
        self.close(mean, [1 / 6, 1 / 4])
        self.close(objectives.completion_weights(LENGTHS, aggregation="token_mean"), [0.2, 0.2])
        norm = objectives.completion_weights(
            LENGTHS, aggregation="seq_mean_token_sum_norm", max_completion_length=10
        )
        self.close(norm, [0.05, 0.05])
        groups = objectives.completion_weights(
            LENGTHS, aggregation="token_mean", token_mean_scope="group", group_ends=[1, 2]
        )
        self.close(groups, [1 / 6, 1 / 4])

    def test_pairs(self):
        rewards = double([1, 0, 0.5])
        winners, losers = objectives.preference_pairs(rewards, [1, 1, 1], [3])
        self.assertEqual((winners.tolist(), losers.tolist()), ([0, 0, 2], [1, 2, 1]))
        winners, losers = objectives.preference_pairs(rewards, [1, 1, 1], [3], dpo_pairs="best_worst")
        self.assertEqual((winners.tolist(), losers.tolist()), ([0], [1]))

    def test_controllers(self):
        beta = objectives.adapted_beta(0.1, 0.3, target=0.1, num_completions=100, horizon=1000.0)
        self.assertAlmostEqual(beta, 0.1 * 1.02)
        self.assertAlmostEqual(objectives.adapted_entropy_coef(0.01, 0.1), 0.015)
        self.assertEqual(objectives.applied_entropy_coef(0.01, 0.3), 0.0)

    def test_pieces_make_grpo(self):
        """The documentation's way from pieces to a loss: GRPO of padded rows."""
        policy, old = (torch.randn(4, 5, dtype=torch.float64) * 0.3 - 1 for _ in range(2))
        mask = torch.tensor([[1, 1, 1, 0, 0], [1, 0, 1, 1, 1], [1, 1, 0, 0, 0], [1, 1, 1, 1, 1]])
        rewards, ends = double([1, 0, 0, 1]), [2, 4]
        centred = objectives.centred_scores(rewards, ends, "group_mean")
        advantages = objectives.scaled_scores(centred, rewards, ends)
        packed, lengths = objectives.pack(policy, mask)
        ratio = objectives.importance_ratio(packed, objectives.pack(old, mask)[0])
        spread = advantages.repeat_interleave(torch.tensor(lengths))
        losses, _, _ = objectives.clipped_surrogate(ratio, spread, low=0.8, high=1.2)
        weights = objectives.completion_weights(lengths, aggregation="seq_mean_token_mean")
        loss = (losses * weights.repeat_interleave(torch.tensor(lengths))).sum()
        whole, _ = objectives.loss(policy, mask, objectives.advantages(rewards, 2), old_logprobs=old)
        torch.testing.assert_close(loss, whole)


class PackingTest(unittest.TestCase):
    def test_there_and_back(self):
        mask = torch.tensor([[1, 0, 1], [0, 0, 0], [0, 1, 1]])
        padded = torch.arange(9.0, dtype=torch.float64).view(3, 3).requires_grad_()
        packed, lengths = objectives.pack(padded, mask)
        self.assertEqual((packed.tolist(), lengths), ([0, 2, 7, 8], [2, 0, 2]))
        back = objectives.unpack(packed, mask)
        self.assertEqual(back.tolist(), [[0, 0, 2], [0, 0, 0], [0, 7, 8]])
        back.sum().backward()
        self.assertEqual(padded.grad.tolist(), mask.tolist())


class WrongInputTest(unittest.TestCase):
    def refused(self, words, piece, *given, **keywords):
        with self.assertRaises((ValueError, TypeError)) as caught:
            getattr(objectives, piece)(*given, **keywords)
        self.assertIn(words, str(caught.exception))

    def test_shapes_and_types(self):
        row = double([1, 2])
        self.refused("one shape and dtype", "kl_k3", row, double([1]))
        self.refused("one shape and dtype", "kl_k3", row, row.float())
        self.refused("float32 or float64", "token_ratio", torch.tensor([1, 2]))
        self.refused("Segments", "segment_mean_ratio", row, [1, 2])
        self.refused("group_ends must ascend", "centred_scores", row, [3], "group_mean")
        self.refused("group_ends must ascend", "scaled_scores", row, row, [2, 1])
        self.refused("lengths has 1 numbers", "centred_scores", row, [2], "opo", lengths=[1])
        self.refused("greedy_scores has 2", "centred_scores", row, [2], "greedy", greedy_scores=row)
        tree = {"fork_of": [-1, 1], "fork_segments": [0, 1]}
        self.refused("fork_of[1] is 1", "centred_scores", row, [2], "subtrees", **tree)
        self.refused("give both", "centred_scores", row, [2], "subtrees", fork_of=[-1, 0])
        self.refused("give fork_of and", "centred_scores", row, [2], "subtrees")
        self.refused("one dimension", "standard_scores", row[None])
        self.refused("a pair names completion 2", "pair_loss_sum", row, [0], [2], beta=0.1)
        self.refused("no pairs", "sequence_logprobs", row, [1, 0, 1])
        self.refused("loss_type", "pair_losses", row, loss_type="logistic")
        self.refused("estimator is k4", "kl_estimate", "k4", row, row)


if __name__ == "__main__":
    unittest.main(verbosity=2)
