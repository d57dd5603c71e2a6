"""A grid of text with a key and a locked door."""

import random

PROMPT = (
    "You are A in a room of floor (.) and walls (#). Move to the key (K) and take it. "
    "Then stand beside the door (D) and open it.\n"
)
STEPS = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}


class KeyDoor:
    """An environment whose reward is 1 for the opened door, and `key_reward` for the key alone.

    The row's `seed` (an integer, 0 by default) and `size` (cells of floor on each side, 2 to 20, 5 by default) give the room. The door
    is in the wall around the floor, and `size - 2` pillars stand on the floor, never in the way of a solution. With `redraw`, replies
    draw the room again; without it they name only what changed.

    `copy.deepcopy` forks an episode. `state` is a text that is equal for equal states; `a` stands for A on the key.
    """

    def __init__(self, key_reward: float = 0.25, redraw: bool = True):
        self._key_reward = key_reward
        self._redraw = redraw

    @classmethod
    def rows(cls, count, seed=0, size=5):
        """Returns `count` rows whose rooms begin with the seed `seed`."""
        prompt = [{"role": "user", "content": PROMPT}]
        return [{"prompt": prompt, "seed": seed + index, "size": size} for index in range(count)]

    def reset(self, seed=0, size=5, **columns):
        """Makes the room of a seed and returns its drawing. Raises ValueError for a size that is out of range."""
        if not isinstance(size, int) or not 2 <= size <= 20:
            raise ValueError(f"size is {size!r}; it must be an integer between 2 and 20")
        generator = random.Random(f"key-door {seed} {size}")
        while not self._place(generator, size):
            pass
        self._has_key = self._is_open = False
        return self._drawing()

    def move(self, direction: str) -> str:
        """
        Moves one cell.

        Args:
            direction: Where to. (choices: ["north", "east", "south", "west"])
        """
        if direction not in STEPS:
            return self._reply(f"There is no direction {direction}.")
        cell = _beside(self._agent, direction)
        if cell == self._door and self._is_open:
            return self._reply("You are done: the door is open.")
        if cell == self._door:
            return self._reply("The door is locked.")
        if not self._is_floor(cell):
            return self._reply("There is a wall.")
        self._agent = cell
        here = " The key is here." if cell == self._key and not self._has_key else ""
        return self._reply(f"You moved {direction}.{here}")

    def take(self) -> str:
        """
        Takes the key in your cell.
        """
        if self._has_key:
            return self._reply("You have the key already.")
        if self._agent != self._key:
            return self._reply("There is no key here.")
        self._has_key = True
        return self._reply("You have the key.")

    def open(self) -> str:
        """
        Opens the door beside you with the key.
        """
        if self._is_open:
            return self._reply("The door is open already.")
        if self._door not in _neighbors(self._agent):
            return self._reply("There is no door beside you.")
        if not self._has_key:
            return self._reply("The door is locked, and you have no key.")
        self._is_open = True
        return self._reply("The door is open. You are done.")

    def get_reward(self) -> float:
        """1 for the opened door, `key_reward` for the key alone, 0 without it."""
        return 1.0 if self._is_open else self._key_reward if self._has_key else 0.0

    @property
    def state(self):
        """The drawing of the room, which shows the agent, key and door."""
        return self._drawing()

    def _place(self, generator, size):
        """Whether a random room can be solved."""
        self._size = size
        cells = [(row, column) for row in range(size) for column in range(size)]
        self._pillars = frozenset()
        self._door = generator.choice(
            [
                cell
                for place in range(size)
                for cell in ((-1, place), (place, -1), (size, place), (place, size))
            ]
        )
        self._agent, self._key, *pillars = generator.sample(cells, size)
        self._pillars = frozenset(pillars)
        return _path(self, self._key) is not None and _path(self, self._door) is not None

    def _is_floor(self, cell):
        return all(0 <= place < self._size for place in cell) and cell not in self._pillars

    def _reply(self, text):
        return f"{text}\n{self._drawing()}" if self._redraw else text

    def _drawing(self):
        places = range(-1, self._size + 1)
        return "\n".join("".join(self._letter((row, column)) for column in places) for row in places)

    def _letter(self, cell):
        if cell == self._agent:
            return "A" if self._has_key or cell != self._key else "a"
        if cell == self._door:
            return "O" if self._is_open else "D"
        if not self._is_floor(cell):
            return "#"
        return "K" if cell == self._key and not self._has_key else "."


def solution(environment):
    """Returns the shortest calls that open the door, as pairs of a tool's name and its arguments."""
    calls = []
    start = environment._agent
    if environment._is_open:
        return calls
    if not environment._has_key:
        calls += _moves(_path(environment, environment._key)) + [("take", {})]
        start = environment._key
    return calls + _moves(_path(environment, environment._door, start)[:-1]) + [("open", {})]


def _moves(path):
    return [("move", {"direction": direction}) for direction in path]


def _path(environment, goal, start=None):
    """The shortest directions from `start` (the agent's cell) to `goal`; None if there are none."""
    start = environment._agent if start is None else start
    paths, waiting = {start: []}, [start]
    for cell in waiting:
        if cell == goal:
            return paths[cell]
        for direction in STEPS:
            other = _beside(cell, direction)
            if other not in paths and (other == goal or environment._is_floor(other)):
                paths[other] = [*paths[cell], direction]
                waiting.append(other)
    return None


def _beside(cell, direction):
    return cell[0] + STEPS[direction][0], cell[1] + STEPS[direction][1]


def _neighbors(cell):
    return [_beside(cell, direction) for direction in STEPS]
