"""cohort.rewards, tested as TRL tests trl.rewards (docs/python/trl-tests-rewards.md).

PYTHONPATH=build/python .venv-test/bin/python tests/python/test_trl_rewards.py
"""

import inspect
import pickle
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

import trl.rewards

from cohort import rewards
from cohort.rewards import (
    BuiltinReward,
    accuracy_reward,
    get_cosine_scaled_reward,
    get_repetition_penalty_reward,
    get_soft_overlong_punishment,
    reasoning_accuracy_reward,
    think_format_reward,
)


def said(*texts):
    return [[{"role": "assistant", "content": text}] for text in texts]


class SignatureTest(unittest.TestCase):
    def test_names_and_arguments_are_those_of_trl(self):
        theirs = [name for name in dir(trl.rewards) if "reward" in name or "punish" in name]
        theirs = [name for name in theirs if callable(getattr(trl.rewards, name))]
        self.assertEqual(len(theirs), 6)
        for name in theirs:
            ours, other = (inspect.signature(getattr(one, name)).parameters for one in (rewards, trl.rewards))
            self.assertEqual(list(ours)[:-1], list(other)[:-1], name)
            self.assertEqual(
                [one.default for one in ours.values()], [one.default for one in other.values()], name
            )
        for ours, other in (
            (get_soft_overlong_punishment(9, 3), trl.rewards.get_soft_overlong_punishment(9, 3)),
            (get_cosine_scaled_reward(9), trl.rewards.get_cosine_scaled_reward(9)),
            (get_repetition_penalty_reward(), trl.rewards.get_repetition_penalty_reward()),
        ):
            self.assertEqual(ours.__name__, other.__name__)


class FormatTest(unittest.TestCase):
    CASES = (
        ("<think>I add.</think>Seven.", 1.0),
        ("<think>\nI add\nand carry.\n</think>\n\nSeven.", 1.0),
        ("<think>I <b>add</b>.</think>", 1.0),
        ("<think></think>Seven.", 1.0),
        ("<think>I add. Seven.", 0.0),
        ("<think>I add.\nSeven.", 0.0),
        ("I add. Seven.", 0.0),
        ("I add.\nSeven.", 0.0),
        ("I add.</think>Seven.", 0.0),
        (" <think>I add.</think>Seven.", 0.0),
        ("So<think>I add.</think>Seven.", 0.0),
        ("<think>I<think>add.</think></think>Seven.", 0.0),
        ("<think>I</think>\nadd\n<think>again.</think>\nSeven.", 0.0),
    )

    def test_right_and_wrong_formats(self):
        for text, score in self.CASES:
            with self.subTest(text):
                self.assertEqual(think_format_reward(said(text)), [score])
                self.assertEqual(think_format_reward([text], prompts=["?"]), [score])
        texts = said(*(text for text, _ in self.CASES))
        self.assertEqual(think_format_reward(texts), [score for _, score in self.CASES])
        self.assertEqual(think_format_reward(texts), trl.rewards.think_format_reward(texts))


class LengthTest(unittest.TestCase):
    def test_soft_overlong(self):
        reward = get_soft_overlong_punishment(max_completion_len=50, soft_punish_cache=10)
        ids = [[1] * length for length in (0, 40, 41, 45, 50, 51, 500)]
        self.assertEqual(reward(completion_ids=ids), [0.0, 0.0, -0.1, -0.5, -1.0, -1.0, -1.0])
        self.assertEqual(reward(ids), trl.rewards.get_soft_overlong_punishment(50, 10)(ids))
        sharp = get_soft_overlong_punishment(max_completion_len=50, soft_punish_cache=0)
        self.assertEqual(sharp(ids), [0.0] * 5 + [-1.0] * 2)

    def test_repetition(self):
        reward = get_repetition_penalty_reward(ngram_size=2, max_penalty=-2.0)
        ids = [[7, 8, 9], [4, 4, 4, 4], [3, 1, 3, 1, 3], [6], [], [2, 2]]
        expected = [0.0, -2.0 * 2 / 3, -2.0 * 2 / 4, 0.0, 0.0, 0.0]
        for ours, theirs, wanted in zip(
            reward(ids, prompts=[""]),
            trl.rewards.get_repetition_penalty_reward(2, -2.0)(ids),
            expected,
            strict=True,
        ):
            self.assertAlmostEqual(ours, wanted, places=12)
            self.assertAlmostEqual(ours, theirs, places=12)
        triples = get_repetition_penalty_reward(ngram_size=3)([[5, 6, 7, 5, 6, 7]])
        self.assertEqual(triples, [-1 / 4])

    def test_a_penalty_is_no_bonus(self):
        with self.assertRaisesRegex(ValueError, "must not be positive"):
            get_repetition_penalty_reward(max_penalty=0.5)

    def test_pickles(self):
        ids = [[1, 1, 1, 1]]
        for reward in (get_soft_overlong_punishment(3, 2), get_repetition_penalty_reward(2)):
            copy = pickle.loads(pickle.dumps(reward))
            self.assertEqual((copy(ids), copy.__name__), (reward(ids), reward.__name__))


class AccuracyTest(unittest.TestCase):
    def test_equal_and_unequal_answers(self):
        for text, solution, score in (
            (r"So it is \boxed{\frac{3}{8}}.", r"\frac{3}{8}", 1.0),
            (r"So it is \boxed{\frac{3}{8}}.", "3/8", 1.0),
            (r"So it is \boxed{0.375}.", "3/8", 1.0),
            (r"So it is \boxed{\frac{5}{8}}.", r"\frac{3}{8}", 0.0),
            (r"So it is \boxed{5}.", "9", 0.0),
            (r"The answer is $\frac{6}{16}$.", r"$\frac{3}{8}$", 1.0),
            ("The answer is 9.", "9", 0.0),
            ("So $9$ it may be.", "9", 0.0),
            ("I do not know.", "9", 0.0),
            ("", "9", 0.0),
            ("Seven or nine.", "seven", None),
            (r"It is \boxed{7}.", "The answer is seven.", None),
        ):
            with self.subTest(text, solution=solution):
                self.assertEqual(accuracy_reward(said(text), [solution]), [score])
                self.assertEqual(accuracy_reward([text], solution=[solution], prompts=["?"]), [score])
                self.assertEqual(trl.rewards.accuracy_reward(said(text), [solution]), [score])

    def test_in_a_thread(self):
        results = []
        call = lambda: results.append(accuracy_reward(said(r"\boxed{12}"), ["12"]))  # noqa: E731
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        self.assertEqual(results, [[1.0]])

    def test_columns_for_the_table(self):
        texts, solutions = said(r"\boxed{12}", "None.", r"\boxed{1}"), ["12", "13", "some"]
        for name in ("accuracy_reward", "reasoning_accuracy_reward"):
            ours, theirs = {}, {}
            getattr(rewards, name)(texts, solutions, log_extra=ours.__setitem__)
            getattr(trl.rewards, name)(texts, solutions, log_extra=theirs.__setitem__)
            self.assertEqual(ours, theirs)
            self.assertEqual(list(ours), ["solution", "gold_parsed", "answer_parsed"])

    def test_after_reasoning(self):
        for text, solution, score in (
            (r"<think>Hm.</think> \boxed{\frac{3}{8}}", r"\frac{3}{8}", 1.0),
            (r"Hm.</think> \boxed{\frac{3}{8}}", r"\frac{3}{8}", 1.0),
            (r"<think>Hm.</think> \boxed{\frac{5}{8}}", r"\frac{3}{8}", 0.0),
            (r"<think>It is \boxed{12}.</think> There.", r"\boxed{12}", 0.0),
            (r"<think>It is \boxed{12}.</think> No, \boxed{13}.", r"\boxed{12}", 0.0),
            (r"<think>Hm.</think> \boxed{12} </think> None.", "12", 0.0),
            ("<think>Hm", r"\frac{3}{8}", 0.0),
            (r"It is \boxed{\frac{3}{8}}", r"\frac{3}{8}", 0.0),
            (r"<think>Hm.</think> \boxed{12}", "twelve", None),
        ):
            with self.subTest(text):
                self.assertEqual(reasoning_accuracy_reward(said(text), [solution]), [score])
                self.assertEqual(trl.rewards.reasoning_accuracy_reward(said(text), [solution]), [score])
        text = said(r"[WORK] Hm. [DONE] \boxed{12}")
        self.assertEqual(reasoning_accuracy_reward(text, ["12"], reasoning_delimiters=["[DONE]"]), [1.0])
        self.assertEqual(reasoning_accuracy_reward(text, ["12"]), [0.0])

    def test_cosine(self):
        right, wrong = r"\boxed{12}", r"\boxed{13}"
        reward = get_cosine_scaled_reward(max_len=40)
        lengths = (0, 10, 20, 30, 40, 99)
        ids = [[1] * length for length in lengths]
        scores = reward(said(*[right] * 6), ["12"] * 6, ids)
        for ours, wanted in zip(scores, (1.0, 0.926777, 0.75, 0.573223, 0.5, 0.5), strict=True):
            self.assertAlmostEqual(ours, wanted, places=6)
        scores = reward(said(*[wrong] * 6), ["12"] * 6, ids)
        for ours, wanted in zip(scores, (-1.0, -0.926777, -0.75, -0.573223, -0.5, -0.5), strict=True):
            self.assertAlmostEqual(ours, wanted, places=6)
        self.assertEqual(reward(said(right), ["twelve"], [[1]]), [None])
        wide = get_cosine_scaled_reward(max_len=40, min_value_correct=-1.0, max_value_correct=3.0)
        self.assertAlmostEqual(wide(said(right), ["12"], [[1] * 20])[0], 1.0)
        copy = pickle.loads(pickle.dumps(reward))
        self.assertEqual(copy(said(right), ["12"], [[]]), [1.0])
        self.assertEqual(copy.__name__, "cosine_scaled_reward")

    def test_names_what_is_missing(self):
        with mock.patch.dict("sys.modules", {"math_verify": None}):
            with self.assertRaisesRegex(ImportError, "pip install math-verify"):
                accuracy_reward(said("9"), ["9"])


class BuiltinTest(unittest.TestCase):
    def test_any_built_in_reward_is_a_function(self):
        choice = BuiltinReward("choice", choices="ABCD")
        self.assertEqual(choice.__name__, "choice")
        self.assertEqual(choice(["The answer is B.", "It is C."], answer=["B", "B"]), [1.0, 0.0])
        soft = BuiltinReward("soft_overlong", max_completion_length=10, soft_punish_cache=4)
        ids = [[1] * length for length in (6, 8, 12)]
        self.assertEqual(soft(["", "", ""], completion_ids=ids), [0.0, -0.5, -1.0])
        self.assertEqual(get_soft_overlong_punishment(10, 4)(ids), [0.0, -0.5, -1.0])
        copy = pickle.loads(pickle.dumps(choice))
        self.assertEqual(copy(["The answer is B."], answer=["B"]), [1.0])

    def test_a_reward_that_compares_gets_whole_groups(self):
        server = Path(__file__).parent.parent / "rewards" / "fake_openai.py"
        with tempfile.NamedTemporaryFile() as log:
            with subprocess.Popen(
                ["python3", "-u", server, log.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            ) as process:
                url = f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
                ruler = BuiltinReward("ruler", url=url, model="ruler")
                scores = ruler(["score: 0.5", "score: 1", "score: 0.25"], prompt=["a", "a", "b"])
                process.stdin.close()
            self.assertEqual(scores, [0.5, 1.0, 0.25])
            self.assertEqual(len(log.read().splitlines()), 2)

    def test_says_why(self):
        reward = BuiltinReward("accuracy")
        ((score, status, detail),) = reward.results([r"\boxed{12}"], question=["?"])
        self.assertEqual((score, status), (None, "unparsed"))
        self.assertIn('column "answer"', detail)
        self.assertIn(("reference read as", "13"), reward.explain(r"\boxed{12}", answer="13"))

    def test_bad_input(self):
        for type_, keys, text in (
            ("acuracy", {}, 'did you mean "accuracy"'),
            ("choice", {"choises": "AB"}, "choises"),
            ("soft_overlong", {}, "max_completion_length"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                BuiltinReward(type_, **keys)


if __name__ == "__main__":
    unittest.main()
