"""What the trainers use of transformers, imported without the models' code.

`transformers.trainer_utils` imports peft wherever it is installed, for one isinstance check, and TrainingArguments imports
`transformers.integrations` to read one environment variable. Either takes 97 MiB and seconds (transformers 5.18): the
models' base classes, torch._dynamo, sympy. Both are answered here without an import. Import this module before any other
of transformers.
"""

import os
import sys

import transformers.integrations
import transformers.utils


class _InstanceOf(type):
    """The type of a class that stands for one of peft: an object can be its instance only where peft is loaded."""

    def __instancecheck__(cls, value):
        real = getattr(sys.modules.get("peft"), cls.__name__, None)
        return real is not None and isinstance(value, real)


def _import_trainer_utils() -> None:
    """Imports transformers.trainer_utils with stand-ins of peft's classes, unless either is there already."""
    if "transformers.trainer_utils" in sys.modules or "peft" in sys.modules:
        return
    is_peft_available = getattr(transformers.utils, "is_peft_available", None)
    if is_peft_available is None:
        return  # another version, which imports what it wants
    transformers.utils.is_peft_available = lambda: False
    try:
        from transformers import trainer_utils
    finally:
        transformers.utils.is_peft_available = is_peft_available
    trainer_utils.is_peft_available = is_peft_available
    trainer_utils.PeftModel = _InstanceOf("PeftModel", (), {})
    trainer_utils.PeftMixedModel = _InstanceOf("PeftMixedModel", (), {})


def _is_kubeflow_available() -> bool:
    """The same as transformers.integrations.is_kubeflow_available."""
    is_disabled = os.getenv("DISABLE_KUBEFLOW_INTEGRATION", "FALSE").upper() == "TRUE"
    return not is_disabled and os.getenv("KUBEFLOW_TRAINER_SERVER_URL") is not None


_import_trainer_utils()
if "transformers.integrations.integration_utils" not in sys.modules:
    transformers.integrations.is_kubeflow_available = _is_kubeflow_available
