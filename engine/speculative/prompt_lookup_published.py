"""PromptLookup lookup, published form: earlier occurrences of the last output token, each with the tokens after it.

Takes up to m of them, the most recent or at random, as one sequence of n input tokens each; m and n are fixed. With
`match` above 1 as many last tokens have to be the same.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from engine.protocol import Lookup
from engine.speculative.draft import Draft
from engine.tokenization.tokens import common_prefix

CONFIDENCE = 0.5  # the published form has no notion of evidence


class PublishedLookup:
    """See `engine.speculative.draft.Drafter`. Memory: 51 bytes per token of a 32 k chat, match 1."""

    name = "history-published"
    cost = 0.0

    def __init__(self, options: Lookup, seed: int = 0) -> None:
        self.options = options
        self._random = random.Random(seed)
        self._tokens: list[int] = []
        self._ends: dict[tuple[int, ...], list[int]] = {}  # the positions after each run of `match` tokens

    @property
    def tokens(self) -> Sequence[int]:
        return self._tokens

    def begin(self, tokens: Sequence[int]) -> None:
        kept = common_prefix(self._tokens, list(tokens))
        for end in range(len(self._tokens), max(kept, self.options.match - 1), -1):
            self._ends[self._key(end)].pop()
        del self._tokens[kept:]
        self.extend(tokens[kept:])

    def extend(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            self._tokens.append(token)
            end = len(self._tokens)
            if end >= self.options.match:
                self._ends.setdefault(self._key(end), []).append(end)

    def _key(self, end: int) -> tuple[int, ...]:
        return tuple(self._tokens[end - self.options.match : end])

    def propose(self, limit: int) -> list[Draft]:
        """m candidates of n - 1 tokens, fewer where the history or `limit` ends; the pass runs the newest token too."""
        count = min(limit, self.options.n - 1)
        if count < 1 or len(self._tokens) < self.options.match:
            return []
        started = time.perf_counter()
        drafts = [tuple(self._tokens[end : end + count]) for end in self._chosen()]
        cost = (time.perf_counter() - started) / max(1, len(drafts))
        confidence = (CONFIDENCE,) * count
        return [Draft(draft, self.name, (), confidence[: len(draft)], cost) for draft in drafts]

    def _chosen(self) -> list[int]:
        """Positions after up to m earlier occurrences, the most recent first or drawn without replacement."""
        ends = self._ends[self._key(len(self._tokens))]
        earlier = len(ends) - 1  # the last one is the end of the list itself
        if self.options.select == "recent":
            return ends[max(0, earlier - self.options.m) : earlier][::-1]
        return [ends[i] for i in self._random.sample(range(earlier), min(self.options.m, earlier))]
