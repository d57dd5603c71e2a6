"""The advantages of the GRPO family, each written from its paper with plain loops over Python's floats.

Like objectives_reference.py it shares nothing with cohort/objectives. A reward that is nan is no reward: outside every
statistic, advantage 0. A set whose numbers are all the same has advantage 0. `EPSILON` is added to every deviation.
"""

import math

EPSILON = 1e-4


def is_number(value):
    return not math.isnan(value)


def mean(values):
    return sum(values) / len(values)


def deviation(values, ddof=1):
    centre = mean(values)
    return math.sqrt(sum((value - centre) ** 2 for value in values) / (len(values) - ddof))


def median(values):
    values, middle = sorted(values), len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def is_flat(values):
    return len(values) < 2 or max(values) == min(values)


def groups_of(values, size):
    return [values[start : start + size] for start in range(0, len(values), size)]


def by_group(rule):
    """Lifts a rule for the real rewards of one group to a batch with nan."""

    def apply(rewards, size, *rest, **settings):
        out = []
        for place, group in enumerate(groups_of(rewards, size)):
            known = [r for r in group if is_number(r)]
            more = [extra[place * size : (place + 1) * size] for extra in rest]
            kept = [[x for x, r in zip(line, group) if is_number(r)] for line in more]
            values = iter([0.0] * len(known) if is_flat(known) else rule(known, *kept, **settings))
            out += [next(values) if is_number(r) else 0.0 for r in group]
        return out

    return apply


@by_group
def grpo(rewards, ddof=1, epsilon=EPSILON):
    return [(r - mean(rewards)) / (deviation(rewards, ddof) + epsilon) for r in rewards]


@by_group
def centred(rewards):
    return [r - mean(rewards) for r in rewards]


@by_group
def rloo(rewards):
    """arXiv:2402.14740: against the mean of the others."""
    return [r - mean(rewards[:i] + rewards[i + 1 :]) for i, r in enumerate(rewards)]


@by_group
def opo(rewards, lengths):
    """arXiv:2505.23585: the baseline weighs by length."""
    baseline = sum(n * r for n, r in zip(lengths, rewards)) / sum(lengths)
    return [r - baseline for r in rewards]


@by_group
def tic_grpo(rewards, lengths):
    """arXiv:2508.02833: z-score of r / |o|."""
    shares = [r / n for r, n in zip(rewards, lengths)]
    return [(s - mean(shares)) / (deviation(shares) + EPSILON) for s in shares]


@by_group
def mc_grpo(rewards, epsilon=1e-3):
    """arXiv:2601.22582: median and median absolute deviation of G + 1 rollouts."""
    middle = median(rewards)
    spread = median([abs(r - middle) for r in rewards])
    return [(r - middle) / (spread + epsilon) for r in rewards]


@by_group
def pass_at_k(rewards):
    """arXiv:2503.19595 as in verl: the best gets its lead over the second, divided by the deviation."""
    best = rewards.index(max(rewards))
    second = max(rewards[:best] + rewards[best + 1 :])
    lead = (rewards[best] - second) / (deviation(rewards) + EPSILON)
    return [lead if i == best else 0.0 for i in range(len(rewards))]


@by_group
def gfpo(rewards, lengths, k, metric="length"):
    """arXiv:2508.09726: statistics, of the whole population, over the k shortest or most rewarded per token."""
    cost = lengths if metric == "length" else [-r / n for r, n in zip(rewards, lengths)]
    kept = sorted(range(len(rewards)), key=lambda i: (cost[i], i))[:k]
    chosen = [rewards[i] for i in kept]
    if is_flat(chosen):
        return [0.0] * len(rewards)
    scale = deviation(chosen, 0) + EPSILON
    return [(r - mean(chosen)) / scale if i in kept else 0.0 for i, r in enumerate(rewards)]


@by_group
def lam_po(rewards, scores, tau=1.0):
    """arXiv:2605.21235, reconstructed: pairs weigh more where the old policy prefers the worse one."""

    def pair(i, j):
        gap = rewards[i] - rewards[j]
        sign = (gap > 0) - (gap < 0)
        weight = 1 / (1 + math.exp(sign * (scores[i] - scores[j]) / tau))
        return 2 * weight * gap

    count = len(rewards)
    return [sum(pair(i, j) for j in range(count)) / (count - 1) for i in range(count)]


@by_group
def edge_grpo(rewards, entropies):
    """arXiv:2507.21848: divided by the completion's mean entropy over the group's, within [0.1, 10]."""
    plain = grpo(rewards, len(rewards))
    centre = mean(entropies)
    return [a / min(max(h / centre, 0.1), 10.0) for a, h in zip(plain, entropies)]


@by_group
def grpo_s(rewards, entropies, b1=1.0, b2=0.1):
    """arXiv:2508.04349: rewards shaped by mean entropy, then their z-score."""
    right = [h for r, h in zip(rewards, entropies) if r > 0]
    wrong = [1 / h for r, h in zip(rewards, entropies) if r <= 0]
    shaped = []
    for r, h in zip(rewards, entropies):
        if r > 0:
            shaped.append(b1 + b2 * len(right) * h / sum(right))
        else:
            shaped.append(-(b1 + b2 * len(wrong) / h / sum(wrong)))
    return grpo(shaped, len(shaped))


def gtpo(rewards, size, entropies, a1=1.0, a2=0.1):
    """arXiv:2508.04349 with each side's shaped reward scored over all tokens of the group, 0 on the other side."""
    out = []
    for group, rows in zip(groups_of(rewards, size), groups_of(entropies, size)):
        if is_flat(group):
            out += [[0.0] * len(row) for row in rows]
            continue
        sides = []
        for is_right in (True, False):
            side = []
            for r, row in zip(group, rows):
                tokens = []
                for t, h in enumerate(row):
                    alive = [
                        other[t] for q, other in zip(group, rows) if (q > 0) == is_right and t < len(other)
                    ]
                    if (r > 0) != is_right:
                        tokens.append(0.0)
                    elif is_right:
                        tokens.append(a1 + a2 * h / sum(alive) * len(alive))
                    else:
                        tokens.append(-(a1 + a2 * (1 / h) / sum(1 / x for x in alive) * len(alive)))
                side.append(tokens)
            flat = [x for row in side for x in row]
            sides.append([[(x - mean(flat)) / (deviation(flat) + EPSILON) for x in row] for row in side])
        out += [[x + y for x, y in zip(*pair)] for pair in zip(*sides)]
    return out


def lite_ppo(rewards, size):
    """arXiv:2508.08221: the group's mean, the deviation of all raw rewards."""
    scale = deviation([r for r in rewards if is_number(r)]) + EPSILON
    return [a / scale for a in centred(rewards, size)]


def reinforce_pp_baseline(rewards, size):
    """arXiv:2501.03262: the group's mean, then the deviation of the centred rewards of the batch."""
    values = centred(rewards, size)
    scale = deviation([a for a, r in zip(values, rewards) if is_number(r)]) + EPSILON
    return [a / scale for a in values]


def gpg(rewards, size):
    """arXiv:2504.02546: centred, times groups over groups with a difference."""
    groups = groups_of(rewards, size)
    uneven = sum(not is_flat([r for r in group if is_number(r)]) for group in groups)
    return [a * len(groups) / uneven for a in centred(rewards, size)]


def remax(rewards, size, greedy):
    """arXiv:2310.10505: against the greedy completion of the prompt."""
    return [r - greedy[i // size] if is_number(r) else 0.0 for i, r in enumerate(rewards)]


def mo_grpo(rewards, size, weights=None):
    """arXiv:2509.22047: every reward's own z-score, then the sum."""
    columns = [grpo(list(column), size) for column in zip(*rewards)]
    weights = weights or [1.0] * len(columns)
    return [sum(w * a for w, a in zip(weights, row)) for row in zip(*columns)]


def gdpo(rewards, size, weights=None):
    """arXiv:2601.05242: the same, whitened over the batch."""
    values = mo_grpo(rewards, size, weights)
    scale = deviation(values) + EPSILON
    return [(a - mean(values)) / scale for a in values]


def beta_density(p, a, b):
    return math.exp(
        math.lgamma(a + b)
        - math.lgamma(a)
        - math.lgamma(b)
        + (a - 1) * math.log(p)
        + (b - 1) * math.log(1 - p)
    )


def bnpo(rewards, size, ddof=1):
    """arXiv:2506.02864: centred, divided by a Beta density fitted to the groups' means by their moments."""
    means = [mean(group) for group in groups_of(rewards, size)]
    centre, variance = mean(means), deviation(means, ddof) ** 2
    factor = centre * (1 - centre) / variance - 1
    a, b = max(1 + centre * factor / 3, 1.0), max(1 + (1 - centre) * factor / 3, 1.0)
    out = []
    for group, p in zip(groups_of(rewards, size), means):
        weight = 1e6 if p in (0.0, 1.0) else min(1 / beta_density(p, a, b), 1e6)
        out += [(r - p) * weight for r in group]
    return out


def grpo_process(rewards, ends, size, num_tokens):
    """arXiv:2402.03300 section 4.1.3: a token's advantage is the sum of the scored steps that end at or behind it.

    `rewards` and `ends` hold each completion's steps; ends are token indices.
    """
    out = []
    for scores, places in zip(groups_of(rewards, size), groups_of(ends, size)):
        flat = [r for row in scores for r in row]
        for row, where in zip(scores, places):
            tokens = [0.0] * num_tokens
            for r, end in zip(row, where):
                value = 0.0 if is_flat(flat) else (r - mean(flat)) / (deviation(flat) + EPSILON)
                for t in range(end + 1):
                    tokens[t] += value
            out.append(tokens)
    return out


def gigpo(rewards, groups, trajectories, anchors, gamma=0.95, omega=1.0, removes_std=False, epsilon=1e-6):
    """arXiv:2505.10978, as verl-agent's gigpo/core_gigpo.py has it: a row is a step, and each list has an entry a row.

    Statistics of episodes count a trajectory once (compute_mean_std_cross_steps=False), as eq. 3 does; the code's default
    counts it once a step.
    """
    rows = range(len(rewards))
    returns = [0.0] * len(rewards)
    for key in set(zip(groups, trajectories)):
        running = 0.0
        for row in reversed([row for row in rows if (groups[row], trajectories[row]) == key]):
            running = rewards[row] + gamma * running
            returns[row] = running
    total = {}
    for row in rows:
        key = groups[row], trajectories[row]
        total[key] = total.get(key, 0.0) + rewards[row]

    def normed(value, others, lone_mean):
        centre = mean(others) if len(others) > 1 else lone_mean
        scale = 1.0 if removes_std else (deviation(others) if len(others) > 1 else 1.0) + epsilon
        return (value - centre) / scale

    out = []
    for row in rows:
        episodes = [score for (group, _), score in total.items() if group == groups[row]]
        own = groups[row], anchors[row]
        alike = [returns[other] for other in rows if (groups[other], anchors[other]) == own]
        episode = normed(total[groups[row], trajectories[row]], episodes, 0.0)
        out.append(episode + omega * normed(returns[row], alike, returns[row]))
    return out


def whiten(rows):
    """Over all tokens of the batch."""
    flat = [x for row in rows for x in row]
    scale = deviation(flat) + EPSILON
    return [[(x - mean(flat)) / scale for x in row] for row in rows]


def token_rewards(rewards, old, ref, beta):
    """The reward at the last token, -beta k1 at every one."""
    rows = [[-beta * (o - f) for o, f in zip(*pair)] for pair in zip(old, ref)]
    for row, r in zip(rows, rewards):
        row[-1] += r
    return rows


def reinforce_pp(rewards, old, ref, beta=0.0, gamma=1.0):
    """arXiv:2501.03262: discounted sums of token rewards, whitened."""
    rows = []
    for line in token_rewards(rewards, old, ref, beta):
        count = len(line)
        rows.append([sum(gamma ** (s - t) * line[s] for s in range(t, count)) for t in range(count)])
    return whiten(rows)


def gae(rewards, values, gamma=1.0, lam=0.95, alpha=None):
    """arXiv:1506.02438, the reward at the last token; with `alpha` VAPO's lambda, 1 - 1 / (alpha |o|)."""
    rows = []
    for r, v in zip(rewards, values):
        count = len(v)
        decay = lam if alpha is None else max(1 - 1 / (alpha * count), 0.0)
        delta = [(r if t == count - 1 else gamma * v[t + 1]) - v[t] for t in range(count)]
        rows.append(
            [sum((gamma * decay) ** (s - t) * delta[s] for s in range(t, count)) for t in range(count)]
        )
    return whiten(rows)
