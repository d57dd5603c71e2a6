"""Makes small random Hugging Face model directories in which every feature of a family matters.

    python make_models.py FOLDER

FOLDER/<family>     config as transformers 5 writes it (rope_parameters, dtype), one weight file
FOLDER/<family>-v4  the same weights, config as transformers 4 wrote it (rope_theta, torch_dtype), in shards

Each feature is then taken away from the model in turn (biases, q/k norm, rotation, ...): where that moves no
log-probability by more than 1e-2, a comparison with the model would not notice it, and the script fails.
"""

import json
import pathlib
import sys

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
    bos_token_id=None,
    eos_token_id=0,
    pad_token_id=0,
)

# Unusual values on purpose: a reader that falls back to a default is seen.
FAMILIES = {
    "llama": dict(rope_theta=3000.0, rms_norm_eps=1e-2, tie_word_embeddings=False, head_dim=24),
    "qwen2": dict(rope_theta=50000.0, rms_norm_eps=1e-2, tie_word_embeddings=True),
    "qwen3": dict(rope_theta=700.0, rms_norm_eps=1e-2, tie_word_embeddings=False, head_dim=32),
}


def make_config(family, **changes):
    values = {**SHAPE, **FAMILIES[family], **changes}
    theta = values.pop("rope_theta")
    values["rope_parameters"] = {"rope_type": "default", "rope_theta": theta}
    return transformers.AutoConfig.for_model(family, **values, **EXTRA_KEY)


def make_model(config, seed):
    """Weights large enough that every feature shows, small enough that rounding errors do not grow."""
    torch.manual_seed(seed)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith("norm.weight"):
                weight.uniform_(0.5, 1.5)
            elif name.endswith(".bias"):
                weight.normal_(std=0.5)
            elif "embed" in name or "lm_head" in name:
                weight.normal_(std=0.15)
            else:
                weight.normal_(std=0.8 / weight.shape[1] ** 0.5)
    return model.eval()


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


def save_as_v4(model, folder):
    model.save_pretrained(folder, max_shard_size="100KB")
    make_tokenizer().save_pretrained(folder)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config["rope_theta"] = config.pop("rope_parameters")["rope_theta"]
    config["rope_scaling"] = None
    config["torch_dtype"] = config.pop("dtype")
    config["transformers_version"] = "4.57.6"
    path.write_text(json.dumps(config, indent=2) + "\n")


def logprobs(model, ids, **inputs):
    with torch.no_grad():
        return torch.log_softmax(model(ids, **inputs).logits.float(), -1)


def without_weights(model, part, value):
    """A copy of the model in which every parameter whose name contains `part` is `value`."""
    copy = make_model(model.config, 0)
    copy.load_state_dict(model.state_dict())
    changed = [weight for name, weight in copy.named_parameters() if part in name]
    assert changed, f"no parameter is named like {part}"
    with torch.no_grad():
        for weight in changed:
            weight.fill_(value)
    return copy


def with_config(model, family, **changes):
    copy = transformers.AutoModelForCausalLM.from_config(make_config(family, **changes), dtype=torch.float32)
    copy.load_state_dict(model.state_dict())
    return copy.eval()


def without_qk_norm(model):
    copy = make_model(model.config, 0)
    copy.load_state_dict(model.state_dict())
    for layer in copy.model.layers:
        layer.self_attn.q_norm = torch.nn.Identity()
        layer.self_attn.k_norm = torch.nn.Identity()
    return copy


def ablations(model, family, ids):
    """Feature -> log-probabilities of the model without it."""
    yield "rotation", logprobs(model, ids, position_ids=torch.zeros_like(ids))
    yield "rope_theta", logprobs(with_config(model, family, rope_theta=10000.0), ids)
    yield "rms_norm_eps", logprobs(with_config(model, family, rms_norm_eps=1e-6), ids)
    yield "input norm weight", logprobs(without_weights(model, "input_layernorm", 1.0), ids)
    yield "MLP norm weight", logprobs(without_weights(model, "post_attention_layernorm", 1.0), ids)
    yield "last norm weight", logprobs(without_weights(model, "model.norm", 1.0), ids)
    if family == "qwen2":
        for part in "qkv":
            yield f"{part} bias", logprobs(without_weights(model, f"{part}_proj.bias", 0.0), ids)
    if family == "qwen3":
        yield "q/k norm", logprobs(without_qk_norm(model), ids)
        yield "q norm weight", logprobs(without_weights(model, "q_norm", 1.0), ids)
        yield "k norm weight", logprobs(without_weights(model, "k_norm", 1.0), ids)


def check_every_feature_matters(model, family):
    ids = torch.randint(1, VOCAB_SIZE, (1, 64), generator=torch.Generator().manual_seed(7))
    whole = logprobs(model, ids)
    targets = ids[:, 1:, None]
    for feature, ablated in ablations(model, family, ids):
        moved = (whole - ablated)[:, :-1].gather(-1, targets).abs()
        effect = moved.median().item()
        print(
            f"{family}: without {feature}, log-probabilities move by {effect:.3g} (median), {moved.max():.3g} (most)"
        )
        if effect < MIN_EFFECT:
            sys.exit(f"{family}: {feature} hardly matters ({effect:.3g} < {MIN_EFFECT})")


def make_models(folder):
    transformers.utils.logging.disable_progress_bar()
    for seed, family in enumerate(FAMILIES):
        model = make_model(make_config(family), seed)
        check_every_feature_matters(model, family)
        save(model, folder / family)
        save_as_v4(model, folder / f"{family}-v4")


if __name__ == "__main__":
    make_models(pathlib.Path(sys.argv[1]))
