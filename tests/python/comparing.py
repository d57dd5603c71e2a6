"""What the comparisons with transformers share: rows to score, and log-probabilities there."""

import json

import make_models
import torch


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def make_rows(same_length):
    """Prompt lengths around tile and page edges, completions from one token on; or all of one whole length."""
    generator = torch.Generator().manual_seed(11)

    def draw(count):
        # Without id 0, the pad token, whose embedding transformers does not train.
        return torch.randint(1, make_models.VOCAB_SIZE, (count,), generator=generator).tolist()

    lengths = [(1, 1), (1, 40), (5, 2), (16, 16), (17, 31), (63, 1), (64, 64), (65, 7), (130, 90)]
    if same_length:
        lengths = [(prompt, same_length - prompt) for prompt in (1, 17, 64, 130)]
    return [
        {"prompt_ids": draw(prompt), "completion_ids": draw(completion)} for prompt, completion in lengths
    ]


def completion_logprobs(model, row, temperature=1.0):
    """With gradient where gradients are on."""
    prompt, completion = row["prompt_ids"], row["completion_ids"]
    logits = model(torch.tensor([prompt + completion])).logits[0]
    logits = (logits if logits.dtype == torch.float64 else logits.float()) / temperature
    every = torch.log_softmax(logits[len(prompt) - 1 : -1], -1)
    return every.gather(1, torch.tensor(completion)[:, None])[:, 0]


def reference_logprobs(folder, rows, dtype, temperature=1.0):
    model = make_models.load(folder, dtype)
    with torch.no_grad():
        return [completion_logprobs(model, row, temperature) for row in rows]


def differences(left, right):
    return torch.cat([a.double() - b.double() for a, b in zip(left, right, strict=True)]).abs()
