"""After TRL's page on environments: state that tools change, and rewards that read it."""

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer


class IncrementEnv:
    def reset(self, **kwargs) -> str | None:
        self.counter = 0
        return f" The counter is {self.counter}."

    def increment(self, step: int) -> int:
        """
        Increments the counter.

        Args:
            step: How much to add.

        Returns:
            The new value of the counter.
        """
        self.counter += step
        return self.counter


def reward_func(completions, environments, **kwargs):
    return [
        environment.counter + 0.01 * len(one[0]["content"])
        for environment, one in zip(environments, completions)
    ]


dataset = Dataset.from_dict({"prompt": [[{"role": "user", "content": "Increment the counter by 1."}]] * 8})
trainer = GRPOTrainer(
    model="models/chatml",
    args=GRPOConfig("environment", max_steps=2, max_completion_length=16, logging_steps=1),
    train_dataset=dataset,
    reward_funcs=reward_func,
    environment_factory=IncrementEnv,
)
trainer.train()
