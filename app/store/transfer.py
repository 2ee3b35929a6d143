"""Progress of an import or export, and how the user stops it."""

from __future__ import annotations


class Stopped(Exception):
    """The user stopped the import or export; what was done so far is undone."""


class TransferProgress:
    """Progress of an import or export: the `share` done, from 0 to 1, and the number of `chats` done."""

    def __init__(self) -> None:
        self.share = 0.0
        self.chats = 0
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True

    def update(self, share: float, chats: int) -> None:
        """Set the progress; the operation calls this now and then. Raises Stopped after `stop`."""
        self.share, self.chats = share, chats
        if self._stopped:
            raise Stopped
