"""Games of number guessing: rows for `cohort sft` and for `cohort train` with the environment guess_number.

python3 recipes/guess_number/data.py FOLDER [--seed 1] [--high 32]

Writes warm.jsonl (games of a player that stays within the bounds it knows and guesses anywhere between them), train.jsonl
and test.jsonl (prompts; a game's number depends on the run's seed and step).
"""

import argparse
import json
import pathlib
import random


def prompt(high):
    return [{"role": "user", "content": f"1 to {high}"}]


def game(high):
    """A game that ends with the number, or after eight turns."""
    number, low, top, messages = random.randint(1, high), 1, high, prompt(high)
    for _ in range(8):
        guess = random.randint(low, top)
        messages.append({"role": "assistant", "content": str(guess)})
        if guess == number:
            break
        messages.append({"role": "user", "content": "higher" if guess < number else "lower"})
        low, top = (guess + 1, top) if guess < number else (low, guess - 1)
    else:
        messages.pop()
    return messages


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--high", type=int, default=32)
    options = parser.parse_args()
    random.seed(options.seed)
    options.folder.mkdir(parents=True, exist_ok=True)

    def write(name, rows):
        (options.folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    write("warm.jsonl", [{"messages": game(options.high)} for _ in range(4000)])
    row = {"prompt": prompt(options.high), "low": 1, "high": options.high}
    write("train.jsonl", [row] * 64)
    write("test.jsonl", [row] * 1024)


if __name__ == "__main__":
    main()
