"""From token bytes to text that may be shown: whole characters only, nothing of a stop string. Knows no tokens."""

from __future__ import annotations

import codecs
from collections.abc import Sequence


class TextStream:
    """Feed it bytes as they come; it gives back text as soon as that can no longer turn into something else."""

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self.stops = tuple(stops)
        self.stopped = False
        self._held = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def feed(self, piece: bytes) -> str:
        """Text that is certain now; after a stop string `stopped` is true and nothing more comes."""
        if self.stopped:
            return ""
        text = self._held + self._decoder.decode(piece)
        found = min((at for at in (text.find(stop) for stop in self.stops) if at >= 0), default=-1)
        if found >= 0:
            self.stopped, self._held = True, ""
            return text[:found]
        keep = longest_open_stop(text, self.stops)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def finish(self) -> str:
        """What was held back as a possible stop string; bytes of an unfinished character are dropped."""
        held, self._held = self._held, ""
        return held


def longest_open_stop(text: str, stops: Sequence[str]) -> int:
    """Length of the longest end of `text` that is the beginning of a stop string."""
    best = 0
    for stop in stops:
        for length in range(min(len(stop) - 1, len(text)), best, -1):
            if text.endswith(stop[:length]):
                best = length
                break
    return best
