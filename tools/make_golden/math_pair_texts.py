"""Spellings that the makers of pairs share."""

from fractions import Fraction
from math import isqrt


def nonzero(rng, low, high):
    return rng.choice([n for n in range(low, high + 1) if n])


def proper(rng, largest=20):
    """A fraction in lowest terms that is no integer."""
    while True:
        value = Fraction(nonzero(rng, -largest, largest), rng.randint(2, largest))
        if value.denominator > 1:
            return value


def grouped(n, separator):
    return f"{n:,}".replace(",", separator)


def latex(value, command="\\frac"):
    value = Fraction(value)
    if value.denominator == 1:
        return str(value.numerator)
    sign = "-" if value < 0 else ""
    return f"{sign}{command}{{{abs(value.numerator)}}}{{{value.denominator}}}"


def decimal(value):
    """The exact decimal of a fraction whose denominator divides a power of ten."""
    places = 0
    while (value * 10**places).denominator > 1:
        places += 1
    digits = str(abs(value.numerator * 10**places // value.denominator)).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def finite(rng):
    """A fraction with a finite decimal, no integer."""
    return Fraction(nonzero(rng, -2000, 2000) * 2 + 1, rng.choice([2, 4, 8, 20, 40, 100, 1000]))


def square_free(rng, largest=40):
    while True:
        n = rng.randint(2, largest)
        if all(n % (d * d) for d in range(2, isqrt(n) + 1)):
            return n


def signed(terms):
    """Joins texts of terms, each with its own sign."""
    return "+".join(terms).replace("+-", "-")


def term(coefficient, power, x):
    name = "" if power == 0 else x if power == 1 else f"{x}^{{{power}}}" if power > 9 else f"{x}^{power}"
    if name and abs(coefficient) == 1:
        return f"{'-' if coefficient < 0 else ''}{name}"
    return f"{latex(coefficient)}{name}"


def polynomial(coefficients, x="x"):
    """Coefficients from the constant upwards, written from the highest power down."""
    terms = [term(c, power, x) for power, c in reversed(list(enumerate(coefficients))) if c]
    return signed(terms) if terms else "0"


def complex_text(real, imaginary):
    def spell(value, unit):
        if value.denominator == 1:
            return f"{value}{unit}" if not unit or abs(value) != 1 else f"{'-' if value < 0 else ''}{unit}"
        return f"{latex(value)}{unit}"

    real, imaginary = Fraction(real), Fraction(imaginary)
    if not imaginary:
        return spell(real, "")
    if not real:
        return spell(imaginary, "i")
    return f"{spell(real, '')}{'+' if imaginary > 0 else ''}{spell(imaginary, 'i')}"
