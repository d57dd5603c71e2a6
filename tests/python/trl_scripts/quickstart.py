"""After the quick start of TRL's docs: problems with solutions, and its accuracy reward."""

from datasets import load_dataset
from trl import GRPOTrainer
from trl.rewards import accuracy_reward

dataset = load_dataset("json", data_files="data/math.jsonl", split="train")

trainer = GRPOTrainer(
    model="models/tiny",
    reward_funcs=accuracy_reward,
    train_dataset=dataset,
)
trainer.train()
