"""Facts about files that were read before, kept by path, size and time of change: 500 files cost a look each."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import Any

import msgspec

from common.files import write_atomically
from common.folders import cache_folder
from models.facts import Facts
from models.paths import path_text

log = logging.getLogger(__name__)
VERSION = 2  # of `Facts`, and of what headers are refused for: what another version kept is read anew
MOST = 5000  # entries; the oldest go first


class Known(msgspec.Struct, frozen=True):
    """What was found out about a file: facts, or the sentence that says why there are none. `lasting`: it will be so
    until the file changes."""

    size: int
    mtime_ns: int
    facts: Facts | None
    problem: str = ""
    lasting: bool = True


class _Kept(msgspec.Struct):
    version: int
    files: dict[str, Known]


class FactCache:
    """`save` keeps what was added since; a lost or damaged file only costs time."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or cache_folder() / "model-facts.json"
        self._files = self._read()
        self._changed = False

    def get(self, path: Path, size: int, mtime_ns: int) -> Known | None:
        known = self._files.get(path_text(path))
        return known if known and (known.size, known.mtime_ns) == (size, mtime_ns) else None

    def put(self, path: Path, known: Known) -> None:
        key = path_text(path)
        self._files.pop(key, None)
        self._files[key] = known
        self._changed = True

    def save(self) -> None:
        if not self._changed:
            return
        for path in list(self._files)[: max(0, len(self._files) - MOST)]:
            del self._files[path]
        with contextlib.suppress(OSError):
            write_atomically(self.path, msgspec.json.encode(_Kept(VERSION, self._files)))
            self._changed = False

    def _read(self) -> dict[str, Known]:
        try:
            raw: Any = msgspec.json.decode(self.path.read_bytes())
            if not isinstance(raw, dict) or raw.get("version") != VERSION:
                return {}
            return msgspec.convert(raw, _Kept).files
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError, RecursionError) as error:
            log.info("the kept facts about models cannot be used: %s", error)
            return {}
