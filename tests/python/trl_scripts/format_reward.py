"""After example 2 of TRL's page on GRPO: a format reward for conversations, beside TRL's own, and an evaluation."""

import re

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer
from trl.rewards import think_format_reward


def format_reward_func(completions, **kwargs):
    pattern = r"^<think>.*?</think><answer>.*?</answer>$"
    contents = [completion[0]["content"] for completion in completions]
    return [1.0 if re.match(pattern, content) else 0.0 for content in contents]


dataset = Dataset.from_list(
    [{"prompt": [{"role": "user", "content": f"What is {n} times {n + 1}?"}]} for n in range(12)]
).train_test_split(test_size=4, seed=0)
training_args = GRPOConfig(
    output_dir="format",
    per_device_train_batch_size=4,
    per_device_eval_batch_size=4,
    num_generations=4,
    max_completion_length=16,
    max_steps=3,
    logging_steps=1,
    eval_strategy="steps",
    eval_steps=2,
)
trainer = GRPOTrainer(
    model="models/tiny",
    reward_funcs=[format_reward_func, think_format_reward],
    args=training_args,
    train_dataset=dataset["train"],
    eval_dataset=dataset["test"],
)
trainer.train()
metrics = trainer.evaluate()
