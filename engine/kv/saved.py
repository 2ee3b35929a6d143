"""Chats' keys and values on disk, so that a chat opens without being read again. Knows no model and no messages.

A chat has two files, named by a digest of its id: `.kv`, the target's own, and `.json`, the record that says what it is
and is written last. A file that does not match its record exactly is as good as none. All that lies in the folder
counts against the quota; what is of no use, as killed engines leave it, goes first.

A `.kv` file ends in its own checksum: llama.cpp aborts the process on a truncated one, so no unchecked one may reach
it. A CRC-32, because it must find accidents, fast: 4 GB/s where SHA-256 does 1.7, or 0.4 on an older processor, and no
unkeyed digest would keep out somebody who can write the user's private files.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from common.failures import Failure
from common.files import make_private_folder, sync_folder, write_atomically
from engine.machine import writer_lives
from engine.runtime.interface import Runtime

log = logging.getLogger("engine.saved")

DEFAULT_QUOTA = 2 * 10**9  # bytes
SPARE_DISK = 512 << 20  # bytes of free disk that are never used for a cache
CHEAPER_BY = 4  # loading must be so much faster than reading the chat again
SHORTEST = 256  # tokens; less is read again in a moment
DAY = 86_400
OLDEST = 1000  # days; more are no number
CHECKSUM_BYTES = 4
PIECE_BYTES = 1 << 20
WRITTEN_IN = 60  # seconds: what is not done by then was given up


@dataclass(frozen=True, slots=True)
class Guard:
    """What must be the same for keys and values to mean the same: the model file, how it is loaded, the library."""

    model: str
    settings: str
    build: str


@dataclass(frozen=True, slots=True)
class Record:
    """A saved chat: its tokens, the size of its file, and the seconds that loading it saves."""

    version: int
    guard: Guard
    tokens: list[int]
    kv_bytes: int
    saved_seconds: float
    saved_at: float

    def worth(self, now: float) -> float:
        """Seconds saved per byte, halved by each day that the chat was not used. `now`: seconds since 1970."""
        days = max(0.0, now - self.saved_at) / DAY
        return self.saved_seconds / max(1, self.kv_bytes) / 2 ** min(days, OLDEST)


RECORD_VERSION = 1


def worth_saving(tokens: int, kv_bytes: int, prefill_seconds: float, disk_bytes_per_s: float) -> bool:
    """Is loading `kv_bytes` from the disk cheaper than reading `tokens` again, by enough to pay for the writing?"""
    return tokens >= SHORTEST and kv_bytes / disk_bytes_per_s * CHEAPER_BY <= prefill_seconds


class SavedChats:
    """The folder of saved chats. Failures of the disk are raised as Failure and leave what was there."""

    def __init__(self, folder: Path, quota: int = DEFAULT_QUOTA) -> None:
        self.folder = folder
        self.quota = quota

    def limit(self, quota: int | None) -> None:
        """Keep to `quota` bytes, None: to the default. What is of no use is deleted at once, then what is too much."""
        self.quota = DEFAULT_QUOTA if quota is None else quota
        if not self.quota:
            self.clear()
        worth = self._delete_useless()
        over = self.used_bytes - self.quota
        self._evict(worth, lambda freed: freed >= over)

    def find(self, chat: str, guard: Guard) -> Record | None:
        """The chat's record, if it was saved under the same circumstances and its file is there."""
        record = self._read(self._path(chat, ".json"))
        if record is None or record.guard != guard:
            return None
        try:
            return record if self._path(chat, ".kv").stat().st_size == record.kv_bytes else None
        except OSError:
            return None

    def save(self, chat: str, guard: Guard, runtime: Runtime, tokens: Sequence[int], saved_seconds: float) -> Record:
        """Write the runtime's KV cache, which holds `tokens`, in place of what the chat had."""
        path = self._path(chat, ".kv")
        partial = path.with_suffix(f".{os.getpid()}.part")
        try:
            make_private_folder(self.folder)
            partial.unlink(missing_ok=True)
            runtime.save(partial, tokens)
            seal(partial)
            size = partial.stat().st_size
            record = Record(RECORD_VERSION, guard, list(tokens), size, saved_seconds, time.time())
            encoded = msgspec.json.encode(record)
            self._make_room(size + len(encoded), keep=path.stem)
            partial.replace(path)
            sync_folder(self.folder)
            write_atomically(path.with_suffix(".json"), encoded)
        except OSError as error:
            raise Failure("cache_unwritable.folder", folder=self.folder, reason=error.strerror) from error
        finally:
            discard(partial)
        return record

    def is_whole(self, chat: str) -> bool:
        """Is the chat's file as it was written? Reads all of it."""
        try:
            return is_whole(self._path(chat, ".kv"))
        except OSError as error:
            log.warning("a saved chat cannot be read: %s", error)
            return False

    def load(self, chat: str, record: Record, runtime: Runtime, whole: bool) -> None:
        """Put the saved keys and values into the runtime; a file that does not fit, or is not `whole`, is deleted and
        raises Failure."""
        path = self._path(chat, ".kv")
        try:
            if not whole:
                raise Failure("cache_unusable.damaged", file=path.name)
            tokens = runtime.load(path)
            if tokens != record.tokens:
                raise Failure("cache_unusable.tokens")
        except Failure:
            self.delete(chat)
            raise

    def delete(self, chat: str) -> None:
        """Delete all that is kept of the chat, also what is just being written."""
        for path in self._files():
            if stem_of(path) == self._path(chat, "").name:
                discard(path)

    def clear(self) -> int:
        """Delete all; returns how many bytes that freed."""
        before = self.used_bytes
        for path in self._files():
            discard(path)
        return before - self.used_bytes

    @property
    def used_bytes(self) -> int:
        """What all files in the folder take together."""
        return sum(map(bytes_of, self._files()))

    def tokens_of_last(self, guard: Guard) -> int:
        """How long the chat is that was saved last under these circumstances: the one likeliest to be opened next.

        A cache that has its size from the start spares opening it the making of another, 20 to 270 ms for 4 k tokens
        of a 1.5B model: as long as the system takes to find the memory. 0 if there is none."""
        records = [record for _, record in self.records() if record.guard == guard]
        return len(max(records, key=lambda record: record.saved_at).tokens) if records else 0

    def records(self) -> Iterator[tuple[Path, Record]]:
        """All saved chats that can be read, with the paths of their records."""
        for path in sorted(self.folder.glob("*.json")) if self.folder.is_dir() else ():
            record = self._read(path)
            if record:
                yield path, record

    def _make_room(self, size: int, keep: str) -> None:
        """Delete what is of no use, then the least worthy chats, until `size` more bytes beside all other files than
        those of `keep` keep to the quota and leave the disk some room."""
        if size > self.quota:
            raise Failure("cache_full.one_chat", size=size)
        worth = self._delete_useless(keep)
        worth.pop(keep, None)
        others = [path for path in self._files() if stem_of(path) != keep]
        used, free = sum(map(bytes_of, others)), shutil.disk_usage(self.folder).free
        freed = self._evict(
            worth, lambda freed: used - freed + size <= self.quota and free + freed >= SPARE_DISK
        )  # fmt: skip
        if free + freed < SPARE_DISK:
            raise Failure("cache_full.disk")
        if used - freed + size > self.quota:  # another engine is writing
            raise Failure("cache_full.one_chat", size=size)

    def _delete_useless(self, keep: str = "") -> dict[str, float]:
        """Delete what killed engines left, and what has no record of this version beside it, except for the stem `keep`
        and for what another engine may be writing. Returns what the others are worth, by stem."""
        worth = self._worth()
        for path in self._files():
            useless = path.suffix in (".kv", ".json") and stem_of(path) not in {keep, *worth}
            if is_left(path) or (useless and not is_new(path)):
                discard(path)
        return worth

    def _evict(self, worth: dict[str, float], enough: Callable[[int], bool]) -> int:
        """Delete chats, the least worthy first, until so many bytes are `enough`; returns how many that freed."""
        freed = 0
        for stem in sorted(worth, key=worth.__getitem__):
            if enough(freed):
                break
            for path in (self.folder / f"{stem}.json", self.folder / f"{stem}.kv"):
                freed += bytes_of(path)
                discard(path)
        return freed

    def _worth(self) -> dict[str, float]:
        """Of the chats that are of use, by the stem of their files."""
        now = time.time()
        return {
            path.stem: record.worth(now)
            for path, record in self.records()
            if bytes_of(path.with_suffix(".kv")) == record.kv_bytes
        }

    def _files(self) -> list[Path]:
        """Also what killed engines left."""
        return [path for path in self.folder.iterdir() if path.is_file()] if self.folder.is_dir() else []

    def _path(self, chat: str, ending: str) -> Path:
        return self.folder / (hashlib.sha256(chat.encode()).hexdigest()[:32] + ending)

    def _read(self, path: Path) -> Record | None:
        try:
            record = msgspec.json.decode(path.read_bytes(), type=Record)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError) as error:
            log.warning("the record %s cannot be used: %s", path.name, error)
            return None
        return record if record.version == RECORD_VERSION else None


def stem_of(path: Path) -> str:
    """Of a chat's file, also of one that was being written: `.NAME.json.x7k` and `NAME.1234.part`."""
    return path.name.lstrip(".").partition(".")[0]


def is_left(path: Path) -> bool:
    """Is it a file that was being written when its engine was killed?"""
    if path.suffix == ".part":
        owner = path.name.split(".")[-2]
        return not (owner.isdigit() and writer_lives(int(owner), path))
    without_record = path.suffix == ".kv" and not path.with_suffix(".json").exists()
    return (without_record or path.name.startswith(".")) and not is_new(path)


def is_new(path: Path) -> bool:
    """May another engine be about to write what belongs to it?"""
    try:
        return abs(time.time() - path.stat().st_mtime) < WRITTEN_IN
    except OSError:
        return False


def bytes_of(path: Path) -> int:
    """0 if it is gone."""
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def discard(path: Path) -> None:
    """Delete a file if it is there; one that cannot be deleted is only logged, because nothing depends on it."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("%s cannot be deleted: %s", path, error)


def seal(path: Path) -> None:
    """Write the checksum behind the file's content and see all of it on the disk; raises OSError."""
    with path.open("r+b") as file:
        checksum = 0
        while piece := file.read(PIECE_BYTES):
            checksum = zlib.crc32(piece, checksum)
        file.write(checksum.to_bytes(CHECKSUM_BYTES))
        file.flush()
        os.fsync(file.fileno())


def is_whole(path: Path) -> bool:
    """Does the file end in the checksum of all that stands before it? Raises OSError."""
    checksum = 0
    with path.open("rb") as file:
        left = os.fstat(file.fileno()).st_size - CHECKSUM_BYTES
        while left > 0 and (piece := file.read(min(left, PIECE_BYTES))):
            checksum = zlib.crc32(piece, checksum)
            left -= len(piece)
        return left == 0 and file.read() == checksum.to_bytes(CHECKSUM_BYTES)
