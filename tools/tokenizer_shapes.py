"""Small tokenizers in the shapes of published families, trained with Hugging Face's tokenizers.

build(name, corpus, vocab_size) gives the content of a tokenizer.json.
"""

import json

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

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LETTERS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
PATTERNS = {
    "qwen2": rf"{CONTRACTIONS}|{LETTERS}|\p{{N}}{REST}",
    "llama3": rf"{CONTRACTIONS}|{LETTERS}|\p{{N}}{{1,3}}{REST}",
    "o200k": "|".join(
        [
            rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]*[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]+{CONTRACTIONS}?",
            rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]+[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]*{CONTRACTIONS}?",
            r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ]
    ),
    "deepseek": (
        r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
        r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
}
SPACE = "\u2581"


def special(content, **flags):
    return AddedToken(content, **{"normalized": False, "special": True, **flags})


def train(tokenizer, corpus, vocab_size, special_tokens=(), alphabet=()):
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        initial_alphabet=sorted(alphabet),
        special_tokens=list(special_tokens),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus, trainer)
    return tokenizer


def byte_level(corpus, vocab_size, normalizer, splits, ignore_merges=False):
    """`splits` come before the byte-level step; none means its own pattern."""
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not splits)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*splits, last]) if splits else last
    tokenizer.decoder = decoders.ByteLevel()
    return train(tokenizer, corpus, vocab_size, alphabet=pre_tokenizers.ByteLevel.alphabet())


def isolated(pattern):
    return pre_tokenizers.Split(Regex(pattern), "isolated")


def gpt2(corpus, vocab_size):
    tokenizer = byte_level(corpus, vocab_size, None, [])
    tokenizer.add_tokens([special("<|endoftext|>", normalized=True), special("<mask>", lstrip=True)])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    return json.loads(tokenizer.to_str())


def qwen2(corpus, vocab_size):
    tokenizer = byte_level(corpus, vocab_size, normalizers.NFC(), [isolated(PATTERNS["qwen2"])])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.add_tokens([special(s) for s in ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]])
    tokenizer.add_tokens([special(s, special=False) for s in ["<tool_call>", "<think>", "</think>"]])
    return json.loads(tokenizer.to_str())


def llama3(corpus, vocab_size):
    tokenizer = byte_level(corpus, vocab_size, None, [isolated(PATTERNS["llama3"])], ignore_merges=True)
    tokenizer.add_tokens([special(s) for s in ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"]])
    bos = ("<|begin_of_text|>", tokenizer.token_to_id("<|begin_of_text|>"))
    template = processors.TemplateProcessing(
        single=f"{bos[0]} $A", pair=f"{bos[0]} $A {bos[0]}:1 $B:1", special_tokens=[bos]
    )
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), template])
    config = json.loads(tokenizer.to_str())
    # Without every fifth merge some words are reachable by ignore_merges only.
    merges = config["model"]["merges"]
    config["model"]["merges"] = [merge for i, merge in enumerate(merges) if i % 5 != 4]
    return config


def o200k(corpus, vocab_size):
    tokenizer = byte_level(corpus, vocab_size, None, [isolated(PATTERNS["o200k"])])
    tokenizer.add_tokens([special(s) for s in ["<|endoftext|>", "<|endofprompt|>"]])
    return json.loads(tokenizer.to_str())


def deepseek(corpus, vocab_size):
    splits = [
        isolated(r"\p{N}{1,3}"),
        isolated("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"),
        isolated(PATTERNS["deepseek"]),
    ]
    tokenizer = byte_level(corpus, vocab_size, normalizers.Sequence([]), splits)
    bar = "\uff5c"
    names = [
        f"<{bar}begin\u2581of\u2581sentence{bar}>",
        f"<{bar}end\u2581of\u2581sentence{bar}>",
        f"<{bar}User{bar}>",
    ]
    tokenizer.add_tokens([special(name) for name in names])
    bos = (names[0], tokenizer.token_to_id(names[0]))
    template = processors.TemplateProcessing(
        single=f"{bos[0]} $A", pair=f"{bos[0]} $A $B:1", special_tokens=[bos]
    )
    tokenizer.post_processor = template
    return json.loads(tokenizer.to_str())


def all_merges(vocab):
    """Every way to make a token of two others, as files converted from sentencepiece list them."""
    merges = []
    for token in sorted(vocab, key=vocab.get):
        pairs = [(token[:i], token[i:]) for i in range(1, len(token))]
        pairs = [(left, right) for left, right in pairs if left in vocab and right in vocab]
        merges += sorted(pairs, key=lambda pair: (vocab[pair[0]], vocab[pair[1]]))
    return [list(pair) for pair in merges]


def characters(corpus, vocab_size, specials, bos, extra=()):
    """A vocabulary as sentencepiece's: special tokens, 256 bytes, pieces; no merge joins two words."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="always")
    common = set("".join(corpus)[:200_000]) - set("\t\r\u6797\u672c")
    bounded = ["".join(c for c in text if c in common) for text in corpus]
    train(trained, bounded, vocab_size - 256 - len(specials))
    fixed = [*specials, *(f"<0x{byte:02X}>" for byte in range(256)), *extra]
    pieces = sorted(trained.get_vocab(), key=trained.get_vocab().get)
    vocab = {token: i for i, token in enumerate([*fixed, *(p for p in pieces if p not in fixed)])}
    # "<0x0A>" begins like text that merges could make, but no file has merges of its characters.
    merges = [m for m in all_merges(vocab) if "".join(m) not in fixed or "".join(m) in extra]
    model = models.BPE(
        vocab=vocab, merges=[tuple(m) for m in merges], unk_token="<unk>", fuse_unk=True, byte_fallback=True
    )
    tokenizer = Tokenizer(model)
    tokenizer.add_special_tokens([special(s) for s in specials])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A", pair=f"{bos} $A {bos}:1 $B:1", special_tokens=[(bos, vocab[bos])]
    )
    return tokenizer


def llama2(corpus, vocab_size):
    tokenizer = characters(corpus, vocab_size, ["<unk>", "<s>", "</s>"], "<s>")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])
    strip = decoders.Strip(content=" ", left=1, right=0)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), strip]
    )
    config = json.loads(tokenizer.to_str())
    for token in config["added_tokens"]:
        token["normalized"] = True  # as Llama-2's file says
    return config


def mistral(corpus, vocab_size):
    tokenizer = characters(corpus, vocab_size, ["<unk>", "<s>", "</s>", "[INST]", "[/INST]"], "<s>")
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="first", split=False)
    strip = decoders.Strip(content=" ", left=1, right=0)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), strip]
    )
    return json.loads(tokenizer.to_str())


def gemma(corpus, vocab_size):
    runs = [SPACE * n for n in range(2, 17)] + ["\n" * n for n in range(1, 9)] + ["\t", "\t\t"]
    tokenizer = characters(corpus, vocab_size, ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"], "<bos>", runs)
    tokenizer.add_tokens(
        [special(s, special=False) for s in ["<start_of_turn>", "<end_of_turn>", "\n\n\n", "</h1>"]]
    )
    tokenizer.normalizer = normalizers.Replace(" ", SPACE)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    return json.loads(tokenizer.to_str())


def unsplit(corpus, vocab_size):
    """Characters without any pre-tokenizer in training either: tokens reach across words, unknown ones are fused."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    common = set("".join(corpus)[:20_000])
    bounded = ["".join(c for c in line if c in common) for text in corpus for line in text.splitlines()]
    train(tokenizer, bounded, vocab_size, [special("<unk>")])
    tokenizer.decoder = decoders.Fuse()
    return json.loads(tokenizer.to_str())


SHAPES = {
    "gpt2": gpt2,
    "qwen2": qwen2,
    "llama3": llama3,
    "o200k": o200k,
    "deepseek": deepseek,
    "llama2": llama2,
    "mistral": mistral,
    "gemma": gemma,
    "unsplit": unsplit,
}


def build(name, corpus, vocab_size):
    return SHAPES[name](corpus, vocab_size)


def write(config, folder):
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(config, ensure_ascii=False, separators=(",", ":"))
    (folder / "tokenizer.json").write_text(text + "\n", encoding="utf-8")
    return Tokenizer.from_str(text)
