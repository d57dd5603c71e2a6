"""The tokenizer of a model directory, under transformers' names."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor


class Tokenizer:
    """Ids and texts as Hugging Face's tokenizers and chat templates give them; an Engine has one."""

    def __init__(self, native: Any):
        self._native = native

    @property
    def vocab_size(self) -> int:
        """One more than the highest id."""
        return self._native.vocab_size

    @property
    def eos_token_id(self) -> int | None:
        """The id of tokenizer_config.json's eos_token."""
        return self._native.eos_token_id

    def token_to_id(self, token: str) -> int | None:
        """The id of a token as tokenizer.json spells it; None for no token."""
        return self._native.token_id(_text(token, "token"))

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """Token ids of a text; ValueError for one that is not valid Unicode."""
        return self._native.encode(_text(text, "text"), bool(add_special_tokens))

    def decode(self, token_ids: Sequence[int] | Tensor, *, skip_special_tokens: bool = False) -> str:
        """The text of token ids."""
        return self._native.decode(token_ids, bool(skip_special_tokens))

    def apply_chat_template(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool = False,
        tokenize: bool = True,
        **variables: Any,
    ) -> list[int] | str:
        """Token ids of a conversation under the chat template, or its text with `tokenize=False`.

        ValueError for a conversation that the template refuses; `variables` go to the template.
        """
        text = self._native.render(
            list(messages), tools, bool(add_generation_prompt), bool(continue_final_message), variables
        )
        return self._native.encode(text, False) if tokenize else text


def _text(text: str, what: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{what} is a {type(text).__name__}, but must be a string")
    text.encode()  # refuses surrogates
    return text
