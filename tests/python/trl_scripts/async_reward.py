"""After example 5 of TRL's page on GRPO: reward functions that wait for something slow, beside one that does not."""

import asyncio

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer


async def async_reward_func1(prompts, completions, **kwargs):
    await asyncio.sleep(0.01)
    return [1.0 if completion else 0.0 for completion in completions]


async def async_reward_func2(prompts, completions, **kwargs):
    await asyncio.sleep(0.01)
    return [len(set(completion)) / 100 for completion in completions]


def reward_func(completions, **kwargs):
    return [-len(completion) / 100 for completion in completions]


trainer = GRPOTrainer(
    model="models/tiny",
    reward_funcs=[reward_func, async_reward_func1, async_reward_func2],
    args=GRPOConfig(output_dir="async", max_completion_length=16, max_steps=3, logging_steps=1),
    train_dataset=Dataset.from_dict({"prompt": ["The sky is", "The sun is", "The sea is"]}),
)
trainer.train()
