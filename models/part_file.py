"""A file that is being downloaded: NAME.part, and NAME.part.json, which says what it is to become. Knows no network.

Only whole prefixes of the file are in the part: it is appended to, never written in its middle.
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
from common.files import make_private_folder, never_waiting, open_file, read_small, sync_folder, write_atomically

SPARE = 256 << 20  # bytes that stay free on the disk: a full one hurts all programs
READ = 4 << 20
MAX_NOTE = 1 << 16


class Source(msgspec.Struct, frozen=True):
    """Where a file comes from, its published size and digest, and the server's tag of what is in the part so far."""

    url: str
    size: int
    sha256: str
    etag: str = ""
    repo: str = ""
    path: str = ""
    commit: str = ""


class PartFile:
    """The unfinished file for `target`. Open it with `with`; only one process at a time can."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(f"{target.name}.part")
        self.state = target.with_name(f"{target.name}.part.json")
        self.hash = hashlib.sha256()
        self.done = 0
        self._file: BinaryIO | None = None

    def source(self) -> Source | None:
        """What an earlier run noted; None without a readable note."""
        try:
            return msgspec.json.decode(read_small(self.state, MAX_NOTE), type=Source)
        except (OSError, msgspec.MsgspecError, RecursionError):
            return None

    def note(self, source: Source) -> None:
        with self._disk():
            write_atomically(self.state, msgspec.json.encode(source))

    def __enter__(self) -> PartFile:
        with self._disk():
            make_private_folder(self.target.parent)
            file = open(self.path, "ab", buffering=0, opener=never_waiting)
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

    def hash_again(self) -> Iterator[int]:
        """Take up the digest of what is there; yields bytes read so far."""
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

    def empty(self) -> None:
        """Start again."""
        assert self._file
        with self._disk():
            self._file.truncate(0)
        self.hash, self.done = hashlib.sha256(), 0

    def finish(self) -> None:
        """The part is whole and right: it becomes the file."""
        assert self._file
        with self._disk():
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None
            self.path.replace(self.target)
            sync_folder(self.target.parent)
            self.state.unlink(missing_ok=True)

    def delete(self) -> None:
        """Raises nothing: what cannot be deleted stays unfinished."""
        self.__exit__(None, None, None)
        for path in (self.path, self.state):
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
    """Raises Failure unless the disk has room for so many bytes that are to come for `target`."""
    try:
        free = shutil.disk_usage(target.parent).free
    except OSError:  # a file system that does not tell
        return
    if missing + SPARE > free:
        raise Failure("disk_full.no_room", name=target.name, size=missing, short=missing + SPARE - free)


def hash_into(digest: hashlib._Hash, path: Path, size: int) -> Iterator[int]:
    """Update the digest with the file's first `size` bytes; yields bytes read so far."""
    done = 0
    try:
        with open_file(path) as file:
            while done < size and (data := file.read(min(READ, size - done))):
                digest.update(data)
                done += len(data)
                yield done
    except OSError as error:
        raise Failure("unreadable.file", str(error), name=path.name, reason=error.strerror) from error


def _lock(file: BinaryIO, name: str) -> None:
    """Held until the file is closed, and gone with its process."""
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(1 << 60)  # a byte that is never written: the lock must not be in the way of reading
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        raise Failure("busy.download", name=name) from error
