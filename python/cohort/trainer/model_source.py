"""The model that a trainer is given, as the directory that the engine reads, and as an object of transformers."""

import os
from typing import Any

from cohort.trainer.peft_model import adapter_config, adapter_name, base_weights, save_adapter, weight_names


class ModelSource:
    """`model` is a directory, a Hub id or a transformers model, whose tensors become the engine's."""

    def __init__(
        self,
        model: Any,
        processing_class: Any,
        peft_config: Any,
        init: dict[str, Any],
        auto_class: str = "AutoModelForCausalLM",
    ):
        """TypeError for what is no model. `init`: model_init_kwargs. `auto_class`: of transformers, loads the object."""
        self._peft_config = peft_config
        self._auto_class = auto_class
        self._init = {key: value for key, value in init.items() if key in ("revision",)}
        self._object = None if isinstance(model, str | os.PathLike) else model
        if self._object is not None and not hasattr(self._object, "save_pretrained"):
            raise TypeError(
                f"model is a {type(model).__name__}, but must be a path, a Hub id or a transformers model"
            )
        self._is_adapted = hasattr(self._object, "peft_config")
        if self._is_adapted and not hasattr(self._object, "get_base_model"):
            raise ValueError(
                "model has adapters of add_adapter(): give a PeftModel, as of peft.get_peft_model()"
            )
        if self._is_adapted:
            if peft_config is not None:
                raise ValueError("model has adapters already: leave peft_config out")
        self.peft_config = adapter_config(self._object) if self._is_adapted else peft_config
        self.name = (
            os.path.basename(os.path.normpath(os.fspath(model)))
            if self._object is None
            else self._config_name()
        )
        self._is_given = self._object is not None  # and not loaded here
        self._path = None if self._object is not None else _directory(os.fspath(model), self._init)
        self._processing_class = processing_class
        self._has_own_tokenizer = processing_class is None  # the one that lies in its directory

    def _config_name(self) -> str:
        name = getattr(self._object.config, "_name_or_path", "") or type(self._object).__name__
        return os.path.basename(os.path.normpath(name))

    @property
    def processing_class(self) -> Any:
        """The tokenizer, loaded when it is first asked for."""
        if self._processing_class is None:
            from transformers import AutoTokenizer

            source = self._object.config._name_or_path if self._is_given else self._path
            self._processing_class = AutoTokenizer.from_pretrained(
                source, truncation_side="left", padding_side="left"
            )
        return self._processing_class

    def directory(self, inputs: str) -> str:
        """The directory that the engine reads: the given one, or one in `inputs` with the object's weights and the
        tokenizer that was given."""
        if not self._is_given and self._has_own_tokenizer:
            return self._path
        path = os.path.join(inputs, "model")
        if not os.path.isdir(path):
            write_model(path, self._object if self._is_given else None, self._path, self.processing_class)
        return path

    def adapter_keys(self, inputs: str) -> dict[str, Any]:
        """Keys of [lora] for a PeftModel, whose adapters are written into `inputs`; none for another model."""
        if not self._is_adapted:
            return {}
        path = os.path.join(inputs, "adapter")
        if not os.path.isdir(path):
            save_adapter(self._object, path)
        dropout = self.peft_config.lora_dropout
        return {"path": path} | ({"dropout": float(dropout)} if dropout else {})

    def object(self) -> Any:
        """The transformers model; loaded, in float32, when a path was given."""
        if self._object is None:
            import torch
            import transformers

            heads = {"num_labels": 1} if "Classification" in self._auto_class else {}
            auto_class = getattr(transformers, self._auto_class)
            self._object = auto_class.from_pretrained(self._path, dtype=torch.float32, **heads)
            if self._peft_config is not None:
                self._adapt()
        return self._object

    @property
    def is_loaded(self) -> bool:
        """Whether there is an object."""
        return self._object is not None

    def _adapt(self) -> None:
        from peft import get_peft_model

        self._object = get_peft_model(self._object, self._peft_config)

    def share(self, weights: dict[str, Any], adapters: dict[str, Any]) -> None:
        """Makes the object's parameters views of the engine's, without a copy: what is trained is seen at once."""
        if self._peft_config is not None and not hasattr(self._object, "peft_config"):
            self._adapt()
        parameters = dict(self._object.named_parameters(remove_duplicate=False))
        adapter = adapter_name(self._object) if adapters else ""
        for name, view in adapters.items() if adapters else weights.items():
            names = weight_names(name, adapter) if adapters else [name]
            parameter = next((parameters[one] for one in names if one in parameters), None)
            if parameter is None:
                raise RuntimeError(f"the model has no parameter {name}")
            parameter.data = view.detach()


def write_model(path: str, model: Any, directory: str | None, tokenizer: Any) -> None:
    """Writes a model's directory, whole or not at all: `model`, or links to the files of `directory`, with `tokenizer`."""
    staged = path + ".tmp"
    os.makedirs(staged, exist_ok=True)
    if model is not None:
        base, weights = base_weights(model) if hasattr(model, "get_base_model") else (model, None)
        base.save_pretrained(staged, state_dict=weights)
    else:
        for name in os.listdir(directory):
            if not os.path.lexists(os.path.join(staged, name)) and not name.startswith("tokenizer"):
                os.symlink(os.path.abspath(os.path.join(directory, name)), os.path.join(staged, name))
    template = os.path.join(staged, "chat_template.jinja")
    if os.path.islink(template):
        os.unlink(template)
    tokenizer.save_pretrained(staged)
    os.replace(staged, path)


def _directory(name: str, init: dict[str, Any]) -> str:
    if os.path.isdir(name):
        return name
    from cohort.hub import model_directory

    return str(model_directory(name, **init))
