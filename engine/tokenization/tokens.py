"""Tokens: what the engine asks of a model's vocabulary, and small functions on lists of token ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from engine.stop import Stopped

# Control tokens around a model's reasoning: no text to other models, shown all the same, so that it can be told apart
# from the answer. Not <|start|> and <|end|>: elsewhere these end an answer.
SHOWN = frozenset((
    "<think>", "</think>", "[THINK]", "[/THINK]", "◁think▷", "◁/think▷", "<|START_THINKING|>", "<|END_THINKING|>",
    "<|channel|>", "<|message|>", "<|channel>", "<channel|>",
))  # fmt: skip


class Vocabulary(Protocol):
    """Text to token ids and back."""

    def tokenize(self, text: str, special: bool) -> list[int]:
        """Token ids of `text`; with `special` the texts of control tokens become those tokens."""

    def piece(self, token: int) -> bytes:
        """UTF-8 bytes of one token, which may hold part of a character; control tokens have none, except `SHOWN`."""

    def is_end(self, token: int) -> bool:
        """Does this token end the generation?"""


class ModelVocabulary(Vocabulary, Protocol):
    """A real model's vocabulary, with what its chat template needs to know. Valid as long as the model is loaded."""

    @property
    def n_tokens(self) -> int:
        """Token ids are below it."""

    @property
    def adds_bos(self) -> bool:
        """Does every text begin with the token for the beginning of a sequence?"""

    @property
    def bos_text(self) -> str:
        """That token as text, empty where there is none."""

    @property
    def eos_text(self) -> str:
        """The token that ends a sequence, as text; empty where there is none."""

    def tokenized(self, text: str, special: bool, add_bos: bool = False) -> Iterator[list[int]]:
        """What `tokenize` gives, in pieces, so that reading a book can be stopped between two of them.

        Raises Failure where the vocabulary has no token for a part of the text, not even an unknown one."""

    def counted(self, text: str) -> Iterator[int]:
        """How many tokens each piece of a plain text has."""

    def text(self, token: int) -> str:
        """The token as text, control tokens too; empty for a token the vocabulary lacks."""

    def is_control(self, token: int) -> bool:
        """Is it a token that no text stands for?"""


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """Length of the longest common beginning."""
    limit = min(len(a), len(b))
    if a[:limit] == b[:limit]:
        return limit
    return next((i for i in range(limit) if a[i] != b[i]), limit)  # a list and a tuple are never equal as wholes


def spelling(tokens: Sequence[int], text: bytes, piece: Callable[[int], bytes]) -> list[int] | None:
    """The first of `tokens` that are exactly `text` together; None if there are no such."""
    written = b""
    for count, token in enumerate(tokens, start=1):
        written += piece(token)
        if written == text:
            return list(tokens[:count])
        if not text.startswith(written):
            return None
    return None


def counted(pieces: Iterable[int], stopped: Callable[[], bool]) -> int:
    """The sum of what pieces of a text come to. Raises Stopped between two of them when `stopped` says so."""
    total = 0
    for tokens in pieces:
        if stopped():
            raise Stopped
        total += tokens
    return total
