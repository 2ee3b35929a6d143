"""Stores of measured or learned values that programs keep from one start to the next, each value under a key.

A store has its own folder in the cache folder, and each value a file there, named by a digest of its key. A file is
used whole or not at all: it begins with a checksum of the rest, followed by its store's name, version and key. Any
other file (damaged, of another version, of another program) counts as absent.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from common.eviction import delete_file, evict, files_in, is_being_written
from common.files import TEMPORARY, read_small, write_atomically
from common.folders import cache_folder

log = logging.getLogger(__name__)

T = TypeVar("T")

CHECKSUM_BYTES = 9  # a CRC-32 in hexadecimal digits, and the end of its line
NAME = re.compile(r"[0-9a-f]{32}(?:\.v(\d+)|\.json|\.npz|-\d+)?")  # also forms from before versions


@dataclass(frozen=True, slots=True)
class Store(Generic[T]):
    """Values of type `kind` in the cache's folder `name`; several processes may use it at the same time.

    Attributes:
        version: version of the values' meaning; values of other versions are not read, and older ones are deleted.
        binary: whether values are written as MessagePack, for values that are mostly `bytes`, instead of JSON.
        most_entries: most values that are kept; the oldest are deleted first. `most_bytes` limits their size likewise.
        former: patterns of files in the cache folder in which an older version kept the same; they are deleted.
    """

    name: str
    version: int
    kind: type[T]
    binary: bool = False
    most_entries: int = 256
    most_bytes: int = 16 << 20
    former: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z-]*", self.name):
            raise ValueError(f"{self.name!r} is no name of a folder")
        if min(self.version, self.most_entries, self.most_bytes) < 1:
            raise ValueError("a version and limits are positive")

    @property
    def folder(self) -> Path:
        """Folder of the values' files; it may not exist yet."""
        return cache_folder() / self.name

    def path(self, *key: object) -> Path:
        """Return the file for a key, whose parts are anything that JSON can express."""
        return self.folder / f"{digest(*key)}.v{self.version}"

    def get(self, *key: object) -> T | None:
        """Return the value under the key; None if there is none, or its file cannot be used. Raises nothing."""
        path = self.path(*key)
        try:
            raw = read_small(path, self.most_bytes)  # of a larger file too little for its checksum
            return self._decoded(raw, self._head(key))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, msgspec.MsgspecError, RecursionError) as error:
            log.warning("What is kept in %s cannot be used, and is made again.", self.folder)
            log.info("%s: %s", path.name, error)
            return None

    def put(self, value: T, *key: object) -> None:
        """Write the value under the key, replacing an older value.

        Raises OSError, and keeps the older value then; a value of more than `most_bytes` is refused too.
        """
        payload = msgspec.msgpack.encode(value) if self.binary else msgspec.json.encode(value)
        rest = self._head(key) + payload
        if CHECKSUM_BYTES + len(rest) > self.most_bytes:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), self.name)
        path = self.path(*key)
        write_atomically(path, b"%08x\n" % zlib.crc32(rest) + rest)
        self._tidy(path)

    def _head(self, key: tuple[object, ...]) -> bytes:
        return msgspec.json.encode((self.name, self.version, key)) + b"\n"

    def _decoded(self, raw: bytes, head: bytes) -> T:
        """Decode a file; raise ValueError, MsgspecError or RecursionError for bytes that `put` did not write."""
        rest = memoryview(raw)[CHECKSUM_BYTES:]
        if raw[:CHECKSUM_BYTES] != b"%08x\n" % zlib.crc32(rest):
            raise ValueError("the file is damaged")
        if rest[: len(head)] != head:
            raise ValueError("the file is of another key")
        payload = rest[len(head) :]
        if self.binary:
            return msgspec.msgpack.decode(payload, type=self.kind)
        return msgspec.json.decode(payload, type=self.kind)

    def _tidy(self, newest: Path) -> None:
        for pattern in self.former:
            for path in self.folder.parent.glob(pattern):
                delete_file(path)
        keep_limits(self.folder, self.most_entries, self.most_bytes, self._is_former, newest)

    def _is_former(self, name: str, _size: int) -> bool:
        parts = NAME.fullmatch(name)
        return parts is not None and int(parts[1] or 0) < self.version


def digest(*key: object) -> str:
    """Return 32 hexadecimal digits that identify a key."""
    return hashlib.sha256(msgspec.json.encode(key)).hexdigest()[:32]


def keep_limits(
    folder: Path, most_entries: int, most_bytes: int, useless: Callable[[str, int], bool], spared: Path | None = None
) -> None:
    """Delete files of a store's folder until it keeps its limits, never `spared`. Raises nothing.

    First go files that `useless` says are, by name and bytes, and temporary files of killed programs; then the oldest.
    Files whose names are no store's are left alone.
    """
    kept: list[tuple[int, int, Path]] = []
    for path, status in files_in(folder):
        abandoned = path.name.startswith(TEMPORARY) and not is_being_written(path, status)
        if abandoned or useless(path.name, status.st_size):
            delete_file(path)
        elif NAME.fullmatch(path.name):
            kept.append((status.st_mtime_ns, status.st_size, path))
    size = sum(file[1] for file in kept)
    oldest = ([path] for _, _, path in sorted(kept) if path != spared)
    evict(oldest, lambda deleted, freed: len(kept) - deleted <= most_entries and size - freed <= most_bytes)
