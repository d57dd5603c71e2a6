"""The two reference workloads that Cohort and TRL are compared on. Needs no package."""

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

    @property
    def completions_per_step(self):
        return self.prompts_per_step * self.num_generations

    @property
    def tokens_per_step(self):
        """Every completion with its prompt, as both sides' `num_tokens` counts them."""
        return self.completions_per_step * (self.prompt_tokens + self.completion_tokens)


WORKLOADS = {
    "T": Workload(2048, 256, 6, 4, 2, 704, False, "float32", prompt_tokens=162),
    "S": Workload(49152, 576, 30, 9, 3, 1536, True, "bfloat16", prompt_tokens=132),
}
