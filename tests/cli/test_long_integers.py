"""Integers beyond 64 bits keep their digits from a row to templates and rewards."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["COHORT"]
LONG = 123456789012345678901234567890
FACTORIAL = 1
for factor in range(1, 201):
    FACTORIAL *= factor


class LongIntegersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cohort-integers-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def verify(self, reward, row):
        (self.folder / "rows.jsonl").write_text(json.dumps(row) + "\n")
        output = self.folder / "scores.jsonl"
        options = ["--reward", reward, "--output", output]
        command = [PROGRAM, "verify", "--input", self.folder / "rows.jsonl", *options]
        subprocess.run([str(word) for word in command], check=True, capture_output=True)
        return json.loads(output.read_text())

    def test_golds(self):
        for answer, score in ((LONG, 1), (LONG + 1, 0)):
            row = {"completion": f"\\boxed{{{LONG}}}", "answer": answer}
            self.assertEqual(self.verify("accuracy", row)["score"], score, answer)
        # `numeric` compares within its relative tolerance.
        self.assertEqual(
            self.verify("numeric", {"completion": f"\\boxed{{{LONG}}}", "answer": LONG})["score"], 1
        )

    def test_what_a_call_should_return(self):
        text = "```python\nimport math\ndef f(n):\n    return [math.factorial(n), n]\n```"
        for wrong, score in ((0, 1), (1, 0)):
            test = {"call": "f", "args": [200], "expected": [FACTORIAL + wrong, 200]}
            self.assertEqual(self.verify("code", {"completion": text, "tests": [test]})["score"], score)
        doubled = "```python\ndef f(n):\n    return 2 * n\n```"
        test = {"call": "f", "args": [LONG], "expected": 2 * LONG}
        self.assertEqual(self.verify("code", {"completion": doubled, "tests": [test]})["score"], 1)


if __name__ == "__main__":
    unittest.main()
