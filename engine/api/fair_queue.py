"""The queue of requests, one at a time: clients take turns, so that one with many requests delays nobody."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Items of several clients: `get` takes the oldest item of one client after the other."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, deque[T]] = {}  # in the order in which the clients' turns come
        self._filled = asyncio.Event()

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def put(self, client: Hashable, item: T) -> None:
        """Append an item to the client's own; a client without items joins at the end of the turns."""
        self._waiting.setdefault(client, deque()).append(item)
        self._filled.set()

    async def get(self) -> T:
        """Wait for an item and remove it; its client's next turn comes after those of all others."""
        await self._filled.wait()
        client = next(iter(self._waiting))
        items = self._waiting.pop(client)
        item = items.popleft()
        if items:
            self._waiting[client] = items
        self._note_emptiness()
        return item

    def remove(self, item: T) -> bool:
        """Remove an item that waits; return whether it waited."""
        for client, items in self._waiting.items():
            if item in items:
                items.remove(item)
                if not items:
                    del self._waiting[client]
                self._note_emptiness()
                return True
        return False

    def _note_emptiness(self) -> None:
        if not self._waiting:
            self._filled.clear()
