"""Published forms of drafting, as they are defined, to compare with the forms that are used.

These are prompt lookup with m sequences of n tokens (Saxena, 2023), a draft model with k from matched lengths
(Leviathan et al., arXiv:2211.17192, with k fixed), and mid-layer decoding with one token. Their drafts are always
verified whole (`engine.speculative.drafting.Fixed`). The published rule of partial-fixed KV caching is in
`engine.kv.policy`.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence

from engine.protocol.requests import Lookup
from engine.speculative.draft import Draft
from engine.speculative.draft_model import DraftModel, Follower
from engine.speculative.mid_layer import MidLayer
from engine.tokenization.tokens import common_prefix

CONFIDENCE = 0.5  # the published form has no notion of evidence
INITIAL_K = 4  # k before anything was matched; a usual choice where k is fixed
MAX_K = 16


class PublishedLookup:
    """A `Drafter` of published prompt lookup: earlier occurrences of the last output token with the tokens after it.

    It proposes up to m of them, the most recent ones or random ones. Each is a sequence of n input tokens that begins
    with the newest one; m and n are fixed. With `match` above 1, that many last tokens have to be equal. With m above 1
    the sequences are verified as a tree. Memory: 51 bytes per token of a 32 k chat, match 1.
    """

    name = "history-published"
    cost = 0.0

    def __init__(self, options: Lookup, seed: int = 0) -> None:
        self.options = options
        self._random = random.Random(seed)
        self._tokens: list[int] = []
        self._ends: dict[tuple[int, ...], list[int]] = {}  # positions after each run of `match` tokens

    def begin(self, tokens: Sequence[int]) -> None:
        """Start an answer after a prompt; the common prefix with the last chat stays indexed."""
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
        """Return m drafts of n - 1 tokens, fewer at the end of the chat or `limit`.

        The verifying pass runs the newest token too, so it has n tokens.
        """
        count = min(limit, self.options.n - 1)
        if count < 1 or len(self._tokens) < self.options.match:
            return []
        started = time.perf_counter()
        drafts = [tuple(self._tokens[end : end + count]) for end in self._chosen()]
        cost = (time.perf_counter() - started) / max(1, len(drafts))
        confidence = (CONFIDENCE,) * count
        return [Draft(draft, self.name, (), confidence[: len(draft)], cost) for draft in drafts]

    def _chosen(self) -> list[int]:
        """Return positions after up to m earlier occurrences, the most recent first or drawn without replacement."""
        ends = self._ends[self._key(len(self._tokens))]
        earlier = len(ends) - 1  # the last position is the end of the list itself
        if self.options.select == "recent":
            return ends[max(0, earlier - self.options.m) : earlier][::-1]
        return [ends[i] for i in self._random.sample(range(earlier), min(self.options.m, earlier))]


class PublishedDraftLength:
    """Matched lengths of drafts in one chat, and the draft length k that follows from them.

    A draft that is right to its end leaves open how far it would have gone: its length is added to that of the next
    draft, else k could only shrink. Drafts whose first token is wrong say nothing about k, which is at least 1.
    """

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._run = 0

    def begin(self) -> None:
        """Start a new answer; the last answer's end leaves open how far its last draft would have been right."""
        self._run = 0

    @property
    def k(self) -> int:
        """The length that was matched most often, the longest one of several."""
        most = max(self._counts, key=lambda length: (self._counts[length], length), default=INITIAL_K)
        return min(most, MAX_K)

    def add(self, matched: int, drafted: int) -> None:
        """Record that the first `matched` of `drafted` tokens were right."""
        self._run += matched
        if matched < drafted:
            if self._run:
                self._counts[self._run] += 1
            self._run = 0


class PublishedDraftModel(DraftModel):
    """A draft model that drafts as many tokens as were most often right in a row in this chat."""

    name = "model-published"

    def __init__(self, follower: Follower, share: float) -> None:
        super().__init__(follower, share)
        self.matched = PublishedDraftLength()
        self._draft: tuple[int, ...] = ()  # the last draft, until it is known how much of it is right
        self._drafted_at = 0  # length of the chat when it was drafted

    def begin(self, tokens: Sequence[int]) -> None:
        """Start an answer after a prompt; forget the matched lengths of another chat.

        A chat is another one if it shares less than half of the last one's tokens: both may begin with the same system
        prompt.
        """
        before = self.follower.chat
        if common_prefix(before, list(tokens)) < len(before) // 2:
            self.matched = PublishedDraftLength()
        self.matched.begin()
        self._draft = ()
        super().begin(tokens)

    def extend(self, tokens: Sequence[int]) -> None:
        """Append tokens that the target has chosen; record how many of the draft were right."""
        super().extend(tokens)
        came = self.follower.chat[self._drafted_at : self._drafted_at + len(self._draft)]
        matched = common_prefix(self._draft, tuple(came))
        if self._draft and (matched < len(came) or len(came) == len(self._draft)):
            self.matched.add(matched, len(self._draft))
            self._draft = ()

    def propose(self, limit: int) -> list[Draft]:
        """Return k tokens, at most `limit`. Raises Stopped."""
        drafts = super().propose(limit)
        if drafts:
            self._draft, self._drafted_at = drafts[0].tokens, len(self.follower.chat)
        return drafts

    def _max_tokens(self, limit: int) -> int:
        return min(limit, self.matched.k)

    def _should_stop(self, _reach: float) -> bool:
        return False


class PublishedMidLayer(MidLayer):
    """Mid-layer decoding that always drafts one token, however unsure."""

    name = "midlayer-published"

    def propose(self, limit: int) -> list[Draft]:
        """Return the token that this layer predicts next. Raises Stopped."""
        return super().propose(min(limit, 1))
