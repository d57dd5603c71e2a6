"""TRL's GRPOTrainer starts from the model that the demo's GRPO run starts from.

    make demo && python3 bench/trl_from_demo.py

Takes a few GRPO steps with TRL from runs/demo-1/warm/final on the demo's prompts, in TRL's own virtual environment
(the one of compare_trl.py), and prints the share of right answers that TRL saw; `cohort eval` reports a
comparable share, on the held-out problems, as "before". The reward is written here again, independently of Cohort's.
"""

import ast
import json
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUN = ROOT / "runs/demo-1"
STEPS = 4


def value(node):
    """The value of an arithmetic syntax tree of whole numbers; and the numbers used."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value, [node.value]
    left, used_left = value(node.left)
    right, used_right = value(node.right)
    operators = {ast.Add: "__add__", ast.Sub: "__sub__", ast.Mult: "__mul__", ast.Div: "__truediv__"}
    return getattr(float(left), operators[type(node.op)])(float(right)), used_left + used_right


def is_right(text, numbers, target):
    answers = re.findall(r"<answer>(.*?)</answer>", text, re.DOTALL)
    if not answers:
        return False
    try:
        result, used = value(ast.parse(answers[-1].strip(), mode="eval").body)
    except (SyntaxError, AttributeError, KeyError, ZeroDivisionError):
        return False
    return sorted(used) == sorted(numbers) and abs(result - target) < 1e-9


def train():
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    shares = []

    def countdown(completions, **columns):
        rewards = [
            float(is_right(text, numbers, target))
            for text, numbers, target in zip(completions, columns["numbers"], columns["target"], strict=True)
        ]
        shares.append(statistics.mean(rewards))
        return rewards

    rows = [json.loads(line) for line in (RUN / "train.jsonl").read_text().splitlines()]
    trainer = GRPOTrainer(
        model=str(RUN / "warm/final"),
        reward_funcs=countdown,
        args=GRPOConfig(
            output_dir=str(RUN / "trl"),
            use_cpu=True,
            bf16=False,
            model_init_kwargs={"dtype": "float32"},
            per_device_train_batch_size=64,
            num_generations=16,
            max_completion_length=64,
            max_steps=STEPS,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_list(rows),
    )
    trainer.train()
    print(json.dumps(shares))


def main():
    import compare_trl

    command = [compare_trl.make_python(), __file__, "train"]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    shares = json.loads(output.splitlines()[-1])
    before = json.loads((RUN / "before-accuracy.json").read_text())["mean"]
    print(f"TRL, {STEPS} steps: right {', '.join(f'{100 * share:.1f} %' for share in shares)}")
    print(f"cohort eval of the same model: {100 * before:.1f} %")


if __name__ == "__main__":
    train() if sys.argv[1:] == ["train"] else main()
