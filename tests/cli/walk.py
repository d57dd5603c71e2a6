"""A walk on a line, as an environment in Python that rewards turns and tells its state.

A model of chain_model.py plays it: it draws `left` or `right` from the token of its place, so that its policy is a table.
"""

LEFT, RIGHT = (
    f'<tool_call>{{"name": "{name}", "arguments": {{}}}}</tool_call>' for name in ("left", "right")
)
LENGTH = 6
PLACES = [f"[place {place}]" for place in range(LENGTH)]
CHAINS = [[place, call, "<|endoftext|>"] for place in PLACES[:-1] for call in (LEFT, RIGHT)] + [
    [PLACES[-1], "there", "<|endoftext|>"]
]
TEMPLATE = (
    "{%- for m in messages %}{{ m.content }}{% for call in m.tool_calls or [] %}<tool_call>{{ call.function | tojson }}"
    "</tool_call>{% endfor %}{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
)


class Walk:
    """The reward is 1 at the right end, less `cost` for each step to the left."""

    cost = 0.125

    def reset(self, start=0, **row):
        self._place, self._total = start, 0.0
        return PLACES[start]

    def left(self) -> str:
        """
        Walks to the left.
        """
        self._place = max(self._place - 1, 0)
        self._total -= self.cost
        return PLACES[self._place]

    def right(self) -> str:
        """
        Walks to the right.
        """
        self._place += 1
        self._total += self._place == LENGTH - 1
        return PLACES[self._place]

    def get_reward(self) -> float:
        return self._total


class StatedWalk(Walk):
    turn_rewards = True

    @property
    def state(self):
        return self._place


class OneReward(StatedWalk):
    """The same rewards, when the episode is over."""

    turn_rewards = False


class Sparse(StatedWalk):
    """1 at the right end, and nothing else."""

    cost = 0.0
