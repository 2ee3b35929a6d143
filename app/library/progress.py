"""How far a long operation in a thread has come, and the wish to stop it; both threads may use it at any time."""

from __future__ import annotations


class Stopped(Exception):
    """The user no longer wants it; what was done so far is undone."""


class Progress:
    """`share` of the work is done, from 0 to 1, and so many `chats`."""

    def __init__(self) -> None:
        self.share = 0.0
        self.chats = 0
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True

    def tell(self, share: float, chats: int) -> None:
        """Called by the operation now and then; raises Stopped."""
        self.share, self.chats = share, chats
        if self._stopped:
            raise Stopped
