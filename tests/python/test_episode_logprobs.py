"""The log-probabilities of episodes of many turns against transformers: the sampled tokens of a run with an environment, and of
one that agents play.

COHORT=build/cohort .venv-test/bin/python tests/python/test_episode_logprobs.py
"""

import pathlib
import sys
import unittest

import torch
from transformers import AutoModelForCausalLM

CLI = pathlib.Path(__file__).resolve().parents[1] / "cli"
sys.path.insert(0, str(CLI))

import test_agents  # noqa: E402
import test_environments  # noqa: E402
from cli_case import CliTest, read_lines, run, setUpModule, write_lines  # noqa: E402, F401


class EpisodeLogprobsTest(CliTest):
    def check(self, recipe, *options):
        """Trains a step and compares what was sampled, by the weights before it."""
        place = self.folder / self.id().rsplit(".", 1)[1]
        place.mkdir()
        (place / "template.jinja").write_text(test_environments.TEMPLATE)
        rows = [
            {"prompt": [{"role": "user", "content": f"Game {i}."}], "number": i, "low": 1, "high": 9}
            for i in range(4)
        ]
        write_lines(place / "rows.jsonl", rows)
        text = recipe.format(model=self.model, folder=place, stops=test_environments.STOPS)
        (place / "recipe.toml").write_text(text)
        result = run("train", place / "recipe.toml", "--train.max-steps", 1, *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        model = AutoModelForCausalLM.from_pretrained(self.model, dtype=torch.float32)
        turns = 0
        for row in read_lines(place / "run/completions.jsonl"):
            ids = torch.tensor([row["prompt_ids"] + row["completion_ids"]])
            with torch.no_grad():
                logprobs = model(ids).logits[0].log_softmax(-1)
            first = len(row["prompt_ids"])
            every = logprobs[first - 1 : -1].gather(1, ids[0, first:, None])[:, 0]
            is_sampled = torch.ones(len(every), dtype=torch.bool)
            for begin, count in row["injected"] if "injected" in row else []:
                is_sampled[begin : begin + count] = False
            torch.testing.assert_close(every[is_sampled], torch.tensor(row["logprobs"]), atol=2e-5, rtol=2e-5)
            turns = max(turns, sum(message["role"] == "assistant" for message in row["messages"]))
        return turns

    def test_an_environment(self):
        self.assertGreater(self.check(test_environments.RECIPE), 3)

    def test_agents(self):
        command = f"{sys.executable} {test_agents.AGENT} plays"
        self.assertEqual(self.check(test_agents.RECIPE, "--agent.command", command), 4)


if __name__ == "__main__":
    unittest.main()
