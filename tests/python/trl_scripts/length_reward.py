"""After examples 1, 1.1 and 3 of TRL's page on GRPO: rewards of tokens, of characters and of a reference, weighted."""

import re

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer


def token_reward(completion_ids, **kwargs):
    return [float(len(ids)) for ids in completion_ids]


def character_reward(completions, **kwargs):
    return [float(len(completion)) for completion in completions]


def reference_reward(completions, ground_truth, **kwargs):
    found = [re.search(r"\d+", completion) for completion in completions]
    return [1.0 if one and one.group() == truth else 0.0 for one, truth in zip(found, ground_truth)]


dataset = Dataset.from_list([{"prompt": f"{n} + {n} =", "ground_truth": str(2 * n)} for n in range(8)])
training_args = GRPOConfig(
    output_dir="length",
    per_device_train_batch_size=4,
    gradient_accumulation_steps=2,
    num_generations=4,
    max_completion_length=16,
    max_steps=3,
    logging_steps=1,
    reward_weights=[0.1, 0.01, 1.0],
)
trainer = GRPOTrainer(
    model="models/tiny",
    reward_funcs=[token_reward, character_reward, reference_reward],
    args=training_args,
    train_dataset=dataset,
)
trainer.train()
