"""After TRL's page on GRPO, training agents: functions that the model may call, one of them async."""

import asyncio

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer


def multiply(a: int, b: int) -> int:
    """
    Multiplies two integers.

    Args:
        a: The first integer.
        b: The second integer.

    Returns:
        The product of the two integers.
    """
    return a * b


async def async_add(a: int, b: int) -> int:
    """
    Asynchronously adds two integers.

    Args:
        a: The first integer.
        b: The second integer.

    Returns:
        The sum of the two integers.
    """
    await asyncio.sleep(0.01)
    return a + b


dataset = Dataset.from_list(
    [
        {
            "prompt": [{"role": "user", "content": f"What is {n} multiplied by {n + 1}?"}],
            "answer": n * (n + 1),
        }
        for n in range(8)
    ]
)


def accuracy(completions, answer, **kwargs):
    predictions = [completion[-1]["content"] for completion in completions]
    return [float(str(ans) in pred) + 0.01 * len(pred) for pred, ans in zip(predictions, answer)]


trainer = GRPOTrainer(
    model="models/chatml",
    args=GRPOConfig(
        "agent",
        max_steps=2,
        max_completion_length=16,
        logging_steps=1,
        max_tool_calling_iterations=2,
        chat_template_kwargs={"enable_thinking": False},
    ),
    train_dataset=dataset,
    tools=[multiply, async_add],
    reward_funcs=accuracy,
)
trainer.train()
