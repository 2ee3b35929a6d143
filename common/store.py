"""What was measured or learned, kept from one start of a program to the next: things of one kind, each under a key.

A kind has a folder in the cache folder, and each of its things a file there, named by a digest of its key. A file is
used whole or not at all: it begins with a checksum of everything behind it, then says of what kind, version and key it
is. Whatever else lies there (damaged, of another version, of somebody else) counts as absent.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import re
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from common.files import TEMPORARY, read_small, write_atomically
from common.folders import cache_folder

log = logging.getLogger(__name__)

T = TypeVar("T")

CHECKSUM_BYTES = 9  # a CRC-32 in hexadecimal digits, and the end of its line
NAME = re.compile(r"[0-9a-f]{32}(?:\.v(\d+)|\.json|\.npz|-\d+)?")  # also of files from before there were versions
GIVEN_UP = 600  # seconds: what is not written by then never will be


@dataclass(frozen=True, slots=True)
class Store(Generic[T]):
    """Things of one `kind` in the folder `name`. Several processes may use it at once.

    `version`: of what the things mean; another version's are not seen, and an older one's removed. `binary`: kept as
    MessagePack, for what is mostly `bytes`, instead of JSON. Beyond `most_entries` or `most_bytes` the oldest go.
    `former`: files in the cache folder that an older version kept instead, by patterns."""

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
        """Where they are kept; it may not exist yet."""
        return cache_folder() / self.name

    def path(self, *key: object) -> Path:
        """The file for a key, whose parts are whatever JSON can say."""
        return self.folder / f"{digest(*key)}.v{self.version}"

    def get(self, *key: object) -> T | None:
        """What is kept under the key; None if there is nothing, or nothing of use. Raises nothing."""
        path = self.path(*key)
        try:
            raw = read_small(path, self.most_bytes + 1)
            return self._decoded(raw, self._head(key))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, msgspec.MsgspecError, RecursionError) as error:
            log.warning("What is kept in %s cannot be used, and is made again.", self.folder)
            log.info("%s: %s", path.name, error)
            return None

    def put(self, value: T, *key: object) -> None:
        """Keep it under the key, in place of what was there. Raises OSError; what was there is still there then."""
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
        """Raises ValueError, MsgspecError and RecursionError for what is not what `put` wrote."""
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
                _remove(path)
        evict(self.folder, self.most_entries, self.most_bytes, self._is_former, newest)

    def _is_former(self, name: str, _size: int) -> bool:
        found = NAME.fullmatch(name)
        return found is not None and int(found[1] or 0) < self.version


def digest(*key: object) -> str:
    """32 hexadecimal digits that stand for a key."""
    return hashlib.sha256(msgspec.json.encode(key)).hexdigest()[:32]


def evict(
    folder: Path, most_entries: int, most_bytes: int, useless: Callable[[str, int], bool], spared: Path | None = None
) -> None:
    """Remove files of a store's folder until it keeps to its limits: first what is `useless` by name and bytes and
    what killed programs left, then the oldest. What is not named as a store names it is not ours, and stays. Raises
    nothing."""
    kept: list[tuple[int, int, Path]] = []
    for path, status in _files(folder):
        if path != spared and (useless(path.name, status.st_size) or _is_left(path.name, status.st_mtime)):
            _remove(path)
        elif NAME.fullmatch(path.name):
            kept.append((status.st_mtime_ns, status.st_size, path))
    kept.sort(key=lambda file: (file[2] == spared, file[0]))
    size = sum(file[1] for file in kept)
    for number, (_, bytes_of_it, path) in enumerate(kept):
        if len(kept) - number <= most_entries and size <= most_bytes:
            break
        if path != spared:
            _remove(path)
            size -= bytes_of_it


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):  # another process has removed it
                if entry.is_file(follow_symlinks=False):
                    yield Path(entry.path), entry.stat(follow_symlinks=False)


def _is_left(name: str, changed: float) -> bool:
    """Was it being written when its program was killed?"""
    return name.startswith(TEMPORARY) and abs(time.time() - changed) > GIVEN_UP


def _remove(path: Path) -> None:
    """One that cannot be removed is only noted, because nothing depends on it."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.info("%s cannot be removed: %s", path, error)
