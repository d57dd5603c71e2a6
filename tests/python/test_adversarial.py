"""Two policies against PEFT and transformers: the log-probabilities of each policy's completions, by its adapter from before the step.

COHORT=build/cohort .venv-test/bin/python tests/python/test_adversarial.py
"""

import pathlib
import sys
import unittest

import peft
import torch

CLI = pathlib.Path(__file__).resolve().parents[1] / "cli"
sys.path.insert(0, str(CLI))

import test_adversarial as games  # noqa: E402
from cli_case import CliTest, read_lines, run, setUpModule, write_lines  # noqa: E402, F401


class AdversarialLogprobsTest(CliTest):
    def check(self, policy, directory, step):
        model = peft.AutoPeftModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
        checked = 0
        for row in read_lines(self.place / "run/completions.jsonl"):
            if row["policy"] != policy or row["step"] != step:
                continue
            ids = torch.tensor([row["prompt_ids"] + row["completion_ids"]])
            with torch.no_grad():
                logprobs = model(input_ids=ids).logits[0].log_softmax(-1)
            first = len(row["prompt_ids"])
            every = logprobs[first - 1 : -1].gather(1, ids[0, first:, None])[:, 0]
            is_sampled = torch.ones(len(every), dtype=torch.bool)
            for begin, count in row.get("injected", []):
                is_sampled[begin : begin + count] = False
            torch.testing.assert_close(every[is_sampled], torch.tensor(row["logprobs"]), atol=5e-5, rtol=5e-5)
            checked += 1
        return checked

    def test_each_policy_draws_by_its_own_adapter(self):
        self.place = self.folder / "games"
        self.place.mkdir()
        (self.place / "template.jinja").write_text(games.TEMPLATE)
        rows = [
            {"prompt": games.user(f"Hide, {i}."), "defender_prompt": games.user(f"Find, {i}."), "high": 9}
            for i in range(8)
        ]
        write_lines(self.place / "rows.jsonl", rows)
        recipe = self.place / "recipe.toml"
        recipe.write_text(games.RECIPE.format(model=self.model, folder=self.place, stops=games.STOPS))
        result = run(
            *("adversarial-train", recipe, "--train.alternate-steps", 0),
            *("--train.max-steps", 3, "--train.save-steps", 1),
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        before = self.place / "run/checkpoints/step-00000002"
        self.assertEqual(self.check("attacker", before / "attacker", 3), 6)
        self.assertEqual(self.check("defender", before / "defender", 3), 24)
        with self.assertRaises(AssertionError):
            self.check("defender", before / "attacker", 3)
        for policy in ("attacker", "defender"):
            peft.AutoPeftModelForCausalLM.from_pretrained(self.place / "run/final" / policy)


if __name__ == "__main__":
    unittest.main()
