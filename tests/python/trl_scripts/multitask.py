"""After example 4 of TRL's page on GRPO: reward functions that have no reward for the rows of another task."""

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

dataset = Dataset.from_list(
    [
        {"prompt": "What is 2+2?", "task": "math"},
        {"prompt": "Write a function that returns the sum of two numbers.", "task": "code"},
        {"prompt": "What is 3*4?", "task": "math"},
        {"prompt": "Write a function that returns the product of two numbers.", "task": "code"},
    ]
)


def math_reward_func(prompts, completions, task, **kwargs):
    rewards = []
    for completion, t in zip(completions, task):
        if t == "math":
            rewards.append(1.0 if any(letter.isdigit() for letter in completion) else -1.0)
        else:
            rewards.append(None)
    return rewards


def coding_reward_func(prompts, completions, task, **kwargs):
    rewards = []
    for completion, t in zip(completions, task):
        if t == "code":
            rewards.append(1.0 if "return" in completion else -1.0)
        else:
            rewards.append(None)
    return rewards


trainer = GRPOTrainer(
    model="models/tiny",
    reward_funcs=[math_reward_func, coding_reward_func],
    args=GRPOConfig(output_dir="multitask", max_completion_length=16, max_steps=4, logging_steps=1),
    train_dataset=dataset,
)
trainer.train()
