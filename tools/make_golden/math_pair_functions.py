"""Pairs of math_pairs.py about functions and complex numbers: maker(rng, equal) -> (gold, answer)."""

from fractions import Fraction
from math import comb, factorial

from math_pair_texts import complex_text, latex, nonzero

# Sine and cosine at multiples of pi/12 with a short exact value.
SINES = {
    0: "0",
    2: "\\frac{1}{2}",
    3: "\\frac{\\sqrt{2}}{2}",
    4: "\\frac{\\sqrt{3}}{2}",
    6: "1",
    1: "\\frac{\\sqrt6-\\sqrt2}{4}",
    5: "\\frac{\\sqrt6+\\sqrt2}{4}",
}


def sine(twelfths):
    """Of twelfths * pi / 12: sign and the text of the absolute value."""
    turn = twelfths % 24
    sign = "-" if turn > 12 else ""
    turn %= 12
    text = SINES[min(turn, 12 - turn)]
    return ("" if text == "0" else sign) + text


def logarithms(rng, equal):
    b, k, n, m = rng.choice([2, 3, 5, 7, 10]), rng.randint(2, 6), rng.randint(2, 30), rng.randint(2, 30)
    cases = [
        (
            f"\\log_{{{b}}} {b**k}",
            [str(k), f"\\log_{{{b}}}({b**k})"],
            [str(k + 1), str(b + k), f"-{k}", f"\\frac{{1}}{{{k}}}"],
        ),
        (
            f"\\ln {n} + \\ln {m}",
            [f"\\ln {n * m}", f"ln({n * m})", f"\\ln({n})+\\ln({m})"],
            [f"\\ln {n + m}" if n + m != n * m else "0", f"\\ln {n} \\cdot \\ln {m} + 7"],
        ),
        (
            f"{k}\\ln {n}",
            [f"\\ln({n}^{k})", f"\\ln {n**k}", f"ln({n**k})"],
            [f"(\\ln {n})^{{{k + 5}}}", f"\\ln({n * k})" if n * k != n**k else "1", f"-{k}\\ln {n}"],
        ),
        (
            f"\\log_{{{b}}} {n}",
            [f"\\frac{{\\ln {n}}}{{\\ln {b}}}", f"\\frac{{\\log {n}}}{{\\log {b}}}"],
            [f"\\log_{{{b + 1}}} {n}", f"\\log_{{{b}}} {n + 1}", f"\\ln {n} - \\ln {b} + 9"],
        ),
        (
            f"\\ln\\frac{{{n}}}{{{m}}}",
            [f"\\ln {n}-\\ln {m}", f"-\\ln\\frac{{{m}}}{{{n}}}"],
            [f"\\frac{{\\ln {n}}}{{\\ln {m}}} + 40", f"\\ln {n}+\\ln {m}"],
        ),
    ]
    gold, same, wrong = rng.choice(cases)
    return gold, rng.choice(same if equal else wrong)


def factorials(rng, equal):
    n = rng.randint(3, 12)
    k = rng.randint(1, n - 1)
    cases = [
        (
            f"{n}!",
            [factorial(n), f"{n}\\cdot {n - 1}!", f"{n + 1}!/{n + 1}"],
            [factorial(n) + 1, factorial(n - 1), f"{n + 1}!", n],
        ),
        (
            f"\\binom{{{n}}}{{{k}}}",
            [
                comb(n, k),
                f"{{{n} \\choose {k}}}",
                f"\\frac{{{n}!}}{{{k}!{n - k}!}}",
                f"\\dbinom{{{n}}}{{{n - k}}}",
            ],
            [comb(n, k) + 1, factorial(n) + 3, f"\\binom{{{n + 1}}}{{{k}}}", f"-\\binom{{{n}}}{{{k}}}"],
        ),
        (
            f"\\frac{{{n}!}}{{{n - k}!}}",
            [factorial(n) // factorial(n - k)],
            [factorial(n) // factorial(n - k) + 1, f"-{factorial(n)}"],
        ),
    ]
    gold, same, wrong = rng.choice(cases)
    return gold, str(rng.choice(same if equal else wrong))


def complex_numbers(rng, equal):
    a, b, c, d = (nonzero(rng, -9, 9) for _ in range(4))
    value = (a * c - b * d, a * d + b * c)
    norm = a * a + b * b
    inverse = (Fraction(a, norm), Fraction(-b, norm))
    cases = [
        ((a, b), [f"{b}i + {a}", f"{a} - ({-b}i)", f"i({b} - {a}i)", f"{a}+{b}\\cdot i"]),
        (value, [f"({complex_text(a, b)})({complex_text(c, d)})", f"({a}+{b}i)*({c}+{d}i)"]),
        (
            inverse,
            [
                f"\\frac{{1}}{{{complex_text(a, b)}}}",
                f"({complex_text(a, b)})^{{-1}}",
                f"\\frac{{{complex_text(a, -b)}}}{{{norm}}}",
            ],
        ),
    ]
    (real, imaginary), same = rng.choice(cases)
    if equal:
        return complex_text(real, imaginary), rng.choice(same)
    wrong = [
        (real, -imaginary),
        (-real, imaginary),
        (imaginary, real),
        (real + 1, imaginary),
        (real, imaginary + 1),
    ]
    wrong = [w for w in wrong if w != (real, imaginary)]
    return rng.choice([complex_text(real, imaginary), same[0]]), complex_text(*rng.choice(wrong))


def trigonometry(rng, equal):
    k, a = rng.randint(-30, 30), rng.randint(2, 9)
    if rng.random() < 0.6:
        name, shift = rng.choice([("sin", 0), ("cos", 6)])
        value = sine(k + shift)
        angle = rng.choice([latex(Fraction(k, 12)) + "\\pi", f"{15 * k}^\\circ", f"{k}\\pi/12"])
        gold = rng.choice([f"\\{name}({angle})", f"\\{name}\\left({angle}\\right)", f"{name}({angle})"])
        if equal:
            return gold, value
        others = [sine(k + shift + step) for step in range(1, 24)]
        return gold, rng.choice([other for other in others if other != value])
    x = rng.choice(["x", "\\theta", "t"])
    cases = [
        (
            f"{a}\\sin 2{x}",
            f"{2 * a}\\sin {x}\\cos {x}",
            [f"{a}\\sin {x}\\cos {x}", f"{2 * a}\\sin {x}", f"{2 * a}\\sin^2 {x}"],
        ),
        (
            f"{a}\\cos(2{x})",
            f"{a}-{2 * a}\\sin^2 {x}",
            [f"{a}+{2 * a}\\sin^2 {x}", f"{a}-{2 * a}\\sin {x}", f"{a}-{a}\\sin^2 {x}"],
        ),
        (
            f"{a}\\tan {x}",
            f"\\frac{{{a}\\sin {x}}}{{\\cos {x}}}",
            [f"\\frac{{{a}\\cos {x}}}{{\\sin {x}}}", f"-{a}\\tan {x}"],
        ),
        (f"{a}\\sin^2 {x}", f"{a}-{a}\\cos^2 {x}", [f"{a}+{a}\\cos^2 {x}", f"1-{a}\\cos^2 {x}"]),
        (
            f"{a}\\sec {x}",
            f"\\frac{{{a}}}{{\\cos({x})}}",
            [f"\\frac{{{a}}}{{\\sin({x})}}", f"{a}\\csc {x}", f"{a}\\cos {x}"],
        ),
        (
            f"\\sin({a}{x})",
            f"\\cos(\\frac{{\\pi}}{{2}}-{a}{x})",
            [f"\\cos({a}{x})", f"{a}\\sin({x})", f"\\cos(\\frac{{\\pi}}{{2}}+{a}{x})"],
        ),
    ]
    gold, same, wrong = rng.choice(cases)
    return gold, same if equal else rng.choice(wrong)


MAKERS = {
    "logarithms": logarithms,
    "factorials": factorials,
    "complex_numbers": complex_numbers,
    "trigonometry": trigonometry,
}
