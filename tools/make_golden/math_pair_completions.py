"""Pairs of math_pairs.py of whole completions: where the answer stands. maker(rng, equal) -> (gold, completion)."""

from math_pair_texts import latex, proper

# {right} is the answer that counts, {wrong} and {other} stand where nothing counts.
FRAMES = [
    "\\boxed{{{right}}}",
    "First I thought $\\boxed{{{wrong}}}$, but it is $\\boxed{{{right}}}$.",
    "So the value is\n\\[\\boxed{{{right}}}\\]\nas wanted.",
    "<think>It is \\boxed{{{wrong}}}.</think>\nThus \\boxed{{{right}}}.",
    "<think>Maybe {wrong}? \\boxed{{{wrong}}}</think>The final answer is ${right}$.",
    "<think>{other}</think><answer>{right}</answer>",
    "<think>\\boxed{{{wrong}}}</think> <answer>{right}</answer>",
    "<think>x</think><answer>{wrong}</answer> No: <answer>{right}</answer>",
    "<answer> {right} </answer>",
    "<answer>$\\boxed{{{right}}}$</answer>",
    "Step 1: {other} apples.\nStep 2: ${wrong}$.\nFinal Answer: The final answer is ${right}$. I hope it is correct.",
    "We add {wrong} and get more.\n\n**Answer:** {right}",
    "The answer is {right}.",
    "hence $x = {wrong}$ is no solution and the final answer is\n$${right}$$",
    "Therefore $\\boxed{{x = {right}}}$.",
    "Then $\\boxed{{\\left({right}\\right)}}$ with {other} left.",
    "Some text {other}.\n\\boxed {{{right}}}",
    "So \\fbox{{{right}}}",
    "<think>one</think>two <think>\\boxed{{{wrong}}}</think> \\boxed{{{right}}} done",
    "It cannot be {other}, so we have ${wrong} + 1$ and at last $$ {right} $$",
    "\\boxed{{\\text{{{right}}}}}",
    "In total there are {right}",
]
SETS = [
    "\\boxed{{\\{{{right},{other}\\}}}}",
    "<think>\\boxed{{{wrong}}}</think>$\\{{{other}, {right}\\}}$ so \\boxed{{\\left\\{{{right},{other}\\right\\}}}}",
]


def completions(rng, equal):
    right, wrong, other = proper(rng, 50), proper(rng, 50) + 100, rng.randint(2, 50)
    if rng.random() < 0.4:
        right, wrong = rng.randint(60, 5000), rng.randint(6000, 9000)
    if rng.random() < 0.15:
        values = {"right": str(right), "wrong": latex(wrong), "other": other + 10000}
        gold = f"\\{{{values['other']},{values['right'] if equal else values['wrong']}\\}}"
        return gold, rng.choice(SETS).format(**values)
    frame = rng.choice(FRAMES)
    right_text = latex(right) if "$" in frame or "boxed" in frame or "answer>" in frame else str(right)
    if "\\text{" in frame:
        right_text = str(right)
    text = frame.format(right=right_text, wrong=latex(wrong), other=other)
    return (latex(right) if equal else latex(wrong if rng.random() < 0.7 else right + 1)), text


MAKERS = {"completions": completions}
