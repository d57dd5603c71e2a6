"""Pairs of math_pairs.py about numbers that measure something, and about texts: maker(rng, equal) -> (gold, answer)."""

from fractions import Fraction
from math import gcd

from math_pair_texts import decimal, latex

# Groups of units, each name with the factor to the first of the group.
UNITS = [
    [("m", 1), ("cm", Fraction(1, 100)), ("km", 1000), ("mm", Fraction(1, 1000))],
    [("s", 1), ("min", 60), ("hours", 3600), ("minutes", 60), ("seconds", 1)],
    [("kg", 1), ("g", Fraction(1, 1000)), ("mg", Fraction(1, 10**6))],
    [("feet", 12), ("inches", 1), ("yards", 36), ("ft", 12)],
    [("\\text{cm}^2", 1), ("\\text{ m}^2", 10000), ("\\text{ square centimeters}", 1)],
    [
        ("km/h", 1),
        ("\\text{ km/h}", 1),
        ("\\frac{\\text{km}}{\\text{h}}", 1),
        ("\\text{km}\\cdot\\text{h}^{-1}", 1),
    ],
]


def with_unit(rng, value, unit):
    number = decimal(value) if gcd(value.denominator, 10**9) == value.denominator else latex(value)
    if "\\" in unit or "/" in unit:
        return f"{number} {unit}"
    return rng.choice(
        [
            f"{number}\\text{{ {unit}}}",
            f"{number}~\\mathrm{{{unit}}}",
            f"{number}\\ \\text{{{unit}}}",
            f"{number}\\,\\text{{ {unit}}}",
        ]
    )


WORDS = [
    "yes",
    "no",
    "true",
    "false",
    "Monday",
    "Tuesday",
    "Friday",
    "red",
    "blue",
    "green",
    "east",
    "northwest",
    "convex",
    "parabola",
    "Alice",
    "Evelyn",
    "odd",
    "even",
    "neither",
    "ellipse",
    "hyperbola",
    "isosceles",
    "always",
    "never",
    "increasing",
    "no solution",
    "right triangle",
    "two circles",
    "the empty line",
    "cannot be determined",
]


def units(rng, equal):
    group = rng.choice(UNITS)
    (unit, factor), (other, other_factor) = rng.choice(group), rng.choice(group)
    value = Fraction(rng.randint(1, 500), rng.choice([1, 1, 2, 10]))
    gold = with_unit(rng, value, unit)
    if equal:
        converted = with_unit(rng, value * factor / other_factor, other)
        return gold, rng.choice([converted, converted, decimal(value)])
    stranger = rng.choice([name for another in UNITS[:4] if another is not group for name, _ in another])
    wrong = [
        with_unit(rng, value * factor / other_factor + 1, other),
        with_unit(rng, value, stranger),
        decimal(value + 1),
    ]
    if factor != other_factor:
        wrong.append(with_unit(rng, value, other))
    return gold, rng.choice(wrong)


def currencies(rng, equal):
    cents = rng.randint(1, 500000)
    value = Fraction(cents, 100)
    gold = rng.choice(
        [
            f"\\${value.numerator // value.denominator:,}.{cents % 100:02d}",
            f"\\$ {cents // 100}.{cents % 100:02d}",
        ]
    )
    if equal:
        spellings = [
            decimal(value),
            f"${decimal(value)}",
            f"{decimal(value)}\\text{{ dollars}}",
            f"{decimal(value)} dollars",
            latex(value),
        ]
        return gold, rng.choice(spellings + [f"{cents}\\text{{ cents}}"])
    wrong = [
        decimal(value + 1),
        f"\\${decimal(value * 10)}",
        f"€{decimal(value)}",
        f"£{decimal(value)}",
        decimal(-value),
    ]
    return gold, rng.choice(
        wrong + [f"{decimal(value)}\\text{{ cents}}", f"\\${decimal(value + Fraction(1, 100))}"]
    )


def degrees(rng, equal):
    value = Fraction(rng.randint(1, 720), rng.choice([1, 1, 2, 3]))
    text = latex(value)
    gold = rng.choice(
        [f"{text}^\\circ", f"{text}^{{\\circ}}", f"{text}°", f"{text}\\degree", f"{text}\\text{{ degrees}}"]
    )
    if equal:
        return gold, rng.choice([text, f"{text}°", f"{text}^{{\\circ}}", f"{text} degrees", str(value)])
    wrong = [
        latex(value + 1),
        f"{latex(value + 1)}^\\circ",
        f"-{text}^\\circ",
        f"{latex(360 - value if value != 180 else 90)}°",
        f"{text}\\%",
    ]
    return gold, rng.choice(wrong)


def texts(rng, equal):
    word = rng.choice(WORDS)
    other = word if equal else rng.choice([w for w in WORDS if w != word])
    spellings = [
        f"\\text{{{other}}}",
        other.upper(),
        other.capitalize(),
        f"{other}.",
        f"\\textbf{{{other}}}",
        f"\\mathrm{{{other}}}" if " " not in other else f"\\text{{ {other} }}",
        f'"{other}"',
        f" {other} ",
        f"\\text{{{other.title()}}}",
        f"**{other}**",
    ]
    return rng.choice([word, f"\\text{{{word}}}"]), rng.choice(spellings)


def choices(rng, equal):
    letter = rng.choice("ABCDE")
    other = letter if equal else rng.choice([c for c in "ABCDE" if c != letter])
    spellings = [
        f"({other})",
        f"\\text{{({other})}}",
        f"\\text{{{other}}}",
        f"\\textbf{{({other})}}",
        f"{other}.",
        f"\\mathrm{{{other}}}",
        f"$\\textbf{{({other})}}$",
        f"\\textbf{{{other}}}",
        f"{other})",
        f"**{other}**",
    ]
    return rng.choice([letter, f"({letter})", f"\\text{{{letter}}}"]), rng.choice(spellings)


MAKERS = {
    "units": units,
    "currencies": currencies,
    "degrees": degrees,
    "texts": texts,
    "choices": choices,
}
