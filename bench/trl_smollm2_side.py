"""One run of bench/trl_smollm2.py: the same script for both packages, which differs in the module that it imports.

trl_smollm2_side.py trl|cohort FOLDER JSON    settings as one JSON object; prints one JSON line of results, the last line
"""

import importlib
import json
import pathlib
import sys
import time

trainers = importlib.import_module(sys.argv[1])  # `import trl` or `import cohort`: the only difference

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "recipes/smollm2")]
from datasets import load_dataset  # noqa: E402
from reward import sums  # noqa: E402
from transformers import TrainerCallback  # noqa: E402

COMPLETIONS = 64  # of a step


class Clock(TrainerCallback):
    """Seconds of every step, optimizer included; saves the model between steps."""

    def __init__(self, save_steps, folder):
        self.save_steps, self.folder, self.steps = save_steps, folder, []

    def on_step_begin(self, *_, **__):
        self.began = time.perf_counter()

    def on_step_end(self, args, state, control, **_):
        self.steps.append(time.perf_counter() - self.began)
        if self.save_steps and state.global_step % self.save_steps == 0:
            self.trainer.save_model(f"{self.folder}/models/{state.global_step}")


def train(folder, settings):
    arguments = settings["arguments"]
    args = trainers.GRPOConfig(
        output_dir=f"{folder}/run",
        use_cpu=True,
        model_init_kwargs={"dtype": "float32"},
        gradient_accumulation_steps=COMPLETIONS // arguments["per_device_train_batch_size"],
        num_generations=8,
        max_completion_length=24,
        temperature=0.6,
        loss_type="grpo",
        learning_rate=2e-5,
        lr_scheduler_type="linear",
        warmup_steps=5,
        max_steps=settings["steps"],
        logging_steps=1,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        seed=settings["seed"],
        **arguments,
    )
    clock = Clock(settings["save_steps"], folder)
    clock.trainer = trainers.GRPOTrainer(
        model=f"{folder}/../model",
        reward_funcs=sums,
        args=args,
        train_dataset=load_dataset("json", data_files=f"{folder}/../train.jsonl", split="train"),
        callbacks=[clock],
    )
    clock.trainer.train()
    rewards = [row["reward"] for row in clock.trainer.state.log_history if "reward" in row]
    lengths = [row["completions/mean_length"] for row in clock.trainer.state.log_history if "reward" in row]
    print(json.dumps({"step_s": clock.steps, "reward": rewards, "length": lengths}))


if __name__ == "__main__":
    train(sys.argv[2], json.loads(sys.argv[3]))
