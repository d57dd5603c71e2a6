"""What compare_trl.py runs inside TRL's virtual environment: makes model and prompts, or trains with GRPOTrainer.

trl_side.py make T FOLDER          FOLDER/model and FOLDER/prompts.jsonl
trl_side.py train T FOLDER JSON    settings as one JSON object; prints one JSON line of results, the last line
"""

import itertools
import json
import pathlib
import random
import sys
import time

import torch
import transformers
from hash_reward import hash_reward
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from workloads import WORKLOADS

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def make_tokenizer(vocab_size):
    """Byte-level BPE of exactly this size in which lower-case letters never merge: N letters are N tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    others = [letter for letter in alphabet if letter not in LETTERS]
    pairs = itertools.product(others, others)
    triples = itertools.product(map("".join, itertools.product(others, others)), others)
    merges = list(itertools.islice(itertools.chain(pairs, triples), vocab_size - len(alphabet) - 1))
    tokens = ["<|endoftext|>", *alphabet, *(left + right for left, right in merges)]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|endoftext|>"])
    end = "<|endoftext|>"
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=end, pad_token=end)


def make(workload, folder):
    tokenizer = make_tokenizer(workload.vocab_size)
    assert len(tokenizer) == workload.vocab_size
    torch.manual_seed(1)
    config_class = {"llama": transformers.LlamaConfig, "qwen2": transformers.Qwen2Config}[workload.family]
    config = config_class(
        vocab_size=workload.vocab_size,
        hidden_size=workload.hidden_size,
        num_hidden_layers=workload.num_layers,
        num_attention_heads=workload.num_heads,
        num_key_value_heads=workload.num_kv_heads,
        intermediate_size=workload.intermediate_size,
        tie_word_embeddings=workload.tied,
        max_position_embeddings=max(2048, workload.context_tokens),
        bos_token_id=None,
        eos_token_id=0,
        pad_token_id=0,
    )
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    generator = random.Random(2)
    with open(folder / "prompts.jsonl", "w") as file:
        for _ in range(8 * workload.prompts_per_step):
            prompt = "".join(generator.choices(LETTERS, k=workload.prompt_tokens))
            assert len(tokenizer(prompt)["input_ids"]) == workload.prompt_tokens
            file.write(json.dumps({"prompt": prompt}) + "\n")


class Clock(transformers.TrainerCallback):
    """Wall-clock seconds of every step, optimizer included."""

    def __init__(self):
        self.steps = []

    def on_step_begin(self, *_, **__):
        self.began = time.perf_counter()

    def on_step_end(self, *_, **__):
        self.steps.append(time.perf_counter() - self.began)


def make_config(workload, folder, settings):
    from trl import GRPOConfig

    micro_batch = settings["micro_batch"]
    length = workload.completion_tokens
    return GRPOConfig(
        output_dir=str(folder / "trl"),
        model_init_kwargs={"dtype": settings["weights_dtype"]},
        bf16=settings["dtype"] == "bfloat16",
        use_cpu=True,
        per_device_train_batch_size=micro_batch,
        gradient_accumulation_steps=workload.completions_per_step // micro_batch,
        gradient_checkpointing=False,
        num_generations=workload.num_generations,
        max_completion_length=length,
        generation_kwargs={"min_new_tokens": length, "max_new_tokens": length},
        temperature=1.0,
        loss_type="grpo",
        beta=0.0,
        num_iterations=1,
        learning_rate=1e-5,
        max_steps=settings["steps"],
        logging_steps=1,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        seed=1,
    )


def train(workload, folder, settings):
    from datasets import Dataset
    from trl import GRPOTrainer

    prompts = [json.loads(line) for line in (folder / "prompts.jsonl").read_text().splitlines()]
    clock, generation = Clock(), []

    class TimedTrainer(GRPOTrainer):
        def _generate(self, *arguments, **keywords):
            began = time.perf_counter()
            result = super()._generate(*arguments, **keywords)
            generation.append(time.perf_counter() - began)
            return result

    trainer = TimedTrainer(
        model=str(folder / "model"),
        reward_funcs=hash_reward,
        args=make_config(workload, folder, settings),
        train_dataset=Dataset.from_list(prompts),
        callbacks=[clock],
    )
    trainer.train()
    metrics = [row for row in trainer.state.log_history if "num_tokens" in row]
    print(json.dumps({"step_s": clock.steps, "generation_s": generation, "metrics": metrics}))


if __name__ == "__main__":
    action, name, target = sys.argv[1:4]
    transformers.utils.logging.disable_progress_bar()
    if action == "make":
        make(WORKLOADS[name], pathlib.Path(target))
    else:
        train(WORKLOADS[name], pathlib.Path(target), json.loads(sys.argv[4]))
