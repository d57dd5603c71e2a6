"""cohort.environments.gymnasium_env and textarena_env, with games of gymnasium and TextArena, and schema_tools.

COHORT=build/cohort .venv-test/bin/python tests/python/test_environment_adapters.py
"""

import pathlib
import random
import re
import sys
import tempfile
import unittest
from unittest import mock

import gymnasium
import numpy as np
from environment_run import ROOT, train

sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(ROOT / "apps/python"))
from cohort.environments.gymnasium_env import GymnasiumGame  # noqa: E402
from cohort.environments.schema_tools import tool_method  # noqa: E402
from cohort.environments.textarena_env import TextArenaGame  # noqa: E402
from tool_schema import schema_of  # noqa: E402
from transformers.utils import get_json_schema  # noqa: E402

LAKE = ["left", "down", "right", "up"]


class Corridor(gymnasium.Env):
    """A text, an array and a pair, and actions from 1: what the games of gymnasium itself do not have."""

    action_space = gymnasium.spaces.Discrete(2, start=1)
    render_mode = None

    def __init__(self, width=3):
        if width < 1:
            raise TypeError("no\nwidth")
        spaces = gymnasium.spaces
        self.width = width
        self.observation_space = spaces.Dict(
            word=spaces.Text(9),
            box=spaces.Box(0, 1, (width,), np.float64),
            pair=spaces.Tuple((spaces.Discrete(5), spaces.Box(0, 5, (), np.float64))),
        )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observed(), {}

    def step(self, action):
        return self.observed(), float(action), False, action == 2, {}

    def observed(self):
        return {"word": "north", "box": np.full(self.width, 0.123456), "pair": (np.int64(3), np.array(2.0))}


gymnasium.register("Corridor-v0", Corridor)


class GymnasiumTest(unittest.TestCase):
    def test_a_lake_is_crossed_by_hand(self):
        game = GymnasiumGame("FrozenLake-v1", LAKE, options={"is_slippery": False})
        self.assertEqual(game.reset(), "[S]FFF\nFHFH\nFFFH\nHFFG\nActions: left, down, right, up.")
        self.assertEqual(game.act("down"), "  (Down)\nSFFF\n[F]HFH\nFFFH\nHFFG")
        self.assertEqual(game.act("south"), "There is no action south.")
        for action in ("1", " right ", "right", "down"):
            game.act(action)
        self.assertEqual(game.get_reward(), 0.0)
        self.assertEqual(game.act("right"), "  (Right)\nSFFF\nFHFH\nFFFH\nHFF[G]\nThe game is over.")
        self.assertEqual((game.get_reward(), game.act("left")), (1.0, "The game is over."))

    def test_rewards_are_those_of_gymnasium(self):
        for name, column in (
            ("Taxi-v4", {}),
            ("Blackjack-v1", {}),
            ("CartPole-v1", {"options": {"sutton_barto_reward": True}}),
        ):
            for seed in range(5):
                own = gymnasium.make(name, **column.get("options", {}))
                own.reset(seed=seed)
                game, generator, total, is_over = GymnasiumGame(), random.Random(seed), 0.0, False
                game.reset(seed=seed, game=name, **column)
                while not is_over:
                    action = generator.randrange(own.action_space.n)
                    _, reward, is_ended, is_cut, _ = own.step(action)
                    is_over, total = is_ended or is_cut, total + reward
                    self.assertEqual(game.act(str(action)).endswith("The game is over."), is_over)
                self.assertEqual(game.get_reward(), total)

    def test_colors_are_marked(self):
        text = GymnasiumGame("Taxi-v4").reset(seed=3)
        drawing = re.sub(r"[\[\]<>()]", "", text.split("\nActions")[0])
        self.assertEqual(drawing.split("\n")[0], "+---------+")
        self.assertEqual(
            [len(re.findall(mark, text)) for mark in (r"\[.\]", r"<[RGYB]>", r"\([RGYB]\)")], [1, 1, 1]
        )

    def test_observations_become_text(self):
        game = GymnasiumGame("Corridor-v0")
        shown = "word north, box (0.1235, 0.1235, 0.1235), pair (3, 2)"
        self.assertEqual(game.reset(), f"{shown}\nActions: 1 to 2.")
        self.assertEqual([game.act("0"), game.act("1")], ["There is no action 0.", shown])
        self.assertEqual(game.act("2"), f"{shown}\nThe game is over.")
        self.assertEqual(game.get_reward(), 3.0)
        named = GymnasiumGame("Corridor-v0", ["stay", "leave"], describe=lambda seen: seen["word"])
        self.assertEqual(named.reset(), "north\nActions: stay, leave.")
        self.assertEqual(named.act("leave"), "north\nThe game is over.")

    def test_games_that_text_cannot_play_are_refused(self):
        for arguments, message in [
            ({}, "no game is named: give the rows a column `game`"),
            ({"game": "Frozen-v1"}, "gymnasium cannot make 'Frozen-v1': Environment `Frozen` doesn't exist"),
            ({"game": "FrozenLake-v1", "options": {"ice": 1}}, "gymnasium cannot make 'FrozenLake-v1': "),
            ({"game": "Corridor-v0", "options": {"width": 0}}, "gymnasium cannot make 'Corridor-v0': no"),
            ({"game": "Pendulum-v1"}, "Pendulum-v1 has actions Box(-2.0, 2.0, (1,), float32); only Discrete"),
            ({"game": "FrozenLake-v1", "actions": ["up"]}, "1 actions are named; FrozenLake-v1 has 4"),
            (
                {"game": "Corridor-v0", "options": {"width": 65}},
                "the observation has 65 numbers, text takes 64",
            ),
        ]:
            with self.subTest(message), self.assertRaises(ValueError) as caught:
                GymnasiumGame(**arguments).reset()
            self.assertIn(message, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))


class TextArenaTest(unittest.TestCase):
    def test_a_number_is_found_by_halving(self):
        for row in TextArenaGame.rows(6, game="GuessTheNumber-v0"):
            game, low, high = TextArenaGame(), 1, 20
            text = game.reset(**row)
            self.assertIn("guess the number between 1 and 20 within 10 turns", text)
            while not text.endswith("The game is over."):
                guess = (low + high) // 2
                text = game.act(f"[{guess}]")
                low, high = (guess + 1, high) if "higher" in text else (low, guess - 1)
                self.assertEqual(game.get_reward(), float(text.endswith("The game is over.")))
                self.assertLess(len(text), 100, "a reply repeats nothing")
                self.assertNotIn("[", text, "not even the move")
            self.assertEqual(game.act("[1]"), "The game is over.")

    def test_invalid_moves_end_the_game(self):
        game = TextArenaGame("GuessTheNumber-v0")
        game.reset()
        self.assertIn("You attempted an invalid move", game.act("seven"))
        self.assertTrue(game.act("eight").endswith("The game is over."))
        self.assertEqual(game.get_reward(), 0.0)

    def test_episodes_side_by_side_draw_for_themselves(self):
        moves = ["[red]", "[blue]", "[green]"] * 3

        def play(*games):
            for game in games:
                game.reset(seed=5)
            return [[game.act(move) for game in games] for move in moves]

        random.seed(1)
        alone = play(TextArenaGame("Bandit-v0"))
        random.seed(2)
        before = random.getstate()
        both = play(TextArenaGame("Bandit-v0"), TextArenaGame("Bandit-v0"))
        self.assertEqual(random.getstate(), before)
        self.assertEqual(both, [replies * 2 for replies in alone])
        self.assertGreater(len({replies[0] for replies in alone}), 3)

    def test_a_variant_is_played_as_it_is(self):
        text = TextArenaGame("FrozenLake-v0-train").reset()
        self.assertIn("Welcome to Frozen Lake!", text)

    def test_games_that_cannot_be_played_are_refused(self):
        for game, message in [
            (None, "no game is named: give the rows a column `game`"),
            ("Guess-v0", "Environment Guess-v0 not found in registry."),
            ("TicTacToe-v0", "TicTacToe-v0 is no game for one player: "),
        ]:
            with self.subTest(game), self.assertRaises(ValueError) as caught:
                TextArenaGame(game).reset()
            self.assertIn(message, str(caught.exception))
        with mock.patch("nltk.download"), mock.patch("nltk.data.path", []):
            with self.assertRaisesRegex(
                ValueError, "Wordle-v0 needs a word list of NLTK: run `python -m nltk"
            ):
                TextArenaGame("Wordle-v0").reset()


class SchemaToolsTest(unittest.TestCase):
    def test_a_schema_becomes_a_method_and_a_schema_again(self):
        properties = {
            "word": {"type": "string", "description": "A word."},
            "count": {"type": "integer", "description": "How many."},
            "kind": {"type": "string", "enum": ["one", "two"], "description": "Which."},
            "share": {"type": "number", "description": "The share."},
            "names": {"type": "array", "items": {"type": "string"}, "description": "All names."},
            "more": {"type": "object", "description": "The more."},
            "any": {"description": "The any."},
            "note": {"type": "boolean", "nullable": True, "description": "The note."},
        }
        parameters = {"type": "object", "properties": properties, "required": ["word", "names", "any"]}
        given = {key: {**value} for key, value in properties.items()}
        given["note"] = {"anyOf": [{"type": "boolean"}, {"type": "null"}]}
        given["count"]["default"] = 3
        given["kind"]["default"], given["share"]["default"], given["more"]["default"] = "one", 0.5, {}
        seen = []
        call = lambda self, name, arguments: seen.append((name, arguments)) or "done"
        method = tool_method("look", " Looks\n around. ", {**parameters, "properties": given}, call)
        tool = type("Place", (), {"look": method})().look
        self.assertEqual(schema_of(tool), get_json_schema(tool))
        function = schema_of(tool)["function"]
        self.assertEqual((function["name"], function["description"]), ("look", "Looks around."))
        self.assertEqual(function["parameters"], parameters)
        self.assertEqual((tool(word="a", count=2), seen), ("done", [("look", {"word": "a", "count": 2})]))
        plain = schema_of(tool_method("go", None, {}, call).__get__(object()))["function"]
        self.assertEqual((plain["description"], plain["parameters"]["properties"]), ("Calls go.", {}))

    def test_names_that_no_method_can_have_are_refused(self):
        for name, key, message in [
            ("reset", "a", "a tool cannot be called 'reset'"),
            ("_look", "a", "a tool cannot be called '_look'"),
            ("look", "a-b", "the tool look has an argument 'a-b', which is no name in Python"),
        ]:
            with self.assertRaises(ValueError) as caught:
                tool_method(name, "", {"properties": {key: {"type": "string"}}}, None)
            self.assertIn(message, str(caught.exception))


class PackagesTest(unittest.TestCase):
    def test_a_missing_package_is_named(self):
        for name, game in (
            ("gymnasium", GymnasiumGame("FrozenLake-v1")),
            ("textarena", TextArenaGame("GuessTheNumber-v0")),
        ):
            with mock.patch.dict(sys.modules, {name: None}), self.assertRaises(ImportError) as caught:
                game.reset()
            self.assertEqual(str(caught.exception), f'{name} is not installed: pip install "cohort[{name}]"')

    def test_two_steps(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "mine.py").write_text(
            "import functools\nfrom cohort.environments.gymnasium_env import GymnasiumGame\n"
            f"Lake = functools.partial(GymnasiumGame, 'FrozenLake-v1', {LAKE})\n"
        )
        for factory, rows in [
            (f"{folder}/mine.py:Lake", GymnasiumGame.rows(4)),
            (
                "cohort.environments.textarena_env:TextArenaGame",
                TextArenaGame.rows(4, game="GuessTheNumber-v0"),
            ),
        ]:
            with self.subTest(factory):
                lines = train(folder, rows, factory)
                self.assertEqual([line["episodes/failed"] for line in lines], [0, 0])
                self.assertEqual([line["rewards/environment/mean"] for line in lines], [0, 0])


if __name__ == "__main__":
    unittest.main()
