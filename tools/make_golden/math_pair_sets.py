"""Pairs of math_pairs.py about intervals and unions: maker(rng, equal) -> (gold, answer)."""

from fractions import Fraction

from math_pair_texts import latex


def endpoint(rng, low, high):
    return rng.choice([Fraction(rng.randint(low, high)), Fraction(rng.randint(2 * low, 2 * high), 2)])


def interval_text(low, high, closed_low, closed_high):
    """None stands for infinity."""
    left = "-\\infty" if low is None else latex(low)
    right = "\\infty" if high is None else latex(high)
    return f"{'[' if closed_low else '('}{left},{right}{']' if closed_high else ')'}"


def inequality_text(rng, low, high, closed_low, closed_high, x="x"):
    less = {True: rng.choice(["\\le", "\\leq", "≤", "<="]), False: rng.choice(["<", "\\lt "])}
    more = {True: rng.choice(["\\ge", "\\geq", "≥", ">="]), False: rng.choice([">", "\\gt "])}
    if low is None:
        return rng.choice([f"{x}{less[closed_high]} {latex(high)}", f"{latex(high)} {more[closed_high]} {x}"])
    if high is None:
        return rng.choice([f"{x} {more[closed_low]} {latex(low)}", f"{latex(low)}{less[closed_low]} {x}"])
    return rng.choice(
        [
            f"{latex(low)} {less[closed_low]} {x} {less[closed_high]} {latex(high)}",
            f"{latex(high)} {more[closed_high]} {x} {more[closed_low]} {latex(low)}",
        ]
    )


def draw_interval(rng):
    low = endpoint(rng, -20, 20)
    high = low + endpoint(rng, 1, 15)
    kind = rng.randrange(4)
    if kind == 0:
        return None, high, False, rng.random() < 0.5
    if kind == 1:
        return low, None, rng.random() < 0.5, False
    return low, high, rng.random() < 0.5, rng.random() < 0.5


def interval_spelling(rng, interval):
    text, inequality = interval_text(*interval), inequality_text(rng, *interval)
    return rng.choice(
        [
            text,
            f"x\\in {text}",
            f"\\left{text[:-1]}\\right{text[-1]}",
            inequality,
            inequality,
            f"\\{{x \\mid {inequality}\\}}",
            text.replace(",", ", "),
        ]
    )


def changed_interval(rng, interval):
    low, high, closed_low, closed_high = interval
    changes = []
    if low is not None:
        changes += [
            (low, high, not closed_low, closed_high),
            (low - Fraction(1, 2), high, closed_low, closed_high),
            (None, high, False, closed_high),
        ]
    if high is not None:
        changes += [
            (low, high, closed_low, not closed_high),
            (low, high + 1, closed_low, closed_high),
            (low, None, closed_low, False),
        ]
    return rng.choice([c for c in changes if c[0] is not None or c[1] is not None])


def intervals(rng, equal):
    interval = draw_interval(rng)
    other = interval if equal else changed_interval(rng, interval)
    return interval_text(*interval), interval_spelling(rng, other)


def unions(rng, equal):
    a = endpoint(rng, -20, 0)
    b, c = a + endpoint(rng, 1, 5), a + endpoint(rng, 6, 10)
    first = (None if rng.random() < 0.5 else a, b, False, rng.random() < 0.5)
    second = (c, None if rng.random() < 0.5 else c + 3, rng.random() < 0.5, False)
    gold = f"{interval_text(*first)}\\cup{interval_text(*second)}"
    if not equal:
        if rng.random() < 0.3:
            return gold, interval_text(*rng.choice([first, second]))
        first, second = rng.choice(
            [(changed_interval(rng, first), second), (first, changed_interval(rng, second))]
        )
        if first[1] is None or second[0] is None:
            first, second = (a - 9, b - 8, True, True), (c, c + 5, True, True)
    texts = [interval_text(*first), interval_text(*second)]
    parts = [inequality_text(rng, *first), inequality_text(rng, *second)]
    if rng.random() < 0.5:
        texts.reverse()
        parts.reverse()
    return gold, rng.choice(["\\cup ", " \\cup ", "∪", " U "]).join(
        texts
    ) if rng.random() < 0.6 else rng.choice(["\\text{ or }", " or "]).join(parts)


MAKERS = {
    "intervals": intervals,
    "unions": unions,
}
