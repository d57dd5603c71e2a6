"""After example 6 of TRL's page on GRPO: columns for the table of completions, metrics, and the trainer's state."""

import re

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer


def reward_func(completions, ground_truth, trainer_state=None, log_extra=None, log_metric=None, **kwargs):
    extracted = [re.search(r"\d", c) for c in completions]
    extracted = [m.group() if m else None for m in extracted]
    rewards = [1.0 if e == gt else 0.0 for e, gt in zip(extracted, ground_truth)]

    if log_extra:
        log_extra("golden_answer", list(ground_truth))
        log_extra("extracted_answer", [e or "[none]" for e in extracted])

    if log_metric:
        log_metric("accuracy", sum(rewards) / len(rewards))
        log_metric("progress", trainer_state.global_step / trainer_state.max_steps)

    return rewards


training_args = GRPOConfig(
    output_dir="logs",
    max_completion_length=16,
    max_steps=2,
    logging_steps=1,
    log_completions=True,
    num_completions_to_print=2,
)
trainer = GRPOTrainer(
    model="models/tiny",
    reward_funcs=reward_func,
    args=training_args,
    train_dataset=Dataset.from_list([{"prompt": f"Say {n}.", "ground_truth": str(n)} for n in range(1, 7)]),
)
trainer.train()
