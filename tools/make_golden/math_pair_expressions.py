"""Pairs of math_pairs.py about expressions in variables and equations: maker(rng, equal) -> (gold, answer)."""

from fractions import Fraction

from math_pair_texts import latex, nonzero, polynomial, proper, signed, term


def expand(roots, lead):
    product = [Fraction(lead)]
    for root in roots:
        shifted = [Fraction(0), *product]
        product = [s - root * p for s, p in zip(shifted, [*product, Fraction(0)])]
    return product


def factored(rng, roots, lead, x):
    factors = [f"({signed([x, str(-root)])})" if root else x for root in roots]
    rng.shuffle(factors)
    return rng.choice(["", "\\cdot ", "*"]).join([str(lead), *factors])


def perturbed(rng, coefficients):
    other = list(coefficients)
    index = rng.randrange(len(other))
    other[index] += rng.choice([-2, -1, 1, 2])
    return other


def polynomials(rng, equal):
    x = rng.choice(["x", "y", "t", "n", "\\alpha", "x_1"])
    roots, lead = [rng.randint(-7, 7) for _ in range(rng.randint(2, 4))], rng.choice([2, 3, 5, -1, -4])
    coefficients = expand(roots, lead)
    shuffled = [term(c, power, x) for power, c in enumerate(coefficients) if c]
    rng.shuffle(shuffled)
    if equal:
        return polynomial(coefficients, x), rng.choice([factored(rng, roots, lead, x), signed(shuffled)])
    gold = rng.choice([polynomial(coefficients, x), factored(rng, roots, lead, x)])
    other = rng.choice(
        [perturbed(rng, coefficients), expand([root + 1 for root in roots], lead), [-c for c in coefficients]]
    )
    return gold, polynomial(other, x)


def algebraic(rng, equal):
    x, y = rng.sample(["x", "y", "a", "b", "k", "m"], 2)
    a, b, c, d = (nonzero(rng, -9, 9) for _ in range(4))
    if b == d:
        d += 1 if d != -1 else 3
    left, right = signed([x, str(b)]), signed([x, str(d)])
    cases = [
        (
            f"\\frac{{{a}}}{{{left}}}+\\frac{{{c}}}{{{right}}}",
            f"\\frac{{{polynomial([a * d + b * c, a + c], x)}}}{{({left})({right})}}",
            f"\\frac{{{polynomial([a * d - b * c + 200, a + c], x)}}}{{({left})({right})}}",
        ),
        (f"\\frac{{{x}^2-{b * b}}}{{{signed([x, str(-b)])}}}", left, signed([x, str(-b)])),
        (f"({a}{x}+{y})^2", f"{a * a}{x}^2+{y}^2+{2 * a}{x}{y}", f"{a * a}{x}^2+{y}^2"),
        (
            f"{x}^{{{abs(a) + 1}}}{x}^{{{abs(b)}}}",
            f"{x}^{{{abs(a) + abs(b) + 1}}}",
            f"{x}^{{{(abs(a) + 1) * abs(b) + 20}}}",
        ),
        (
            f"\\frac{{{a}{x}}}{{{abs(d) + 1}{y}}}",
            f"{a}{x}/({abs(d) + 1}{y})",
            f"\\frac{{{a}{y}}}{{{abs(d) + 1}{x}}}",
        ),
        (f"{a}{x}-{b}{y}", f"-{b}{y}+{a}{x}", f"{a}{x}+{b}{y}"),
        (f"\\sqrt{{{x}^2+{abs(a)}}}", f"({abs(a)}+{x}^2)^{{1/2}}", f"{x}+\\sqrt{{{abs(a)}}}"),
        (f"\\sqrt{{{a * a}{x}^2}}", f"{abs(a)}|{x}|", f"-{abs(a)}|{x}|"),
        (f"e^{{{abs(a) + 1}{x}}}", f"(e^{x})^{{{abs(a) + 1}}}", f"e^{x}+{abs(a) + 1}"),
        (f"2^{{{x}+{abs(a)}}}", f"{2 ** abs(a)}\\cdot 2^{x}", f"2^{x}+2^{{{abs(a)}}}"),
        (f"{a}({x}+{y})", f"{a}{x}+{a}{y}", f"{a}{x}+{y}+{abs(a) + 1}"),
    ]
    gold, same, wrong = rng.choice([case for case in cases if "--" not in case[0] + case[1] + case[2]])
    return gold, same if equal else wrong


def equations(rng, equal):
    m, b, k = nonzero(rng, -9, 9), nonzero(rng, -9, 9), nonzero(rng, -6, 6)
    value = rng.choice([Fraction(m), proper(rng)])
    name = rng.choice(["x", "y", "n", "\\theta", "k"])
    p, q, r = rng.randint(-5, 5), nonzero(rng, -5, 5), rng.randint(1, 30)
    line = f"y={polynomial([b, m])}"
    circle = signed([f"{k}x^2", f"{k}y^2", term(-2 * k * q, 1, "x"), str(k * (q * q - r))]) + "=0"
    cases = [
        (
            f"{name}={latex(value)}",
            [latex(value), f"{latex(value)}={name}", f"{name} = {value}"],
            [latex(value + 1), f"{name}={latex(-value)}", f"{name}={latex(value + 1)}"],
        ),
        (
            line,
            [
                polynomial([b, m]),
                signed([f"{m}x", "-y", str(b)]) + "=0",
                f"y-{m * m}={signed([f'{m}x', str(b - m * m)])}",
            ],
            [f"y={polynomial([b + 1, m])}", polynomial([b, m + 1]), signed([f"{m}x", "y", str(b)]) + "=0"],
        ),
        (
            f"f(x)={polynomial([p, q, m])}",
            [polynomial([p, q, m]), f"f(x)={signed([f'{q}x', f'{m}x^2', str(p)])}"],
            [polynomial([p + 1, q, m]), f"f(x)={polynomial([p, -q, m])}"],
        ),
        (
            signed([f"(x{-q:+d})^2", "y^2"]) + f"={r}",
            [circle, f"{r}=y^2+(x{-q:+d})^2"],
            [f"(x{q:+d})^2+y^2={r}", f"(x{-q:+d})^2+y^2={r * r + 1}", f"(x{-q:+d})^2-y^2={r}"],
        ),
    ]
    gold, same, wrong = rng.choice(cases)
    return gold, rng.choice(same if equal else wrong)


MAKERS = {
    "polynomials": polynomials,
    "algebraic": algebraic,
    "equations": equations,
}
