"""Rooms with a key and a door: rows for `cohort sft`, and for `cohort train` with the environment KeyDoor.

PYTHONPATH=python python3 recipes/key_door/data.py FOLDER [--seed 1] [--slip 0.25]

Writes warm.jsonl (episodes of a player that knows the shortest way and takes a random step with the probability `slip`), train.jsonl and
test.jsonl (one room in four, none of which is in the other files).
"""

import argparse
import copy
import json
import pathlib
import random

from cohort.environments import KeyDoor, conversation
from cohort.environments.key_door import STEPS, solution
from environment import Room

MAX_CALLS = 6


def slipping(slip):
    """A player that is asked for all calls of an episode: it plays them on a copy."""

    def play(room):
        room, calls = copy.deepcopy(room), []
        while (best := solution(room)) and len(calls) < MAX_CALLS:
            name, arguments = best[0]
            if random.random() < slip:
                name, arguments = "move", {"direction": random.choice(list(STEPS))}
            getattr(room, name)(**arguments)
            calls.append((name, arguments))
        return calls

    return play


def rooms(size, count):
    """Rows of rooms that all differ, at most `count`."""
    found = {}
    for row in KeyDoor.rows(20 * count, size=size):
        found.setdefault(Room().reset(**row), row)
    return list(found.values())[:count]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slip", type=float, default=0.25)
    options = parser.parse_args()
    random.seed(options.seed)
    options.folder.mkdir(parents=True, exist_ok=True)

    def write(name, rows):
        (options.folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    rows = [{**row, "prompt": [{"role": "user", "content": "\n"}]} for row in rooms(2, 2000)]
    test, train = rows[::4], [row for place, row in enumerate(rows) if place % 4]
    write("train.jsonl", train)
    write("test.jsonl", test)
    played = [random.choice(train) for _ in range(3000)]
    write("warm.jsonl", [{"messages": conversation(Room(), row, slipping(options.slip))} for row in played])


if __name__ == "__main__":
    main()
