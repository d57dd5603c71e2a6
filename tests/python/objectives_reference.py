"""The losses of the GRPO family, each written from its paper as a plain loop over float64 numbers.

It shares no code with cohort/objectives and follows no algebra there: it judges them. A number is a float64 tensor
without dimensions, so that autograd gives the gradient of the formula; `stop` is a paper's stop-gradient.
"""

import math
from types import SimpleNamespace

import torch


def cut(table, mask):
    """The rows of an [N, T] table without the tokens whose mask is 0; None stays None."""
    if table is None:
        return None
    return [
        [number for number, kept in zip(row, line, strict=True) if kept] for row, line in zip(table, mask)
    ]


def batch(policy, mask, advantages, group_size=None, rewards=None, demonstration=None, **tables):
    """`policy` [N, T] carries gradient; `tables` are old, ref, sampler and entropy [N, T], None where absent."""
    mask = [[bool(flag) for flag in row] for row in mask]
    spread = [list(a) if hasattr(a, "__len__") and len(a) else [a] * len(mask[0]) for a in advantages]
    old = tables.get("old")
    return SimpleNamespace(
        lp=cut(policy, mask),
        old=cut(policy.detach() if old is None else old, mask),
        ref=cut(tables.get("ref"), mask),
        sampler=cut(tables.get("sampler"), mask),
        entropy=cut(tables.get("entropy"), mask),
        advantage=cut(spread, mask),
        reward=rewards,
        group_size=group_size,
        demonstration=demonstration,
    )


def stop(number):
    return number.detach()


def clip(number, low, high):
    return min(max(number, low), high)


# How the losses of tokens become one number. Rows without tokens count among the rows.


def mean_of_means(losses):
    return sum(sum(row) / len(row) for row in losses if row) / len(losses)


def token_mean(losses, count=None):
    return sum(sum(row) for row in losses) / (count or sum(len(row) for row in losses))


def mean_of_sums(losses, constant=1):
    return sum(sum(row) for row in losses) / (len(losses) * constant)


def clipped(ratio, a, low, high):
    """PPO, arXiv:1707.06347 eq. 7, to be minimised."""
    return -min(ratio * a, clip(ratio, 1 - low, 1 + high) * a)


def k3(lp, ref):
    """arXiv:2402.03300 eq. 4."""
    return torch.exp(ref - lp) - (ref - lp) - 1


def over_tokens(b, loss):
    return [[loss(i, t) for t in range(len(row))] for i, row in enumerate(b.lp)]


def token_ratio(b, i, t, anchor="old"):
    return torch.exp(b.lp[i][t] - getattr(b, anchor)[i][t])


def log_ratio_sum(b, i):
    return sum(p - o for p, o in zip(b.lp[i], b.old[i], strict=True))


def geometric_ratio(b, i):
    """GSPO, arXiv:2507.18071 eq. 7."""
    return torch.exp(log_ratio_sum(b, i) / len(b.lp[i]))


def clipped_tokens(b, low=0.2, high=0.2, beta=0.0, kl=k3):
    def loss(i, t):
        value = clipped(token_ratio(b, i, t), b.advantage[i][t], low, high)
        return value + beta * kl(b.lp[i][t], b.ref[i][t]) if beta else value

    return over_tokens(b, loss)


# The presets.


def grpo(b, beta=0.0, low=0.2, high=0.2):
    """arXiv:2402.03300 eq. 3."""
    return mean_of_means(clipped_tokens(b, low, high, beta))


def dr_grpo(b, max_completion_length):
    """arXiv:2503.20783 section 3.2."""
    return mean_of_sums(clipped_tokens(b), max_completion_length)


def dapo(b, low=0.2, high=0.28, count=None):
    """arXiv:2503.14476 eq. 8 to 12, over the tokens of the batch."""
    return token_mean(clipped_tokens(b, low, high), count)


def lite_ppo(b):
    """arXiv:2508.08221."""
    return token_mean(clipped_tokens(b))


def v3_2(b, beta=0.0, low=0.2, high=0.2, threshold=None):
    """arXiv:2512.02556 eq. 5 to 9: rho * k3 with rho differentiable; the sequence mask spares the KL."""
    losses = []
    for i, row in enumerate(b.lp):
        anchor = b.sampler or b.old
        gap = sum(stop(o - p) for o, p in zip(anchor[i], row, strict=True)) / max(len(row), 1)
        tokens = []
        for t in range(len(row)):
            a, rho = b.advantage[i][t], token_ratio(b, i, t)
            is_kept = threshold is None or a >= 0 or gap <= threshold
            loss = clipped(rho, a, low, high) if is_kept else 0.0 * rho
            if beta:
                loss = loss + beta * rho * k3(row[t], b.ref[i][t])
            tokens.append(loss)
        losses.append(tokens)
    return mean_of_means(losses)


def gspo(b, low=3e-4, high=4e-4):
    """arXiv:2507.18071 eq. 5."""
    rows = [clipped(geometric_ratio(b, i), b.advantage[i][0], low, high) for i, row in enumerate(b.lp) if row]
    return sum(rows) / len(b.lp)


def gspo_token(b, low=3e-4, high=4e-4):
    """arXiv:2507.18071 eq. 13 and 14."""

    def loss(i, t):
        ratio = stop(geometric_ratio(b, i)) * torch.exp(b.lp[i][t] - stop(b.lp[i][t]))
        return clipped(ratio, b.advantage[i][t], low, high)

    return mean_of_means(over_tokens(b, loss))


def luspo(b, low=2e-3, high=2.5e-3):
    """arXiv:2602.05261: GSPO's loss of a sequence times its length."""
    total = 0.0
    for i, row in enumerate(b.lp):
        if row:
            total = total + len(row) * clipped(geometric_ratio(b, i), b.advantage[i][0], low, high)
    return total / len(b.lp)


def gmpo(b, width=0.4):
    """arXiv:2507.20673: prod_t [min(rho^s, clip(rho^s; e^-w, e^w))^s]^(1/|o|) * A with s the sign of A."""
    total = 0.0
    for i, row in enumerate(b.lp):
        if not row or b.advantage[i][0] == 0:
            continue
        a = b.advantage[i][0]
        sign = 1 if a > 0 else -1
        log_product = 0.0
        for t in range(len(row)):
            power = torch.exp(sign * (row[t] - b.old[i][t]))
            bounded = min(power, clip(power, math.exp(-width), math.exp(width)))
            log_product = log_product + sign * torch.log(torch.as_tensor(bounded))
        total = total - torch.exp(log_product / len(row)) * a
    return total / len(b.lp)


def cispo(b, cap=5.0, count=None):
    """arXiv:2506.13585 eq. 4 and 5 without a lower bound; the cap is TRL's `epsilon_high`."""

    def loss(i, t):
        return -stop(min(token_ratio(b, i, t), torch.tensor(cap))) * b.advantage[i][t] * b.lp[i][t]

    return token_mean(over_tokens(b, loss), count)


def sapo(b, tau_pos=1.0, tau_neg=1.05):
    """arXiv:2511.20347 eq. 5 to 7."""

    def loss(i, t):
        a = b.advantage[i][t]
        tau = tau_pos if a > 0 else tau_neg
        return -torch.sigmoid(tau * (token_ratio(b, i, t) - 1)) * 4 / tau * a

    return mean_of_means(over_tokens(b, loss))


def vespo(b, k=(2.0, 3.0), lam=(3.0, 2.0)):
    """arXiv:2602.10693: W = prod rho, phi = e^lam W^k e^(-lam W), by the sign of the advantage."""

    def loss(i, t):
        a = b.advantage[i][t]
        side = 0 if a >= 0 else 1
        weight = torch.exp(clip(stop(log_ratio_sum(b, i)), math.log(1e-8), 20.0))
        phi = math.exp(lam[side]) * weight ** k[side] * torch.exp(-lam[side] * weight)
        return -phi * a * b.lp[i][t]

    return token_mean(over_tokens(b, loss))


def dppo(b, low=0.15, high=0.15, truncation=20.0, divergence="tv"):
    """arXiv:2602.04879, binary divergences between the sampler's probability and the policy's."""

    def loss(i, t):
        a, lp, mu = b.advantage[i][t], stop(b.lp[i][t]), b.sampler[i][t]
        p, q = torch.exp(lp), torch.exp(mu)
        if divergence == "tv":
            size = abs(p - q)
        else:
            size = q * torch.log(q / p) + (1 - q) * torch.log((1 - q) / (1 - p))
        leaves = (a > 0 and p > q and size > high) or (a < 0 and p < q and size > low)
        return -min(torch.exp(lp - mu), torch.tensor(truncation)) * (0.0 if leaves else a) * b.lp[i][t]

    return over_tokens(b, loss)


def drpo(b, max_completion_length, delta=12.5):
    """arXiv:2606.09821: -A r + |A| mu (r - 1)^2 / (2 delta), r against the sampler."""

    def loss(i, t):
        a, r = b.advantage[i][t], token_ratio(b, i, t, "sampler")
        return -a * r + abs(a) * torch.exp(b.sampler[i][t]) * (r - 1) ** 2 / (2 * delta)

    return mean_of_sums(over_tokens(b, loss), max_completion_length)


def mean_logprob(b, i):
    return sum(b.lp[i]) / len(b.lp[i])


def groups(b):
    return [range(start, start + b.group_size) for start in range(0, len(b.lp), b.group_size)]


def drpo_decoupled(b, max_completion_length, tau=10.0, lam=0.1, kl_weight=1e3, kl_limit=1e-4):
    """arXiv:2510.04474: right answers by length-weighted likelihood, wrong ones by log-mean-exp."""
    parts = []
    for group in groups(b):
        right = [i for i in group if b.reward[i] > 0 and b.lp[i]]
        wrong = [i for i in group if b.reward[i] <= 0 and b.lp[i]]
        if not right or not wrong:
            continue
        weights = [math.exp((1 - len(b.lp[i]) / max_completion_length) / lam) for i in right]
        gain = sum(w * mean_logprob(b, i) for w, i in zip(weights, right)) / sum(weights)
        loss = tau * torch.log(sum(torch.exp(mean_logprob(b, j) / tau) for j in wrong) / len(wrong))
        parts.append(loss - gain)
    gaps = [o - p for lps, olds in zip(b.lp, b.old) for p, o in zip(lps, olds, strict=True)]
    kl = sum(gaps) / len(gaps)
    return sum(parts) / len(parts), max(kl_weight * (stop(kl) - kl_limit), torch.tensor(0.0)) * kl


def lambda_grpo(b, preference=0.0, low=0.2, high=0.28, r=1 / 9):
    """arXiv:2510.06870: DAPO's token mean with f_i = G softmax_i(h_i^lambda), h = 1 + r z(|o|) in the group."""
    losses, weighted = clipped_tokens(b, low, high), []
    for group in groups(b):
        lengths = [len(b.lp[i]) for i in group]
        mean = sum(lengths) / len(lengths)
        std = math.sqrt(sum((n - mean) ** 2 for n in lengths) / (len(lengths) - 1))
        z = [(n - mean) / (std + 1e-4) if std > 0 else 0.0 for n in lengths]
        powers = [torch.tensor(max(1 + r * x, 1e-3), dtype=torch.float64) ** preference for x in z]
        total = sum(torch.exp(p) for p in powers)
        for i, power in zip(group, powers):
            factor = len(group) * torch.exp(power) / total
            weighted.append([factor * loss for loss in losses[i]])
    return token_mean(weighted)


def grpo_s(b, low=0.2, high=0.2):
    """arXiv:2508.04349: one ratio a sequence, the mean of its tokens' ratios."""
    total = 0.0
    for i, row in enumerate(b.lp):
        if row:
            ratio = sum(token_ratio(b, i, t) for t in range(len(row))) / len(row)
            total = total + clipped(ratio, b.advantage[i][0], low, high)
    return total / len(b.lp)


def tic_grpo(b, high=0.28):
    """arXiv:2508.02833: W = prod rho once a sequence, clipped from above alone."""
    total = 0.0
    for i, row in enumerate(b.lp):
        if row:
            ratio, a = torch.exp(log_ratio_sum(b, i)), b.advantage[i][0]
            total = total - min(ratio * a, min(ratio, torch.tensor(1 + high)) * a)
    return total / len(b.lp)


def reinforce(b):
    """W = 1: arXiv:2402.14740 (RLOO) and arXiv:2310.10505 (ReMax) sum a sequence's log-probabilities."""
    return mean_of_sums(over_tokens(b, lambda i, t: -b.advantage[i][t] * b.lp[i][t]))


def gpg(b):
    """arXiv:2504.02546: the same over all tokens."""
    return token_mean(over_tokens(b, lambda i, t: -b.advantage[i][t] * b.lp[i][t]))


def reinforce_pp_baseline(b, beta=0.0):
    """arXiv:2501.03262 section 3: clipped, with k2 = x^2 / 2 in the loss."""
    return mean_of_means(clipped_tokens(b, beta=beta, kl=lambda lp, ref: (lp - ref) ** 2 / 2))


def vapo(b, nll_weight=0.1):
    """arXiv:2504.05118: DAPO's surrogate and the likelihood of the tokens of right answers."""
    right = [lp for i, row in enumerate(b.lp) for lp in row if b.reward[i] > 0]
    return dapo(b) - (nll_weight * sum(right) / len(right) if right else 0.0)


def kimi(b, tau):
    """arXiv:2501.12599 eq. 3, arXiv:2507.20534: (r - mean r - tau log(pi / pi_old))^2 a sequence."""
    total = 0.0
    for group in groups(b):
        mean = sum(b.reward[i] for i in group) / len(group)
        for i in group:
            total = total + (b.reward[i] - mean - tau * log_ratio_sum(b, i)) ** 2
    return total / len(b.lp)


def luffy(b, max_completion_length, gamma=0.1):
    """arXiv:2504.14945: rho without a clip on own tokens, p / (p + gamma) on the demonstration's."""

    def loss(i, t):
        a, p = b.advantage[i][t], torch.exp(b.lp[i][t])
        return -a * (p / (p + gamma) if b.demonstration[i] else token_ratio(b, i, t))

    return mean_of_sums(over_tokens(b, loss), max_completion_length)


def hybrid_dpo(b, weight=0.01, margin=1.5, dpo_beta=0.2):
    """arXiv:2601.03661: GRPO and, over pairs of a group, -log sigmoid(beta (l_i - l_j)) without a reference."""
    pairs = [
        (i, j) for group in groups(b) for i in group for j in group if b.reward[i] - b.reward[j] > margin
    ]
    gaps = [dpo_beta * (mean_logprob(b, i) - mean_logprob(b, j)) for i, j in pairs]
    terms = [-torch.log(torch.sigmoid(gap)) for gap in gaps]
    return grpo(b) + (weight * sum(terms) / len(terms) if terms else 0.0)
