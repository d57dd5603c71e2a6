"""The demo's model trained by a Python function in two processes, which takes 1 ms a completion.

    make demo && python3 bench/demo_rewards.py

Prints accuracy on the 512 held-out problems by the built-in reward before and after GRPO, the seconds of generation, how long
the rewards were at work beside it and after it, and the seconds of whole steps. The run stays in runs/python-function.
"""

from countdown_function import countdown
from demo_run import ROOT, TRAIN, WARM, accuracy, grpo, print_table, read, seconds

RUN = ROOT / "runs/python-function"


def check_rewards():
    """Every completion has the reward that the function gives it here."""
    columns = {row["prompt"]: row for row in read(TRAIN)}
    completions = read(RUN / "completions.jsonl")[:2000]
    rows = [columns[row["prompt"]] for row in completions]
    texts = [row["completion"] for row in completions]
    rewards = countdown(texts, [row["numbers"] for row in rows], [row["target"] for row in rows])
    assert rewards == [row["reward"] for row in completions], "a reward is not that of its completion"


def main():
    function = ("--reward.0.function", f"{ROOT / 'bench/countdown_function.py'}:countdown")
    grpo(RUN, "--reward.0.type", "python", *function, "--reward.0.workers", 2)
    check_rewards()
    before = accuracy(WARM, output=RUN / "before.json")
    after = accuracy(RUN / "final", output=RUN / "after.json")
    print_table([{"before %": before, "after %": after, **seconds(RUN)}])


if __name__ == "__main__":
    main()
