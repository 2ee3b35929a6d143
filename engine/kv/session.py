"""A chat's tokens and their keys and values, kept together in a cache that grows. Knows no text and no sampling."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from engine.runtime.interface import Target
from engine.runtime.ladder import ANSWER_ROOM, size_class
from engine.runtime.tree import Tree
from engine.tokenization.tokens import common_prefix
from models.failures import Failure

log = logging.getLogger("engine.kv.session")


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` tokens of a prompt are in the KV cache, `reused` of them were there before."""

    done: int
    reused: int


class Session:
    """`tokens` is exactly what the target's KV cache holds, also after whatever was stopped or failed; it never holds
    more than `limit`."""

    def __init__(self, target: Target, limit: int | None = None) -> None:
        self.target = target
        self.limit = limit or target.n_ctx
        self.tokens: list[int] = []

    def read(self, prompt: Sequence[int]) -> Iterator[Progress]:
        """Make the cache hold `prompt`, re-using the common beginning; the first Progress comes before any work.

        At least the last token is run, because its logits start the answer. Raises Stopped, and Failure when the cache
        cannot grow to hold it."""
        assert 0 < len(prompt) <= self.limit, len(prompt)
        reused = self.target.drop_after(min(common_prefix(self.tokens, prompt), len(prompt) - 1))
        self.tokens = list(prompt[:reused])
        yield Progress(reused, reused)
        try:
            self._fit(len(prompt))
            for done in self.target.prefill(prompt[reused:]):
                self.tokens = list(prompt[: reused + done])
                yield Progress(reused + done, reused)
        except BaseException:
            self.tokens = list(prompt[: self.target.size])
            raise

    def _fit(self, needed: int) -> None:
        """Grow for a prompt of `needed` tokens; shrink when a new chat begins in a cache larger than it needs."""
        wanted = size_class(needed + ANSWER_ROOM, self.limit)
        if needed > self.target.n_ctx or (not self.tokens and wanted < self.target.n_ctx):
            self.target.grow(wanted)

    def restore(self, tokens: Sequence[int], load: Callable[[], None]) -> None:
        """Make the cache large enough for `tokens` and let `load` fill it with them; raises what `load` raises."""
        self.forget()
        self._fit(len(tokens))
        try:
            load()
        except BaseException:
            self.forget()
            raise
        assert self.target.size == len(tokens), (self.target.size, len(tokens))
        self.tokens = list(tokens)

    def holds(self, prompt: Sequence[int]) -> bool:
        """Is every token of `prompt` in the cache?"""
        return self.tokens[: len(prompt)] == list(prompt)

    def make_room(self, count: int) -> bool:
        """See that `count` more tokens fit, growing the cache if need be; False at its limit."""
        needed = len(self.tokens) + count
        if needed <= min(self.limit, self.target.n_ctx):
            return True
        if needed > self.limit:
            return False
        try:
            self.target.grow(size_class(needed, self.limit))
        except (Failure, MemoryError) as failure:
            log.warning("the KV cache stays at %d tokens: %s", self.target.n_ctx, failure)
            self.limit = self.target.n_ctx
            return False
        finally:
            self._agree()
        return True

    def run(self, tokens: Sequence[int]) -> None:
        """Run tokens in one pass for the logits of the last; `keep` must follow, if not at once. Raises Stopped."""
        try:
            self.target.run(tokens)
        except BaseException:
            self._agree()
            raise

    def keep(self, tokens: Sequence[int], count: int) -> None:
        """Of the tokens that were run, keep the first `count` in the cache and forget the others."""
        if count < len(tokens):
            self.target.drop_after(len(self.tokens) + count)
        self.tokens.extend(tokens[:count])
        self._agree()

    def verify(self, inputs: Sequence[int], draft: Tree) -> None:
        """Run inputs and a draft behind them in one pass (`Target.run_tree`); `accept` must follow. Raises Stopped."""
        try:
            self.target.run_tree(inputs, draft)
        except BaseException:
            self._agree()
            raise

    def accept(self, inputs: Sequence[int], draft: Tree, path: Sequence[int]) -> None:
        """Keep the inputs that were just run and the draft's tokens on `path`, and forget all others."""
        try:
            self.target.keep(len(inputs), path)
        except BaseException:
            self._agree()
            raise
        self.tokens.extend(inputs)
        self.tokens.extend(draft.tokens[i] for i in path)

    def reject(self) -> None:
        """Forget all that was just run, the inputs too."""
        self.target.keep(0)
        self._agree()

    def _agree(self) -> None:
        """What failed may have cost more than was new: a model that keeps one state for all tokens loses all."""
        del self.tokens[self.target.size :]

    def forget(self) -> None:
        self.tokens = []
        self.target.drop_after(0)
