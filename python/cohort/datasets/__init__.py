"""Data sets as rows for the engine: `rows` takes them of any kind, `reasoning_gym` makes problems with a reward."""

from cohort.datasets.convert import rows, write_jsonl
from cohort.datasets.gym import reasoning_gym, reasoning_gym_reward, score_answer

__all__ = ["reasoning_gym", "reasoning_gym_reward", "rows", "score_answer", "write_jsonl"]
