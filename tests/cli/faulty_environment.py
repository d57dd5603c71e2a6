"""An environment for tests, in which some episodes misbehave: in Python, and as a program that answers JSON lines.

The column `fault` of a row says how. With "seats", the first episodes of the row alone misbehave: each episode of a row takes
the next seat in the folder SEATS. A result of the tool and the reward of an episode name its row and seat.

    python3 faulty_environment.py
"""

import json
import os
import pathlib
import subprocess
import sys
import time


def note(name):
    """Leaves a file of this name in the folder SEATS, where there is none yet."""
    (pathlib.Path(os.environ["SEATS"]) / name).touch(exist_ok=False)


def take_seat(number):
    """The place of this episode among those of its row, in the order in which they began."""
    for seat in range(1000):
        try:
            note(f"seat-{number}-{seat}")
            return seat
        except FileExistsError:
            continue
    raise AssertionError("no seat is free")


class Faulty:
    def reset(self, number=0, fault="", seats=1000, **row):
        self.number, self.seat = number, take_seat(number)
        self.fault = fault if self.seat < seats else ""
        if self.fault == "reset raises":
            raise ValueError(f"no game {number}")
        if self.fault == "reset returns a number":
            return number

    def add(self, a: int, b: int) -> str:
        """
        Adds two integers.

        Args:
            a: The first integer.
            b: The second integer.
        """
        if self.fault == "raises":
            raise ValueError(f"no sum in game {self.number}")
        if self.fault == "hangs":
            time.sleep(1000)
        if self.fault == "floods":
            return "x" * 20_000_000
        if self.fault == "prints":
            print("x" * 3_000_000)
        if self.fault == "dies":
            os._exit(3)
        if self.fault == "returns bytes":
            return b"bytes"
        if self.fault == "leaves processes":
            for command in (["sleep", "1000"], ["sh", "-c", "sleep 1000 & exec sleep 1000"]):
                note(f"left-{subprocess.Popen(command).pid}")
        if self.fault == "closes its pipes":
            os.closerange(0, 100)
            time.sleep(1000)
        return f"{self.number}.{self.seat}: {a + b}"

    def get_reward(self) -> float:
        if self.fault == "no number as reward":
            return float("nan")
        if self.fault == "a text as reward":
            return "much"
        return self.number + self.seat / 10


SCHEMA = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds two integers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
    },
}


class Program:
    """Answers the requests of docs/environments.md."""

    def __init__(self):
        self.episodes = {}

    def describe(self, request):
        note(f"described-{os.getpid()}")
        return {"tools": [SCHEMA], "episodes": True, "gives_rewards": True}

    def begin(self, request):
        game = self.episodes[request["episode"]] = Faulty()
        game.reset(**request["row"])
        return {}

    def call(self, request):
        game = self.episodes[request["episode"]]
        answer = {"content": game.add(**request["arguments"])}
        if game.fault == "changes its tools":
            renamed = {"type": "function", "function": SCHEMA["function"] | {"name": "sum"}}
            return {"tools": [renamed], "tool_error": f"game {game.number} has no tool {request['name']}"}
        if game.fault == "answers another request":
            answer["id"] = request["id"] + 1
        if game.fault == "answers a number":
            answer["content"] = 5
        if game.fault == "says an error":
            return {"error": f"game {game.number} is broken"}
        if game.fault == "writes no JSON":
            print("5")
            return None
        if game.fault == "writes two lines":
            line = json.dumps({"id": request["id"], **answer}) + "\n"
            os.write(1, 2 * line.encode())  # at once, however standard output is buffered
            return None
        return answer

    def judge(self, request):
        return {"score": self.episodes[request["episode"]].get_reward()}

    def end(self, request):
        self.episodes.pop(request["episode"], None)
        return {}


def main():
    program = Program()
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(program, request["op"])(request)
        if answer is not None:
            print(json.dumps({"id": request["id"], **answer}))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
