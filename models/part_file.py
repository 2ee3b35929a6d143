"""File that downloads bring: the part that has arrived (NAME.part), and the note of its owners (NAME.part.json).

Never connects. The part always holds a prefix of the file: bytes are appended, never written in the middle. The note
exists as long as an unfinished download needs the file, also after the file is complete, so that every window, terminal
and later start knows whose it is.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import shutil
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec
from filelock import lock_descriptor

from common.failures import Failure
from common.files import (
    NotAFile,
    make_private_folder,
    nonblocking_opener,
    open_file,
    read_small,
    read_up_to,
    replace_file,
    sync_folder,
    write_atomically,
)
from common.folders import data_folder
from models.header import MAGIC

log = logging.getLogger(__name__)
SPARE = 256 << 20  # bytes that must stay free, because a full disk harms all programs
READ_BYTES = 4 << 20
MAX_NOTE = 1 << 16
SPEECH_MAGIC = b"lmgg"  # the first bytes of whisper.cpp's files
LOCK_FILE = "downloads.lock"  # in the data folder: locked while a note changes
_thread_lock = threading.Lock()


class Source(msgspec.Struct, frozen=True):
    """Origin of a file: its address, published size and digest, and the server's ETag of the bytes in the part."""

    url: str
    size: int
    sha256: str
    etag: str = ""
    repo: str = ""
    path: str = ""
    commit: str = ""


class Note(Source, frozen=True):
    """Source of a file with the reference count of its downloads.

    `owners` are the names of the first files of the models whose unfinished downloads need the file, `users` those of
    whole models whose download has ended. `state` is `missing` until the file is complete and verified, then `arrived`;
    `existing` if it was there before all downloads.
    """

    owners: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    state: Literal["missing", "arrived", "existing"] = "missing"

    @property
    def source(self) -> Source:
        return Source(*(getattr(self, name) for name in Source.__struct_fields__))

    def with_source(self, source: Source) -> Note:
        return msgspec.structs.replace(self, **msgspec.structs.asdict(source))


def magic_of(target: Path) -> bytes:
    """Return the bytes with which a file of this name begins: a GGUF file, or a speech model of whisper.cpp."""
    return SPEECH_MAGIC if target.suffix == ".bin" else MAGIC


class PartFile:
    """File of downloads with the path `target`. Open it with `with` to write; only one process can at a time."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(f"{target.name}.part")
        self.note_path = target.with_name(f"{target.name}.part.json")
        self.hash = hashlib.sha256()
        self.done = 0
        self._file: BinaryIO | None = None

    # --- who owns it ---

    def read_note(self) -> Note | None:
        """Return the note; None without a readable one."""
        try:
            note = msgspec.json.decode(read_small(self.note_path, MAX_NOTE), type=Note)
        except (OSError, msgspec.MsgspecError, RecursionError):
            return None
        return note if all(map(_is_model_name, note.owners + note.users)) else None

    @property
    def is_owned(self) -> bool:
        """Whether an unfinished download needs the file."""
        note = self.read_note()
        return note is not None and bool(note.owners)

    def claim(self, source: Source, owner: str) -> None:
        """Note that the download of the model `owner` needs the file. Raises Failure."""
        state: Literal["missing", "existing"] = "existing" if self.target.exists() else "missing"
        with self._changing_note():
            note = self.read_note() or Note("", 0, "", state=state).with_source(source)
            if owner not in note.owners:
                self._write(msgspec.structs.replace(note, owners=(*note.owners, owner)))

    def release(self, owner: str, is_whole: bool) -> None:
        """Drop the claim of the download of `owner`; with the last claim, delete the part and the note.

        Delete the complete file too if a download brought it and no whole model uses it: `is_whole` says whether
        `owner` is one. A part that is being written and what cannot be deleted stay an unfinished download.
        """
        with contextlib.suppress(Failure), self._changing_note():
            note = self.read_note()
            if note is None or owner not in note.owners:
                return
            owners = tuple(other for other in note.owners if other != owner)
            users = (*note.users, owner) if is_whole else note.users
            if owners:
                self._write(msgspec.structs.replace(note, owners=owners, users=users))
                return
            with self:
                if note.state == "arrived" and not any(self.target.with_name(user).exists() for user in users):
                    self.target.unlink(missing_ok=True)
                self._close_and(self.path.unlink)
                self.note_path.unlink()

    def write_note(self, source: Source) -> None:
        """Note what the part is to become."""
        with self._changing_note():
            self._write((self.read_note() or Note("", 0, "")).with_source(source))

    def _write(self, note: Note) -> None:
        write_atomically(self.note_path, msgspec.json.encode(note))

    def _end_note(self, state: Literal["missing", "arrived"]) -> None:
        """Note the file's new state; delete a note without owners."""
        note = self.read_note()
        if note is not None and note.owners:
            self._write(msgspec.structs.replace(note, state=state))
        else:
            self.note_path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _changing_note(self) -> Iterator[None]:
        """Hold the lock of all notes: other threads, windows and terminals change them too."""
        with self._disk(), _thread_lock:
            make_private_folder(data_folder())
            with open(data_folder() / LOCK_FILE, "ab", opener=nonblocking_opener) as file:
                _lock(file, wait=True)
                yield

    # --- the part ---

    def __enter__(self) -> PartFile:
        with self._disk():
            make_private_folder(self.target.parent)
            while self._file is None:
                self._open()
        return self

    def _open(self) -> None:
        """Open and lock the part, unless it was deleted or renamed before the lock was there. Raises Failure."""
        with contextlib.ExitStack() as opened:
            file = opened.enter_context(open(self.path, "a+b", buffering=0, opener=nonblocking_opener))
            if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):  # writing would wait for a reader
                raise NotAFile(self.path)
            if not _lock(file):
                raise Failure("busy.download", name=self.target.name)
            self.done = os.fstat(file.fileno()).st_size
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), self.path.stat()):
                    self._file = file
                    opened.pop_all()

    def __exit__(self, kind: object, value: object, trace: object) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def begins_like_a_model(self) -> bool:
        """Return whether the part has a model's first bytes; an error page may have been saved in their place."""
        assert self._file
        with self._disk():
            self._file.seek(0)
            magic = magic_of(self.target)
            return read_up_to(self._file, len(magic)) == magic

    def hash_again(self) -> Iterator[int]:
        """Compute the digest of the bytes in the part, yielding the bytes read so far."""
        assert self._file
        self.hash = hashlib.sha256()
        with self._disk():
            self._file.seek(0)
            yield from _hash_bytes(self.hash, self._file, self.done)

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
        """Rename the complete and verified part to the target."""
        assert self._file
        with self._disk():
            os.fsync(self._file.fileno())
            self._close_and(lambda: replace_file(self.path, self.target))
            sync_folder(self.target.parent)
        with self._changing_note():
            self._end_note("arrived")

    def delete(self) -> None:
        """Delete the part, and the note too if no download needs the file. Raises Failure."""
        with self._disk():
            self._close_and(self.path.unlink)
        with self._changing_note():
            self._end_note("missing")

    def _close_and(self, change: Callable[[], object]) -> None:
        """Rename or delete the part before its lock is released; Windows allows this only after it."""
        if sys.platform == "win32":
            self.__exit__(None, None, None)
        change()
        self.__exit__(None, None, None)

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


def noted_files(folder: Path, pattern: str = "*.part.json") -> Iterator[tuple[PartFile, Note]]:
    """Yield the files of unfinished downloads in the folder, in order, with their notes."""
    paths: list[Path] = []
    with contextlib.suppress(OSError):  # a folder that cannot be listed counts as empty
        paths += folder.glob(pattern)
    for path in sorted(paths):
        file = PartFile(path.with_name(path.name.removesuffix(".part.json")))
        note = file.read_note()
        if note:
            yield file, note


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
    try:
        with open_file(path) as file:
            yield from _hash_bytes(digest, file, size)
    except OSError as error:
        raise Failure("unreadable.file", str(error), name=path.name, reason=error.strerror) from error


def _hash_bytes(digest: hashlib._Hash, file: BinaryIO, size: int) -> Iterator[int]:
    done = 0
    while done < size and (data := file.read(min(READ_BYTES, size - done))):
        digest.update(data)
        done += len(data)
        yield done


def _lock(file: BinaryIO, wait: bool = False) -> bool:
    """Lock the file until it is closed or its process ends; return False if another one holds the lock.

    A file system without locks (NFS without lockd, some FUSE) does not stop a download: the lock only saves two
    programs that load the same file from doing so twice, and the digest finds what they would spoil.
    """
    try:
        return lock_descriptor(file.fileno(), blocking=wait)
    except OSError as error:
        log.info("the file system has no locks: %s", errno.errorcode.get(error.errno or 0, error.errno))
        return True


def _is_model_name(name: str) -> bool:
    """Return whether a note's owner is the plain name of a model's file."""
    return name.lower().endswith((".gguf", ".bin")) and Path(name).name == name
