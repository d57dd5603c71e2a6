#!/usr/bin/env python3
"""Writes tests/text/golden/components.jsonl and shapes/: every component of tokenizer.json and whole tokenizers, on hostile text.

    pip install tokenizers==0.23.3
    PYTHONPATH=tools python tools/make_golden/tokenizer_components.py

A line of components.jsonl: {"config": a tokenizer.json, "cases": [{"text", "ids", "offsets"}], "decodings": [{"ids", "text"}]}.
The model knows single characters, so that ids and offsets show what the other components did. shapes/NAME.json is a
tokenizer.json, shapes/NAME.jsonl holds such cases and decodings.
"""

import json
import pathlib
import random

import tokenizer_shapes
import tokenizer_texts
import tokenizers
from tokenizer_golden import CORPUS
from tokenizers import Tokenizer

ROOT = pathlib.Path(__file__).parents[2]

OUTPUT = ROOT / "tests/text/golden"
META = "\u2581"
TEXTS = [
    "", " ", "a", "  a  b ", "\u3000a\u00a0", "Hello, World! \u00abx\u00bb 12\u00bd3", "caf\u00e9 cafe\u0301 \u1e9b\u0323", "\ufb01n \u2460 \uff21 \u3392",
    "\u0130I\u0131 \u1e9e\u03a3", "e\u0301\u0323\u0327x\u0345\u0334", "\uac01\u1100\u1161\u11a8", "a\tb\nc\r\nd", "\u200b\ufeffx\ufffd\u0007y", META + "x " + META,
    "a-b--c-", "--", "-", "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea", "\u6570\u5b66 3\u300125", "\u0e2a\u0e27\u0e31\u0e2a", "don't we'LL  x",
    "x <A>y< A > <A>", "<B>  z<B>", "word words (word)", "\u0301\u0323a", "\u09c7\u09be\u0dd9\u0dca", "_a_ \u0663\u0967 \u203f", "ab" * 12, "\u212b\u2126\u0958",
]  # fmt: skip
ALPHABET = sorted(
    {c for text in TEXTS for c in text if c not in "\u6570\u5b66z"}
    | set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    | {META, "\u0120", "\u00c3", "\u00a9", "\u00e1", "\u0323", "\u0307", "\u1e69"}
)


def character_model(**options):
    vocab = {
        token: i
        for i, token in enumerate(
            ["<unk>", *ALPHABET, "ab", "abab", "<0xC3>", "<0xA9>", "-b", "b</w>", "a</w>"]
        )
    }
    vocab.update({f"##{c}": len(vocab) + i for i, c in enumerate("abcxyz")})
    return {
        "type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None,
        "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": vocab, "merges": [["a", "b"], ["ab", "ab"]], **options,
    }  # fmt: skip


def added(content, token_id, **flags):
    base = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    return {"id": token_id, "content": content, **base, **flags}


def replace(pattern, content):
    return {"type": "Replace", "pattern": pattern, "content": content}


def split(pattern, behavior, invert=False):
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def normalizers():
    plain = [
        {"type": name}
        for name in ["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel"]
    ]
    yield from plain
    for left, right in [(True, True), (True, False), (False, True)]:
        yield {"type": "Strip", "strip_left": left, "strip_right": right}
    prepend = {"type": "Prepend", "prepend": META}
    yield from [prepend, {"type": "Prepend", "prepend": "ab"}]
    yield from [
        replace({"String": " "}, META),
        replace({"String": "ab"}, ""),
        replace({"Regex": r"\s+"}, " "),
        replace({"Regex": "[ab]"}, "xyz"),
    ]
    sequence = [
        [prepend, replace({"String": " "}, META)],
        [plain[3], plain[5], plain[4]],
        [plain[1], plain[5]],
        [plain[0], prepend],
    ]
    sequence += [
        [{"type": "Strip", "strip_left": True, "strip_right": True}, prepend],
        [replace({"String": "a"}, ""), plain[2]],
    ]
    for steps in sequence:
        yield {"type": "Sequence", "normalizers": steps}


def metaspace(scheme, split, replacement=META):
    return {"type": "Metaspace", "replacement": replacement, "prepend_scheme": scheme, "split": split}


def byte_level(prefix, regex, trim=True):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": trim, "use_regex": regex}


def pre_tokenizers():
    for scheme in ["always", "first", "never"]:
        for cut in [True, False]:
            yield metaspace(scheme, cut)
    yield {"type": "Metaspace", "replacement": "_", "add_prefix_space": True}
    for behavior in ["Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"]:
        yield {"type": "Punctuation", "behavior": behavior}
        for invert in [True, False]:
            yield split({"String": "-"}, behavior, invert)
        yield split({"Regex": r"\p{L}+"}, behavior, True)
    for regex in [
        "[^(\\s|[.,!?])]+",
        "[\\p{L}&&[^a-m]]+|[a-m]",
        "[\\p{Lo}&&[^\\p{Han}]]+|\\p{Han}+",
        "\\s+$",
        "[a-z]+(?:,|!)?",
    ]:
        yield split({"Regex": regex}, "Isolated")
    yield from [
        {"type": "Whitespace"},
        {"type": "WhitespaceSplit"},
        {"type": "BertPreTokenizer"},
        {"type": "FixedLength", "length": 3},
    ]
    yield from [
        {"type": "CharDelimiterSplit", "delimiter": "-"},
        {"type": "Digits", "individual_digits": True},
        {"type": "Digits", "individual_digits": False},
    ]
    for prefix in [True, False]:
        for regex in [True, False]:
            yield byte_level(prefix, regex)
    sequences = [
        [{"type": "WhitespaceSplit"}, metaspace("always", True)], [{"type": "WhitespaceSplit"}, metaspace("first", True)],
        [{"type": "Whitespace"}, byte_level(True, False)], [byte_level(False, True), {"type": "Digits", "individual_digits": True}],
        [split({"Regex": r"\d"}, "Isolated"), byte_level(True, True)], [byte_level(False, False), byte_level(False, False)],
    ]  # fmt: skip
    for steps in sequences:
        yield {"type": "Sequence", "pretokenizers": steps}


def template(special, token_id):
    piece = {"SpecialToken": {"id": special, "type_id": 0}}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    tokens = {special: {"id": special, "ids": [token_id], "tokens": [special]}}
    pair = [text, {"Sequence": {"id": "B", "type_id": 1}}]
    return {
        "type": "TemplateProcessing",
        "single": [piece, text, piece],
        "pair": pair,
        "special_tokens": tokens,
    }


def post_processors():
    unk = ["<unk>", 0]
    yield template("<unk>", 0)
    for name in ["BertProcessing", "RobertaProcessing"]:
        flags = {"trim_offsets": True, "add_prefix_space": True} if name[0] == "R" else {}
        yield {"type": name, "sep": unk, "cls": unk, **flags}
    for prefix in [True, False]:
        yield byte_level(prefix, True)
        yield {"type": "Sequence", "processors": [byte_level(prefix, True), template("<unk>", 0)]}
        yield {"type": "Sequence", "processors": [template("<unk>", 0), byte_level(prefix, True)]}
    roberta = {
        "type": "RobertaProcessing",
        "sep": unk,
        "cls": unk,
        "trim_offsets": False,
        "add_prefix_space": True,
    }
    yield {"type": "Sequence", "processors": [roberta, byte_level(True, True)]}


def configs():
    def config(**parts):
        base = {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            "normalizer": None,
            "pre_tokenizer": None,
        }
        return {
            **base,
            "post_processor": None,
            "decoder": {"type": "Fuse"},
            "model": character_model(),
            **parts,
        }

    size = len(character_model()["vocab"])
    flags = [{}, {"lstrip": True}, {"rstrip": True}, {"lstrip": True, "rstrip": True}, {"single_word": True}]
    tokens = [added("<A>", size), added("<B>", size + 1), added("word", size + 2)]
    yield config()
    for normalizer in normalizers():
        yield config(normalizer=normalizer)
    for pre_tokenizer in pre_tokenizers():
        yield config(pre_tokenizer=pre_tokenizer)
        if pre_tokenizer["type"] in ("Metaspace", "ByteLevel"):
            yield config(pre_tokenizer=pre_tokenizer, added_tokens=tokens, normalizer={"type": "NFKD"})
    for flag in flags:
        for normalized in [True, False]:
            listed = [{**token, **flag, "normalized": normalized} for token in tokens]
            for normalizer in [None, {"type": "Prepend", "prepend": META}, {"type": "Lowercase"}]:
                yield config(added_tokens=listed, normalizer=normalizer)
    for post_processor in post_processors():
        yield config(
            post_processor=post_processor,
            pre_tokenizer=byte_level(True, True),
            added_tokens=[{**tokens[0], "lstrip": True}, tokens[1]],
        )
        yield config(
            post_processor=post_processor, pre_tokenizer={"type": "Whitespace"}, normalizer={"type": "NFC"}
        )
    for options in [
        {"fuse_unk": True}, {"unk_token": None}, {"byte_fallback": True}, {"byte_fallback": True, "fuse_unk": True}, {"byte_fallback": True, "unk_token": None},
        {"end_of_word_suffix": "</w>"}, {"continuing_subword_prefix": "##", "merges": []}, {"ignore_merges": True},
    ]:  # fmt: skip
        yield config(model=character_model(**options))
        yield config(model=character_model(**options), pre_tokenizer=byte_level(False, True))
        yield config(model=character_model(**options), pre_tokenizer={"type": "Whitespace"})
    for decoder in decoders():
        yield config(decoder=decoder, post_processor=template("<unk>", 0))


def decoders():
    fallback, fuse = {"type": "ByteFallback"}, {"type": "Fuse"}
    yield from [
        None,
        fallback,
        fuse,
        metaspace("always", True, "a"),
        metaspace("never", True, "a"),
        byte_level(True, True),
        {"type": "BPEDecoder", "suffix": "</w>"},
    ]
    yield from [replace({"String": "a"}, " "), replace({"Regex": "[ab]"}, "")]
    strip = {"type": "Strip", "content": "a", "start": 2, "stop": 0}
    for steps in [
        [replace({"String": "a"}, "  "), fallback, fuse, {**strip, "content": " "}],
        [fallback, strip],
        [fuse, strip],
        [fuse, {**strip, "start": 0, "stop": 1}],
        [fuse, replace({"String": "aa"}, "b")],
        [metaspace("first", True, "a"), fallback, fuse],
    ]:
        yield {"type": "Sequence", "decoders": steps}


def encodings(tokenizer, texts):
    for text in texts:
        encoding = tokenizer.encode(text)
        yield {"text": text, "ids": encoding.ids, "offsets": [list(span) for span in encoding.offsets]}


def decodings(tokenizer, rng, count):
    vocab = tokenizer.get_vocab()
    favourites = [
        vocab[t] for t in ("a", "b", "ab", "<0xC3>", "<0xA9>", "a</w>", "<unk>", "\u0120") if t in vocab
    ]
    for _ in range(count):
        ids = [
            rng.choice(favourites) if favourites and rng.random() < 0.7 else rng.choice(list(vocab.values()))
            for _ in range(rng.randint(1, 7))
        ]
        yield {"ids": ids, "text": tokenizer.decode(ids, skip_special_tokens=False)}


def write_jsonl(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [{"tokenizers": tokenizers.__version__}, *records]
    dumped = [json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines]
    path.write_text("\n".join(dumped) + "\n", encoding="utf-8")


def components():
    rng = random.Random(3)
    model = character_model()
    yield {"model": model}
    for config in configs():
        tokenizer = Tokenizer.from_str(json.dumps(config))
        decoding = list(decodings(tokenizer, rng, 12 if config["decoder"] != {"type": "Fuse"} else 2))
        own = {key: value for key, value in config["model"].items() if model[key] != value}
        record = {key: value for key, value in config.items() if value and key not in ("model", "version")}
        yield {
            "config": {**record, "model": own},
            "cases": list(encodings(tokenizer, TEXTS)),
            "decodings": decoding,
        }


def fuzz_seeds():
    """Small files with every component, each with a text: what tests/fuzz/tokenizer_fuzz.cpp takes."""
    vocab = {
        t: i
        for i, t in enumerate(
            ["<unk>", "a", "b", "ab", META, "<0xC3>", "<0xA9>", " ", "\u0120", "##b", "a</w>"]
        )
    }
    for i, config in enumerate(configs()):
        model = {**config["model"], "vocab": vocab}
        tokens = [{**token, "id": len(vocab) + j} for j, token in enumerate(config["added_tokens"])]
        named = {"eos_token": "<unk>", "added_tokens_decoder": {"0": {"content": "<unk>", "special": True}}}
        parts = [{**config, "model": model, "added_tokens": tokens}, named if i % 3 == 0 else {}]
        yield "\0".join([*(json.dumps(part, separators=(",", ":")) for part in parts), TEXTS[i % len(TEXTS)]])


def main():
    folder = ROOT / "tests/fuzz/seeds/tokenizer"
    folder.mkdir(parents=True, exist_ok=True)
    for i, seed in enumerate(fuzz_seeds()):
        (folder / f"{i:03}").write_text(seed, encoding="utf-8")
    write_jsonl(OUTPUT / "components.jsonl", components())
    rng = random.Random(5)
    texts = [*TEXTS, *tokenizer_texts.fragments(90, seed=9)]
    for name in tokenizer_shapes.SHAPES:
        config = tokenizer_shapes.build(name, CORPUS * 3, 600)
        tokenizer = tokenizer_shapes.write(config, OUTPUT / "shapes" / name)
        cases = [*encodings(tokenizer, texts), *decodings(tokenizer, rng, 60)]
        write_jsonl(OUTPUT / "shapes" / name / "cases.jsonl", cases)


if __name__ == "__main__":
    main()
