#!/usr/bin/env python3
"""Writes libs/common/unicode_tables.inc from the behaviour of Hugging Face's tokenizers.

    pip install tokenizers==0.23.3 unicodedata2==18.0.0
    python tools/make_golden/unicode_tables.py

unicodedata2 only says which code points to ask about where canonical ordering and composition are concerned.
"""

import pathlib

import tokenizers
import unicodedata2
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

CATEGORIES = ["Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"]  # fmt: skip
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
OUTPUT = pathlib.Path(__file__).parents[2] / "libs/common/unicode_tables.inc"


def categories():
    """The general category of every code point, as \\p{..} of the regular expressions sees it."""
    everything = "".join(map(chr, CODE_POINTS))
    result = {c: "Cs" for c in range(0xD800, 0xE000)}
    for category in CATEGORIES:
        split = pre_tokenizers.Split(Regex(rf"\p{{{category}}}"), "removed")
        kept = {ord(c) for piece, _ in split.pre_tokenize_str(everything) for c in piece}
        for c in CODE_POINTS:
            if c not in kept:
                assert c not in result, hex(c)
                result[c] = category
    assert len(result) == 0x110000
    return [result[c] for c in range(0x110000)]


def numeric():
    text = "".join("a" + chr(c) for c in CODE_POINTS)
    pieces = pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str(text)
    # Every non-numeric character stays in a run of at least two characters: its "a" and itself.
    return {ord(p) for p, _ in pieces if len(p) == 1 and p != "a"}


def word_characters():
    tokenizer = Tokenizer(models.BPE(vocab={"a": 0}, merges=[]))
    tokenizer.add_tokens([AddedToken("foo", single_word=True, normalized=False)])
    foo = tokenizer.token_to_id("foo")
    encodings = tokenizer.encode_batch(["foo" + chr(c) for c in CODE_POINTS], add_special_tokens=False)
    return {c for c, encoding in zip(CODE_POINTS, encodings) if foo not in encoding.ids}


def nfc_inert():
    nfc = normalizers.NFC().normalize_str
    # U+0334 has combining class 1 and U+0345 has 240: one of the two swaps with a mark of any other class but 0.
    marks = {chr(c) for c in CODE_POINTS if unicodedata2.combining(chr(c))}
    unordered = {m for m in marks if nfc(m + "\u0334")[0] == m and nfc("\u0345" + m)[-1] == m}
    pairs = [unicodedata2.decomposition(chr(c)).split() for c in CODE_POINTS]
    pairs = ["".join(chr(int(part, 16)) for part in p) for p in pairs if len(p) == 2 and p[0][0] != "<"]
    known = {pair for pair in pairs if nfc(pair) == unicodedata2.normalize("NFC", pair)}
    uncomposed = {c for pair in set(pairs) - known for c in pair + unicodedata2.normalize("NFC", pair)}
    result = unordered | (uncomposed - marks)
    assert not any(c in result for pair in known for c in pair) and all(nfc(c) == c for c in result)
    return {ord(c) for c in result}


def property_members(name):
    """The code points that \\p{name} matches."""
    everything = "".join(map(chr, CODE_POINTS))
    kept = pre_tokenizers.Split(Regex(rf"\p{{{name}}}"), "removed").pre_tokenize_str(everything)
    return set(CODE_POINTS) - {ord(c) for piece, _ in kept for c in piece}


def compat_inert():
    """Code points that today's Unicode decomposes by compatibility and HF's tables do not."""
    nfkd = normalizers.NFKD().normalize_str
    decomposed = [c for c in CODE_POINTS if unicodedata2.normalize("NFKD", chr(c)) != chr(c)]
    different = {c for c in decomposed if nfkd(chr(c)) != unicodedata2.normalize("NFKD", chr(c))}
    assert all(nfkd(chr(c)) == chr(c) for c in different)
    assert all(nfkd(chr(c)) == chr(c) for c in set(CODE_POINTS) - set(decomposed))
    return different


def combining_marks():
    strip = normalizers.StripAccents().normalize_str
    return {c for c in CODE_POINTS if strip(chr(c)) == ""}


def punctuation():
    text = "".join("a" + chr(c) for c in CODE_POINTS)
    pieces = pre_tokenizers.Punctuation("isolated").pre_tokenize_str(text)
    return {ord(p) for p, _ in pieces if len(p) == 1 and p != "a"}


def lowercase():
    """(first, last, stride, what is added) for runs of code points; U+0130 alone becomes two characters."""
    lower = normalizers.Lowercase().normalize_str
    mapped = [(c, lower(chr(c))) for c in CODE_POINTS if lower(chr(c)) != chr(c)]
    assert [c for c, text in mapped if len(text) > 1] == [0x130] and lower(chr(0x130)) == "i\u0307"
    runs = []
    for c, delta in [(c, ord(text) - c) for c, text in mapped if len(text) == 1]:
        if runs and runs[-1][3] == delta and c - runs[-1][1] in (1, 2):
            stride = c - runs[-1][1]
            if runs[-1][2] in (0, stride):
                runs[-1][1:3] = [c, stride]
                continue
        runs.append([c, c, 0, delta])
    return [(first, last, stride or 1, delta) for first, last, stride, delta in runs]


def ranges(code_points):
    result = []
    for c in sorted(code_points):
        if result and result[-1][1] == c - 1:
            result[-1][1] = c
        else:
            result.append([c, c])
    return result


def wrap(items):
    lines, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > 118:
            lines.append(line)
            line = "   "
        line += f" {item},"
    return "\n".join([*lines, line])


def main():
    gc = categories()
    runs, start = [], 0
    for c in range(1, 0x110001):
        if c == 0x110000 or gc[c] != gc[start]:
            runs.append((c - start) * 32 + CATEGORIES.index(gc[start]))
            start = c
    category_numeric = {c for c in CODE_POINTS if gc[c][0] == "N"}
    category_word = {c for c in CODE_POINTS if gc[c][0] in "LM" or gc[c] in ("Nd", "Pc")}
    extras = {
        "kNumericExtra": numeric() - category_numeric,
        "kWordExtra": word_characters() - category_word,
        "kNfcInert": nfc_inert(),
        "kCompatInert": compat_inert(),
        "kCombiningMark": combining_marks(),
        "kPunctuation": punctuation(),
        **{f"k{name}": property_members(name) for name in ("Han", "Hiragana", "Katakana", "Hangul")},
    }
    assert category_numeric <= numeric() and category_word <= word_characters()
    out = f"// Generated by tools/make_golden/unicode_tables.py from tokenizers {tokenizers.__version__}. Do not edit.\n"
    out += "// clang-format off\n"
    out += "constexpr const char* kCategories[] = {\n" + wrap(f'"{c}"' for c in CATEGORIES) + "\n};\n"
    out += "constexpr uint32_t kCategoryRuns[] = {\n" + wrap(map(str, runs)) + "\n};\n"
    for name, code_points in extras.items():
        pairs = (f"{{0x{a:X}, 0x{b:X}}}" for a, b in ranges(code_points))
        out += f"constexpr CodePointRange {name}[] = {{\n" + wrap(pairs) + "\n};\n"
    runs = (f"{{0x{a:X}, 0x{b:X}, {stride}, {delta}}}" for a, b, stride, delta in lowercase())
    out += "constexpr LowercaseRun kLowercase[] = {\n" + wrap(runs) + "\n};\n"
    OUTPUT.write_text(out + "// clang-format on\n")


if __name__ == "__main__":
    main()
