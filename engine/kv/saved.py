"""Saved chats: keys and values on disk, so that a chat opens without a new prefill. Knows no model and no messages.

A chat has two files for each model that answered it, so that a user who switches back to a model finds the chat as that
model knew it. They are named by digests of the chat's id and the model's identity: `.kv`, in the runtime's own format,
and `.json`, the record that describes it and is written last. Where a cache cannot be truncated, checkpoints follow in
the `.kv` file. A file that does not match its record exactly counts as absent. Every file in the folder counts
against the quota; useless files, which killed engines leave, are deleted first (`common/eviction.py`).

A `.kv` file ends in a checksum of ours, because llama.cpp aborts the process on a truncated file: no unchecked file may
reach it. The checksum is a CRC-32, since it must find accidents, and fast: 4 GB/s, where SHA-256 reaches 1.7, or 0.4 on
an older processor. No unkeyed digest would stop somebody who can write the user's private files.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from common.eviction import delete_file, evict, files_in, is_being_written
from common.failures import Failure
from common.files import make_private_folder, replace_file, sync_folder, temporary_prefix, write_atomically
from common.log_format import kind_of
from common.store import digest
from engine.runtime.interface import Checkpoint, Runtime

log = logging.getLogger("engine.saved")

DEFAULT_QUOTA = 2 * 10**9  # bytes
SPARE_DISK = 512 << 20  # bytes of free disk that are never used for a cache
SPEED_MARGIN = 4  # loading must be this many times faster than a new prefill
MIN_SAVED_TOKENS = 256  # shorter chats are prefilled again in a moment
DAY = 86_400
MAX_AGE_DAYS = 1000  # a larger exponent would overflow
CHECKSUM_BYTES = 4
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Guard:
    """Conditions under which saved keys and values are valid: model file, load settings and library build."""

    model: str
    settings: str
    build: str


@dataclass(frozen=True, slots=True)
class Record:
    """Description of a saved chat, stored as `.json`.

    `tokens`: the cached token ids. `kv_bytes`: size of the `.kv` file. `saved_seconds`: time that loading spares
    against a new prefill. `saved_at`: seconds since 1970. `checkpoints`: size in tokens and bytes of each.
    """

    version: int
    guard: Guard
    tokens: list[int]
    kv_bytes: int
    saved_seconds: float
    saved_at: float
    checkpoints: tuple[tuple[int, int], ...] = ()

    def worth(self, now: float) -> float:
        """Return the seconds saved per byte, halved for each day since the chat was saved.

        `now`: seconds since 1970.
        """
        days = max(0.0, now - self.saved_at) / DAY
        return self.saved_seconds / max(1, self.kv_bytes) / 2 ** min(days, MAX_AGE_DAYS)


RECORD_VERSION = 2  # 1 kept one model of a chat


def worth_saving(tokens: int, kv_bytes: int, prefill_seconds: float, disk_bytes_per_s: float) -> bool:
    """Return whether loading `kv_bytes` from disk beats a prefill of `tokens` by enough to pay for the writing."""
    return tokens >= MIN_SAVED_TOKENS and kv_bytes / disk_bytes_per_s * SPEED_MARGIN <= prefill_seconds


class SavedChats:
    """The folder of saved chats.

    Errors of the disk raise Failure, and leave the saved chats as they were.
    """

    def __init__(self, folder: Path, quota: int = DEFAULT_QUOTA) -> None:
        self.folder = folder
        self.quota = quota

    def set_quota(self, quota: int | None) -> None:
        """Set the quota in bytes (None: the default), and delete useless files, then chats beyond the quota.

        The least worthy chats go first. A quota of 0 deletes everything.
        """
        self.quota = DEFAULT_QUOTA if quota is None else quota
        if not self.quota:
            self.clear()
        worth = self._delete_useless()
        over = self.used_bytes - self.quota
        evict(self._least_worthy(worth), lambda _deleted, freed: freed >= over)

    def find(self, chat: str, guard: Guard) -> Record | None:
        """Return the chat's record if it was saved under the same `guard` and its `.kv` file has the recorded size."""
        record = self._read(self._path(chat, guard.model, ".json"))
        if record is None or record.guard != guard:
            return None
        try:
            return record if self._path(chat, guard.model, ".kv").stat().st_size == record.kv_bytes else None
        except OSError:
            return None

    def save(
        self,
        chat: str,
        guard: Guard,
        runtime: Runtime,
        tokens: Sequence[int],
        saved_seconds: float,
        checkpoints: Sequence[Checkpoint] = (),
    ) -> Record:
        """Write the runtime's KV cache, which holds `tokens`, and `checkpoints` of it.

        They replace what was saved of the chat with this model.

        Raises Failure if the quota or the disk has no room, or the folder cannot be written.
        """
        path = self._path(chat, guard.model, ".kv")
        partial = path.with_name(temporary_prefix() + path.name)
        try:
            make_private_folder(self.folder)
            partial.unlink(missing_ok=True)
            expected = runtime.state_bytes + sum(checkpoint.bytes for checkpoint in checkpoints)
            self._make_room(expected, expected, keep=path.stem)
            runtime.save(partial, tokens)
            append(partial, checkpoints)
            append_checksum(partial)
            size = partial.stat().st_size
            sizes = tuple((checkpoint.size, checkpoint.bytes) for checkpoint in checkpoints)
            record = Record(RECORD_VERSION, guard, list(tokens), size, saved_seconds, time.time(), sizes)
            encoded = msgspec.json.encode(record)
            self._make_room(size + len(encoded), 0, keep=path.stem)
            replace_file(partial, path)
            sync_folder(self.folder)
            write_atomically(path.with_suffix(".json"), encoded)
        except OSError as error:
            raise Failure("cache_unwritable.folder", folder=self.folder, reason=error.strerror) from error
        finally:
            delete_file(partial)
        return record

    def is_intact(self, chat: str, guard: Guard) -> bool:
        """Return whether the chat's `.kv` file of this model is undamaged. Reads the whole file."""
        try:
            return has_valid_checksum(self._path(chat, guard.model, ".kv"))
        except OSError as error:
            log.warning("a saved chat cannot be read: %s", error)
            return False

    def load(self, chat: str, record: Record, runtime: Runtime, intact: bool) -> list[Checkpoint]:
        """Load the saved keys and values into the runtime, and return the checkpoints of them.

        `intact`: the result of `is_intact`. Deletes the saved chat and raises Failure if it is damaged or does not fit.
        """
        path = self._path(chat, record.guard.model, ".kv")
        try:
            if not intact:
                raise Failure("cache_unusable.damaged", file=path.name)
            tokens = runtime.load(path)
            if tokens != record.tokens:
                raise Failure("cache_unusable.tokens")
            return read_checkpoints(path, record)
        except Failure:
            delete_file(path.with_suffix(".json"))
            delete_file(path)
            raise

    def delete(self, chat: str) -> None:
        """Delete all files of the chat, of all models, also unfinished ones."""
        for path, _ in files_in(self.folder):
            if digest(chat) in path.name:
                delete_file(path)

    def clear(self) -> int:
        """Delete all saved chats and return the number of freed bytes."""
        return sum(delete_file(path) for path, _ in files_in(self.folder))

    @property
    def used_bytes(self) -> int:
        """Total size of all files in the folder."""
        return sum(status.st_size for _, status in files_in(self.folder))

    def tokens_of_last(self, guard: Guard) -> int:
        """Return the length in tokens of the chat saved last under this guard, or 0 if there is none.

        That chat is the likeliest to be opened next. A KV cache that is created with its size need not be replaced
        then, which takes 20 to 270 ms for 4 k tokens of a 1.5B model, the time in which the system finds the memory.
        """
        records = [record for _, record in self.records() if record.guard == guard]
        return len(max(records, key=lambda record: record.saved_at).tokens) if records else 0

    def records(self) -> Iterator[tuple[Path, Record]]:
        """Yield the path and content of each readable record."""
        for path in sorted(self.folder.glob("*.json")) if self.folder.is_dir() else ():
            record = self._read(path)
            if record:
                yield path, record

    def _make_room(self, size: int, unwritten: int, keep: str) -> None:
        """Delete useless files, then the least worthy chats, until `size` bytes fit the quota and the disk.

        `unwritten` of these bytes are not on the disk yet. The files of the stem `keep` do not count, because they are
        about to be replaced. Raises Failure, and deletes no chat, if there is no room.
        """
        if size > self.quota:
            raise Failure("cache_full.one_chat", size=size)
        worth = self._delete_useless(keep)
        worth.pop(keep, None)
        others = {path: status.st_size for path, status in files_in(self.folder) if keep not in path.name}
        used, free = sum(others.values()), shutil.disk_usage(self.folder).free - unwritten
        most = sum(size for path, size in others.items() if path.stem in worth)
        if free + most < SPARE_DISK:
            raise Failure("cache_full.disk")
        if used - most + size > self.quota:  # another engine is writing into the folder
            raise Failure("cache_full.one_chat", size=size)

        def enough(_deleted: int, freed: int) -> bool:
            return used - freed + size <= self.quota and free + freed >= SPARE_DISK

        evict(self._least_worthy(worth), enough)

    def _delete_useless(self, keep: str = "") -> dict[str, float]:
        """Delete files without a valid record, and what killed engines left; return the others' worth.

        The result maps the stems of the usable chats to their worth. Spares the files of the stem `keep`, and files
        that another engine may still be writing.
        """
        worth = self._worth()
        for path, status in files_in(self.folder):
            ours = path.suffix in (".kv", ".json", ".part") or path.name.startswith(".")  # also of older versions
            if ours and path.stem not in {keep, *worth} and not is_being_written(path, status):
                delete_file(path)
        return worth

    def _least_worthy(self, worth: dict[str, float]) -> Iterator[tuple[Path, Path]]:
        """Yield the files of each chat, the least worthy chat first."""
        for stem in sorted(worth, key=worth.__getitem__):
            yield self.folder / f"{stem}.json", self.folder / f"{stem}.kv"

    def _worth(self) -> dict[str, float]:
        """Return the worth of each usable chat, by the stem of its files."""
        now, sizes = time.time(), {path: status.st_size for path, status in files_in(self.folder)}
        return {
            path.stem: record.worth(now)
            for path, record in self.records()
            if sizes.get(path.with_suffix(".kv")) == record.kv_bytes
        }

    def _path(self, chat: str, model: str, ending: str) -> Path:
        return self.folder / f"{digest(chat)}-{digest(model)[:8]}{ending}"

    def _read(self, path: Path) -> Record | None:
        try:
            record = msgspec.json.decode(path.read_bytes(), type=Record)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError) as error:
            log.warning("the record %s cannot be used: %s", path.name, kind_of(error))
            return None
        return record if record.version == RECORD_VERSION else None


def append(path: Path, checkpoints: Sequence[Checkpoint]) -> None:
    """Append the checkpoints' data to the file. Raises OSError."""
    with path.open("ab") as file:
        for checkpoint in checkpoints:
            file.write(checkpoint.data)


def read_checkpoints(path: Path, record: Record) -> list[Checkpoint]:
    """Read the checkpoints that a saved chat's undamaged `.kv` file ends with. Raises Failure if it cannot be read."""
    begin = record.kv_bytes - CHECKSUM_BYTES - sum(size for _, size in record.checkpoints)
    try:
        with path.open("rb") as file:
            file.seek(begin)
            return [Checkpoint(tokens, file.read(size)) for tokens, size in record.checkpoints]
    except (OSError, ValueError) as error:
        raise Failure("cache_unusable.damaged", str(error), file=path.name) from error


def append_checksum(path: Path) -> None:
    """Append the checksum of the file's content and flush the file to the disk. Raises OSError."""
    with path.open("r+b") as file:
        checksum = 0
        while chunk := file.read(CHUNK_BYTES):
            checksum = zlib.crc32(chunk, checksum)
        file.write(checksum.to_bytes(CHECKSUM_BYTES))
        file.flush()
        os.fsync(file.fileno())


def has_valid_checksum(path: Path) -> bool:
    """Return whether the file ends in the checksum of everything before it. Raises OSError."""
    checksum = 0
    with path.open("rb") as file:
        left = os.fstat(file.fileno()).st_size - CHECKSUM_BYTES
        while left > 0 and (chunk := file.read(min(left, CHUNK_BYTES))):
            checksum = zlib.crc32(chunk, checksum)
            left -= len(chunk)
        return left == 0 and file.read() == checksum.to_bytes(CHECKSUM_BYTES)
