"""Games of gymnasium, whose observations and actions become text."""

import re

MARKS = re.compile(r"\x1b\[([\d;]*)m(.*?)\x1b\[0m", re.DOTALL)
LARGEST = 64  # numbers of an observation


class GymnasiumGame:
    """An environment that plays a game of gymnasium with discrete actions, whose reward is the sum of the game's rewards.

    `game` is an id such as "FrozenLake-v1", and `options` go to `gymnasium.make`; the row's columns `game` and `options` come first.
    `actions` names the actions in the order of their numbers, so that the policy may write either. `describe(observation)` turns an
    observation into text. Without it, a game that has the render mode "ansi" is drawn, and other observations are written as numbers.
    In drawings, `[x]` stands for a colored background, `<x>` for blue letters and `(x)` for others in color.
    """

    def __init__(self, game=None, actions=None, describe=None, options=None):
        self._defaults = {"game": game, "options": options or {}}
        self._names = list(actions or [])
        self._describe = describe

    @classmethod
    def rows(cls, count, seed=0, **columns):
        """Returns `count` rows whose games begin with the seed `seed`; `columns` such as `game` are in each."""
        prompt = [{"role": "user", "content": "Play this game.\n"}]
        return [{"prompt": prompt, "seed": seed + index, **columns} for index in range(count)]

    def reset(self, seed=0, game=None, options=None, **columns):
        """Begins the game of a seed and returns its first observation. Raises ValueError for games that text cannot play,
        ImportError without gymnasium."""
        gymnasium = _gymnasium()
        game = game or self._defaults["game"]
        if not game:
            raise ValueError("no game is named: give the rows a column `game`, or GymnasiumGame an id")
        options = dict(self._defaults["options"] if options is None else options)
        try:
            self._game = gymnasium.make(game, **options)
            can_draw = "ansi" in self._game.metadata.get("render_modes", ())
            if can_draw and not self._describe and "render_mode" not in options:
                self._game = gymnasium.make(game, render_mode="ansi", **options)
        except (gymnasium.error.Error, TypeError) as error:
            raise ValueError(f"gymnasium cannot make {game!r}: {str(error).splitlines()[0]}") from None
        self._is_drawn = self._game.render_mode == "ansi"
        space = self._game.action_space
        if not isinstance(space, gymnasium.spaces.Discrete):
            raise ValueError(f"{game} has actions {space}; only Discrete actions can be named")
        self._first, self._count = int(space.start), int(space.n)
        if self._names and len(self._names) != self._count:
            raise ValueError(f"{len(self._names)} actions are named; {game} has {self._count}")
        self._is_over, self._total = False, 0.0
        observation, _ = self._game.reset(seed=seed)
        numbers = f"{self._first} to {self._first + self._count - 1}"
        return f"{self._text(observation)}\nActions: {', '.join(self._names) or numbers}."

    def act(self, action: str) -> str:
        """
        Takes an action of the game and returns what follows.

        Args:
            action: The name of the action, or its number.
        """
        if self._is_over:
            return "The game is over."
        number = self._number(str(action).strip())
        if number is None:
            return f"There is no action {action}."
        observation, reward, is_ended, is_cut, _ = self._game.step(number)
        self._total += float(reward)
        self._is_over = bool(is_ended or is_cut)
        text = self._text(observation)
        return f"{text}\nThe game is over." if self._is_over else text

    def get_reward(self) -> float:
        """The sum of the game's rewards."""
        return self._total

    def _number(self, action):
        if action in self._names:
            return self._first + self._names.index(action)
        number = int(action) if re.fullmatch(r"-?\d{1,9}", action) else None
        is_known = number is not None and 0 <= number - self._first < self._count
        return number if is_known else None

    def _text(self, observation):
        if self._describe:
            return self._describe(observation)
        if self._is_drawn:
            return MARKS.sub(_mark, self._game.render()).strip("\n")
        return _words(observation)


def _mark(found):
    codes = found[1].split(";")
    if any(code[0] == "4" and len(code) == 2 for code in codes if code):
        return f"[{found[2]}]"
    return f"<{found[2]}>" if "34" in codes else f"({found[2]})"


def _words(value):
    """Numbers, texts and containers of them as text. ValueError for more than `LARGEST` numbers in one array."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return ", ".join(f"{name} {_words(item)}" for name, item in value.items())
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_words, value))})"
    if getattr(value, "ndim", 0):
        if value.size > LARGEST:
            raise ValueError(
                f"the observation has {value.size} numbers, text takes {LARGEST}: give GymnasiumGame a function `describe`"
            )
        return f"({', '.join(_words(item) for item in value)})"
    number = value.item() if hasattr(value, "item") else value
    return f"{number:.4g}" if isinstance(number, float) else str(number)


def _gymnasium():
    try:
        import gymnasium
    except ImportError:
        raise ImportError('gymnasium is not installed: pip install "cohort[gymnasium]"') from None
    return gymnasium
