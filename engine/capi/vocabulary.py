"""The vocabulary of a loaded llama_model: text to token ids and back."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

from engine.thoughts import SHOWN
from models.failures import Failure

NO_TOKEN = "The model's vocabulary is damaged: it has no token for some of the characters. Download the model again."


class CVocabulary:
    """Implements `engine.target.Vocabulary`; valid as long as its model is loaded."""

    def __init__(self, lib: Any, pointer: Any) -> None:
        self.lib = lib
        self.pointer = pointer
        self.n_tokens: int = self.lib.llama_vocab_n_tokens(pointer)
        self.adds_bos: bool = self.lib.llama_vocab_get_add_bos(pointer)
        self._pieces = lru_cache(maxsize=65_536)(self._piece)

    def tokenize(self, text: str, special: bool, add_bos: bool = False) -> list[int]:
        """Raises Failure where the vocabulary has no token for a part of the text, not even an unknown one."""
        raw = text.encode("utf-8", errors="replace")
        size = len(raw) + 8
        while True:
            tokens = (self.lib.llama_token * size)()
            count = self.lib.llama_tokenize(self.pointer, raw, len(raw), tokens, size, add_bos, special)
            if count >= 0:
                found = list(tokens[:count])
                if min(found, default=0) < 0:
                    raise Failure("bad_model", NO_TOKEN)
                return found
            size = -count

    def count(self, text: str) -> int:
        """How many tokens `tokenize` makes of plain text, without making them."""
        raw = text.encode("utf-8", errors="replace")
        return abs(int(self.lib.llama_tokenize(self.pointer, raw, len(raw), None, 0, False, False)))

    def piece(self, token: int) -> bytes:
        return self._pieces(token)

    def _piece(self, token: int) -> bytes:
        piece = self._render(token, special=False)
        if not piece and self.is_control(token) and not self.is_end(token) and self.text(token) in SHOWN:
            return self.text(token).encode()
        return piece

    def text(self, token: int) -> str:
        """The token as text, control tokens too; empty for a token the vocabulary lacks (-1)."""
        return self._render(token, special=True).decode(errors="replace") if token >= 0 else ""

    def _render(self, token: int, special: bool) -> bytes:
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            count = self.lib.llama_token_to_piece(self.pointer, token, buffer, size, 0, special)
            if count >= 0:
                return buffer.raw[:count]
            size = -count

    def is_end(self, token: int) -> bool:
        return bool(self.lib.llama_vocab_is_eog(self.pointer, token))

    def is_control(self, token: int) -> bool:
        return bool(self.lib.llama_vocab_is_control(self.pointer, token))

    @property
    def bos_text(self) -> str:
        return self.text(self.lib.llama_vocab_bos(self.pointer))

    @property
    def eos_text(self) -> str:
        return self.text(self.lib.llama_vocab_eos(self.pointer))
