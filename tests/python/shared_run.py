"""One process of a run that test_trainer_shared.py starts: reads what to do from the environment, prints a line of JSON."""

import json
import os
import random
import sys
import zlib

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import torch
from cohort.trainer import grpo_trainer
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback

from cohort import GRPOConfig, GRPOTrainer, SamplingParams, SFTConfig, SFTTrainer

torch.set_num_threads(1)
SPEC = json.loads(os.environ["SPEC"])
RANK = int(os.environ.get("RANK", "0"))
SIZE = int(os.environ.get("WORLD_SIZE", "1"))
TEMPLATE = (
    "{%- for m in messages -%}{%- if m.role == 'assistant' -%}A:{% generation %}{{ m.content }}"
    "{% for call in m.tool_calls or [] %}<tool_call>{{ {'name': call.function.name, 'arguments': call.function.arguments}"
    " | tojson }}</tool_call>{% endfor %}{{ eos_token }}{% endgeneration %}{%- else -%}{{ m.role[0] }}:{{ m.content }}\n"
    "{% endif -%}{%- endfor -%}{%- if add_generation_prompt -%}A:{%- endif -%}"
)
MESSAGES = [{"prompt": [{"role": "user", "content": f"Go {i}."}], "level": i} for i in range(12)]
ROWS = [{"prompt": f"Count to {i}.", "level": i} for i in range(12)]


def hashed(prompts, completions, level, log_metric, log_extra, **columns):
    """A score of its own for each completion, and what it was computed from in the log."""
    scores = [zlib.crc32((p + c).encode()) % 97 / 97 for p, c in zip(prompts, completions, strict=True)]
    for score in scores:
        log_metric("seen", score)
    log_extra("text", list(completions))
    assert all(prompt == ROWS[n]["prompt"] for prompt, n in zip(prompts, level, strict=True))
    return scores


def ranked(prompts, completions, **columns):
    """Looks at whole groups: the place of a completion's length in its group."""
    scores = []
    for prompt, text in zip(prompts, completions, strict=True):
        group = [c for p, c in zip(prompts, completions, strict=True) if p == prompt]
        assert len(group) % 4 == 0, f"{len(group)} completions of a group of 4"
        scores.append(sum(len(other) < len(text) for other in group) / len(group))
    return scores


def failing(completions, trainer_state, **columns):
    if RANK == SIZE - 1 and trainer_state.global_step == 2:
        raise LookupError("no such row")
    return [float(len(text)) for text in completions]


def names_itself(name):
    def rename(function):
        function.__name__ = name
        return function

    return rename


@names_itself("hashed")  # as records call it
def dying(completions, trainer_state, **columns):
    if RANK == SIZE - 1 and trainer_state.global_step == 2 and not os.path.exists(SPEC["died"]):
        open(SPEC["died"], "w").close()
        os._exit(9)
    return hashed(completions=completions, **columns)


class Board:
    """An environment whose reward tells whether each completion has an instance of its own."""

    def reset(self, level, **row):
        self.level = level
        return f" Level {level}."

    def look(self) -> str:
        """Looks at the board."""
        return "A board."

    def get_reward(self):
        return float(self.level % 3)


def sampled_groups(prompts, trainer):
    """A group for each prompt."""
    return columns_of(trainer.generate(prompts[::4]))


def sampled_completions(prompts, trainer):
    """Each completion by itself."""
    return columns_of(trainer.generate(prompts, SamplingParams(n=1, max_tokens=12)))


def columns_of(groups):
    rows = [(group.prompt_ids, one) for group in groups for one in group.completions]
    return {
        "prompt_ids": [prompt_ids for prompt_ids, _ in rows],
        "completion_ids": [one.token_ids for _, one in rows],
        "logprobs": [one.logprobs.tolist() for _, one in rows],
    }


def random_advantages(rewards, group):
    assert RANK == 0
    return torch.rand(len(rewards), dtype=torch.float64)  # of a generator that each process seeds by itself


def surrogate(policy, old, advantages, mask, batch):
    """DAPO's loss, arXiv:2503.14476 eq. 8, without clipping."""
    ratio = (policy - old).exp()
    return -(ratio * advantages * mask).sum() / batch.num_loss_tokens, {"own_ratio": ratio.sum().item()}


class Wishes(TrainerCallback):
    """What processes wish differs: the last one stops after step 2, the first one saves after step 1."""

    def on_step_end(self, args, state, control, **others):
        if RANK == 0 and state.global_step == 1:
            control.should_save = True
        if RANK == SIZE - 1 and state.global_step == 2:
            control.should_training_stop = True


def playing(model):
    """Arguments of a trainer whose completions are episodes."""
    if not SPEC.get("plays"):
        return {}
    tokenizer = AutoTokenizer.from_pretrained(model)
    tokenizer.chat_template = TEMPLATE
    return {"environment_factory": Board, "processing_class": tokenizer}


def main():
    torch.manual_seed(RANK)
    random.seed(RANK)
    shown = []
    grpo_trainer.log_completions = lambda rows, step, extra, args: shown.extend(
        [row["completion"], extra["text"][place]] for place, row in enumerate(rows)
    )
    values = {
        "output_dir": SPEC["output_dir"],
        "max_steps": 3,
        "per_device_train_batch_size": 16 // SIZE,
        "num_generations": 4,
        "max_completion_length": 12,
        "learning_rate": 1e-3,
        "logging_steps": 1,
        "report_to": "none",
        "disable_tqdm": True,
        "save_strategy": "no",
        "recipe": {"dist.gradient_slots": 2},
    }
    values |= SPEC.get("args", {}) | SPEC.get(f"args_{RANK}", {})
    rows = ROWS if RANK == 0 else SPEC.get("other_rows", ROWS)
    if SPEC.get("sft"):
        pairs = [{"prompt": "a", "completion": "b"}] * 8
        args = SFTConfig(SPEC["output_dir"], max_steps=1, report_to="none")
        return SFTTrainer(SPEC["model"], args, train_dataset=pairs).train()
    model = SPEC["model"]
    if SPEC.get("object"):
        model = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    functions = {name: globals()[place] for name, place in SPEC.get("functions", {}).items()}
    trainer = GRPOTrainer(
        model,
        None if SPEC.get("plays") else globals()[SPEC.get("reward", "hashed")],
        GRPOConfig(**values),
        train_dataset=MESSAGES if SPEC.get("plays") else rows,
        eval_dataset=ROWS[:4] if SPEC.get("evaluates") else None,
        callbacks=[Wishes()] if SPEC.get("wishes") else None,
        **functions,
        **playing(SPEC["model"]),
    )
    trainer.train(resume_from_checkpoint=SPEC.get("resume"))
    result = {"rank": RANK, "step": trainer.state.global_step, "first": trainer.is_world_process_zero()}
    if SPEC.get("evaluates"):
        result["eval"] = trainer.evaluate()
        result["given"] = trainer.evaluate(ROWS[4:7], metric_key_prefix="given")
    if SPEC.get("accelerator"):
        result["accelerator"] = [trainer.accelerator.num_processes, trainer.accelerator.is_main_process]
    trainer.save_model(os.path.join(SPEC["output_dir"], "saved"))
    total = sum(parameter.detach().double().sum().item() for parameter in trainer.model.parameters())
    result |= {"weights": total, "log": trainer.state.log_history, "shown": shown}
    print(json.dumps(result), file=sys.stdout)


main()
