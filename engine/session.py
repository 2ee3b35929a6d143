"""A chat's tokens and their keys and values, kept together. Knows no text, no messages and no sampling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.stop import Stopped
from engine.target import Target
from engine.tokens import common_prefix


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` tokens of a prompt are in the KV cache, `reused` of them were there before."""

    done: int
    reused: int


class Session:
    """`tokens` is at any time exactly what the target's KV cache holds."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.tokens: list[int] = []

    @property
    def room(self) -> int:
        """How many more tokens fit."""
        return self.target.n_ctx - len(self.tokens)

    def read(self, prompt: Sequence[int]) -> Iterator[Progress]:
        """Make the cache hold `prompt`, re-using the common beginning; the first Progress comes before any work.

        At least the last token is run, because its logits start the answer. Raises Stopped."""
        assert 0 < len(prompt) <= self.target.n_ctx, len(prompt)
        reused = self.target.drop_after(min(common_prefix(self.tokens, prompt), len(prompt) - 1))
        self.tokens = list(prompt[:reused])
        yield Progress(reused, reused)
        try:
            for done in self.target.prefill(prompt[reused:]):
                self.tokens = list(prompt[: reused + done])
                yield Progress(reused + done, reused)
        except Stopped:
            self.tokens = list(prompt[: self.target.size])
            raise

    def holds(self, prompt: Sequence[int]) -> bool:
        """Is every token of `prompt` in the cache?"""
        return self.tokens[: len(prompt)] == list(prompt)

    def append(self, tokens: Sequence[int]) -> None:
        """Run tokens in one pass; the target then has their logits rows. Raises Stopped and changes nothing."""
        self.target.run(tokens)
        self.tokens.extend(tokens)

    def forget(self) -> None:
        self.tokens = []
        self.target.drop_after(0)
