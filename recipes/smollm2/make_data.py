"""Writes sums and differences of two numbers, made by reasoning-gym, as conversations.

python recipes/smollm2/make_data.py --count 4000 --seed 1 --output train.jsonl
"""

import argparse
import json

import reasoning_gym


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--count", type=int, default=4000, help="problems to make")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other problems")
    parser.add_argument("--exclude", help="a file of this script; its problems are left out")
    parser.add_argument("--output", required=True, help="the JSONL file to write")
    options = parser.parse_args()
    seen = set()
    if options.exclude:
        with open(options.exclude, encoding="utf-8") as file:
            seen = {json.loads(line)["entry"]["question"] for line in file}
    problems = reasoning_gym.create_dataset(
        "chain_sum",
        min_terms=2,
        max_terms=2,
        min_digits=1,
        max_digits=2,
        size=options.count,
        seed=options.seed,
    )
    with open(options.output, "w", encoding="utf-8") as file:
        for entry in problems:
            if entry["question"] in seen:
                continue
            prompt = [{"role": "user", "content": entry["question"]}]
            file.write(json.dumps({"prompt": prompt, "entry": entry}) + "\n")


if __name__ == "__main__":
    main()
