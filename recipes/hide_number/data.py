"""Games of hiding and finding a number: rows for `cohort sft` and for `cohort adversarial-train`.

python3 recipes/hide_number/data.py FOLDER [--seed 1] [--high 32]

Writes warm.jsonl (numbers that a player hides anywhere, and games of a player that guesses anywhere between the bounds it
knows), train.jsonl (prompts of both policies) and find.jsonl (prompts of the defender alone, for `cohort eval`).
"""

import argparse
import json
import pathlib
import random


def user(text):
    return {"role": "user", "content": text}


def hidden(high):
    return [user(f"hide 1 to {high}"), {"role": "assistant", "content": str(random.randint(1, high))}]


def found(high):
    """A game that ends with the number, or after eight turns."""
    number, low, top, messages = random.randint(1, high), 1, high, [user(f"1 to {high}")]
    for _ in range(8):
        guess = random.randint(low, top)
        messages.append({"role": "assistant", "content": str(guess)})
        if guess == number:
            break
        messages.append(user("higher" if guess < number else "lower"))
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

    high = options.high
    games = [{"messages": (hidden if i % 4 == 0 else found)(high)} for i in range(5000)]
    write("warm.jsonl", games)
    row = {"low": 1, "high": high}
    hide, find = [user(f"hide 1 to {high}")], [user(f"1 to {high}")]
    write("train.jsonl", [{"prompt": hide, "defender_prompt": find} | row] * 64)
    write("find.jsonl", [{"prompt": find} | row] * 256)


if __name__ == "__main__":
    main()
