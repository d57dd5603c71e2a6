"""Makes small random Hugging Face model directories in which every feature of a family matters.

    python make_models.py FOLDER

FOLDER/<case>     config as transformers 5 writes it (rope_parameters, dtype), one weight file
FOLDER/<case>-v4  of the cases in V4: the same weights, config as transformers 4 wrote it (rope_theta, rope_scaling,
                  torch_dtype), in shards

Each feature is then taken away from the model in turn (biases, norms, windows, caps, scalings, ...): where that moves
no log-probability by more than 1e-2, a comparison with the model would not notice it, and the script fails.
"""

import json
import pathlib
import sys
from dataclasses import dataclass, field

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

VOCAB_SIZE = 300
EXTRA_KEY = {"cohort_note": {"kept": [1, 2.5, "three"]}}  # a key that no library knows must survive a copy
MIN_EFFECT = 1e-2

SHAPE = dict(
    vocab_size=VOCAB_SIZE,
    hidden_size=64,
    intermediate_size=96,
    num_hidden_layers=3,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=512,
    rms_norm_eps=1e-2,
    tie_word_embeddings=False,
    bos_token_id=None,
    eos_token_id=0,
    pad_token_id=0,
)


@dataclass
class Case:
    """A model: its type, what its config has beyond SHAPE, and what the config is without each feature."""

    model_type: str
    config: dict
    without: dict = field(default_factory=dict)
    same_length: int = 0  # positions depend on the longest sequence: all rows get this length


def rope(theta, rope_type="default", **values):
    return {"rope_parameters": {"rope_type": rope_type, "rope_theta": theta, **values}}


def gemma3_rope(full_theta, sliding_theta, **full):
    return {
        "rope_parameters": {
            "full_attention": {"rope_type": "default", **full, "rope_theta": full_theta},
            "sliding_attention": {"rope_type": "default", "rope_theta": sliding_theta},
        }
    }


LLAMA3 = dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64)
YARN = dict(factor=4.0, original_max_position_embeddings=128, beta_fast=16.0, beta_slow=2.0)
LONG = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0]
SHORT = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7]
LONGROPE = dict(short_factor=SHORT, long_factor=LONG, original_max_position_embeddings=96)
GEMMA = dict(head_dim=24, query_pre_attn_scalar=40, tie_word_embeddings=True, sliding_window=20)
EXPERTS = dict(num_experts_per_tok=2, router_aux_loss_coef=0.02)

# Unusual values on purpose: a reader that falls back to a default is seen.
CASES = {
    "llama": Case("llama", {**rope(3000.0), "head_dim": 24}, {"rope_theta": rope(10000.0)}),
    "llama-bias": Case("llama", {**rope(3000.0), "attention_bias": True, "mlp_bias": True}),
    "llama3": Case("llama", rope(5e5, "llama3", **LLAMA3), {"rope scaling": rope(5e5)}),
    "llama-linear": Case("llama", rope(1e4, "linear", factor=3.0), {"rope scaling": rope(1e4)}),
    "llama-dynamic": Case(
        "llama",
        {
            **rope(1e4, "dynamic", factor=4.0, original_max_position_embeddings=48),
            "max_position_embeddings": 48,
        },
        {"rope scaling": rope(1e4)},
        same_length=160,
    ),
    "llama-yarn": Case(
        "llama",
        rope(1e4, "yarn", **YARN),
        {"rope scaling": rope(1e4), "scaled attention": rope(1e4, "yarn", **YARN, attention_factor=1.0)},
    ),
    "llama-longrope": Case(
        "llama",
        rope(1e4, "longrope", **LONGROPE),
        {
            "rope scaling": rope(1e4),
            "long factors": rope(1e4, "longrope", **{**LONGROPE, "long_factor": SHORT}),
            "scaled attention": rope(1e4, "longrope", **LONGROPE, attention_factor=1.0),
        },
        same_length=160,
    ),
    "mistral": Case("mistral", {**rope(2000.0), "sliding_window": 20}, {"window": {"sliding_window": None}}),
    "qwen2": Case("qwen2", {**rope(50000.0), "tie_word_embeddings": True}, {"rope_theta": rope(1e4)}),
    "qwen2-window": Case(
        "qwen2",
        {**rope(50000.0), "use_sliding_window": True, "sliding_window": 20, "max_window_layers": 1},
        {
            "window": {"use_sliding_window": False},
            "max_window_layers": {"max_window_layers": 0},
        },
    ),
    "qwen3": Case("qwen3", {**rope(700.0), "head_dim": 32}, {"rope_theta": rope(1e4)}),
    "gemma2": Case(
        "gemma2",
        {**rope(2000.0), **GEMMA, "attn_logit_softcapping": 1.5, "final_logit_softcapping": 3.0},
        {
            "cap of scores": {"attn_logit_softcapping": None},
            "cap of logits": {"final_logit_softcapping": None},
            "windows": {"layer_types": ["full_attention"] * 3},
            "full layers": {"layer_types": ["sliding_attention"] * 3},
            "scale of scores": {"query_pre_attn_scalar": 24},
        },
    ),
    "gemma3": Case(
        "gemma3_text",
        {**gemma3_rope(5000.0, 300.0, rope_type="linear", factor=3.0), **GEMMA}
        | {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"]},
        {
            "windows": {"sliding_window": 512},
            "full layers": {"layer_types": ["sliding_attention"] * 3},
            "scale of scores": {"query_pre_attn_scalar": 24},
            "local rope": gemma3_rope(5000.0, 5000.0, rope_type="linear", factor=3.0),
            "rope scaling": gemma3_rope(5000.0, 300.0),
        },
    ),
    "qwen3-moe": Case(
        "qwen3_moe",
        {**rope(700.0), **EXPERTS, "head_dim": 32, "num_experts": 6, "moe_intermediate_size": 40}
        | {"norm_topk_prob": True, "mlp_only_layers": [1]},
        {"normalised weights": {"norm_topk_prob": False}, "second expert": {"num_experts_per_tok": 1}},
    ),
    "mixtral": Case(
        "mixtral",
        {**rope(700.0), **EXPERTS, "num_local_experts": 4},
        {"second expert": {"num_experts_per_tok": 1}},
    ),
}
V4 = ("llama", "llama3", "qwen2", "qwen3", "gemma2", "gemma3")


def make_config(case, **changes):
    values = {**SHAPE, **case.config, **changes, **EXTRA_KEY}
    return transformers.AutoConfig.for_model(case.model_type, **values)


def from_config(config, dtype=torch.float32, auto=transformers.AutoModelForCausalLM):
    return auto.from_config(
        config, dtype=dtype, attn_implementation="eager", experts_implementation="eager"
    ).eval()


def load(folder, dtype=torch.float32, auto=transformers.AutoModelForCausalLM):
    return auto.from_pretrained(
        folder, dtype=dtype, attn_implementation="eager", experts_implementation="eager"
    ).eval()


def make_model(config, seed, auto=transformers.AutoModelForCausalLM):
    """Weights large enough that every feature shows, small enough that rounding errors do not grow."""
    torch.manual_seed(seed)
    model = from_config(config, auto=auto)
    middle = 0.0 if config.model_type.startswith("gemma") else 1.0
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith("norm.weight"):
                weight.uniform_(middle - 0.5, middle + 0.5)
            elif name.endswith(".bias"):
                weight.normal_(std=0.5)
            elif "embed" in name or "lm_head" in name:
                weight.normal_(std=0.15)
            elif name.endswith("mlp.gate.weight"):
                weight.normal_(std=2.0 / weight.shape[1] ** 0.5)
            else:
                weight.normal_(std=0.8 / weight.shape[-1] ** 0.5)
    return model


def make_tokenizer():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=290,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(["the sum of the numbers is the answer to the question"] * 4, trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|endoftext|>")


def save(model, folder):
    model.save_pretrained(folder)
    make_tokenizer().save_pretrained(folder)


def old_rope(parameters):
    """rope_parameters in the keys of transformers 4."""
    if "full_attention" in parameters:
        keys = old_rope(parameters["full_attention"])
        return {**keys, "rope_local_base_freq": parameters["sliding_attention"]["rope_theta"]}
    scaling = {key: value for key, value in parameters.items() if key != "rope_theta"}
    return {
        "rope_theta": parameters["rope_theta"],
        "rope_scaling": scaling if scaling["rope_type"] != "default" else None,
    }


def save_as_v4(model, folder):
    model.save_pretrained(folder, max_shard_size="100KB")
    make_tokenizer().save_pretrained(folder)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config.update(old_rope(config.pop("rope_parameters")))
    config["torch_dtype"] = config.pop("dtype")
    config["transformers_version"] = "4.57.6"
    path.write_text(json.dumps(config, indent=2) + "\n")


def logprobs(model, ids, **inputs):
    with torch.no_grad():
        return torch.log_softmax(model(ids, **inputs).logits.float(), -1)


def copy_of(model):
    copy = from_config(model.config)
    copy.load_state_dict(model.state_dict())
    return copy


def with_weights(model, part, change):
    """A copy of the model in which `change` was applied to every parameter whose name contains `part`."""
    copy = copy_of(model)
    changed = [weight for name, weight in copy.named_parameters() if part in name]
    assert changed, f"no parameter is named like {part}"
    with torch.no_grad():
        for weight in changed:
            weight.copy_(change(weight))
    return copy


def with_config(model, case, changes):
    copy = from_config(make_config(case, **changes))
    copy.load_state_dict(model.state_dict())
    return copy


def without_qk_norm(model):
    copy = copy_of(model)
    for layer in copy.model.layers:
        layer.self_attn.q_norm = torch.nn.Identity()
        layer.self_attn.k_norm = torch.nn.Identity()
    return copy


def without_embedding_scale(model):
    copy = copy_of(model)
    copy.model.embed_tokens.embed_scale.fill_(1.0)
    return copy


def ablations(model, case, ids):
    """Feature -> log-probabilities of the model without it."""
    names = [name for name, _ in model.named_parameters()]
    is_gemma = case.model_type.startswith("gemma")
    yield "rotation", logprobs(model, ids, position_ids=torch.zeros_like(ids))
    yield "rms_norm_eps", logprobs(with_config(model, case, {"rms_norm_eps": 1e-6}), ids)
    for feature, changes in case.without.items():
        yield feature, logprobs(with_config(model, case, changes), ids)
    for norm in (
        "input_layernorm",
        "post_attention_layernorm",
        "pre_feedforward_layernorm",
        "post_feedforward_layernorm",
    ):
        if any(norm in each for each in names):
            plain = with_weights(model, norm, torch.zeros_like if is_gemma else torch.ones_like)
            yield f"{norm} weight", logprobs(plain, ids)
            if is_gemma:
                yield f"{norm}'s 1 +", logprobs(with_weights(model, norm, lambda w: w - 1), ids)
    yield (
        "last norm weight",
        logprobs(with_weights(model, "model.norm", lambda w: torch.full_like(w, 1.0 - is_gemma)), ids),
    )
    if is_gemma:
        yield "embedding scale", logprobs(without_embedding_scale(model), ids)
    for part in ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"):
        # A bias on k alone adds the same to all scores of a query where rotation does not turn it.
        if any(f"{part}.bias" in each for each in names):
            yield f"{part} bias", logprobs(with_weights(model, f"{part}.bias", torch.zeros_like), ids)
    if any("q_norm" in each for each in names):
        yield "q/k norm", logprobs(without_qk_norm(model), ids)
        for part in ("q_norm", "k_norm"):
            plain = with_weights(model, part, torch.zeros_like if is_gemma else torch.ones_like)
            yield f"{part} weight", logprobs(plain, ids)
    if any("experts" in each for each in names):
        yield "router", logprobs(with_weights(model, "mlp.gate.weight", torch.zeros_like), ids)


def check_every_feature_matters(model, name, case):
    length = max(64, case.same_length)
    ids = torch.randint(1, VOCAB_SIZE, (1, length), generator=torch.Generator().manual_seed(7))
    whole = logprobs(model, ids)
    targets = ids[:, 1:, None]
    for feature, ablated in ablations(model, case, ids):
        moved = (whole - ablated)[:, :-1].gather(-1, targets).abs()
        effect = moved.median().item()
        print(
            f"{name}: without {feature}, log-probabilities move by {effect:.3g} (median), {moved.max():.3g} (most)"
        )
        if effect < MIN_EFFECT:
            sys.exit(f"{name}: {feature} hardly matters ({effect:.3g} < {MIN_EFFECT})")


def make_models(folder):
    transformers.utils.logging.disable_progress_bar()
    for seed, (name, case) in enumerate(CASES.items()):
        model = make_model(make_config(case), seed)
        check_every_feature_matters(model, name, case)
        save(model, folder / name)
        if name in V4:
            save_as_v4(model, folder / f"{name}-v4")


if __name__ == "__main__":
    make_models(pathlib.Path(sys.argv[1]))
