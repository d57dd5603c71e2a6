"""After TRL's index of papers: DAPO (arXiv:2503.14476) with its overlong punishment, scaled down."""

from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer
from trl.rewards import accuracy_reward, get_soft_overlong_punishment

training_args = GRPOConfig(
    output_dir="dapo",
    mask_truncated_completions=True,
    loss_type="dapo",
    epsilon_high=0.28,
    epsilon=0.2,
    per_device_train_batch_size=16,
    num_generations=8,
    max_completion_length=24,
    beta=0.0,
    max_steps=3,
    logging_steps=1,
)
sop_reward = get_soft_overlong_punishment(max_completion_len=24, soft_punish_cache=8)
trainer = GRPOTrainer(
    model="models/tiny",
    reward_funcs=[accuracy_reward, sop_reward],
    args=training_args,
    train_dataset=load_dataset("json", data_files="data/math.jsonl", split="train"),
)
trainer.train()
