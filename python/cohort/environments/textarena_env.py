"""Games of TextArena for one player."""

import random


class TextArenaGame:
    """An environment that plays a TextArena game for one player, whose reward is the one that the game gives.

    `game` is an id such as "GuessTheNumber-v0", and `options` go to `textarena.make`; the row's columns `game` and `options` come first.
    A game that is not over gives 0. Replies hold only what the game says since the last move: the variant "-raw" of a game is played
    where there is one. TextArena draws from Python's global generator; each episode keeps a state of its own.
    """

    def __init__(self, game=None, options=None):
        self._defaults = {"game": game, "options": options or {}}

    @classmethod
    def rows(cls, count, seed=0, **columns):
        """Returns `count` rows whose games begin with the seed `seed`; `columns` such as `game` are in each."""
        prompt = [{"role": "user", "content": "Play this game.\n"}]
        return [{"prompt": prompt, "seed": seed + index, **columns} for index in range(count)]

    def reset(self, seed=0, game=None, options=None, **columns):
        """Begins the game of a seed and returns its instructions. Raises ValueError for unknown games and games for several players,
        ImportError without textarena."""
        textarena = _textarena()
        game = game or self._defaults["game"]
        if not game:
            raise ValueError("no game is named: give the rows a column `game`, or TextArenaGame an id")
        options = self._defaults["options"] if options is None else options
        self._draws = random.Random(seed).getstate()
        raw = f"{game}-raw"
        with _Draws(self):
            try:
                self._game = textarena.make(
                    raw if raw in textarena.envs.registration.ENV_REGISTRY else game, **options
                )
                self._game.reset(num_players=1, seed=seed)
            except LookupError:
                raise ValueError(
                    f"{game} needs a word list of NLTK: run `python -m nltk.downloader words averaged_perceptron_tagger_eng`"
                ) from None
            except AssertionError as error:
                raise ValueError(f"{game} is no game for one player: {error}") from None
            return self._observation()

    def act(self, text: str) -> str:
        """
        Makes a move of the game and returns what follows.

        Args:
            text: The move, as the game's instructions say.
        """
        if self._game.state.done:
            return "The game is over."
        with _Draws(self):
            is_over, _ = self._game.step(text)
            if not is_over:
                return self._observation()
        reason = str(self._game.state.game_info[0].get("reason", "")).strip()
        return f"{reason}\nThe game is over.".strip()

    def get_reward(self) -> float:
        """The game's reward once it is over, else 0."""
        rewards = self._game.state.rewards if self._game.state.done else None
        return float((rewards or {}).get(0, 0.0))

    def _observation(self):
        _, observation = self._game.get_observation()
        if isinstance(observation, str):
            return observation
        own = _textarena().ObservationType.PLAYER_ACTION
        return "\n".join(message for _, message, kind in observation if kind != own)


class _Draws:
    """Gives an episode its own state of Python's global generator."""

    def __init__(self, episode):
        self.episode = episode

    def __enter__(self):
        self.others = random.getstate()
        random.setstate(self.episode._draws)

    def __exit__(self, *error):
        self.episode._draws = random.getstate()
        random.setstate(self.others)


def _textarena():
    try:
        import textarena
    except ImportError:
        raise ImportError('textarena is not installed: pip install "cohort[textarena]"') from None
    return textarena
