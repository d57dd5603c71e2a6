"""cohort.environments: KeyDoor, MultiHop and Phone, solved by hand, by their scripted players and at random.

COHORT=build/cohort .venv-test/bin/python tests/python/test_environments.py
"""

import copy
import inspect
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

from environment_run import ROOT, train

sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(ROOT / "apps/python"))
from cohort.environments import (  # noqa: E402
    KeyDoor,
    MultiHop,
    Phone,
    conversation,
    key_door,
    multi_hop,
    phone,
)
from tool_schema import schema_of  # noqa: E402
from transformers.utils import get_json_schema  # noqa: E402

KINDS = {KeyDoor: key_door, MultiHop: multi_hop, Phone: phone}
ROOM = """
#######
#.A...#
#..#..#
#.#.#.D
#.K...#
#.....#
#######
"""


def tools_of(kind):
    members = inspect.getmembers(kind, predicate=inspect.isfunction)
    return [name for name, _ in members if not name.startswith("_") and name not in ("reset", "get_reward")]


def play(environment, calls):
    """What the calls return, as "move west"."""
    return [getattr(environment, name)(*arguments) for name, *arguments in calls]


class EveryEnvironmentTest(unittest.TestCase):
    def test_tools_have_the_schemas_of_transformers(self):
        tools = {
            KeyDoor: ["move", "open", "take"],
            MultiHop: ["answer", "search"],
            Phone: ["back", "home", "tap", "type_text"],
        }
        for kind, names in tools.items():
            self.assertEqual(tools_of(kind), names)
            for name in names:
                tool = getattr(kind(), name)
                self.assertEqual(schema_of(tool), get_json_schema(tool))
        directions = schema_of(KeyDoor().move)["function"]["parameters"]["properties"]["direction"]["enum"]
        self.assertEqual(directions, ["north", "east", "south", "west"])

    def test_the_scripted_player_gets_the_whole_reward(self):
        for kind, module in KINDS.items():
            for row in kind.rows(200, seed=7):
                environment = kind()
                messages = conversation(environment, row, module.solution)
                self.assertEqual(environment.get_reward(), 1.0, row)
                self.assertEqual([messages[0]["role"], messages[-1]["content"]], ["user", "Done."])

    def test_a_row_gives_the_same_episode_each_time(self):
        for kind, module in KINDS.items():
            first, again = kind.rows(2, seed=3)[1], kind.rows(1, seed=4)[0]
            self.assertEqual(first, again)
            used = kind()
            used.reset(**kind.rows(1, seed=9)[0])
            play(used, [(name, *arguments.values()) for name, arguments in module.solution(used)])
            self.assertEqual(
                conversation(used, first, module.solution), conversation(kind(), again, module.solution)
            )
            self.assertNotEqual(kind().reset(seed=5), kind().reset(seed=6))

    def test_rows_are_json_and_prompts_are_not_changed(self):
        for kind, module in KINDS.items():
            rows = kind.rows(3)
            kept = json.loads(json.dumps(rows))
            conversation(kind(), rows[0], module.solution)
            self.assertEqual(rows, kept)

    def test_random_calls_never_raise(self):
        generator = random.Random(0)
        texts = ("", "07:30", "Ana", "hello\n[1] Send", "🎉", "x" * 300, "lives river teacher")
        for kind in KINDS:
            for seed in range(60):
                environment = kind()
                environment.reset(seed=seed)
                for _ in range(60):
                    name = generator.choice(tools_of(kind))
                    values = {
                        "direction": generator.choice([*key_door.STEPS, "up"]),
                        "element": generator.randint(-2, 9),
                    }
                    parameters = inspect.signature(getattr(environment, name)).parameters
                    arguments = {key: values.get(key, generator.choice(texts)) for key in parameters}
                    self.assertIsInstance(getattr(environment, name)(**arguments), str)
                    self.assertIn(environment.get_reward(), (0.0, 0.25, 1.0))

    def test_a_copy_is_a_fork(self):
        for kind, module in ((KeyDoor, key_door), (Phone, phone)):
            for seed in range(20):
                environment = kind()
                environment.reset(seed=seed)
                before = environment.state
                fork = copy.deepcopy(environment)
                self.assertEqual(fork.state, before)
                play(fork, [(name, *arguments.values()) for name, arguments in module.solution(fork)])
                self.assertNotEqual(fork.state, before)
                self.assertEqual((environment.state, environment.get_reward()), (before, 0.0))

    def test_wrong_columns_are_refused(self):
        for kind, columns, message in [
            (KeyDoor, {"size": 1}, "size is 1; it must be an integer between 2 and 20"),
            (KeyDoor, {"size": "5"}, "size is '5'; it must be an integer between 2 and 20"),
            (MultiHop, {"hops": 4}, "hops is 4; it must be 2, 3 or None"),
            (MultiHop, {"people": 2}, "people is 2; it must be an integer between 3 and 200"),
            (Phone, {"kind": "call"}, "there is no kind 'call': it is one of alarm, "),
        ]:
            with self.assertRaises(ValueError) as caught:
                kind().reset(**columns)
            self.assertIn(message, str(caught.exception))
        with self.assertRaisesRegex(ValueError, "results is 0; it must be at least 1"):
            MultiHop(results=0)

    def test_importing_is_light(self):
        code = "import sys, cohort.environments\nprint([m for m in ('torch', 'transformers', 'numpy') if m in sys.modules])"
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.stdout, "[]\n", done.stderr)


class KeyDoorTest(unittest.TestCase):
    def test_a_room_is_solved_by_hand(self):
        room = KeyDoor()
        self.assertEqual(room.reset(seed=3, size=5), ROOM.strip())
        self.assertEqual(room.get_reward(), 0.0)
        replies = play(
            room, [("move", "north"), ("take",), ("open",), ("move", "west"), *[("move", "south")] * 3]
        )
        self.assertEqual(
            [reply.split("\n")[0] for reply in replies],
            ["There is a wall.", "There is no key here.", "There is no door beside you.", "You moved west."]
            + ["You moved south."] * 3,
        )
        self.assertEqual(room.move("east").split("\n")[0], "You moved east. The key is here.")
        self.assertEqual(room.take().split("\n")[0], "You have the key.")
        self.assertEqual(room.get_reward(), 0.25)
        play(room, [("move", "east")] * 3 + [("move", "north")])
        self.assertEqual(room.move("east").split("\n")[0], "The door is locked.")
        self.assertIn("#.#.#AO", room.open())
        self.assertEqual(room.get_reward(), 1.0)

    def test_the_door_needs_the_key(self):
        room = KeyDoor(key_reward=0.5, redraw=False)
        room.reset(seed=3)
        play(room, [("move", "east")] * 3 + [("move", "south")] * 2)
        self.assertEqual(room.open(), "The door is locked, and you have no key.")
        self.assertEqual(room.get_reward(), 0.0)
        play(room, [("move", "south")] + [("move", "west")] * 3 + [("take",)])
        self.assertEqual((room.get_reward(), room.take()), (0.5, "You have the key already."))

    def test_the_solution_is_the_shortest(self):
        calls = [("move", direction) for direction in key_door.STEPS] + [("take",), ("open",)]
        for seed in range(12):
            room = KeyDoor()
            room.reset(seed=seed, size=3)
            length, seen, front = 0, {room.state}, [room]
            while not any(one.get_reward() == 1 for one in front):
                others = [copy.deepcopy(one) for one in front for _ in calls]
                for other, call in zip(others, calls * len(front), strict=True):
                    play(other, [call])
                front = list({one.state: one for one in others if one.state not in seen}.values())
                self.assertTrue(front, "the door is never opened")
                seen |= {one.state for one in front}
                length += 1
            self.assertEqual(len(key_door.solution(room)), length)


class MultiHopTest(unittest.TestCase):
    def test_a_question_is_answered_by_hand(self):
        world = MultiHop(results=1)
        question = world.reset(seed=4, hops=3)
        self.assertEqual(question, "On which river lies the town where the teacher of Klumun lives?")
        self.assertEqual(world.search("Klumun's teacher is?"), "The teacher of Klumun is Nopam.")
        self.assertEqual(world.search("Where lives NOPAM"), "Nopam lives in Guvim.")
        self.assertEqual(world.search("river of Guvim"), "The town Guvim lies on the river Drohen.")
        self.assertEqual(world.search("zzz"), "Nothing is found.")
        self.assertIn("Nopam", world.search("The river of the town on Nopam"), "a rare word counts more")
        wrong = copy.deepcopy(world)
        wrong.answer("Guvim")
        self.assertIn("only the first answer counts", wrong.answer("Drohen"))
        self.assertEqual(wrong.get_reward(), 0.0)
        world.answer(" DROHEN. ")
        self.assertEqual((world.get_reward(), wrong.get_reward()), (1.0, 0.0))

    def test_hops_are_the_searches_that_are_needed(self):
        for hops in (2, 3):
            for row in MultiHop.rows(20, hops=hops):
                world = MultiHop(results=1)
                question = world.reset(**row)
                *searches, answer = multi_hop.solution(world)
                self.assertEqual(len(searches), hops)
                self.assertNotIn(answer[1]["text"], question)
                found = [world.search(**arguments) for _, arguments in searches]
                self.assertEqual(
                    [answer[1]["text"] in fact for fact in found], [False] * (hops - 1) + [True], row
                )


class PhoneTest(unittest.TestCase):
    def test_a_task_is_done_by_hand(self):
        one = Phone()
        text = one.reset(seed=2, kind="forward_number")
        self.assertEqual(
            text,
            "Task: send the number of Hugo to Iris.\n== Home ==\n[1] Contacts\n[2] Messages\n[3] Settings\n[4] Clock",
        )
        self.assertEqual(one.tap(1), "== Contacts ==\n[1] David\n[2] Farid\n[3] Hugo\n[4] Iris")
        card = one.tap(3)
        self.assertRegex(card, r"\A== Contact Hugo ==\nNumber: 0\d{3} \d{4}\n\[1\] Message\Z")
        number = card.split("\n")[1].removeprefix("Number: ")
        play(one, [("back",), ("tap", 4), ("tap", 1)])
        self.assertEqual(one.type_text("x").split("\n")[0], "No field is chosen: tap one first.")
        one.tap(1)
        self.assertEqual(one.type_text(number), f"== Chat Iris ==\n[1] Text field: {number} <\n[2] Send")
        self.assertEqual(one.get_reward(), 0.0)
        sent = f"The message is sent.\n== Chat Iris ==\nYou: {number}\n[1] Text field: (empty)\n[2] Send"
        self.assertEqual(one.tap(2), sent)
        self.assertEqual(one.get_reward(), 1.0)
        play(one, [("home",), ("tap", 3), ("tap", 2)])
        self.assertEqual(one.get_reward(), 0.0, "another switch was changed")
        play(one, [("tap", 2)])
        self.assertEqual(one.get_reward(), 1.0)

    def test_an_alarm_needs_a_time(self):
        one = Phone()
        one.reset(seed=1, kind="alarm")
        play(one, [("tap", 4), ("tap", 1), ("tap", 1), ("type_text", "24:00")])
        self.assertEqual(one.tap(2).split("\n")[0], "The time must be like 07:30.")
        one.type_text("07:31")
        self.assertEqual(one.tap(2).split("\n")[0], "The alarm 07:31 is set.")
        self.assertEqual(one.get_reward(), 0.0)

    def test_each_kind_has_its_task(self):
        starts = ("set an alarm for ", "delete the alarm at ", "send '", "send the number of ", "turn o")
        for kind, start in zip(phone.KINDS, starts, strict=True):
            for row in Phone.rows(10, kind=kind):
                one = Phone()
                self.assertTrue(one.reset(**row).startswith(f"Task: {start}"))
                self.assertEqual(one.get_reward(), 0.0)


class TrainingTest(unittest.TestCase):
    """`cohort train` with each of them, and with a factory that has arguments."""

    def test_two_steps(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "mine.py").write_text(
            "import functools\nfrom cohort.environments import KeyDoor\n"
            "Quiet = functools.partial(KeyDoor, redraw=False)\n"
        )
        factories = {f"cohort.environments:{kind.__name__}": kind for kind in KINDS}
        for factory, kind in [*factories.items(), (f"{folder}/mine.py:Quiet", KeyDoor)]:
            with self.subTest(factory):
                lines = train(folder, kind.rows(4), factory)
                self.assertEqual([line["episodes/failed"] for line in lines], [0, 0])
                self.assertEqual([line["rewards/environment/mean"] for line in lines], [0, 0])


if __name__ == "__main__":
    unittest.main()
