"""Arguments of TRL's trainers that are refused."""

from typing import Any


def refuse(**arguments: tuple[bool, str]) -> None:
    """ValueError for the first argument that is given: name=(whether it is, what to do instead)."""
    for name, (is_given, instead) in arguments.items():
        if is_given:
            raise ValueError(f"{name} is not supported: {instead}")


def refuse_always(optimizers: tuple[Any, Any], quantization_config: Any) -> None:
    """ValueError for arguments that no trainer takes."""
    refuse(
        optimizers=(
            any(one is not None for one in optimizers),
            "the engine has AdamW; set args.learning_rate and its kin",
        ),
        quantization_config=(quantization_config is not None, "the engine computes in float32 or bfloat16"),
    )


def refuse_functions(**arguments: Any) -> None:
    """ValueError for arguments that would take the place of what the engine does."""
    for name, value in arguments.items():
        refuse(**{name: (value is not None, "the engine does its work; leave it out")})
