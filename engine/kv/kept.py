"""Kept chats: copies, in memory, of the keys and values of chats that are not in the KV cache now.

The KV cache holds one chat. When another one takes its place, the library copies the cache's content to memory, with
the functions that also save a chat to disk, and back when the chat returns. That works alike for each library, for our
own graph and for recurrent layers, and what returns is equal bit by bit. Several sequences in the library's cache would
need no copies; but then each pass of a chat would run over the cells of all others too, and where a chat's cells lie,
and with it the rounding of its answers, would depend on the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.kv.session import shared_prefix
from engine.runtime.interface import Checkpoint

MIN_KEPT_TOKENS = 32  # so many tokens are read again in a moment


@dataclass(slots=True, eq=False)
class KeptChat:
    """A copy of a chat's keys and values, which `restore` puts back into the KV cache.

    `id`, `saved_tokens` and `returns` are what `ChatCache` knew of the chat. `bytes`: memory of the copy and of its
    `checkpoints`; 0 if it waits in a file. `spared`: tokens that a later prompt need not run again thanks to this copy
    alone. `turn`: when the chat left the cache. A `paused` chat comes back for certain, so it is never dropped.
    """

    id: str
    saved_tokens: int
    returns: int
    tokens: list[int]
    checkpoints: Sequence[Checkpoint]
    bytes: int
    spared: int
    turn: int
    paused: bool
    restore: Callable[[], None] = lambda: None

    def load(self) -> Sequence[Checkpoint]:
        """Put the copy into the KV cache and return its checkpoints."""
        self.restore()
        return self.checkpoints


class KeptChats:
    """The kept chats, of at most `budget` bytes together. `turn` counts the prompts: it is the clock of their worth."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.turn = 0
        self._chats: list[KeptChat] = []

    @property
    def count(self) -> int:
        """Number of kept chats."""
        return len(self._chats)

    @property
    def bytes(self) -> int:
        """Bytes of all copies."""
        return sum(chat.bytes for chat in self._chats)

    @property
    def longest(self) -> int:
        """Tokens of the longest kept chat; 0 without one."""
        return max((len(chat.tokens) for chat in self._chats), default=0)

    def holds(self, tokens: Sequence[int]) -> bool:
        """Return whether there is a copy of exactly these tokens."""
        return any(chat.tokens == tokens for chat in self._chats)

    def find(self, prompt: Sequence[int], window: int) -> tuple[KeptChat | None, int]:
        """Return the chat of which `prompt` can reuse most tokens, and their number; (None, 0) if no chat is kept.

        `window`: tokens up to which the KV cache can be truncated anywhere.
        """
        best, most = None, 0
        for chat in self._chats:
            sizes = [checkpoint.size for checkpoint in chat.checkpoints]
            count = reusable(chat.tokens, sizes, prompt, window) if chat.bytes else 0
            if count > most:
                best, most = chat, count
        return best, most

    def worth(self, chat: KeptChat) -> float:
        """Return how many tokens the copy is expected to spare, per byte of it.

        The chance that a chat returns is taken as proportional to its returns so far, and as inversely proportional to
        the turns since it left.
        """
        if chat.paused:
            return math.inf
        return chat.spared * (1 + chat.returns) / max(1, chat.bytes) / (1 + self.turn - chat.turn)

    def make_room(self, new: KeptChat, opening: KeptChat | None) -> bool:
        """Drop chats that are worth less than `new`, the least worthy first, until it fits into the budget.

        Spares the chat that is `opening`. Returns False, and drops none, if `new` cannot fit.
        """
        excess, dropped = self.bytes + new.bytes - self.budget, list[KeptChat]()
        for chat in sorted(self._chats, key=self.worth):
            if excess > 0 and chat is not opening and self.worth(chat) < self.worth(new):
                dropped.append(chat)
                excess -= chat.bytes
        if excess <= 0:
            self.drop(lambda chat: chat in dropped)
        return excess <= 0

    def add(self, chat: KeptChat) -> None:
        """Add a chat that has room."""
        self._chats.append(chat)

    def drop(self, is_useless: Callable[[KeptChat], bool] = lambda _chat: True) -> None:
        """Drop the chats that are useless, but for a paused one."""
        self._chats = [chat for chat in self._chats if chat.paused or not is_useless(chat)]


def reusable(cached: Sequence[int], checkpoints: Sequence[int], prompt: Sequence[int], window: int) -> int:
    """Return how many of a prompt's first tokens need no pass once a copy of `cached` tokens is in the KV cache.

    `checkpoints`: sizes of the copy's checkpoints. `window`: tokens up to which the cache can be truncated anywhere.
    """
    wanted = shared_prefix(cached, prompt)
    if wanted == len(cached) or len(cached) <= window:
        return wanted
    return max((size for size in checkpoints if size <= wanted), default=0)


def is_continued(cached: Sequence[int], prompt: Sequence[int]) -> bool:
    """Return whether a prompt goes on where the cached tokens end, or nearly there."""
    return len(cached) - shared_prefix(cached, prompt) < MIN_KEPT_TOKENS
