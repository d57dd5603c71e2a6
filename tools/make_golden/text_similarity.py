"""Writes tests/rewards/golden/text_similarity.jsonl with the reference libraries.

Needs sacrebleu 2.6.0, rouge-score 0.1.2 and RapidFuzz 3.14.5: values / 100 where the library counts in percent.
"""

import json
import pathlib
import random

from rapidfuzz import fuzz
from rouge_score import rouge_scorer
from sacrebleu.metrics import BLEU, CHRF

PATH = pathlib.Path(__file__).resolve().parents[2] / "tests/rewards/golden/text_similarity.jsonl"

WORDS = (
    "the cat sat on a mat, and then... it ran off! 3.14 1,000 -5 e-mail U.S. isn't naïve Москва 東京 &amp; (x+y)=z "
    '50% $9.99 10-12 \u2014 "quoted" <b>bold</b> a/b c:d; é'
).split(" ")
BY_HAND = [
    ("", "a reference"),
    ("word", "word"),
    ("Word", "word"),
    ("the cat", "the cat sat on the mat"),
    ("the the the the the the the", "the cat is on the mat"),
    ("the cat sat on the mat", "the cat"),
    ("nothing in common", "quite different"),
    ("line one-\nline two", "line oneline two"),
    ("1.5, 2.5-3", "1.5, 2.5 - 3"),
    ("a.b,c", "a . b , c"),
    ("...", "..."),
    ("\u3000wide\u00a0space\u2003here ", "wide space here"),
    ("emoji 👍🏽 ok", "emoji 👍 ok"),
    ("a,.b", "a, .b"),
    ("x" * 200, "x" * 150 + "y" * 50),
]


def draw(generator):
    words = [generator.choice(WORDS) for _ in range(generator.randint(1, 40))]
    other = [word for word in words if generator.random() < 0.7]
    for _ in range(generator.randint(0, 6)):
        other.insert(generator.randint(0, len(other)), generator.choice(WORDS))
    return " ".join(words), " ".join(other) or "empty"


def main():
    generator = random.Random(5)
    rouge = rouge_scorer.RougeScorer(["rougeL"], use_stemmer=False)
    bleu, chrf = BLEU(effective_order=True), CHRF()
    with open(PATH, "w") as file:
        for text, reference in [*BY_HAND, *(draw(generator) for _ in range(150))]:
            row = {
                "text": text,
                "reference": reference,
                "rouge_l": rouge.score(reference, text)["rougeL"].fmeasure,
                "fuzzy_match": fuzz.ratio(text, reference) / 100,
                "bleu": bleu.sentence_score(text, [reference]).score / 100,
                "chrf": chrf.sentence_score(text, [reference]).score / 100,
            }
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
