"""Tiny transformers models whose weights are a hash of parameter and element index.

A test makes the same weights from names and shapes (tests/models/hashed_model.h). Norms are near 1 and matrices keep the
size of what they multiply, so that every part of a model moves its result.
"""

import math

import numpy as np
import torch

THETA = 500.0
COMMON = {
    "vocab_size": 29,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 64,
}


def hashed(key, count):
    """`count` multiples of 2^-23 in [-1, 1): the upper 24 bits of splitmix64 at key * 2^32 + index."""
    z = np.arange(count, dtype=np.uint64) + (np.uint64(key) << np.uint64(32)) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return torch.from_numpy((z >> np.uint64(40)).astype(np.float64) / 2.0**23 - 1.0)


def fill(model):
    """Sets all parameters and returns what describes them: name, shape, scale and offset."""
    parameters = []
    for key, (name, weight) in enumerate(sorted(model.named_parameters())):
        values = hashed(key, weight.numel()).view(weight.shape)
        is_norm = "norm" in name
        scale = 0.5 if weight.dim() == 1 else math.sqrt(6.0 / weight.shape[1])
        weight.data = ((1.0 if is_norm else 0.0) + scale * values).float()
        parameters.append(
            {"name": name, "shape": list(weight.shape), "scale": scale, "offset": float(is_norm)}
        )
    return parameters


def gradients_of(model):
    """Norm and projection on a hash of each parameter's gradient, by name."""
    gradients = {}
    for key, (name, weight) in enumerate(sorted(model.named_parameters())):
        gradient = weight.grad.double().flatten()
        projection = (gradient * hashed(1000 + key, len(gradient))).sum().item()
        gradients[name] = {"norm": gradient.norm().item(), "projection": projection}
    return gradients


def whole_norm(gradients):
    return math.sqrt(sum(gradient["norm"] ** 2 for gradient in gradients.values()))
