#!/usr/bin/env python3
"""Writes tests/rewards/golden/prose_answers.jsonl: answers in prose with the score that a verifier must give.

    python tools/make_golden/prose_answers.py
    python tools/make_golden/prose_answers.py --seed 7 --count 5000 --output more.jsonl    # rows that are not frozen

A row is {"kind", "completion", "gold", "equal"}. A maker draws a value, spells it as people of some country or a model
would, and knows it; the gold is the value in plain digits, or a distractor: the head or the tail of what is written, an
exponent, a numerator, a scale left out, another number. No verifier is asked.
"""

import argparse
import json
import pathlib
import random
from fractions import Fraction

OUTPUT = pathlib.Path(__file__).parents[2] / "tests/rewards/golden/prose_answers.jsonl"

# Sentences of models and people; {} is the value, which ends where the sentence says so.
SENTENCES = {
    "en": [
        "The answer is {}.",
        "So we get {}.",
        "Therefore, the total is {}.",
        "In total, that makes {}.",
        "The shop sold {}.",
        "That leaves {}.",
        "Answer: {}",
        "**Answer:** {}",
        "It comes to {} in the end.",
        "So the result is {}",
        "Hence there are {} of them.",
        "The final answer is **{}**.",
        "After adding both, we have {}.",
        "He needs {}.",
        "Her total is {}, because the two parts add up.",
        "Thus the value is {}; done.",
        "<answer>{}</answer>",
        "<answer>The result is {}.</answer>",
        "<think>easy</think> It is {}.",
        "Let me check. Yes: {}.",
        "Result: {} ✅",
        "- Adding up\n- The sum is {}",
        "The number we want equals {}.",
        "#### {}",
        "Final result → {}",
    ],
    "de": [
        "Die Antwort ist {}.",
        "Insgesamt sind es {}.",
        "Das Ergebnis beträgt {}.",
        "Also kostet es {}.",
        "Antwort: {}",
        "Somit bleiben {} übrig.",
    ],
    "fr": [
        "La réponse est {}.",
        "Le total est de {}.",
        "Donc il reste {}.",
        "Réponse : {}",
        "On obtient {}.",
    ],
    "es": [
        "La respuesta es {}.",
        "En total hay {}.",
        "Por lo tanto, quedan {}.",
        "Respuesta: {}",
        "El resultado es {}.",
    ],
    "it": ["La risposta è {}.", "In totale sono {}.", "Risposta: {}", "Quindi restano {}."],
    "pt": ["A resposta é {}.", "No total são {}.", "Resposta: {}", "Portanto, restam {}."],
    "nl": ["Het antwoord is {}.", "In totaal zijn het {}.", "Antwoord: {}"],
    "sv": ["Svaret är {}.", "Totalt blir det {}."],
    "pl": ["Odpowiedź: {}", "Razem jest {}."],
    "ru": ["Ответ: {}.", "Всего получается {}.", "Итого {}.", "Значит, осталось {}."],
    "zh": [
        "答案是{}。",
        "答案：{}",
        "所以一共有{}。",
        "因此，最终答案是{}。",
        "总共需要{}。",
        "结果为{}。",
        "最终答案是：{}。",
        "那么，还剩{}。",
    ],
    "ja": ["答えは{}です。", "答え：{}", "合計は{}になります。", "よって、{}です。", "全部で{}です。"],
    "ko": ["정답은 {}입니다.", "답: {}", "모두 {}입니다.", "따라서 합계는 {}입니다."],
    "hi": ["उत्तर {} है।", "कुल {} हैं।"],
    "ar": ["الجواب هو {}.", "المجموع هو {}."],
}
LATIN = ["en", "en", "en", "de", "fr", "es", "it", "pt", "nl", "sv", "pl", "ru"]


def groups(digits, separator, sizes=(3,)):
    parts, step = [], 0
    while digits:
        size = sizes[min(step, len(sizes) - 1)]
        parts.insert(0, digits[-size:])
        digits = digits[:-size]
        step += 1
    return separator.join(parts)


SPACES = [" ", "\u00a0", "\u202f", "\u2009"]
# Locale: how it parts thousands and decimals, and who writes so.
LOCALES = [
    (lambda rng: ",", (3,), ".", ["en"]),
    (lambda rng: ",", (3, 2), ".", ["en", "hi"]),
    (lambda rng: rng.choice(SPACES), (3,), ",", ["fr", "sv", "pl", "ru"]),
    (lambda rng: rng.choice(SPACES), (3,), ".", ["en"]),
    (lambda rng: rng.choice("'’"), (3,), ".", ["de", "en", "it", "fr"]),
    (lambda rng: ".", (3,), ",", ["de", "es", "it", "pt", "nl"]),
]


def decimal_text(value):
    """A Fraction with a denominator of 2s and 5s in plain digits."""
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
    digits = str(abs(int(value * 10**places))).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (digits[:-places] + "." + digits[-places:] if places else digits)


def gold_text(value, rng):
    if value.denominator == 1 or set_of_primes(value.denominator) <= {2, 5}:
        text = decimal_text(value)
        if rng.random() < 0.2 and value.denominator != 1:
            return f"\\frac{{{value.numerator}}}{{{value.denominator}}}"
        return "$" + text + "$" if rng.random() < 0.1 else text
    return rng.choice(
        [f"{value.numerator}/{value.denominator}", f"\\frac{{{value.numerator}}}{{{value.denominator}}}"]
    )


def set_of_primes(n):
    primes, p = set(), 2
    while n > 1:
        if n % p == 0:
            primes.add(p)
            n //= p
        else:
            p += 1
    return primes


def other_numbers(value, rng):
    return [
        value + 1,
        value - 1,
        value * 10,
        -value,
        value + Fraction(1, 2),
        value * 1000,
        value / 10,
        value / 1000,
    ]


class Row:
    """What is written, its value (None where it is no answer) and what a careless reader would take."""

    def __init__(self, text, value, traps, languages=("en",)):
        self.text, self.value, self.languages = text, value, list(languages)
        self.traps = [Fraction(t) for t in traps if Fraction(t) != value]


def locale_number(rng):
    separator, sizes, point, languages = rng.choice(LOCALES)
    separator = separator(rng)
    length = rng.randint(4, 10)
    # With one point alone nobody can tell thousands from decimals.
    if separator == ".":
        length = rng.randint(7, 10)
    digits = str(rng.randint(10 ** (length - 1), 10**length - 1))
    if rng.random() < 0.3:
        digits = digits[0] + digits[1:-3] + "000"
    text, value = groups(digits, separator, sizes), Fraction(int(digits))
    parts = groups(digits, "|", sizes).split("|")
    traps = [int(parts[0]), int(parts[-1]), int("".join(parts[1:])), int("".join(parts[:-1]))]
    if rng.random() < 0.3:
        decimals = str(rng.randint(1, 99)).rjust(2, "0")
        text += point + decimals
        value += Fraction(int(decimals), 100)
        traps += [int(digits), int(decimals), Fraction(int(parts[-1] + decimals), 100)]
    return text, value, traps, languages


def thousands(rng):
    text, value, traps, languages = locale_number(rng)
    unit = rng.choice(
        ["", "", "", {"en": " people", "de": " Einwohner", "fr": " habitants", "es": " personas"}]
    )
    language = rng.choice(languages)
    if unit:
        text += unit.get(language, "")
    return Row(text, value, traps, [language])


def decimal_comma(rng):
    whole, decimals = rng.randint(0, 999), rng.choice([str(rng.randint(1, 9)), str(rng.randint(10, 99))])
    value = Fraction(f"{whole}.{decimals}")
    text = f"{whole},{decimals}" + rng.choice(["", " kg", " €", " Euro", " %"])
    if text.endswith("%"):
        return Row(text, value / 100, [whole, int(decimals)], ["de", "fr", "es", "ru"])
    return Row(
        text, value, [whole, int(decimals), int(f"{whole}{decimals}")], ["de", "fr", "es", "it", "pt", "sv"]
    )


SCRIPTS = {
    0xFF10: ["zh", "ja", "en"],
    0x660: ["ar"],
    0x6F0: ["ar"],
    0x966: ["hi"],
    0x9E6: ["hi"],
    0xE50: ["en"],
    0x1D7CE: ["en"],
}


def script_digits(rng):
    zero, languages = rng.choice(list(SCRIPTS.items()))
    digits = str(rng.randint(10, 10 ** rng.randint(2, 6)))
    text = "".join(chr(zero + int(d)) for d in digits)
    traps = [int(digits[-1]), int(digits[0]), int(digits[1:]), int(digits[:-1])]
    if zero == 0x660 and len(digits) > 3 and rng.random() < 0.5:
        text = "".join(chr(zero + int(c)) if c.isdigit() else "\u066c" for c in groups(digits, ","))
    if zero == 0xFF10 and len(digits) > 3 and rng.random() < 0.5:
        text = "".join(chr(zero + int(c)) if c.isdigit() else "，" for c in groups(digits, ","))
        traps.append(int(digits[-3:]))
    elif rng.random() < 0.3:
        point = {0x660: "\u066b", 0x6F0: "\u066b", 0xFF10: "．"}.get(zero, ".")
        return Row(text + point + chr(zero + 5), Fraction(f"{digits}.5"), [*traps, int(digits), 5], languages)
    return Row(text, Fraction(int(digits)), traps, languages)


VULGAR = {
    "½": (1, 2),
    "¼": (1, 4),
    "¾": (3, 4),
    "⅓": (1, 3),
    "⅔": (2, 3),
    "⅕": (1, 5),
    "⅖": (2, 5),
    "⅗": (3, 5),
    "⅘": (4, 5),
    "⅙": (1, 6),
    "⅚": (5, 6),
    "⅛": (1, 8),
    "⅜": (3, 8),
    "⅝": (5, 8),
    "⅞": (7, 8),
    "⅐": (1, 7),
    "⅑": (1, 9),
    "⅒": (1, 10),
}
RAISED, LOWERED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"), str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def fraction(rng):
    whole = rng.choice([0, 0, rng.randint(1, 40)])
    if rng.random() < 0.5:
        sign, (top, bottom) = rng.choice(list(VULGAR.items()))
        text = f"{whole}{rng.choice(['', ' ', chr(0x202F)])}{sign}" if whole else sign
    else:
        bottom = rng.randint(3, 30)
        top = rng.randint(1, bottom - 1)
        spelled = rng.choice(
            [
                f"{top}/{bottom}",
                f"{top}⁄{bottom}",
                f"{str(top).translate(RAISED)}⁄{str(bottom).translate(LOWERED)}",
                f"\\frac{{{top}}}{{{bottom}}}",
                f"$\\frac{{{top}}}{{{bottom}}}$",
            ]
        )
        if spelled.startswith("$"):
            whole = 0
        gap = "" if spelled.startswith(("\\", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹")) else " "
        text = (f"{whole}{gap}" if whole else "") + spelled
    part = Fraction(top, bottom)
    unit = rng.choice(["", "", " cups", " hours", " kg"]) if not text.endswith("$") else ""
    return Row(
        text + unit, whole + part, [whole, top, bottom, part, whole + top, Fraction(bottom, top)], ["en"]
    )


def power(rng):
    base, exponent = rng.choice(
        [(10, rng.randint(2, 9)), (2, rng.randint(2, 20)), (rng.randint(3, 12), rng.randint(2, 5))]
    )
    text = rng.choice(
        [
            f"{base}^{exponent}",
            f"{base}^{{{exponent}}}",
            f"{base}{str(exponent).translate(RAISED)}",
            f"{base}**{exponent}",
            f"${base}^{{{exponent}}}$",
        ]
    )
    return Row(
        text,
        Fraction(base**exponent),
        [base, exponent, base * exponent, base ** (exponent - 1)],
        ["en", "de", "zh"],
    )


def scientific(rng):
    mantissa, exponent = Fraction(rng.randint(101, 999), 100), rng.randint(2, 12)
    m = decimal_text(mantissa)
    times = rng.choice([" x 10^", "×10^", " × 10^", " · 10^", " \\times 10^"])
    text = rng.choice(
        [
            f"{m}{times}{exponent}",
            f"{m}{times}{{{exponent}}}",
            f"{m} × 10{str(exponent).translate(RAISED)}",
            f"{m}e{exponent}",
            f"{m}E+{exponent}",
        ]
    )
    return Row(
        text,
        mantissa * 10**exponent,
        [mantissa, exponent, 10, 10**exponent, int(mantissa)],
        ["en", "fr", "zh"],
    )


UNITS = [
    "cm²",
    "cm^2",
    "m²",
    "m^3",
    "m³",
    "km/h",
    "kg",
    "m/s²",
    "m/s^2",
    "°C",
    "°",
    "km",
    "mL",
    "cm",
    "㎏",
    "㎡",
    "℃",
    "L",
    "hours",
    "square meters",
    "kWh",
    "cubic feet",
    "miles per hour",
    "dollars",
    "students",
    "slices of pizza",
    "apples",
]


def unit(rng):
    number = rng.choice([str(rng.randint(6, 999)), f"{rng.randint(6, 99)}.{rng.randint(1, 9)}"])
    name = rng.choice(UNITS)
    glued = name[0] == "°" or (name in ("cm²", "kg", "km", "mL", "㎡", "℃") and rng.random() < 0.3)
    traps = [2, 3] + (
        [int(number.split(".")[1]), int(number.split(".")[0])] if "." in number else [int(number[1:] or 0)]
    )
    return Row(number + ("" if glued else " ") + name, Fraction(number), traps, ["en"])


def percent(rng):
    number = rng.choice([str(rng.randint(1, 99)), f"{rng.randint(1, 99)}.{rng.randint(1, 9)}"])
    value = Fraction(number)
    sign, parts = rng.choice(
        [
            ("%", 100),
            (" %", 100),
            (" percent", 100),
            (" per cent", 100),
            ("\\%", 100),
            ("‰", 1000),
            (" ‰", 1000),
            ("％", 100),
            ("\u202f%", 100),
            ("‱", 10000),
        ]
    )
    if parts == 100 and sign != "％" and rng.random() < 0.5:  # a sign on one side alone may be left out
        return Row(
            number + sign, value, [value * 100, value * 10, 100 - value, value + 1], ["en", "de", "fr"]
        )
    traps = [value / parts * 10, value / parts / 10, value / parts + 1]
    if parts != 100 or sign == "％":
        traps += [value, value]
    if "." in number:
        traps += [int(number.split(".")[1])]
    return Row(number + sign, value / parts, traps, ["en"])


def currency(rng):
    cents = rng.randint(1, 99)
    whole = rng.randint(100, 999_999)
    value = whole + Fraction(cents, 100)
    c = f"{cents:02}"
    w = str(whole)
    last = int(w[-3:])
    traps = [whole, cents, last, last + Fraction(cents, 100), value * 100]
    dollar = rng.choice(["$", "\\$", "US$", "€", "£", "USD ", "₹", "CA$"])
    choices = [
        (f"{dollar}{groups(w, ',')}.{c}", ["en"]),
        (f"{groups(w, '.')},{c} €", ["de", "es", "it"]),
        (f"{groups(w, rng.choice(SPACES))},{c} €", ["fr"]),
        (f"CHF {groups(w, chr(39))}.{c}", ["de", "en"]),
        (f"R$ {groups(w, '.')},{c}", ["pt"]),
        (f"{groups(w, ' ')},{c} zł", ["pl"]),
        (f"{groups(w, ' ')},{c} руб.", ["ru"]),
        (f"{groups(w, ' ')},{c} kr", ["sv"]),
        (f"{w}.{c}元", ["zh"]),
        (f"{groups(w, ',')}.{c} dollars", ["en"]),
        (f"**${groups(w, ',')}.{c}**", ["en"]),
    ]
    text, languages = rng.choice(choices)
    if rng.random() < 0.3:
        text, languages = rng.choice(
            [
                (f"₩{groups(w, ',')}", ["ko", "en"]),
                (f"¥{groups(w, ',')}", ["en", "ja"]),
                (f"₹{groups(w, ',', (3, 2))}", ["en"]),
                (f"{groups(w, ',')}円", ["ja"]),
                (f"${w}", ["en"]),
                (f"{w}원", ["ko"]),
                (f"{groups(w, ' ')} ₽", ["ru"]),
            ]
        )
        return Row(text, Fraction(whole), [last, int(w[:-3] or 0), whole * 100], languages)
    return Row(text, value, traps, languages)


def counted(rng):
    n = rng.randint(2, 9999)
    traps = [int(str(n)[-1]), int(str(n)[0]), n * 10]
    language = rng.choice(["zh", "zh", "ja", "ko", "ru", "de", "es", "fr"])
    noun = {
        "zh": [
            "个",
            "个苹果",
            "元",
            "只",
            "人",
            "种不同的方法",
            "平方厘米",
            "厘米",
            "分钟",
            "小时",
            "块钱",
            "本书",
            "公里",
            "岁",
            "",
            "",
        ],
        "ja": ["個", "人", "円", "時間", "分", "枚", "メートル", "", ""],
        "ko": ["개", "명", "원", "시간", "살", "", ""],
        "ru": [" яблок", " руб.", " рублей", " км", " часов", " человек"],
        "de": [" Äpfel", " Stück", " Euro", " Stunden", " Schüler", " km"],
        "es": [" manzanas", " niños", " euros", " horas", " años"],
        "fr": [" pommes", " élèves", " euros", " heures", " mètres"],
    }[language]
    return Row(f"{n}{rng.choice(noun)}", Fraction(n), traps, [language])


def scale(rng):
    m = rng.choice([Fraction(rng.randint(1, 99)), Fraction(rng.randint(11, 99), 10)])
    word, factor, languages = rng.choice(
        [
            (" million", 10**6, ["en", "fr"]),
            (" thousand", 1000, ["en"]),
            (" billion", 10**9, ["en"]),
            (" hundred", 100, ["en"]),
            (" dozen", 12, ["en"]),
            (" lakh", 10**5, ["en"]),
            (" crore", 10**7, ["en"]),
            ("万", 10**4, ["zh", "ja"]),
            ("亿", 10**8, ["zh"]),
            ("万元", 10**4, ["zh"]),
            ("億円", 10**8, ["ja"]),
            ("만", 10**4, ["ko"]),
            (" тысяч", 1000, ["ru"]),
            (" млн", 10**6, ["ru"]),
            (" Millionen", 10**6, ["de"]),
            (" Milliarden", 10**9, ["de"]),
            (" millones", 10**6, ["es"]),
            ("千", 1000, ["zh"]),
            (" million dollars", 10**6, ["en"]),
        ]
    )
    number = decimal_text(m)
    if languages[0] in ("de", "ru", "es", "fr"):
        number = number.replace(".", ",")
    traps = [m, m * factor * 10, factor, m * 10] + ([int(number[-1])] if m.denominator != 1 else [])
    return Row(number + word, m * factor, traps, [rng.choice(languages)])


def sign(rng):
    n = rng.randint(2, 99)
    kind = rng.randrange(7)
    if kind == 0:
        x = Fraction(rng.randint(11, 99), 10)
        return Row(f"⌊{decimal_text(x)}⌋", Fraction(int(x)), [x, x - int(x), int(x) + 1])
    if kind == 1:
        x = Fraction(rng.randint(11, 98), 10)
        up = -((-x.numerator) // x.denominator)
        return Row(f"⌈{decimal_text(x)}⌉", Fraction(up), [x, x - int(x), up + 1])
    if kind == 2:
        return Row(
            rng.choice([f"√{n * n}", f"\\sqrt{{{n * n}}}", f"$\\sqrt{{{n * n}}}$"]), Fraction(n), [n * n]
        )
    if kind == 3:
        return Row(rng.choice([f"-{n}", f"−{n}", f"$-{n}$", f"－{n}"]), Fraction(-n), [n], ["en", "de", "zh"])
    if kind == 4:
        k = rng.randint(3, 9)
        value = 1
        for i in range(2, k + 1):
            value *= i
        return Row(f"{k}! = {value}" if rng.random() < 0.5 else f"{k}!", Fraction(value), [k])
    if kind == 5:
        return Row(f"x = {n}", Fraction(n), [n + 1, n * 10])
    return Row(f"|-{n}|", Fraction(n), [-n])


def no_answer(rng):
    """Texts of which no number that stands in them is the value."""
    a, b = sorted(rng.sample(range(2, 90), 2))
    text, traps, languages = rng.choice(
        [
            (f"between {a} and {b}", [a, b], ["en"]),
            (f"{a}–{b}", [a, b], ["en"]),
            (f"{a}~{b}", [a, b], ["en", "zh"]),
            (f"{a} or {b}", [a, b], ["en"]),
            (f"not {a}", [a], ["en"]),
            (f"at least {a}", [a], ["en"]),
            (f"{a}到{b}", [a, b], ["zh"]),
            (f"{a}或{b}", [a, b], ["zh"]),
            (f"{a} oder {b}", [a, b], ["de"]),
            (f"nicht {a}", [a], ["de"]),
            (f"{a} ou {b}", [a, b], ["fr"]),
            (f"{a} o {b}", [a, b], ["es"]),
            (f"{a} или {b}", [a, b], ["ru"]),
            (f"не {a}", [a], ["ru"]),
            (f"大于{a}", [a], ["zh"]),
            (f"至少{a}", [a], ["zh"]),
            (f"{a}以上", [a], ["zh", "ja"]),
            (f"{a}か{b}", [a, b], ["ja"]),
            (f"{a}또는 {b}", [a, b], ["ko"]),
            (f"{a}ⁿ", [a], ["en"]),
            (f"{a}^n", [a], ["en"]),
            (f"{a}.{b}.{a}", [a, b], ["en"]),
            (f"{a}:{b:02}", [a, b], ["en"]),
            (f"0x{a}F", [a, 0], ["en"]),
            (f"{a}n + {b}", [a, b], ["en"]),
            (f"x^{a}", [a], ["en"]),
            (f"{a}分之{b}", [a, b], ["zh"]),
            (f"{a}ᵏ", [a], ["en"]),
            (f"∑{a}", [a], ["en"]),
            (f"{a} ⊕ {b}", [a, b], ["en"]),
            (f"log({a})", [a], ["en"]),
            (f"log_{a} {b}", [a, b], ["en"]),
            (f"{a} mod {b}", [a, b], ["en"]),
            (f"1{a} 23 4{b}", [int(f"4{b}"), 23], ["en"]),
            (f"\\binom{{{a + b}}}{{{a}}}", [a, b, a + b], ["en"]),
            (f"{a}/{b * 7}", [a, b * 7], ["en"]),
            (f"{a}²⁄₃", [a, 2, 3], ["en"]),
            (f"\\foo{{{a}}}", [a], ["en"]),
            (f"{a} × {b}", [a, b], ["en"]),
            (f"{a}·{b}", [a, b], ["en"]),
            (f"({a}, {b})", [a, b], ["en"]),
            (f"{{{a}, {b}}}", [a, b], ["en"]),
            (f"{a}±{b}", [a, b], ["en"]),
            (f"{a}/0", [a, 0], ["en"]),
            (f"{a}万{b}", [a, b], ["zh"]),
            (f"{a}点{b}", [a, b], ["zh"]),
            (f"{a}.{b}.2024", [a, b, 2024], ["de"]),
            (f"2024-{a % 12 + 1:02}-{b % 28 + 1:02}", [2024, a % 12 + 1, b % 28 + 1], ["en"]),
            (f"{a}月{b}日", [a, b], ["zh"]),
            (f"{a}'{b}\"", [a, b], ["en"]),
            (f"{a}‑{b}", [a, b], ["en"]),
        ]
    )
    values = {Fraction(t) for t in traps}
    if text == f"{a} × {b}" or text == f"{a}·{b}":
        values.discard(Fraction(a * b))
    return Row(text, None, sorted(values), languages)


def context(rng):
    """Another number stands before the answer."""
    a, b = rng.sample(range(10, 9000), 2)
    text = rng.choice(
        [
            f"In 2021, there were {a}; now there are {b}.",
            f"She had {a} and lost some, so {b} remain.",
            f"Step 1: {a} - {a - 1} = 1\nStep 2: the total is {b}.",
            f"1. We start with {a}.\n2. We end with {b}.",
            f"Of {a} people, **{b}** voted.",
            f"{a} → {b}",
            f"He bought 3 boxes of {a} nails and has {b} nails left.",
        ]
    )
    return Row(("raw", text), Fraction(b), [a, int(str(b)[1:] or 0), int(str(b)[:-1])])


KINDS = [
    thousands,
    thousands,
    thousands,
    decimal_comma,
    script_digits,
    script_digits,
    fraction,
    fraction,
    power,
    scientific,
    unit,
    unit,
    percent,
    currency,
    currency,
    counted,
    counted,
    scale,
    sign,
    no_answer,
    no_answer,
    context,
]


def row_of(maker, rng, equal):
    row = maker(rng)
    if row.value is None:
        equal = False
    wrong = row.traps if rng.random() < 0.8 else []
    if not equal and not wrong:
        wrong = (
            [v for v in other_numbers(row.value, rng) if v != row.value]
            if row.value is not None
            else row.traps
        )
    wrong = [w for w in wrong if row.value is None or not is_excused(maker, w, row.value)]
    if not equal and not wrong:
        wrong = [row.value + 7]
    gold = row.value if equal else rng.choice(wrong)
    if isinstance(row.text, tuple):
        completion = row.text[1]
    else:
        completion = rng.choice(SENTENCES[rng.choice(row.languages)]).replace("{}", row.text)
    return {"kind": maker.__name__, "completion": completion, "gold": gold_text(gold, rng), "equal": equal}


def is_excused(maker, wrong, value):
    """A percentage is also its number: both 35 and 0.35 are right."""
    return maker in (percent, decimal_comma) and wrong in (value * 100, value / 100)


def make(seed, count):
    rng = random.Random(seed)
    seen, rows = set(), []
    while len(rows) < count:
        row = row_of(rng.choice(KINDS), rng, rng.random() < 0.55)
        key = (row["completion"], row["gold"])
        if key not in seen:
            seen.add(key)
            rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=38)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--output", type=pathlib.Path, default=OUTPUT)
    options = parser.parse_args()
    with open(options.output, "w", encoding="utf-8") as file:
        for row in make(options.seed, options.count):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
