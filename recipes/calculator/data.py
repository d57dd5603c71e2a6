"""Products of numbers that a small model cannot compute alone: rows for `cohort sft` and for `cohort train` with a calculator.

python3 recipes/calculator/data.py FOLDER [--seed 1] [--tool-share 0.3] [--with-tools]

Writes warm.jsonl (conversations: the share `tool-share` calls the calculator, the others state the product at once),
train.jsonl and test.jsonl (prompts with answers; no product is in two files). With --with-tools, the rows of warm.jsonl have the
column `tools`, for chat templates that show it.
"""

import argparse
import json
import pathlib
import random

# As the tool `calculator` describes itself.
CALCULATOR = {
    "type": "function",
    "function": {
        "name": "calculator",
        "description": "Computes an arithmetic expression and returns its value.",
        "parameters": {
            "type": "object",
            "required": ["expression"],
            "additionalProperties": False,
            "properties": {
                "expression": {
                    "type": "string",
                    "description": "Integers with + - * / and parentheses, such as (12 + 7) * 3.",
                }
            },
        },
    },
}


def prompt(one, other):
    return [{"role": "user", "content": f"{one} * {other} ="}]


def conversation(one, other, with_tool):
    product = str(one * other)
    if not with_tool:
        return [*prompt(one, other), {"role": "assistant", "content": product}]
    function = {"name": "calculator", "arguments": {"expression": f"{one} * {other}"}}
    return [
        *prompt(one, other),
        {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function}]},
        {"role": "tool", "name": "calculator", "content": product},
        {"role": "assistant", "content": product},
    ]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tool-share", type=float, default=0.3)
    parser.add_argument("--with-tools", action="store_true")
    options = parser.parse_args()
    random.seed(options.seed)
    pairs = [(one, other) for one in range(11, 100) for other in range(101, 1000, 7)]
    random.shuffle(pairs)
    test, warm, train = pairs[:256], pairs[256:4256], pairs[4256:]
    options.folder.mkdir(parents=True, exist_ok=True)

    def write(name, rows):
        (options.folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    columns = {"tools": [CALCULATOR]} if options.with_tools else {}
    shares = [random.random() < options.tool_share for _ in warm]
    write(
        "warm.jsonl",
        [
            {"messages": conversation(*pair, with_tool), **columns}
            for pair, with_tool in zip(warm, shares, strict=True)
        ],
    )
    for name, part in (("train.jsonl", train), ("test.jsonl", test)):
        write(name, [{"prompt": prompt(*pair), "answer": str(pair[0] * pair[1])} for pair in part])


if __name__ == "__main__":
    main()
