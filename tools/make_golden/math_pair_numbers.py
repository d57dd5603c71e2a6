"""Pairs of math_pairs.py about one rational number or a simple constant: maker(rng, equal) -> (gold, answer)."""

from fractions import Fraction

from math_pair_texts import decimal, finite, grouped, latex, nonzero, proper, square_free


def integers(rng, equal):
    n = nonzero(rng, -9999, 9999)
    a, b = rng.randint(2, 9), rng.randint(1, 99)
    if not equal:
        return str(n), str(rng.choice([-n, n + 1, n - 1, n * 10, n + 9, 2 * n]))
    spellings = [
        f"{n}.0",
        f"{n}.",
        f"({n})",
        f"${n}$",
        f"\\text{{{n}}}",
        f"{n - b}+{b}",
        f"\\frac{{{n * a}}}{{{a}}}",
    ]
    spellings += [
        f"{n * a}/{a}",
        f"\\mathbf{{{n}}}",
        f"{n}\\,",
        f"\\left({n}\\right)",
        f"-({-n})",
        f"{n + b} - {b}",
    ]
    if n > 0:
        spellings += [f"+{n}", f"0{n}"]
    return str(n), rng.choice(spellings)


def thousands(rng, equal):
    n = rng.randint(1000, 10 ** rng.choice([5, 7, 10, 13]))
    other = n if equal else rng.choice([n + 1, n // 1000, n * 1000, n + 100, n - 1000, -n])
    separator = rng.choice([",", "{,}", "\\,", ",\\!", "\\!,", "\\ "])
    gold, answer = grouped(n, separator), rng.choice([str(other), f"{other}.00", f"{other:,}"])
    return gold, answer


def decimals(rng, equal):
    value = finite(rng)
    text = decimal(value)
    if equal:
        short = text.replace("0.", ".", 1) if abs(value) < 1 else f"{text}000"
        return text, rng.choice([text + "0", short, f"{text}00", latex(value), str(value)])
    wrong = [
        text[:-1],
        text + "1",
        text.replace(".", ""),
        decimal(value / 10),
        decimal(-value),
        latex(value + 1),
    ]
    third = Fraction(rng.randint(1, 20), 3 * rng.choice([1, 7, 11]))
    rounded = f"{float(third):.{rng.randint(2, 9)}f}"
    if third.denominator % 3 == 0:
        wrong.append(None)
    chosen = rng.choice(wrong)
    return (latex(third), rounded) if chosen is None else (text, chosen)


def fractions(rng, equal):
    value = proper(rng, 60)
    n, d, k = value.numerator, value.denominator, rng.randint(2, 9)
    if equal:
        spellings = [
            f"{n}/{d}",
            f"{n} / {d}",
            f"\\dfrac{{{n}}}{{{d}}}",
            f"\\tfrac{{{n}}}{{{d}}}",
            f"\\frac{{{n * k}}}{{{d * k}}}",
        ]
        spellings += [
            f"{n * k}/{d * k}",
            f"\\frac{{{-n}}}{{{-d}}}",
            f"({n})/({d})",
            f"-\\frac{{{-n}}}{{{d}}}",
            f"{n} \\div {d}",
        ]
        spellings += [
            f"\\frac{{{n}}}{{{d}}}\\cdot 1",
            f"{n}\\cdot\\frac{{1}}{{{d}}}",
            f"\\cfrac{{{n}}}{{{d}}}",
        ]
        if 0 < n < 10 and d < 10:
            spellings += [f"\\frac{n}{d}", f"\\frac{n}{{{d}}}", f"\\frac {n} {d}"]
        return latex(value), rng.choice(spellings)
    wrong = [1 / value, -value, Fraction(n + 1, d), Fraction(n, d + 1), value + 1, Fraction(n, d * 10)]
    return latex(value), rng.choice([latex, str])(rng.choice([w for w in wrong if w != value]))


def mixed_numbers(rng, equal):
    whole, part = rng.randint(1, 30), abs(proper(rng, 12)) % 1
    sign = rng.choice(["", "-"])
    value = (whole + part) * (-1 if sign else 1)
    command = rng.choice(["\\frac", "\\tfrac", "\\dfrac"])
    gold = rng.choice(
        [f"{sign}{whole}{latex(part, command)}", f"{sign}{whole} {part}", f"{sign}{whole}\\ {latex(part)}"]
    )
    if equal:
        return gold, rng.choice([latex(value), str(value), latex(value, "\\dfrac")])
    wrong = [
        whole * part,
        whole - part,
        -value,
        value + 1,
        whole + 1 / part,
        value + Fraction(1, part.denominator),
    ]
    return gold, rng.choice([latex, str])(rng.choice([w for w in wrong if w != value]))


def percents(rng, equal):
    value = Fraction(rng.randint(1, 4000), rng.choice([1, 2, 10, 100]))
    text = decimal(value)
    gold = rng.choice(
        [
            f"{text}%",
            f"{text}\\%",
            f"${text}\\%$",
            f"{text} \\%",
            f"{text} percent",
            f"{text}\\text{{ percent}}",
        ]
    )
    if equal:
        return gold, rng.choice(
            [decimal(value / 100), latex(value / 100), f"{text}0\\%" if "." in text else f"{text}.0\\%"]
        )
    wrong = [
        decimal(value / 10),
        decimal(value / 1000),
        f"{decimal(value + 1)}\\%",
        f"-{text}\\%",
        f"{decimal(value / 100)}\\%",
    ]
    return gold, rng.choice(wrong)


def radicals(rng, equal):
    a, b, c = rng.randint(2, 12), square_free(rng), nonzero(rng, -9, 9)
    kind = rng.randrange(4)
    if kind == 0:
        gold, same = (
            f"{a}\\sqrt{{{b}}}",
            [f"\\sqrt{{{a * a * b}}}", f"{a}*sqrt({b})", f"\\sqrt{{{b}}}\\cdot {a}", f"{a}√{b}"],
        )
        wrong = [
            f"{a + 1}\\sqrt{{{b}}}",
            f"\\sqrt{{{a * b}}}",
            f"{b}\\sqrt{{{a}}}",
            f"-{a}\\sqrt{{{b}}}",
            f"{a}\\sqrt{{{b + 1}}}",
        ]
        wrong = [w for w in wrong if w != f"{b}\\sqrt{{{a}}}" or a != b]
    elif kind == 1:
        gold, same = (
            f"\\frac{{{a}}}{{\\sqrt{{{b}}}}}",
            [f"\\frac{{{a}\\sqrt{{{b}}}}}{{{b}}}", f"{a}/sqrt({b})", f"\\sqrt{{\\frac{{{a * a}}}{{{b}}}}}"],
        )
        wrong = [
            f"\\frac{{{a}\\sqrt{{{b}}}}}{{{b + 1}}}",
            f"\\frac{{\\sqrt{{{b}}}}}{{{a}}}",
            f"\\frac{{{a}}}{{{b}}}",
            f"{a}\\sqrt{{{b}}}",
        ]
        wrong = [w for w in wrong if a != b or not w.startswith("\\frac{\\sqrt")]
    elif kind == 2:
        gold, same = (
            f"{c}+\\sqrt{{{b}}}",
            [f"\\sqrt{{{b}}}+{c}".replace("+-", "-"), f"\\frac{{{c * c - b}}}{{{c}-\\sqrt{{{b}}}}}"],
        )
        wrong = [f"{c}-\\sqrt{{{b}}}", f"{-c}+\\sqrt{{{b}}}", f"\\sqrt{{{c * c + b}}}", f"{c}\\sqrt{{{b}}}"]
        wrong = [w for w in wrong if c != 1 or "+" in w]
    else:
        gold, same = (
            f"{a}\\sqrt[3]{{{b}}}",
            [f"\\sqrt[3]{{{a**3 * b}}}", f"{a}\\cdot {b}^{{1/3}}", f"{a}({b})^{{\\frac13}}"],
        )
        wrong = [
            f"{a}\\sqrt{{{b}}}",
            f"\\sqrt[3]{{{a * b}}}",
            f"{a}\\sqrt[4]{{{b}}}",
            f"-{a}\\sqrt[3]{{{b}}}",
        ]
    return gold, rng.choice(same if equal else wrong)


def powers(rng, equal):
    base, n = rng.randint(2, 12), rng.randint(2, 9)
    m = rng.randint(1, 6)
    value = rng.choice([base**n, Fraction(1, base**n)])
    exponent = n if value > 1 else -n
    gold = rng.choice(
        [
            f"{base}^{{{exponent}}}",
            f"{base}^({exponent})",
            f"{base}**({exponent})",
            f"{base}^{{{exponent + m}}}/{base}^{m}",
        ]
    )
    if equal:
        return gold, rng.choice(
            [
                latex(value),
                str(value),
                f"({base})^{{{exponent}}}",
                f"\\left(\\frac{{1}}{{{base}}}\\right)^{{{-exponent}}}",
            ]
        )
    wrong = [
        f"{base}^{{{-exponent}}}",
        f"{base + 1}^{{{exponent}}}",
        f"-{base}^{{{exponent}}}",
        latex(value * base),
        str(base * exponent),
    ]
    return gold, rng.choice([w for w in wrong if w != str(value)])


def pi_and_e(rng, equal):
    value = Fraction(nonzero(rng, -24, 24), rng.choice([1, 2, 3, 4, 5, 6, 12]))
    n, d = value.numerator, value.denominator
    name, plain = rng.choice(
        [
            ("\\pi", "pi"),
            ("\\pi", "π"),
            ("e^2", "e^2"),
            ("e", "e"),
            ("\\pi^2", "pi^2"),
            ("\\sqrt{e}", "e^{1/2}"),
        ]
    )
    gold = rng.choice([f"\\frac{{{n}{name}}}{{{d}}}", f"\\frac{{{n}}}{{{d}}}{name}", f"{n}{name}/{d}"])
    if equal:
        return gold, rng.choice(
            [
                f"{n}*{plain}/{d}",
                f"({n}/{d}) {plain}",
                f"{plain}\\cdot\\frac{{{2 * n}}}{{{2 * d}}}",
                f"{2 * n}{name}/{2 * d}",
            ]
        )
    wrong = [
        latex(value),
        f"-({gold})",
        f"{n + 1 if n != -1 else 5}*{plain}/{d}",
        f"{n}*{plain}/{d + 1}",
        f"{n}{name}{name}/{d}",
    ]
    return gold, rng.choice(wrong + [f"{float(value) * 3.14:.3f}"])


def scientific(rng, equal):
    digits, exponent = rng.randint(11, 9999), rng.choice([-9, -6, -4, -3, 2, 3, 4, 5, 6, 9, 12])
    text = f"{str(digits)[0]}.{str(digits)[1:]}"
    value = Fraction(digits, 10 ** (len(str(digits)) - 1)) * Fraction(10) ** exponent
    gold = rng.choice(
        [
            f"{text} \\times 10^{{{exponent}}}",
            f"{text}\\cdot 10^{{{exponent}}}",
            f"{text} × 10^{{{exponent}}}",
        ]
    )
    if equal:
        return gold, rng.choice(
            [
                decimal(value),
                f"{text}e{exponent}",
                f"{text}E{exponent:+d}",
                f"{text}*10^({exponent})",
                latex(value),
            ]
        )
    wrong = [
        decimal(value * 10),
        f"{text}e{-exponent}",
        f"-{text}e{exponent}",
        f"{text}1e{exponent}",
        f"{text}\\times 10^{{{exponent - 1}}}",
    ]
    return gold, rng.choice(wrong)


MAKERS = {
    "integers": integers,
    "thousands": thousands,
    "decimals": decimals,
    "fractions": fractions,
    "mixed_numbers": mixed_numbers,
    "percents": percents,
    "radicals": radicals,
    "powers": powers,
    "pi_and_e": pi_and_e,
    "scientific": scientific,
}
