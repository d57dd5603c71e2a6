"""Pairs of math_pairs.py about sets, lists, tuples and matrices: maker(rng, equal) -> (gold, answer)."""

from fractions import Fraction

from math_pair_texts import decimal, finite, latex, nonzero, proper, square_free


def element(rng):
    return rng.choice(
        [Fraction(rng.randint(-30, 30)), Fraction(rng.randint(-30, 30)), proper(rng, 12), finite(rng)]
    )


def elements(rng, low, high):
    count, chosen = rng.randint(low, high), []
    while len(chosen) < count:
        value = element(rng)
        if value not in chosen:
            chosen.append(value)
    return chosen


def spell(rng, value):
    choices = [latex(value), str(value), latex(value, "\\dfrac")]
    if all(value.denominator % p for p in (3, 7, 11)) and (10**9 * value).denominator == 1:
        choices.append(decimal(value))
    return rng.choice(choices)


def join(rng, values, separator=None):
    return (separator or rng.choice([", ", ",\\ ", ", ", " , "])).join(spell(rng, value) for value in values)


def changed_elements(rng, values):
    kind = rng.randrange(4)
    other = list(values)
    if kind == 0 and len(other) > 1:
        other.pop(rng.randrange(len(other)))
    elif kind == 1:
        other.append(max(other) + 1)
    else:
        index = rng.randrange(len(other))
        other[index] = max(other) + rng.randint(1, 3)
    return other


def matrix_text(rng, rows, kind):
    body = rng.choice(["\\\\", " \\\\ ", "\\\\\n"]).join(
        rng.choice(["&", " & "]).join(spell(rng, v) for v in row) for row in rows
    )
    return f"\\begin{{{kind}}}{body}\\end{{{kind}}}"


def sets(rng, equal):
    values = elements(rng, 2, 5)
    other = rng.sample(values, len(values)) if equal else changed_elements(rng, values)
    wrap = rng.choice(["\\{%s\\}", "\\left\\{%s\\right\\}", "\\lbrace %s \\rbrace"])
    return "\\{%s\\}" % join(rng, values), wrap % join(rng, other)


def lists(rng, equal):
    values = elements(rng, 2, 4)
    other = rng.sample(values, len(values)) if equal else changed_elements(rng, values)
    if len(values) == 2 and rng.random() < 0.3 and len(other) == 2:
        return join(rng, values), rng.choice(
            ["{} and {}", "{}\\text{{ and }}{}", "x={} or x={}", "x={}\\text{{ or }}x={}", "{}; {}"]
        ).format(*(spell(rng, v) for v in other))
    return join(rng, values), rng.choice(["%s", "\\{%s\\}", "$%s$", "x = %s"]) % join(rng, other)


def tuples(rng, equal):
    values = elements(rng, 2, 4)
    other = list(values)
    if not equal:
        other = rng.choice(
            [
                values[::-1],
                values[1:] + values[:1],
                [-v for v in values],
                [*values, 1],
                changed_elements(rng, values),
            ]
        )
        if other == values or (len(values) == 2 and rng.random() < 0.25):
            return "(%s)" % join(rng, values), "\\{%s\\}" % join(rng, values)
    wrap = rng.choice(["(%s)", "\\left(%s\\right)", "\\left( %s \\right)", "\\bigl(%s\\bigr)"])
    return "(%s)" % join(rng, values), wrap % join(rng, other)


def matrices(rng, equal):
    height, width = rng.randint(1, 3), rng.randint(1, 3)
    if height == width == 1:
        height = 2
    rows = [[element(rng) for _ in range(width)] for _ in range(height)]
    gold, kinds = matrix_text(rng, rows, "pmatrix"), ["pmatrix", "bmatrix", "matrix"]
    if equal:
        return gold, matrix_text(rng, rows, rng.choice(kinds[:2]))
    i, j = rng.randrange(height), rng.randrange(width)
    other = [list(row) for row in rows]
    other[i][j] += rng.choice([-1, 1, 3])
    transposed = [list(column) for column in zip(*rows)]
    negated = [[-v for v in row] for row in rows]
    chosen = rng.choice([other, transposed, negated, [*rows, rows[0]]])
    return gold, matrix_text(rng, other if chosen == rows else chosen, rng.choice(kinds[:2]))


def plus_minus(rng, equal):
    a, b, c = nonzero(rng, -15, 15), rng.randint(1, 15), square_free(rng)
    root, bare = rng.choice([(f"{b}", b), (f"{b}\\sqrt{{{c}}}", None), (f"\\sqrt{{{c}}}", None)])
    kind = rng.randrange(2)
    prefix = "" if kind else str(a)
    gold = f"{rng.choice(['', 'x=', 'x = '])}{prefix}\\pm {root}"
    if equal:
        pair = [f"{prefix}+{root}" if prefix else root, f"{prefix}-{root}"]
        if bare and prefix:
            pair = [str(a + b), str(a - b)]
        rng.shuffle(pair)
        return gold, rng.choice(["{}, {}", "\\{{{}, {}\\}}", "x={} \\text{{ or }} x={}", "{} and {}"]).format(
            *pair
        )
    wrong = [f"{prefix}+{root}" if prefix else root, f"{prefix}-{root}", f"{prefix}\\pm 2{root}"]
    return gold, rng.choice(wrong + [f"{-a if prefix else a}\\pm {root}"])


MAKERS = {
    "sets": sets,
    "lists": lists,
    "tuples": tuples,
    "matrices": matrices,
    "plus_minus": plus_minus,
}
