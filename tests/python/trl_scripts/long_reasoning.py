"""After TRL's index of papers: cosine-scaled accuracy and repeated n-grams (arXiv:2502.03373), with checkpoints and a resumed run."""

from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer
from trl.rewards import get_cosine_scaled_reward, get_repetition_penalty_reward

dataset = load_dataset("json", data_files="data/math.jsonl", split="train")
cosine_scaled_reward = get_cosine_scaled_reward(max_len=24)
repetition_penalty = get_repetition_penalty_reward(ngram_size=3, max_penalty=-1.0)


def make_trainer():
    training_args = GRPOConfig(
        output_dir="long",
        max_completion_length=24,
        max_steps=4,
        logging_steps=1,
        save_strategy="steps",
        save_steps=2,
        save_total_limit=1,
    )
    return GRPOTrainer(
        model="models/tiny",
        reward_funcs=[cosine_scaled_reward, repetition_penalty],
        args=training_args,
        train_dataset=dataset,
    )


trainer = make_trainer()
trainer.train()
trainer = make_trainer()
trainer.train(resume_from_checkpoint=True)
