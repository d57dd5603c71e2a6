"""The model that a trainer is given, as the directory that the engine reads, and as an object of transformers."""

import os
from typing import Any


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
        if hasattr(self._object, "peft_config"):
            raise ValueError(
                "model has adapters already: give its base model, and the LoraConfig as peft_config"
            )
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
            self._write(path + ".tmp")
            os.replace(path + ".tmp", path)
        return path

    def _write(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)
        if self._is_given:
            self._object.save_pretrained(path)
        else:
            for name in os.listdir(self._path):
                if not os.path.lexists(os.path.join(path, name)) and not name.startswith("tokenizer"):
                    os.symlink(os.path.abspath(os.path.join(self._path, name)), os.path.join(path, name))
        template = os.path.join(path, "chat_template.jinja")
        if os.path.islink(template):
            os.unlink(template)
        self.processing_class.save_pretrained(path)

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
        for name, view in adapters.items() if adapters else weights.items():
            parameter = parameters.get(name, parameters.get(_peft_name(name)))
            if parameter is None:
                raise RuntimeError(f"the model has no parameter {name}")
            parameter.data = view.detach()


def _peft_name(name: str) -> str:
    """A weight's name in a PEFT model, whose adapter is called `default`."""
    for part in ("lora_A", "lora_B", "lora_embedding_A", "lora_embedding_B", "lora_magnitude_vector"):
        name = name.replace(f".{part}.", f".{part}.default.")
    return name


def _directory(name: str, init: dict[str, Any]) -> str:
    if os.path.isdir(name):
        return name
    from cohort.hub import model_directory

    return str(model_directory(name, **init))
