"""The workloads that Cohort and its peers are compared on. Needs no package."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Workload:
    vocab_size: int
    hidden_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    intermediate_size: int
    tied: bool
    dtype: str
    prompt_tokens: int
    completion_tokens: int = 128
    prompts_per_step: int = 8
    num_generations: int = 8
    family: str = "llama"

    @property
    def context_tokens(self):
        return self.prompt_tokens + self.completion_tokens

    @property
    def completions_per_step(self):
        return self.prompts_per_step * self.num_generations

    @property
    def completion_tokens_per_step(self):
        return self.completions_per_step * self.completion_tokens

    @property
    def tokens_per_step(self):
        """Every completion with its prompt, as both sides' `num_tokens` counts them."""
        return self.completions_per_step * self.context_tokens


SHAPE_T = (2048, 256, 6, 4, 2, 704, False, "float32")
SHAPE_S = (49152, 576, 30, 9, 3, 1536, True, "bfloat16")
SHAPE_Q = (151936, 896, 24, 14, 2, 4864, True, "bfloat16")  # Qwen2.5-0.5B's

WORKLOADS = {
    "T": Workload(*SHAPE_T, prompt_tokens=162),
    "S": Workload(*SHAPE_S, prompt_tokens=132),
    "Q": Workload(*SHAPE_Q, prompt_tokens=256, completion_tokens=256, prompts_per_step=4, family="qwen2"),
    "long-prompt": Workload(
        *SHAPE_S, prompt_tokens=2048, completion_tokens=64, prompts_per_step=1, num_generations=16
    ),
    "L": Workload(*SHAPE_S, prompt_tokens=132, completion_tokens=4096, prompts_per_step=1),
    "L-short": Workload(*SHAPE_S, prompt_tokens=132, completion_tokens=128, prompts_per_step=1),
}


def prompt_ids(count, length, vocab_size, run):
    """Token ids of prompts that differ from their first tokens on, also from those of other runs."""
    return [
        [1 + ((run * count + p) * 104729 + i * 7919) % (vocab_size - 1) for i in range(length)]
        for p in range(count)
    ]
