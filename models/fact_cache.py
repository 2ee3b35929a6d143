"""Cache of facts about model files, by path, size and time of change: known files need only a stat, not a read."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from common.paths import path_text
from common.sentences import Sentence
from common.store import Store
from models.facts import Facts

MOST = 5000  # entries; the oldest go first


class CachedFacts(msgspec.Struct, frozen=True):
    """Result of reading a file: its facts, or the problem why there are none.

    `lasting` is false for a problem that may go away without a change of the file.
    """

    size: int
    mtime_ns: int
    facts: Facts | None
    problem: Sentence | None = None
    lasting: bool = True


# By path. Raise the version when `Facts` changes, or the reasons to refuse a header: files are then read again.
FILES = Store("model-facts", 9, dict[str, CachedFacts], most_bytes=64 << 20, former=("model-facts.json",))


class FactCache:
    """Facts of earlier scans; `save` writes what was added. A lost or damaged cache only costs time."""

    def __init__(self) -> None:
        self._files = FILES.get() or {}
        self._changed = False

    def get(self, path: Path, size: int, mtime_ns: int) -> CachedFacts | None:
        """Return what is known of a file; None unless its size and time of change (nanoseconds) are still the same."""
        known = self._files.get(path_text(path))
        return known if known and (known.size, known.mtime_ns) == (size, mtime_ns) else None

    def put(self, path: Path, known: CachedFacts) -> None:
        """Add what is known of a file; `save` writes it."""
        key = path_text(path)
        self._files.pop(key, None)
        self._files[key] = known
        self._changed = True

    def save(self) -> None:
        """Write the cache if it changed, dropping the oldest entries beyond MOST. Raises nothing."""
        if not self._changed:
            return
        for path in list(self._files)[: max(0, len(self._files) - MOST)]:
            del self._files[path]
        with contextlib.suppress(OSError):
            FILES.put(self._files)
            self._changed = False
