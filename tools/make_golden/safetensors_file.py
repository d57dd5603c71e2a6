"""Writes tests/tensor/golden/reference.safetensors with the reference library (safetensors 0.8.0, torch 2.13.0)."""

import pathlib

import torch
from safetensors.torch import save_file

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests/tensor/golden"

save_file(
    {
        "z.float32": torch.tensor([[1.5, -2.0, 3.25], [0.0, -0.0, 1e-40]], dtype=torch.float32),
        "a.float64": torch.tensor(3.141592653589793, dtype=torch.float64),
        "i.int32": torch.tensor([-(2**31), 7], dtype=torch.int32),
        "i.int16": torch.tensor([-(2**15), 7], dtype=torch.int16),
        "i.int8": torch.tensor([-128, 127], dtype=torch.int8),
        "b.bool": torch.tensor([True, False]),
        "m.float16": torch.tensor([0.5, -65504.0], dtype=torch.float16),
        "b.bfloat16": torch.tensor([1.0, -3.0, 0.0078125], dtype=torch.bfloat16),
        "i.int64": torch.tensor([-(2**62)], dtype=torch.int64),
        "c.uint8": torch.tensor([[0, 255]], dtype=torch.uint8),
        "empty": torch.zeros(3, 0, dtype=torch.float32),
        'quote"and\\line\nb\u00e9': torch.tensor([7.0]),
    },
    FOLDER / "reference.safetensors",
    metadata={"format": "pt"},
)
