"""The native engine for a training loop of your own: docs/python/own-loop.md."""

import os
from collections.abc import Mapping, Sequence
from numbers import Real
from operator import index
from typing import Any

from torch import Tensor

from cohort._cohort import engine as _engine
from cohort.batch import Group, LossFunction, check_batch, groups_from, wrapped
from cohort.sampling_params import SamplingParams, keys_of
from cohort.tokenizer import Tokenizer

Message = Mapping[str, Any]
Prompt = str | Sequence[Message] | Sequence[int] | Tensor


class Snapshot:
    """The weights of an engine as they were when it was made: a reference or a teacher. Any thread may use it."""

    def __init__(self, native: Any):
        self._native = native

    def logprobs(self, batch: Sequence[Group]) -> list[list[Tensor]]:
        """As Engine.logprobs()."""
        return self._native.logprobs(check_batch(batch))

    def entropies(self, batch: Sequence[Group]) -> list[list[Tensor]]:
        """As Engine.entropies()."""
        return self._native.entropies(check_batch(batch))


class Engine:
    """A causal language model that samples, scores and learns; made by Engine.load().

    Calls release Python's global lock, and Ctrl-C ends them between two passes. Only one call at a time may work on an
    engine: another one raises RuntimeError. What a method says it raises comes beside TypeError for wrong types.
    """

    def __init__(self, native: Any):
        self._native = native
        self._num_rollouts = 0
        self._tokenizer = Tokenizer(native.tokenizer) if native.tokenizer is not None else None

    @classmethod
    def load(
        cls,
        model_dir: str | os.PathLike[str],
        dtype: str = "auto",
        lora: Mapping[str, Any] | None = None,
        *,
        seed: int = 42,
        device: str = "cpu",
        optimizer: Mapping[str, float] | None = None,
        max_length: int | None = None,
        tokens_per_microbatch: int = 0,
        recompute: bool = False,
        router_aux_loss_coef: float = 0.0,
        cache_tokens: int = 0,
        chat_template: str | os.PathLike[str] | None = None,
    ) -> "Engine":
        """Loads a Hugging Face directory. OSError for files that are missing, ValueError for those that cannot be used.

        Args:
            model_dir: config.json, safetensors and tokenizer.json of a supported family (docs/models.md).
            dtype: in which to compute: "float32", "bfloat16" or "auto", which is what config.json names. The trained
                weights are kept in float32.
            lora: keys of a recipe's `[lora]`, such as {"r": 8, "alpha": 16}: trains adapters on the frozen model.
            seed: decides every random number.
            device: "cpu" or "cuda".
            optimizer: keys of a recipe's `[optimizer]`: weight_decay, adam_beta1, adam_beta2, adam_epsilon and
                max_grad_norm.
            max_length: longest sequence, in tokens; only models with dynamic or longrope RoPE compute by it.
            tokens_per_microbatch: rows forwarded and backpropagated at once; 0 chooses.
            recompute: keep only each layer's input and compute the rest again in the backward pass.
            router_aux_loss_coef: weight of the load-balancing loss of mixtures of experts.
            cache_tokens: size of the sampler's KV cache, in tokens; 0 chooses.
            chat_template: file of a template in place of the model's.
        """
        keys: dict[str, Any] = {
            "dtype": dtype,
            "device": device,
            "seed": seed,
            "tokens_per_microbatch": tokens_per_microbatch,
            "recompute": recompute,
            "router_aux_loss_coef": router_aux_loss_coef,
            "cache_tokens": cache_tokens,
        }
        if max_length is not None:
            keys["max_length"] = max_length
        if chat_template is not None:
            keys["chat_template"] = _path(chat_template)
        adapter = _table(lora, "lora")
        if lora is not None and not adapter:
            raise ValueError("lora is empty: give at least r, the rank of the adapters")
        if "path" in adapter:
            adapter["path"] = _path(adapter["path"])
        return cls(_engine.PolicyEngine.load(_path(model_dir), keys, adapter, _table(optimizer, "optimizer")))

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer. Raises RuntimeError if its directory has none."""
        if self._tokenizer is None:
            raise RuntimeError("the model directory has no tokenizer.json")
        return self._tokenizer

    @property
    def dtype(self) -> str:
        """ "float32" or "bfloat16"."""
        return self._native.dtype

    @property
    def vocab_size(self) -> int:
        """Ids that the model has logits for."""
        return self._native.vocab_size

    @property
    def context_length(self) -> int:
        """Longest sequence, in tokens."""
        return self._native.context_length

    @property
    def num_updates(self) -> int:
        """Updates made by optim_step()."""
        return self._native.num_updates

    def generate(
        self,
        prompts: Sequence[Prompt],
        sampling_params: SamplingParams | None = None,
        *,
        num_generations: int | None = None,
        seed: int | None = None,
        step: int | None = None,
    ) -> list[Group]:
        """Completions of each prompt, in the order of the prompts. Carries no gradient.

        Token t of completion g of prompt p is drawn at the address (seed, step, p, g, t), so it depends on no other
        prompt and on no earlier call. ValueError for a prompt that is empty or leaves no room in the context.

        Args:
            prompts: a text is continued as it is; a list of messages goes through the chat template; token ids are taken
                as they are.
            sampling_params: the defaults of SamplingParams if None.
            num_generations: completions of each prompt, in place of `sampling_params.n`.
            seed: in place of `sampling_params.seed`.
            step: by default the number of this call, from 1.
        """
        if isinstance(prompts, (str, Mapping)) or not isinstance(prompts, Sequence):
            raise TypeError(f"prompts is a {type(prompts).__name__}, but must be a list of prompts")
        params = sampling_params if sampling_params is not None else SamplingParams()
        if not isinstance(params, SamplingParams):
            raise TypeError(
                f"sampling_params is a {type(params).__name__}, but must be a cohort.SamplingParams"
            )
        keys = keys_of(params)
        if num_generations is not None:
            keys["n"] = num_generations
        if seed is not None:
            keys["seed"] = seed
        temperature = float(params.temperature) or 1.0
        rollout = self._num_rollouts + 1 if step is None else index(step)
        if not 0 <= rollout < 2**63:
            raise ValueError(f"step is {rollout}, but must be at least 0 and have at most 63 bits")
        drawn = self._native.generate(list(prompts), keys, rollout)
        self._num_rollouts += 1
        return groups_from(drawn, temperature)

    def logprobs(self, batch: Sequence[Group]) -> list[list[Tensor]]:
        """Log-probabilities of every token of every completion, float32 [T] for each, under the weights as they are.

        The trainer's packed forward, without gradient, at the temperature of the groups and over the kept sets. On
        platforms where sampler_trainer_difference() is 0 they equal the sampler's bit for bit. ValueError for token ids
        outside the vocabulary and sequences longer than the context.
        """
        return self._native.logprobs(check_batch(batch))

    def entropies(self, batch: Sequence[Group]) -> list[list[Tensor]]:
        """Entropies, in nats, of the distributions that the tokens of logprobs() are drawn from, in the same form."""
        return self._native.entropies(check_batch(batch))

    def forward_backward(
        self, batch: Sequence[Group], loss: str | LossFunction = "grpo", **objective: Any
    ) -> dict[str, float]:
        """Adds the gradient of a loss over the whole batch to the gradient since the last update, and returns metrics.

        The loss is that of objectives.loss(), whose normalizers count the whole batch however it is cut into
        micro-batches. Metrics have the names of docs/metrics.md. After an exception there is no gradient. ValueError for
        values that are not finite and for columns that the objective needs and the batch lacks.

        Args:
            batch: groups whose completions have `advantage`, and `old_logprobs` if other weights sampled them.
            loss: one of objectives.presets(), or a function of yours:

                fn(policy_logprobs, old_logprobs, advantages, mask, batch) -> loss or (loss, metrics)

                It is called for each micro-batch, maybe in several threads, with float32 tensors [N, T] of its tokens with
                loss, padded; `mask` is 1 at tokens. Only policy_logprobs and `batch.entropies` carry gradient; `batch` is a
                LossBatch. Losses and metrics are added up over micro-batches. The engine itself is busy meanwhile; a
                Snapshot is not.
            **objective: keys of objectives.settings(), overriding the preset's; none with a function.
        """
        if callable(loss):
            if objective:
                raise TypeError(f"{next(iter(objective))} has no effect with a loss function: remove it")
            return self._native.forward_backward_by(check_batch(batch), wrapped(loss))
        if not isinstance(loss, str):
            raise TypeError(
                f"loss is a {type(loss).__name__}, but must be the name of a preset or a function"
            )
        loss.encode()  # refuses surrogates
        return self._native.forward_backward(check_batch(batch), loss, objective)

    def optim_step(self, lr: float) -> dict[str, float]:
        """One AdamW update with the gradient so far, which it clips to `max_grad_norm` and then drops.

        Returns `grad_norm` before clipping, `learning_rate`, `num_updates` and `skipped`: 1 where the loss or the gradient
        was not finite, so that no weight was changed. RuntimeError without a gradient.
        """
        if not isinstance(lr, Real):
            raise TypeError(f"lr is a {type(lr).__name__}, but must be a number")
        try:
            return self._native.optim_step(float(lr))
        except OverflowError as error:
            raise ValueError(f"lr: {error}") from error

    def zero_grad(self) -> None:
        """Drops the gradient since the last update."""
        self._native.zero_grad()

    def snapshot(self, *, adapters: bool = True) -> Snapshot:
        """The weights as they are now, for a reference; `adapters=False` leaves the adapters out."""
        return Snapshot(self._native.snapshot(bool(adapters)))

    def sampler_trainer_difference(self) -> float:
        """The largest difference between a log-probability of the sampler and the trainer's, on a short rollout.

        Where it is not 0, set `old_logprobs` from logprobs() before an update.
        """
        return self._native.sampler_trainer_difference()

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes a Hugging Face directory in the compute dtype, or a PEFT directory of the adapters; complete or not at all.

        OSError if the directory holds anything.
        """
        path = os.path.abspath(_path(directory))
        parent = os.path.dirname(path)
        while not os.path.exists(parent):
            parent = os.path.dirname(parent)
        if not os.path.isdir(parent):
            raise NotADirectoryError(f"{parent} is a file, so that {path} cannot be made")
        self._native.save(path)


def _table(table: Mapping[str, Any] | None, name: str) -> dict[str, Any]:
    if table is not None and not isinstance(table, Mapping):
        raise TypeError(f"{name} is a {type(table).__name__}, but must be a dict")
    return dict(table or {})


def _path(path: str | os.PathLike[str]) -> str:
    """A path as a string that the engine can read. ValueError for one with surrogates or NUL."""
    text = os.fsdecode(path)
    text.encode()
    if "\0" in text:
        raise ValueError(f"{text!r} is no path: it holds a NUL")
    return text
