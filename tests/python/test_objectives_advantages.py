"""The advantages of every preset against the papers' formulas: by hand, and as plain loops on drawn rewards.

PYTHONPATH=build/python .venv-test/bin/python tests/python/test_objectives_advantages.py
"""

import math
import random
import unittest

import advantages_reference as formula
import torch

from cohort import objectives

NAN = float("nan")
E = 1e-4  # what is added to a deviation


def double(values):
    return torch.tensor(values, dtype=torch.float64)


def ours(preset, rewards, group_size=4, **given):
    plain = {"reward_weights", "fork_of", "fork_segments"}
    given = {key: double(x) if isinstance(x, list) and key not in plain else x for key, x in given.items()}
    return objectives.advantages(double(rewards), group_size, preset=preset, **given)


# One group, rewards 1, 0, 0, 0: mean 1/4, deviation 1/2 with Bessel's correction; lengths 1 to 4.
ONE = [1.0, 0.0, 0.0, 0.0]
Z = [0.75 / (0.5 + E)] + [-0.25 / (0.5 + E)] * 3
CENTRED = [0.75, -0.25, -0.25, -0.25]
ROWS = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]

HAND = {
    "grpo dapo gspo gspo_token luspo gmpo cispo sapo vespo lambda_grpo hybrid_dpo": (Z, {}),
    "dr_grpo v3_2 drpo kimi_k2 gpg": (CENTRED, {}),
    "rloo": ([1, -1 / 3, -1 / 3, -1 / 3], {}),
    "reinforce": ([1, 0, 0, 0], {}),
    "lite_ppo": (Z, {}),
    "reinforce_pp_baseline": (Z, {}),
    "remax": ([0.75, -0.25, -0.25, -0.25], {"greedy_rewards": [0.25]}),
    "opo": ([0.9, -0.1, -0.1, -0.1], {"mask": ROWS}),  # 1 * 1 / 10
    "tic_grpo": (Z, {"lengths": [1, 2, 3, 4]}),  # 1 / 1 and zeros
    "pass_at_k": ([1 / (0.5 + E), 0, 0, 0], {}),
    # The two shortest have rewards 1 and 0: mean 1/2, deviation of the population 1/2.
    "gfpo": ([0.5 / (0.5 + E), -0.5 / (0.5 + E), 0, 0], {"mask": ROWS, "gfpo_k": 2}),
    # Equal likelihoods weigh every pair by 1/2.
    "lam_po": ([1, -1 / 3, -1 / 3, -1 / 3], {"mask": ROWS, "old_logprobs": [[-1.0] * 4] * 4}),
    # Mean entropies 1, 2, 3 and 2 against their mean 2.
    "edge_grpo": (
        [Z[0] * 2, Z[1], Z[1] * 2 / 3, Z[1]],
        {"mask": [[1, 1]] * 4, "entropies": [[0.5, 1.5], [2.0, 2.0], [3.0, 3.0], [1.0, 3.0]]},
    ),
}


class HandTest(unittest.TestCase):
    def compare(self, preset, expected, actual):
        with self.subTest(preset=preset):
            self.assertLess((double(expected) - actual).abs().max().item(), 1e-12)

    def test_one_group(self):
        for presets, (expected, given) in HAND.items():
            for preset in presets.split():
                self.compare(preset, expected, ours(preset, ONE, **given))

    def test_two_of_a_group(self):
        """Deviation of 1 and 0 as a population: 1/2, so that advantages are 1 and -1."""
        half = 0.5 / (0.5 + E)
        self.compare("two_grpo", [half, -half, 0, 0], ours("two_grpo", [1.0, 0.0, 1.0, 1.0], 2))

    def test_median_and_pivot(self):
        """Rewards 5, 1, 2, 3, 9: median 3, deviations 2, 2, 1, 0, 6 with median 2; the pivot has 0."""
        expected = [2 / 2.001, -2 / 2.001, -1 / 2.001, 0, 6 / 2.001]
        self.compare("mc_grpo", expected, ours("mc_grpo", [5.0, 1.0, 2.0, 3.0, 9.0], 5))

    def test_several_rewards(self):
        """Columns 1, 0, 0, 0 and 0, 0, 30, 0, of which each is scored for itself, then added."""
        rewards = [[1.0, 0.0], [0.0, 0.0], [0.0, 30.0], [0.0, 0.0]]
        wide = [-7.5 / (15 + E), -7.5 / (15 + E), 22.5 / (15 + E), -7.5 / (15 + E)]
        both = [a + b for a, b in zip(Z, wide)]
        self.compare("mo_grpo", both, ours("mo_grpo", rewards))
        centre = sum(both) / 4
        scale = math.sqrt(sum((x - centre) ** 2 for x in both) / 3) + E
        self.compare("gdpo", [(x - centre) / scale for x in both], ours("gdpo", rewards))

    def test_steps(self):
        """Step rewards 1 and 0 at places 0 and 2, and 0 at place 1: mean 1/3, deviation sqrt(1/3)."""
        high, low = (2 / 3) / (math.sqrt(1 / 3) + E), -(1 / 3) / (math.sqrt(1 / 3) + E)
        actual = ours(
            "grpo_process",
            [[1.0, 0.0], [0.0, NAN]],
            2,
            mask=[[1, 1, 1]] * 2,
            step_ends=torch.tensor([[0, 2], [1, -1]]),
        )
        self.compare("grpo_process", [[high + low, low, low], [low, low, 0]], actual)

    def test_steps_across_a_gap(self):
        """A step that ends within a gap ends with the token before it."""
        actual = ours(
            "grpo_process",
            [[1.0, 0.0], [0.0, NAN]],
            2,
            mask=[[1, 0, 1, 1], [1, 1, 0, 0]],
            step_ends=torch.tensor([[1, 3], [1, -1]]),
        )
        high, low = (2 / 3) / (math.sqrt(1 / 3) + E), -(1 / 3) / (math.sqrt(1 / 3) + E)
        self.compare("grpo_process", [[high + low, 0, low, low], [low, low, 0, 0]], actual)

    def test_outcomes_beside_steps(self):
        """Outcomes 3 and 1: mean 2, deviation sqrt(2); each is added to all tokens of its row, and nan adds nothing."""
        high, low = (2 / 3) / (math.sqrt(1 / 3) + E), -(1 / 3) / (math.sqrt(1 / 3) + E)
        given = {"mask": [[1, 1, 1], [1, 1, 0]], "step_ends": torch.tensor([[0, 2], [1, -1]])}
        steps = [[high + low, low, low], [low, low, 0]]
        outcome = 1 / (math.sqrt(2) + E)
        expected = [[x + outcome for x in steps[0]], [steps[1][0] - outcome, steps[1][1] - outcome, 0]]
        rewards = [[1.0, 0.0], [0.0, NAN]]
        self.compare(
            "grpo_process", expected, ours("grpo_process", rewards, 2, outcome_rewards=[3.0, 1.0], **given)
        )
        self.compare(
            "grpo_process", steps, ours("grpo_process", rewards, 2, outcome_rewards=[3.0, NAN], **given)
        )

    def test_outcomes_of_whole_numbers(self):
        """Without a scale: steps 1 and 0 have 1/2 and -1/2, outcomes 0 and 1 have -1/2 and 1/2."""
        actual = ours(
            "grpo_process",
            [[1.0], [0.0]],
            2,
            scale_rewards="none",
            mask=[[1, 1]] * 2,
            step_ends=torch.tensor([[0], [1]]),
            outcome_rewards=torch.tensor([0, 1]),
        )
        self.compare("grpo_process", [[0, -0.5], [0, 0]], actual)

    def test_turns_from_one_state(self):
        """Episodes of rewards 0, 1 and 0.5: totals 1 and 0.5. Returns with gamma 0.5: 0.5, 1 and 0.5, of which the first and
        the third begin in state 7. Beside A^E = 0.25 only the second turn of equal states adds something: nothing."""
        given = {"mask": [[1, 1, 1], [1, 1, 0]], "step_ends": torch.tensor([[0, 2], [1, -1]])}
        more = {"gamma": 0.5, "scale_rewards": "none", "gigpo_omega": 2.0}
        rewards = [[0.0, 1.0], [0.5, NAN]]
        alike = torch.tensor([[7, 8], [7, 0]])
        actual = ours("gigpo", rewards, 2, step_states=alike, **given, **more)
        self.compare("gigpo", [[0.25, 0.25, 0.25], [-0.25, -0.25, 0]], actual)
        # One state alone: returns 0.5, 1 and 0.5, mean 2/3, so that A^S is -1/6, 1/3 and -1/6.
        low, high = -1 / 6, 1 / 3
        actual = ours("gigpo", rewards, 2, step_states=torch.zeros(2, 2, dtype=torch.long), **given, **more)
        first = [0.25 + 2 * low, 0.25 + 2 * high, 0.25 + 2 * high]
        self.compare("gigpo", [first, [-0.25 + 2 * low, -0.25 + 2 * low, 0]], actual)
        with self.assertRaisesRegex(ValueError, "needs step_states"):
            ours("gigpo", rewards, 2, **given)

    def test_returns_of_tokens(self):
        """beta 0.5, log-ratios 0.2 and 0.4: rewards of tokens -0.1, 0.8 and, of the other, 0; returns 0.7, 0.8, 0."""
        actual = ours(
            "reinforce_pp",
            [1.0, 0.0],
            2,
            mask=[[1, 1], [1, 0]],
            old_logprobs=[[-1.0, -1.0], [-1.0, -9.0]],
            ref_logprobs=[[-1.2, -1.4], [-1.0, -9.0]],
            beta=0.5,
        )
        scale = math.sqrt((0.2**2 + 0.3**2 + 0.5**2) / 2) + E
        self.compare("reinforce_pp", [[0.2 / scale, 0.3 / scale], [-0.5 / scale, 0]], actual)

    def test_kl_in_the_reward_of_a_sequence(self):
        """1 - 0.5 (0.2 + 0.4) = 0.7 against 0."""
        actual = ours(
            "rloo",
            [1.0, 0.0],
            2,
            mask=[[1, 1], [1, 0]],
            old_logprobs=[[-1.0, -1.0], [-1.0, -9.0]],
            ref_logprobs=[[-1.2, -1.4], [-1.0, -9.0]],
            beta=0.5,
        )
        self.compare("rloo", [0.7, -0.7], actual)

    def test_subtrees(self):
        """C forks from A after one segment, D from C after two; then whitened over 1, 2, 1 and 2 tokens."""
        tree = {"fork_of": [-1, -1, 0, 2], "fork_segments": [0, 0, 1, 2]}
        plain = [5 / 12, -1 / 2, -5 / 9, 4 / 9]
        given = {"baseline": "subtrees", "scale_rewards": "none", **tree}
        self.compare("grpo", plain, ours("grpo", [1.0, 0.0, 0.0, 1.0], **given))
        tokens = [plain[0], plain[1], plain[1], plain[2], plain[3], plain[3]]
        mean = sum(tokens) / 6
        scale = math.sqrt(sum((x - mean) ** 2 for x in tokens) / 5) + E
        expected = [(x - mean) / scale for x in plain]
        self.compare("treepo", expected, ours("treepo", [1.0, 0.0, 0.0, 1.0], lengths=[1, 2, 1, 2], **tree))

    def test_subtrees_are_those_of_paths(self):
        """Random trees, against groups of completions whose paths of nodes begin alike."""
        generator = random.Random(3)
        for _ in range(30):
            paths, fork_of, fork_segments = [], [], []
            for i in range(8):
                of = generator.randrange(-1, i)
                shared = generator.randrange(1, len(paths[of])) if of >= 0 else 0
                fork_of.append(of)
                fork_segments.append(shared)
                own = [f"{i}.{k}" for k in range(shared, max(shared + 1, generator.randrange(2, 6)))]
                paths.append((paths[of][:shared] if of >= 0 else []) + own)
            rewards = [round(generator.random(), 2) for _ in range(8)]
            expected = []
            for path, reward in zip(paths, rewards, strict=True):
                gaps = []
                for depth in range(len(path) + 1):
                    group = [r for p, r in zip(paths, rewards, strict=True) if p[:depth] == path[:depth]]
                    if depth == 0 or len(group) > 1:
                        gaps.append(reward - sum(group) / len(group))
                expected.append(sum(gaps) / len(gaps))
            tree = {"fork_of": fork_of, "fork_segments": fork_segments}
            actual = ours("grpo", rewards, 8, baseline="subtrees", scale_rewards="none", **tree)
            self.compare("subtrees", expected, actual)

    def test_critic(self):
        """Values 0.2, 0.6 and 0.5, rewards 1 and 0, gamma 1: errors 0.4, 0.4 and -0.5; lambda 0.5: 0.6, 0.4, -0.5."""
        given = {"mask": [[1, 1], [1, 0]], "values": [[0.2, 0.6], [0.5, 7.0]]}
        scale = math.sqrt(sum((x - 1 / 6) ** 2 for x in (0.6, 0.4, -0.5)) / 2) + E
        expected = [[(0.6 - 1 / 6) / scale, (0.4 - 1 / 6) / scale], [(-0.5 - 1 / 6) / scale, 0]]
        self.compare("ppo", expected, ours("ppo", [1.0, 0.0], 1, gae_lambda=0.5, **given))

    def test_beta_density(self):
        """Groups of means 1/4 and 3/4, variance 1/8 of the sample: 1/4 / (1/8) - 1 = 1, a = b = 1/2; Beta(7/6, 7/6)."""
        shape = 7 / 6
        norm = math.gamma(2 * shape) / math.gamma(shape) ** 2
        weight = 1 / (norm * (0.25 * 0.75) ** (shape - 1))
        expected = [x * weight for x in CENTRED] + [-x * weight for x in CENTRED]
        self.compare("bnpo", expected, ours("bnpo", ONE + [0.0, 1.0, 1.0, 1.0]))


class Drawn:
    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)

        def draw(*shape):
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        self.rewards = draw(12).round(decimals=1).tolist()
        self.mask = (torch.rand(12, 7, generator=generator) < 0.7).long()
        self.mask[:, 1] = 1
        self.lengths = self.mask.sum(1).tolist()
        self.old = draw(12, 7)
        self.ref = self.old + 0.3 * draw(12, 7)
        self.entropies = draw(12, 7).abs() + 0.1
        self.values = draw(12, 7)

    def rows(self, table):
        return [[x for x, m in zip(row, line) if m] for row, line in zip(table.tolist(), self.mask.tolist())]

    def padded(self, rows):
        values = iter(x for row in rows for x in row)
        return [[next(values) if m else 0.0 for m in line] for line in self.mask.tolist()]


class FormulaTest(unittest.TestCase):
    def setUp(self):
        self.drawn = Drawn(1)

    def compare(self, preset, expected, rewards=None, **given):
        actual = ours(preset, rewards or self.drawn.rewards, **given)
        with self.subTest(preset=preset):
            self.assertLess((double(expected) - actual).abs().max().item(), 1e-9)
            self.assertGreater(double(expected).abs().max().item(), 0.1)

    def test_of_sequences(self):
        d = self.drawn
        unscored = [NAN if i in (2, 5, 6, 7) else r for i, r in enumerate(d.rewards)]
        for rewards in (d.rewards, unscored):
            self.compare("grpo", formula.grpo(rewards, 4), rewards)
            self.compare("dr_grpo", formula.centred(rewards, 4), rewards)
            self.compare("rloo", formula.rloo(rewards, 4), rewards)
            self.compare("opo", formula.opo(rewards, 4, d.lengths), rewards, mask=d.mask)
            self.compare("tic_grpo", formula.tic_grpo(rewards, 4, d.lengths), rewards, mask=d.mask)
            self.compare("mc_grpo", formula.mc_grpo(rewards, 4), rewards)
            self.compare("pass_at_k", formula.pass_at_k(rewards, 4), rewards)
            self.compare("lite_ppo", formula.lite_ppo(rewards, 4), rewards)
            self.compare("reinforce_pp_baseline", formula.reinforce_pp_baseline(rewards, 4), rewards)
            self.compare("gpg", formula.gpg(rewards, 4), rewards)
            greedy = [0.3, -0.2, 0.9]
            self.compare("remax", formula.remax(rewards, 4, greedy), rewards, greedy_rewards=greedy)

    def test_gfpo(self):
        d = self.drawn
        for metric, name in (("length", "length"), ("share", "reward_per_token")):
            expected = formula.gfpo(d.rewards, 4, d.lengths, k=3, metric=metric)
            self.compare("gfpo", expected, mask=d.mask, gfpo_k=3, gfpo_metric=name)

    def test_gpg_with_a_group_without_a_difference(self):
        rewards = self.drawn.rewards[:8] + [0.7] * 4
        self.compare("gpg", formula.gpg(rewards, 4), rewards)

    def test_entropy(self):
        d = self.drawn
        rewards = [1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0]
        entropies = d.rows(d.entropies)
        means = [formula.mean(row) for row in entropies]
        given = {"mask": d.mask, "entropies": d.entropies}
        self.compare("edge_grpo", formula.edge_grpo(rewards, 4, means), rewards, **given)
        self.compare("grpo_s", formula.grpo_s(rewards, 4, means), rewards, **given)
        self.compare("gtpo", d.padded(formula.gtpo(rewards, 4, entropies)), rewards, **given)

    def test_lam_po(self):
        d = self.drawn
        scores = [formula.mean(row) for row in d.rows(d.old)]
        self.compare("lam_po", formula.lam_po(d.rewards, 4, scores), mask=d.mask, old_logprobs=d.old)

    def test_several_rewards(self):
        rewards = [[a, 10 * b] for a, b in zip(Drawn(2).rewards, Drawn(3).rewards)]
        for weights in (None, [0.5, 2.0]):
            given = {} if weights is None else {"reward_weights": weights}
            self.compare("mo_grpo", formula.mo_grpo(rewards, 4, weights), rewards, **given)
            self.compare("gdpo", formula.gdpo(rewards, 4, weights), rewards, **given)

    def test_bnpo(self):
        rewards = [1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0]
        self.compare("bnpo", formula.bnpo(rewards, 4), rewards)

    def test_of_tokens(self):
        d = self.drawn
        given = {"mask": d.mask, "old_logprobs": d.old, "ref_logprobs": d.ref, "beta": 0.2}
        expected = formula.reinforce_pp(d.rewards, d.rows(d.old), d.rows(d.ref), 0.2, 0.9)
        self.compare("reinforce_pp", d.padded(expected), gamma=0.9, **given)
        expected = formula.gae(d.rewards, d.rows(d.values), 0.9, 0.8)
        self.compare("ppo", d.padded(expected), gamma=0.9, gae_lambda=0.8, mask=d.mask, values=d.values)
        expected = formula.gae(d.rewards, d.rows(d.values), alpha=0.5)
        self.compare("vapo", d.padded(expected), mask=d.mask, values=d.values, length_adaptive_alpha=0.5)

    def test_steps(self):
        rewards = [[0.5, 0.1, 2.0], [1.0, NAN, NAN], [0.3, 0.9, NAN], [0.0, 0.2, 0.4]]
        ends = [[0, 2, 5], [3, -1, -1], [1, 4, -1], [2, 3, 4]]
        expected = formula.grpo_process(
            [[r for r in row if r == r] for row in rewards],
            [[e for e in row if e >= 0] for row in ends],
            4,
            6,
        )
        self.compare("grpo_process", expected, rewards, mask=[[1] * 6] * 4, step_ends=torch.tensor(ends))

    def test_turns(self):
        """Two groups of four episodes of one to four turns among three states, a token each."""
        generator = torch.Generator().manual_seed(5)
        counts = [4, 2, 3, 1, 3, 4, 4, 2]
        rewards = torch.randn(8, 4, generator=generator).round(decimals=1).tolist()
        states = torch.randint(0, 3, (8, 4), generator=generator)
        rows = [(i, k) for i, count in enumerate(counts) for k in range(count)]
        flat = [[rewards[i][k] for i, k in rows], [i // 4 for i, _ in rows], [i for i, _ in rows]]
        flat.append([states[i, k].item() for i, k in rows])
        places = torch.arange(4).expand(8, 4)
        is_turn = places < torch.tensor(counts)[:, None]
        padded = [[r if k < count else NAN for k, r in enumerate(row)] for row, count in zip(rewards, counts)]
        for omega, removes_std in ((1.0, False), (0.5, True)):
            wanted = iter(formula.gigpo(*flat, omega=omega, removes_std=removes_std))
            expected = [[next(wanted) if k < count else 0.0 for k in range(4)] for count in counts]
            self.compare(
                "gigpo",
                expected,
                padded,
                mask=is_turn.long(),
                step_ends=places.masked_fill(~is_turn, -1),
                step_states=states,
                gigpo_omega=omega,
                scale_epsilon=1e-6,
                scale_rewards="none" if removes_std else "group",
            )


class RuleTest(unittest.TestCase):
    def test_a_group_without_a_difference_has_exactly_zero(self):
        given = {
            "mask": torch.ones(4, 3),
            "entropies": torch.rand(4, 3) + 0.1,
            "old_logprobs": -torch.rand(4, 3),
        }
        names = (
            "grpo dr_grpo rloo opo tic_grpo mc_grpo pass_at_k gfpo lam_po edge_grpo grpo_s gtpo two_grpo lite_ppo "
            "reinforce_pp_baseline gpg bnpo mo_grpo gdpo"
        )
        for preset in names.split():
            for dtype in (torch.float32, torch.float64):
                with self.subTest(preset=preset, dtype=dtype):
                    rewards = torch.full((4,), 0.7, dtype=dtype)
                    tables = {key: value.to(dtype) for key, value in given.items()}
                    more = {"gfpo_k": 2} if preset == "gfpo" else {}
                    actual = objectives.advantages(rewards, 4, preset=preset, **tables, **more)
                    self.assertEqual(actual.dtype, dtype)
                    self.assertEqual(actual.abs().max().item(), 0.0)

    def test_sums_over_a_group(self):
        """What redistributes credit adds none: the sums of a group stay 0."""
        d = Drawn(4)
        tables = {"mask": d.mask, "old_logprobs": d.old, "entropies": d.entropies}
        for preset in ("grpo", "rloo", "lam_po"):
            sums = ours(preset, d.rewards, **tables).view(3, 4).sum(1)
            self.assertLess(sums.abs().max().item(), 1e-12)
        rewards = [float(i % 3 == 0) for i in range(12)]
        sums = ours("gtpo", rewards, **tables).view(3, 28).sum(1)
        self.assertLess(sums.abs().max().item(), 1e-9)

    def test_a_first_token_has_the_whole_reward_of_its_steps(self):
        rewards, ends = [[1.0, 0.0], [3.0, 1.0]], torch.tensor([[0, 2], [1, 2]])
        actual = ours("grpo_process", rewards, 2, mask=[[1, 1, 1]] * 2, step_ends=ends)
        self.assertLess(abs(actual[:, 0].sum().item()), 1e-12)

    def test_gtpo_rewards_the_right(self):
        """Scored apart, right and wrong completions would both have mean 0."""
        given = {"mask": [[1, 1]] * 2, "entropies": [[0.4, 0.1], [0.2, 0.7]]}
        actual = ours("gtpo", [1.0, 0.0], 2, **given)
        self.assertGreater(actual[0].mean().item(), 0.5)
        self.assertLess(actual[1].mean().item(), -0.5)

    def test_no_reward(self):
        self.assertEqual(ours("grpo", [NAN] * 4).abs().max().item(), 0.0)
        alone = ours("grpo", [NAN, NAN, 3.0, NAN])
        self.assertEqual(alone.abs().max().item(), 0.0)
        self.assertFalse(alone.isnan().any())
        self.assertEqual(objectives.advantages(torch.tensor([1, 0]), 2).dtype, torch.get_default_dtype())

    def test_ddof_and_epsilon(self):
        actual = ours("grpo", ONE, scale_ddof=0, scale_epsilon=0.5)
        self.assertAlmostEqual(actual[0].item(), 0.75 / (math.sqrt(3) / 4 + 0.5), delta=1e-12)


class WrongInputTest(unittest.TestCase):
    def refuse(self, pattern, rewards, group_size, **given):
        with self.assertRaisesRegex((ValueError, TypeError), pattern):
            objectives.advantages(rewards, group_size, **given)

    def test_shapes_and_values(self):
        rewards = torch.rand(4)
        self.refuse("group_size", rewards, 3)
        self.refuse("rewards", torch.rand(2, 2, 2), 2)
        self.refuse("rewards", torch.rand(0), 2)
        self.refuse("mask", rewards, 2, mask=torch.ones(3, 2))
        self.refuse("lengths", rewards, 2, lengths=torch.ones(3))
        self.refuse("lengths", rewards, 2, lengths=torch.tensor([1, 1, 1, 2]), mask=torch.ones(4, 1))
        self.refuse("lengths", rewards, 2, preset="opo")
        self.refuse("greedy_rewards", rewards, 2, preset="remax")
        self.refuse("greedy_rewards", rewards, 2, preset="remax", greedy_rewards=torch.rand(3))
        self.refuse("entropies", rewards, 2, preset="gtpo", mask=torch.ones(4, 2))
        self.refuse("values", rewards, 2, preset="ppo", mask=torch.ones(4, 2))
        self.refuse("step_ends", rewards, 2, step_ends=torch.zeros(4, 2))
        self.refuse("outcome_rewards are for credit steps", rewards, 2, outcome_rewards=rewards)
        steps = {"preset": "grpo_process", "mask": torch.ones(4, 2), "step_ends": torch.zeros(4, 1).long()}
        self.refuse(
            r"outcome_rewards has shape \[3\]", torch.rand(4, 1), 2, outcome_rewards=torch.rand(3), **steps
        )
        self.refuse("step_ends", torch.rand(4, 2), 2, mask=torch.ones(4, 2), step_ends=torch.full((4, 2), 2))
        self.refuse("baseline", rewards, 2, baseline="nope")
        for baseline in ("group_mean", "group_loo", "group_median", "second_best"):
            self.refuse(f'baseline "{baseline}" compares', rewards, 1, baseline=baseline)
        for baseline in ("none", "batch_mean"):
            given = {"baseline": baseline, "scale_rewards": "none"}
            self.assertEqual(objectives.advantages(rewards, 1, **given).shape, rewards.shape)
        self.refuse("baseline", rewards, 2, baselin="none")
        self.refuse("reward_weights", torch.rand(4, 2), 2, reward_weights=[1.0])


def setUpModule():
    torch.set_default_dtype(torch.float64)


if __name__ == "__main__":
    unittest.main(verbosity=2)
