#!/usr/bin/env python3
"""Writes tests/text/golden: small tokenizers and what Hugging Face's tokenizers makes of ordinary and hostile text.

    pip install tokenizers==0.23.3
    python tools/make_golden/tokenizer_golden.py

Per tokenizer directory: tokenizer.json and decode.jsonl ({"ids", "text" without special tokens, "full" with them}).
encode.jsonl holds {"text", and per tokenizer the ids with special tokens added}; pre_tokenizers.jsonl holds
{"pre_tokenizer", "text", "pieces" in the byte-level alphabet}; nfc.jsonl {"text", "nfc"}. Each .jsonl begins with a
line that records the version.
"""

import json
import pathlib
import random

import tokenizers
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

OUTPUT = pathlib.Path(__file__).parents[2] / "tests/text/golden"
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
LLAMA3 = QWEN2.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
CODE_AND_CJK = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CORPUS = [
    "The quick brown fox doesn't jump over the lazy dog; they've said it's 12,345.67 times.",
    "def f(x):\n    return {'a': [1, 2, 3], \"b\": x ** 2}\n\n\tif x != 0 and y >= 10:\n        print(x)  # done\n",
    "Zażółć gęślą jaźń. Größe, naïve café, señor, ångström. Съешь же ещё этих мягких французских булок.",
    "数学是科学的女王。我们用数字 3、7、25 得到 24。これは日本語のテキストです。한국어 텍스트입니다.",
    "مرحبا بالعالم ١٢٣ नमस्ते दुनिया १२३ สวัสดีชาวโลก 😀😃🎉 👩‍👩‍👧 ½ ² Ⅷ",
    "Use the numbers 3, 7, 25 and 8 once each to make 24. <think>25 - 8 = 17</think>\n<answer>25 - 8 + 7</answer>",
    "I'll say WE'RE HERE, YOU'VE BEEN TOLD; She'd sing 'til 2024-11-21 10:15:30.   Spaces    and\r\n\r\nlines\n\n\n",
]
# Characters at which tokenizers part ways: odd spaces, folds of k and s, marks, young scripts, non-characters.
ODD = (
    "\u0000\u0007\u000b\u000c\u001c\u0085\u00a0\u00ad\u00b2\u00bd\u017f\u1680\u180e\u2003\u200b\u200c\u200d\u2028\u202f\u205f\u2060"
    "\u3000\ufeff\ufffd\uffff\U0010ffff\ue000\u212a\ufb00\u00df\u0130\u0301\u0323\u0327\u0345\u0334\u1100\u1161\u11a8\uac00\u0958"
    "\u0374\u2126\uf900\u0660\u0967\u2167\u3007\u24d0\u20e3\ufe0f\U0001f469\U0001f1e9\U0001f1ea\U0001d7ce\U0001e900\U00016ff4"
    "\U00011de3\U00010d50\U00010d4a\U00031350\U0001e4d0\U0001e4ec\U00011f41\U0000089b\U0000088f\U00010ec2\U000105d2\U00016d67"
    "\U00011938\U00011935\U00011930\U0001e5ee\U00011bc0\U0002fa1d\u0897\u1acf\u0f73\u0f71\u0f72\u09c7\u09be\u115f"
)
CONTRACTIONS = ["'s", "'S", "'ll", "'LL", "'re", "'Ve", "'\u017f", "'t", "'", "''d", "'m\u0301", "\u2019s"]
SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", " \n", "\n ", "\r", "\u00a0", "\u3000 "]
ADDED = [
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<think>", "</think>", "<tool>", "<tool_call>",
    "<mask>", "<sep>", "foo", "foobar", "food", "caf\u00e9", "cafe\u0301", "<A\u030a>", "<\u00c5>", "<|", "<|im_", "|>", "<t", "[X]", "[X][X]",
]  # fmt: skip


def token(content, **flags):
    return AddedToken(content, **{"normalized": False, "special": False, **flags})


def train(tokenizer, vocab_size, special_tokens=()):
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=list(special_tokens),
        show_progress=False,
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(CORPUS * 3, trainer)
    return tokenizer


def edited(tokenizer, edit):
    config = json.loads(tokenizer.to_str())
    edit(config)
    return Tokenizer.from_str(json.dumps(config)), config


def gpt2():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    train(tokenizer, 600)
    tokenizer.add_tokens(
        [
            token("<|endoftext|>", special=True, normalized=True),
            token("<mask>", special=True, lstrip=True),
            token("<sep>", special=True, rstrip=True),
            token("foo", single_word=True, normalized=True),
            token("[X]", lstrip=True, rstrip=True),
            token("and"),
        ]
    )

    def merges_as_strings(config):
        config["model"]["merges"] = [" ".join(merge) for merge in config["model"]["merges"]]

    return edited(tokenizer, merges_as_strings)


def qwen2():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN2), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    train(tokenizer, 620)
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    others = ["<tool_call>", "<think>", "</think>"]
    tokenizer.add_tokens([token(s, special=True) for s in specials] + [token(s) for s in others])
    tokenizer.add_tokens([token("cafe\u0301", normalized=True), token("food", single_word=True)])
    tokenizer.add_tokens([token("<A\u030a>", normalized=True, special=True)])
    return edited(tokenizer, lambda config: None)


def llama3():
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    train(tokenizer, 620)
    tokenizer.add_tokens([token(s, special=True) for s in ["<|begin_of_text|>", "<|endoftext|>"]])
    tokenizer.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=True),
            processors.TemplateProcessing(
                single="<|begin_of_text|> $A",
                special_tokens=[("<|begin_of_text|>", tokenizer.token_to_id("<|begin_of_text|>"))],
            ),
        ]
    )

    # Without every fifth merge some words are reachable by ignore_merges only.
    def drop_merges(config):
        merges = config["model"]["merges"]
        config["model"]["merges"] = [merge for i, merge in enumerate(merges) if i % 5 != 4]

    return edited(tokenizer, drop_merges)


def mixed():
    """Everything that the three families leave out."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split("-", "merged_with_next"),
            pre_tokenizers.Split(Regex(r"[\r\n]"), "isolated"),
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.Split(Regex("[一-龥ぁ-ゖ]+"), "isolated"),
            pre_tokenizers.Split(Regex(r"\s+$"), "merged_with_previous"),
            pre_tokenizers.Split(Regex(CODE_AND_CJK), "removed", invert=True),
            pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False),
        ]
    )
    train(
        tokenizer,
        500,
        [token("<unk>", special=True), token("<s>", special=True), token("</s>", special=True)],
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    tokenizer.decoder = decoders.Sequence([decoders.ByteLevel()])

    # Three bytes are unknown, and merges of two pairs give one token.
    def edit(config):
        byte_names = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        lost = [byte_names.pre_tokenize_str(c)[0][0] for c in "\u0007#"] + ["\u011f"]
        model = config["model"]
        model["vocab"] = {t: i for t, i in model["vocab"].items() if not any(c in t for c in lost)}
        model["merges"] = [m for m in model["merges"] if not any(c in m[0] + m[1] for c in lost)]
        model["vocab"] = {t: i for i, t in enumerate(model["vocab"])}
        model["merges"] += [["n", "d"], ["a", "nd"], ["t", "he"]]
        for t in ["nd", "and", "the", "he"]:
            model["vocab"].setdefault(t, len(model["vocab"]))

    return edited(tokenizer, edit)


def random_text(rng):
    words = " ".join(CORPUS).split(" ")
    sources = [
        lambda: rng.choice(words),
        lambda: rng.choice(SPACES),
        lambda: rng.choice(CONTRACTIONS),
        lambda: rng.choice(ADDED),
        lambda: rng.choice(ODD),
        lambda: str(rng.randrange(10 ** rng.randint(1, 6))),
        lambda: rng.choice("!#$%&()*+,-./:;<=>?@[]^_`{|}~\"\\'"),
        lambda: rng.choice("abcdeknostABCDEKNOST"),
    ]
    return "".join(rng.choice(sources)() for _ in range(rng.choice([1, 2, 2, 3, 3, 4, 5])))


def any_character(rng):
    plane = rng.choice([0x300, 0x3000, 0x10000, 0x20000, 0x110000])
    while 0xD800 <= (c := rng.randrange(plane)) <= 0xDFFF:
        pass
    return chr(c)


def texts():
    rng = random.Random(7)
    fixed = [
        "",
        " ",
        "\n",
        "a" * 100,
        " " * 100 + "x",
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
    ]
    fixed += [
        "x <mask> y<mask>",
        "<sep>  \n z",
        "a [X] [X]  b",
        "## a ###b",
        "foo foobar food (foo) foo\u0301 foo_ \u00bdfoo foo\u00b2",
        "<mask><sep>  <mask>",
    ]
    fixed += CORPUS
    fuzz = [random_text(rng) for _ in range(1000)]
    wild = ["".join(any_character(rng) for _ in range(rng.randint(1, 4))) for _ in range(120)]
    marks = [
        "a"
        + "".join(
            rng.choice("\u0301\u0323\u0327\u0345\u0334\u0897\u1acf\U0001e4ec\U00011f41\u0bcd")
            for _ in range(4)
        )
        for _ in range(60)
    ]
    return fixed + fuzz + wild + marks


def pre_tokenizer_cases():
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    strings = [
        "a--b-c-",
        "-",
        "--a",
        "xyz",
        "a1b22\u0663c\u00bd\U00011de3 d",
        "ab\nc\n",
        "\n\n",
        "don't  stop\t",
    ]
    patterns = [
        "-",
        "",
        ".",
        "ab",
        Regex("-+"),
        Regex("x*"),
        Regex("$"),
        Regex("^"),
        Regex(r"\d+?"),
        Regex(r"[^a-c\s]++"),
    ]
    patterns += [
        Regex(r"(?<=b)c|(?<!a)b"),
        Regex(r"\p{^L}+|\P{N}{2,3}?"),
        Regex(r"(a|b)+(?:\x2D|\u0063)"),
        Regex(r"\Aa|\S\z"),
    ]
    patterns += [
        Regex(r"[\]\-\\a-]"),
        Regex(r"{a}|[{}]"),
        Regex(r"(?i:[DS]|T)'"),
        Regex(r"[\D]"),
        Regex(".+"),
        Regex(r"a(?>\-*)-|\x{62}"),
    ]
    behaviors = ["isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"]
    for pattern in patterns:
        for behavior in behaviors if pattern in patterns[:6:5] else ["merged_with_previous"]:
            for invert in (False, True) if pattern == "-" else (False,):
                yield (
                    pre_tokenizers.Sequence([pre_tokenizers.Split(pattern, behavior, invert), byte_level]),
                    strings,
                )
    for individual in (False, True):
        yield pre_tokenizers.Sequence([pre_tokenizers.Digits(individual), byte_level]), strings
    for use_regex in (False, True):
        yield (
            pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=use_regex),
            [*strings, " a", "\ta", "\u3000a"],
        )


def pre_tokenizer_records():
    for pre_tokenizer, strings in pre_tokenizer_cases():
        holder = Tokenizer(models.BPE())
        holder.pre_tokenizer = pre_tokenizer
        config = json.loads(holder.to_str())["pre_tokenizer"]
        pieces = [[piece for piece, _ in pre_tokenizer.pre_tokenize_str(text)] for text in strings]
        yield {"pre_tokenizer": config, "texts": strings, "pieces": pieces}


def nfc_records():
    rng = random.Random(11)
    nfc = normalizers.NFC()
    starters = "aeo\u0928\u09c7\u0f40\u1100\u1161\uac00\u0f71\U00011935\U000105d2\U00016d63"
    marks = "\u0300\u0301\u0323\u0327\u0334\u0345\u093c\u09be\u11a8\u0f72\u0f74\u0897\u1acf\U0001e4ec\U00011930\U00016d67\u3099"
    for _ in range(400):
        text = "".join(rng.choice(rng.choice([starters, marks, marks])) for _ in range(rng.randint(2, 7)))
        yield {"text": text, "nfc": nfc.normalize_str(text)}


def decode_records(tokenizer, seed):
    rng = random.Random(seed)
    size = tokenizer.get_vocab_size()
    for _ in range(100):
        ids = [rng.randrange(rng.choice([260, size + 3])) for _ in range(rng.randint(0, 6))]
        ids += rng.choice(
            [[], tokenizer.encode(rng.choice(["数学 😀", "né <think>", "a<|endoftext|>b", "<A\u030a>"])).ids]
        )
        record = {"ids": ids, "text": tokenizer.decode(ids)}
        full = tokenizer.decode(ids, skip_special_tokens=False)
        yield record if full == record["text"] else {**record, "full": full}


def write_jsonl(path, records):
    lines = [{"tokenizers": tokenizers.__version__}, *records]
    dumped = [json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines]
    path.write_text("\n".join(dumped) + "\n", encoding="utf-8")


def main():
    families = {"gpt2": gpt2(), "qwen2": qwen2(), "llama3": llama3(), "mixed": mixed()}
    for seed, (name, (tokenizer, config)) in enumerate(families.items()):
        folder = OUTPUT / name
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(config, ensure_ascii=False, separators=(",", ":"))
        (folder / "tokenizer.json").write_text(text + "\n", encoding="utf-8")
        write_jsonl(folder / "decode.jsonl", decode_records(tokenizer, seed))
    encodings = (
        {"text": t, **{name: pair[0].encode(t).ids for name, pair in families.items()}} for t in texts()
    )
    write_jsonl(OUTPUT / "encode.jsonl", encodings)
    write_jsonl(OUTPUT / "pre_tokenizers.jsonl", pre_tokenizer_records())
    write_jsonl(OUTPUT / "nfc.jsonl", nfc_records())


if __name__ == "__main__":
    main()
