"""Tokens: the protocol of a model's vocabulary, and small functions on lists of token ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.stop import Stopped

# Control tokens around a model's reasoning. Unlike other control tokens they are shown, to separate the reasoning
# from the answer. <|start|> and <|end|> are missing, because in other models they end an answer.
SHOWN_CONTROLS = frozenset((
    "<think>", "</think>", "[THINK]", "[/THINK]", "◁think▷", "◁/think▷", "<|START_THINKING|>", "<|END_THINKING|>",
    "<|channel|>", "<|message|>", "<|channel>", "<channel|>",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class InfillTokens:
    """Marks of a prompt for the middle of a text: before the text before it, the text behind it, and itself.

    `repository` and `file` stand before the names of a repository and of a file in it, if the model knows such marks.
    """

    prefix: int
    suffix: int
    middle: int
    repository: int | None = None
    file: int | None = None


class Vocabulary(Protocol):
    """Conversion between text and token ids."""

    def tokenize(self, text: str, special: bool) -> list[int]:
        """Return the token ids of `text`; with `special`, the texts of control tokens become those tokens."""

    def piece(self, token: int) -> bytes:
        """Return the UTF-8 bytes of one token, possibly part of a character.

        Control tokens have no bytes, except for `SHOWN_CONTROLS`.
        """

    def is_end(self, token: int) -> bool:
        """Return whether this token ends the answer."""


class ModelVocabulary(Vocabulary, Protocol):
    """A real model's vocabulary, with what its chat template needs. Valid while the model is loaded."""

    @property
    def n_tokens(self) -> int:
        """Number of tokens; every token id is below it."""

    @property
    def adds_bos(self) -> bool:
        """Whether every text begins with the beginning-of-sequence token."""

    @property
    def bos_text(self) -> str:
        """Text of the beginning-of-sequence token; empty if there is none."""

    @property
    def infill_tokens(self) -> InfillTokens | None:
        """Marks of a prompt for the middle of a text; None for a model that was not trained for that."""

    @property
    def eos_text(self) -> str:
        """Text of the end-of-sequence token; empty if there is none."""

    def tokenize_pieces(self, text: str, special: bool, add_bos: bool = False) -> Iterator[list[int]]:
        """Yield the token ids of `tokenize` in pieces, so that a caller can stop between two pieces of a long text.

        Raises Failure if the vocabulary has no token for a part of the text, not even an unknown one.
        """

    def token_counts(self, text: str) -> Iterator[int]:
        """Yield the number of tokens of each piece of `text`; the texts of control tokens count as plain text."""

    def all_pieces(self) -> Iterator[bytes]:
        """Yield the bytes of each token in order, none for control tokens. No cache keeps them."""

    def text(self, token: int) -> str:
        """Return the token's text, also of control tokens; empty for an id outside the vocabulary."""

    def is_control(self, token: int) -> bool:
        """Return whether this is a control token, which plain text never becomes."""


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """Return the length of the longest common prefix."""
    limit = min(len(a), len(b))
    if a[:limit] == b[:limit]:
        return limit
    # The default is needed for a list and a tuple, which never compare equal.
    return next((i for i in range(limit) if a[i] != b[i]), limit)


def tokens_that_spell(tokens: Sequence[int], text: bytes, piece: Callable[[int], bytes]) -> list[int] | None:
    """Return the first of `tokens` that together spell exactly `text`, or None if they spell something else."""
    written = b""
    for count, token in enumerate(tokens, start=1):
        written += piece(token)
        if written == text:
            return list(tokens[:count])
        if not text.startswith(written):
            return None
    return None


def sum_token_counts(token_counts: Iterable[int], stopped: Callable[[], bool]) -> int:
    """Return the sum of the pieces' token counts. Raises Stopped between two pieces when `stopped` returns True."""
    total = 0
    for count in token_counts:
        if stopped():
            raise Stopped
        total += count
    return total
