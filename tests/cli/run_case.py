"""What tests of runs share: a recipe with a reward of its own, and runs that are stopped and compared."""

import shutil

from cli_case import CliTest, run, write_lines

REWARD = """
def rising(completions, **columns):
    return [float(sum(map(ord, text)) % 7) for text in completions]
"""
RECIPE = """
    seed = 3
    [model]
    dtype = "{dtype}"
    [rollout]
    prompts_per_step = 2
    num_generations = 3
    max_completion_length = 6
    [[reward]]
    name = "sum"
    type = "python"
    function = "{reward}:rising"
    [optimizer]
    learning_rate = 1e-3
    lr_scheduler_type = "constant"
    [train]
    max_steps = 4
    save_steps = 2
"""


class RunsTest(CliTest):
    def setUp(self):
        self.place = self.folder / self.id().rsplit(".", 1)[1]
        self.place.mkdir()
        self.reward = self.place / "reward.py"
        self.reward.write_text(REWARD)
        self.data = write_lines(
            self.place / "rows.jsonl", [{"prompt": f"{i} + {i} =", "answer": str(2 * i)} for i in range(7)]
        )
        self.recipe = self.place / "recipe.toml"
        self.recipe.write_text(RECIPE.format(dtype="float32", reward=self.reward))

    def arguments(self, command, recipe, run_dir, *options):
        places = ("--model.path", self.model, "--data.path", self.data, "--run-dir", run_dir)
        return (command, recipe, *places, "--threads", 1, *options)

    def train(self, name, *options, code=0, command="train", recipe=None):
        result = run(*self.arguments(command, recipe or self.recipe, self.place / name, *options))
        self.assertEqual(result.returncode, code, result.stderr)
        if code == 2:
            self.assertRegex(result.stderr.splitlines()[-1], r"\Acohort: ")
        return result.stderr

    def step_back(self, run_dir, step=4):
        """As if the run had been killed before it reached its last checkpoint."""
        shutil.rmtree(run_dir / "checkpoints" / f"step-{step:08}")
        shutil.rmtree(run_dir / "final")

    def same_records(self, one, other, names=("metrics.jsonl", "final/model.safetensors")):
        for name in names:
            self.assertEqual((one / name).read_bytes(), (other / name).read_bytes(), name)
