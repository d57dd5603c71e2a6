"""Texts for comparing tokenizers: this Python's own sources, many scripts, emoji and adversarial Unicode."""

import pathlib
import random
import sysconfig
import unicodedata

SCRIPTS = [
    "Größe, naïve café, señor, ångström. Zażółć gęślą jaźń.", "Съешь же ещё этих мягких французских булок.",
    "数学是科学的女王。我们用数字 3、7、25 得到 24。", "これは日本語のテキストです。カタカナも、漢字も。", "한국어 텍스트입니다. 맞춤법!",
    "مرحبا بالعالم ١٢٣، كيف الحال؟", "नमस्ते दुनिया १२३ क्षत्रिय", "สวัสดีชาวโลก ๑๒๓", "שלום עולם, מה נשמע?", "Γειά σου Κόσμε",
    "Xin chào thế giới, tiếng Việt", "გამარჯობა მსოფლიო", "ሰላም ለዓለም", "வணக்கம் உலகம்", "ສະບາຍດີຊາວໂລກ", "Բարեւ աշխարհ",
]  # fmt: skip
EMOJI = [
    "😀", "👩‍👩‍👧", "👨🏽‍🚀", "🏳️‍🌈", "🇩🇪🇫🇷", "❤️‍🔥", "👍🏿", "🧑‍🤝‍🧑", "1️⃣", "☠️", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "🦀", "\U0001fae9",
]  # fmt: skip
# Odd spaces, folds, marks, joiners, non-characters, private use, young scripts, composition and reordering traps.
ODD = (
    "\u0000\u0007\u000b\u000c\u001c\u0085\u00a0\u00ad\u00b2\u00bd\u017f\u1680\u180e\u2003\u200b\u200c\u200d\u200e\u2028\u2029\u202f\u205f\u2060\u2581"
    "\u3000\ufeff\ufffd\uffff\U0010ffff\ue000\u212a\ufb00\u00df\u0130\u0301\u0323\u0327\u0345\u0334\u1100\u1161\u11a8\uac00\u0958\u01c5\u02b0"
    "\u0374\u2126\uf900\u0660\u0967\u2167\u3007\u24d0\u20e3\ufe0f\U0001d7ce\U0001e900\U00016ff4\u0f73\u0f71\u0f72\u09c7\u09be\u115f\u1e9b\u0344"
    "\U00011de3\U00010d50\U00010d4a\U00031350\U0001e4d0\U0001e4ec\U00011f41\u089b\u088f\U00010ec2\U000105d2\U00016d67\U000323b0\U0001ccf5"
    "\U00011938\U00011935\U00011930\U0001e5ee\U00011bc0\U0002fa1d\u0897\u1acf\U00016ea0\U00011b60\U0001e6c0\U00010940\U0001fa89\u20c1"
)
MARKS = "\u0301\u0323\u0327\u0345\u0334\u0897\u1acf\U0001e4ec\U00011f41\u0bcd\u0300\u0338\u093c\u3099"
PIECES = [
    "'s",
    "'S",
    "'ll",
    "'LL",
    "'re",
    "'Ve",
    "'\u017f",
    "'t",
    "'",
    "''d",
    "\u2019s",
    "don't",
    "WE'RE",
    "I'M",
]
SPACES = [
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\r\n",
    "\n\n",
    " \n",
    "\n ",
    "\r",
    "\u00a0",
    "\u3000 ",
    " " * 17,
    "\n" * 9,
    "\t\t",
]
SPECIALS = [
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "<mask>", " <mask> ", "<s>", "</s>", "<unk>",
    "<|begin_of_text|>", "<|eot_id|>", "[INST]", "[/INST]", "<bos>", "<start_of_turn>", "<0x41>", "<0xE4>", "<\uff5cUser\uff5c>", "</h1>", "<|", "|>", "<s", "[IN",
]  # fmt: skip


def sources(limit_bytes):
    """Files of the standard library, code and prose, up to a size."""
    total = 0
    for path in sorted(pathlib.Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        text = path.read_text(encoding="utf-8", errors="ignore")
        total += len(text)
        yield text
        if total > limit_bytes:
            return


def corpus(limit_bytes):
    """What tokenizers are trained on: sources and every script."""
    return [*sources(limit_bytes), *(script for script in SCRIPTS for _ in range(20)), " ".join(EMOJI)]


def any_character(rng):
    plane = rng.choice([0x80, 0x300, 0x3000, 0x10000, 0x20000, 0x110000])
    while 0xD800 <= (c := rng.randrange(plane)) <= 0xDFFF:
        pass
    return chr(c)


def assigned(rng, low, high):
    """A character of a block that this Python's Unicode or a later one assigns."""
    c = chr(rng.randrange(low, high))
    return c if unicodedata.category(c) != "Cs" else "\ufffd"


def decomposed(rng, text):
    return unicodedata.normalize(rng.choice(["NFC", "NFD", "NFKC", "NFKD"]), text)


def fragment(rng, lines):
    kind = rng.randrange(12)
    if kind == 0:
        return rng.choice(lines).strip()[: rng.randint(1, 40)]
    if kind == 1:
        return rng.choice(SPACES)
    if kind == 2:
        return rng.choice(PIECES)
    if kind == 3:
        return rng.choice(SPECIALS)
    if kind == 4:
        return rng.choice(ODD)
    if kind == 5:
        return rng.choice(EMOJI)
    if kind == 6:
        script = rng.choice(SCRIPTS)
        begin = rng.randrange(len(script))
        return decomposed(rng, script[begin : begin + rng.randint(1, 12)])
    if kind == 7:
        return str(rng.randrange(10 ** rng.randint(1, 8)))
    if kind == 8:
        return rng.choice("!#$%&()*+,-./:;<=>?@[]^_`{|}~\"\\'") * rng.choice([1, 1, 2, 3])
    if kind == 9:
        return any_character(rng)
    if kind == 10:
        return rng.choice("ae\u0928\u09c7\u1100") + "".join(
            rng.choice(MARKS) for _ in range(rng.randint(1, 4))
        )
    return assigned(rng, *rng.choice([(0x10D40, 0x10D90), (0x11380, 0x113E2), (0x16D40, 0x16D80), (0x1E5D0, 0x1E600), (0x11BC0, 0x11C00), (0x1CC00, 0x1CD00), (0x31350, 0x323B0), (0x16EA0, 0x16EE0)]))  # fmt: skip


def fragments(count, seed):
    """`count` texts that do not depend on this Python's sources."""
    rng = random.Random(seed)
    for _ in range(count):
        yield "".join(fragment(rng, SCRIPTS) for _ in range(rng.randint(1, 6)))


def texts(count, seed=1):
    """`count` texts: a third lines and passages of code and prose, the rest made of fragments."""
    rng = random.Random(seed)
    lines = [line for text in sources(3_000_000) for line in text.splitlines() if line.strip()]
    for i in range(count):
        if i % 6 == 0:
            yield rng.choice(lines)
        elif i % 6 == 1:
            begin = rng.randrange(len(lines))
            yield "\n".join(lines[begin : begin + rng.randint(2, 6)])
        elif i % 6 == 2:
            yield " ".join(rng.choice([*SCRIPTS, *EMOJI]) for _ in range(rng.randint(1, 3)))
        else:
            yield "".join(fragment(rng, lines) for _ in range(rng.randint(1, 9)))
