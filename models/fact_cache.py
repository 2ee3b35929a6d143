"""Facts about files that were read before, kept by path, size and time of change: 500 files cost a look each."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from common.paths import path_text
from common.sentences import Sentence
from common.store import Store
from models.facts import Facts

MOST = 5000  # entries; the oldest go first


class Known(msgspec.Struct, frozen=True):
    """What was found out about a file: facts, or why there are none. `lasting`: it will be so
    until the file changes."""

    size: int
    mtime_ns: int
    facts: Facts | None
    problem: Sentence | None = None
    lasting: bool = True


# By path. The version is of `Facts`, and of what headers are refused for: what another one kept is read anew.
FILES = Store("model-facts", 4, dict[str, Known], most_bytes=64 << 20, former=("model-facts.json",))


class FactCache:
    """`save` keeps what was added since; a lost or damaged file only costs time."""

    def __init__(self) -> None:
        self._files = FILES.get() or {}
        self._changed = False

    def get(self, path: Path, size: int, mtime_ns: int) -> Known | None:
        """What is known of the file, as long as its size and time of change (nanoseconds) are those of then."""
        known = self._files.get(path_text(path))
        return known if known and (known.size, known.mtime_ns) == (size, mtime_ns) else None

    def put(self, path: Path, known: Known) -> None:
        """Note it; `save` keeps it."""
        key = path_text(path)
        self._files.pop(key, None)
        self._files[key] = known
        self._changed = True

    def save(self) -> None:
        """Keep what is known, without the oldest where there is too much. Raises nothing."""
        if not self._changed:
            return
        for path in list(self._files)[: max(0, len(self._files) - MOST)]:
            del self._files[path]
        with contextlib.suppress(OSError):
            FILES.put(self._files)
            self._changed = False
