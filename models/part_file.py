"""Partly downloaded file: NAME.part, and its note NAME.part.json, which says what it is to become. Never connects.

The part always holds a prefix of the file: bytes are appended, never written in the middle.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from common.failures import Failure
from common.files import (
    make_private_folder,
    nonblocking_opener,
    open_file,
    read_small,
    read_up_to,
    sync_folder,
    write_atomically,
)
from models.header import MAGIC

SPARE = 256 << 20  # bytes that must stay free, because a full disk harms all programs
READ_BYTES = 4 << 20
LOCKED_BYTE = 1 << 40  # on Windows: behind every file's end, because a locked byte cannot be read; ext4 ends at 1 << 44
MAX_NOTE = 1 << 16


class Source(msgspec.Struct, frozen=True):
    """Origin of a file: its address, published size and digest, and the server's ETag of the bytes in the part."""

    url: str
    size: int
    sha256: str
    etag: str = ""
    repo: str = ""
    path: str = ""
    commit: str = ""


class PartFile:
    """Unfinished file for `target`. Open it with `with`; only one process can at a time."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(f"{target.name}.part")
        self.note_path = target.with_name(f"{target.name}.part.json")
        self.hash = hashlib.sha256()
        self.done = 0
        self._file: BinaryIO | None = None

    def read_note(self) -> Source | None:
        """Return the source that an earlier run noted; None without a readable note."""
        try:
            return msgspec.json.decode(read_small(self.note_path, MAX_NOTE), type=Source)
        except (OSError, msgspec.MsgspecError, RecursionError):
            return None

    def write_note(self, source: Source) -> None:
        with self._disk():
            write_atomically(self.note_path, msgspec.json.encode(source))

    def __enter__(self) -> PartFile:
        with self._disk():
            make_private_folder(self.target.parent)
            file = open(self.path, "ab", buffering=0, opener=nonblocking_opener)
            try:
                _lock(file, self.target.name)
                self.done = os.fstat(file.fileno()).st_size
            except BaseException:
                file.close()
                raise
        self._file = file
        return self

    def __exit__(self, kind: object, value: object, trace: object) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def begins_like_a_model(self) -> bool:
        """Return whether the part has a model's first bytes; an error page may have been saved in their place."""
        with self._disk(), open_file(self.path) as file:
            return read_up_to(file, len(MAGIC)) == MAGIC

    def hash_again(self) -> Iterator[int]:
        """Compute the digest of the bytes in the part, yielding the bytes read so far."""
        self.hash = hashlib.sha256()
        if self.done:
            yield from hash_into(self.hash, self.path, self.done)

    def append(self, data: bytes) -> None:
        assert self._file
        with self._disk():
            left = memoryview(data)
            while left:
                left = left[self._file.write(left) or 0 :]
        self.hash.update(data)
        self.done += len(data)

    def truncate(self) -> None:
        """Delete the part's bytes, to start the download again."""
        assert self._file
        with self._disk():
            self._file.truncate(0)
        self.hash, self.done = hashlib.sha256(), 0

    def finish(self) -> None:
        """Rename the complete and verified part to the target, and delete its note."""
        assert self._file
        with self._disk():
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None
            self.path.replace(self.target)
            sync_folder(self.target.parent)
            self.note_path.unlink(missing_ok=True)

    def delete(self) -> None:
        """Delete the part and its note. Raises nothing: what cannot be deleted stays an unfinished download."""
        self.__exit__(None, None, None)
        for path in (self.path, self.note_path):
            with contextlib.suppress(OSError):
                path.unlink()

    @contextlib.contextmanager
    def _disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise Failure("disk_full.download", str(error), name=self.target.name) from error
            raise Failure(
                "unwritable.download",
                str(error),
                name=self.target.name,
                folder=self.target.parent,
                reason=error.strerror,
            ) from error


def check_room(target: Path, missing: int) -> None:
    """Raise Failure unless the disk has room for the `missing` bytes of `target` and SPARE more."""
    try:
        free = shutil.disk_usage(target.parent).free
    except OSError:  # some file systems do not tell
        return
    if missing + SPARE > free:
        raise Failure("disk_full.no_room", name=target.name, size=missing, short=missing + SPARE - free)


def hash_into(digest: hashlib._Hash, path: Path, size: int) -> Iterator[int]:
    """Update the digest with the file's first `size` bytes, yielding the bytes read so far."""
    done = 0
    try:
        with open_file(path) as file:
            while done < size and (data := file.read(min(READ_BYTES, size - done))):
                digest.update(data)
                done += len(data)
                yield done
    except OSError as error:
        raise Failure("unreadable.file", str(error), name=path.name, reason=error.strerror) from error


def _lock(file: BinaryIO, name: str) -> None:
    """Lock the file until it is closed or its process ends. Raises Failure if another process holds the lock."""
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(LOCKED_BYTE)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        raise Failure("busy.download", name=name) from error
