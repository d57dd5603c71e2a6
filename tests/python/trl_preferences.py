"""TRL's own preference loss, cut out of its source file (see trl_source.py) and run on given log-probabilities or on a
model of transformers.
"""

import ast
import contextlib
import math
from collections import defaultdict
from types import SimpleNamespace

import torch
from trl_source import find, parse, run

TRAINER = find(parse("dpo_trainer.py"), ast.ClassDef, "DPOTrainer")
METHOD = find(TRAINER, ast.FunctionDef, "_compute_loss")
NAMES = {
    "torch": torch,
    "F": torch.nn.functional,
    "math": math,
    "disable_gradient_checkpointing": lambda *_: contextlib.nullcontext(),
    "is_peft_model": lambda _: False,
}
COMPUTE_LOSS = run([METHOD], NAMES)["_compute_loss"]


class Accelerator:
    device = "cpu"

    def gather(self, tensor):
        return tensor

    gather_for_metrics = gather


class GivenLogprobs:
    """A model whose log-probabilities of the completions are `logprobs` [2 P, T], wherever they stand in the batch."""

    def __init__(self, logprobs, entropies=None):
        self.logprobs = logprobs
        self.entropies = torch.zeros_like(logprobs) if entropies is None else entropies

    def __call__(self, labels, **_):
        mask = labels[:, 1:] != -100
        zeros = torch.zeros_like(self.logprobs)
        return SimpleNamespace(
            log_probs=torch.where(mask, self.logprobs, zeros),
            entropy=self.entropies,
            mean_logits=zeros.detach(),
            is_top1=zeros.bool(),
        )


def loss(policy, ref, input_ids, completion_mask, **settings):
    """The loss and the metrics of a batch whose chosen rows [P, T + 1] stand before its rejected ones; the mask is of
    completions. `policy` and `ref` are models; with `ref` None all its log-probabilities are 0."""
    if ref is None:
        ref = GivenLogprobs(torch.zeros(completion_mask[:, 1:].shape, dtype=torch.float64))
    trainer = SimpleNamespace(
        model=SimpleNamespace(training=True),
        ref_model=ref,
        args=SimpleNamespace(gradient_checkpointing_kwargs=None),
        accelerator=Accelerator(),
        aux_loss_enabled=False,
        precompute_ref_logps=False,
        f_divergence_type="reverse_kl",
        use_weighting=False,
        ld_alpha=settings.get("ld_alpha"),
        loss_types=[settings.get("loss_type", "sigmoid")],
        loss_weights=[1.0],
        beta=settings.get("beta", 0.1),
        label_smoothing=settings.get("label_smoothing", 0.0),
        _metrics=defaultdict(lambda: defaultdict(list)),
        _total_train_tokens=0,
        _tp_size=1,
    )
    inputs = {
        "input_ids": input_ids,
        "attention_mask": torch.ones_like(input_ids),
        "completion_mask": completion_mask,
    }
    value = COMPUTE_LOSS(trainer, policy, inputs, False)
    return value, {name: values[0] for name, values in trainer._metrics["train"].items()}
