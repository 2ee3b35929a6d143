"""Chats to files (JSON, Markdown), and from files (our JSON, an export of ChatGPT). Knows no windows.

Both are all or nothing. What is imported is hidden until the whole file is read. A chat that is in the store already is
merged: messages that only one side has are kept, and where both have different ones, the chat that changed last wins.
So the same file may be imported again and again, and nothing is ever lost by it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, cast

from app.folders import users_umask
from app.store.chat import Chat
from app.store.chat_store import ChatStore
from app.store.formats import (
    FORMAT,
    VERSION,
    chat_of_chatgpt,
    decode_chat,
    decode_folder,
    encode_chat,
    encode_folder,
    file_name,
    markdown_of,
)
from app.store.json_stream import JsonStream, NotJson
from app.store.merging import Imported, Merging
from common.failures import Failure
from common.files import TEMPORARY, replacing

ENDING = ".md"
LARGEST = 8 << 30  # bytes of JSON: a zip file may claim any number
CHATGPT_NAME = "conversations.json"


class Stopped(Exception):
    """The user no longer wants it; what was done so far is undone."""


class Progress:
    """`share` of the work is done, from 0 to 1, and so many `chats`."""

    def __init__(self) -> None:
        self.share = 0.0
        self.chats = 0
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True

    def tell(self, share: float, chats: int) -> None:
        """Called by the operation now and then; raises Stopped."""
        self.share, self.chats = share, chats
        if self._stopped:
            raise Stopped


# --- to a file ------------------------------------------------------------------------------------------------------


def export_json(store: Path, chat_ids: Iterable[str] | None, target: Path, progress: Progress) -> int:
    """All chats, or these, with their folders; returns how many. Raises Failure, and Stopped."""
    with _opened(store) as source, _written(target) as file:
        chats = _chosen(source, chat_ids)
        used = {chat.folder_id for chat in chats}
        folders = [folder for folder in source.folders() if chat_ids is None or folder.id in used]
        moment = datetime.now().astimezone().isoformat(timespec="seconds")
        file.write(f'{{"format": "{FORMAT}", "version": {VERSION}, "exported_at": "{moment}",\n'.encode())
        file.write(b'"folders": [\n' + b",\n".join(map(encode_folder, folders)) + b'],\n"chats": [')
        for number, chat in enumerate(_counted(chats, progress)):
            file.write((b",\n" if number else b"\n") + encode_chat(chat, source.messages(chat)))
        file.write(b"]}\n")
    return len(chats)


def export_markdown(store: Path, chat_ids: Iterable[str] | None, target: Path, progress: Progress) -> int:
    """One chat as a file, several as a folder of files; returns how many. Raises Failure, and Stopped."""
    with _opened(store) as source:
        chats = _chosen(source, chat_ids)
        if len(chats) == 1:
            with _written(target) as file:
                file.write(markdown_of(chats[0], source.messages(chats[0])).encode())
            return 1
        with _filled(target.with_suffix("") if target.suffix.lower() == ENDING else target) as folder:
            for chat in _counted(chats, progress):
                _free(folder / file_name(chat.title), ENDING).write_text(
                    markdown_of(chat, source.messages(chat)), encoding="utf-8"
                )
    return len(chats)


def _chosen(store: ChatStore, chat_ids: Iterable[str] | None) -> list[Chat]:
    wanted = None if chat_ids is None else set(chat_ids)
    return [chat for chat in store.chats() if wanted is None or chat.id in wanted]


def _counted(chats: Sequence[Chat], progress: Progress) -> Iterator[Chat]:
    for number, chat in enumerate(chats):
        progress.tell(number / len(chats), number)
        yield chat


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[ChatStore]:
    """A store of its own for this thread."""
    store = ChatStore(path)
    try:
        yield store
    finally:
        store.close()


@contextlib.contextmanager
def _written(target: Path) -> Iterator[BinaryIO]:
    """The file appears, or is replaced, when all of it is on the disk."""
    with _writing_failures(target), replacing(target.resolve(), _mode(target)) as file:
        yield file


def _mode(target: Path) -> int:
    """As the file has it that is replaced, or as a new one of the user's. Raises OSError where no file can be."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return 0o666 & ~users_umask()
    if not stat.S_ISREG(mode):
        number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EEXIST
        raise OSError(number, os.strerror(number))
    return stat.S_IMODE(mode)


@contextlib.contextmanager
def _filled(target: Path) -> Iterator[Path]:
    """The folder appears when all of its files are written; one that is there already is left alone."""
    with _writing_failures(target):
        part = Path(tempfile.mkdtemp(dir=target.parent, prefix=TEMPORARY))  # mkdtemp's mode is 0700
        try:
            yield part
            for file in part.iterdir():
                file.chmod(0o666 & ~users_umask())
            part.chmod(0o777 & ~users_umask())
            part.rename(_free(target))
        finally:
            shutil.rmtree(part, ignore_errors=True)


def _free(path: Path, ending: str = "") -> Path:
    """This name, or with a number the next one that nothing has."""
    number, free = 2, path.with_name(path.name + ending)
    while os.path.lexists(free):
        free = path.with_name(f"{path.name} {number}{ending}")
        number += 1
    return free


@contextlib.contextmanager
def _writing_failures(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _not_written(target, error) from error


def _not_written(path: Path, error: OSError) -> Failure:
    reason = error.strerror or str(error)
    return Failure("export.unwritable", str(error), path=path, reason=reason)


# --- from a file ----------------------------------------------------------------------------------------------------


def import_chats(path: Path, store: Path, progress: Progress) -> Imported:
    """Raises Failure with what is wrong with the file, and Stopped; the store is then as it was."""
    target = ChatStore(store)
    try:
        with Merging(target) as merging:
            with _json_of(path) as (file, size):
                _read(path, file, size, merging, progress)
            return merging.finish()
    finally:
        target.close()


def _read(path: Path, file: BinaryIO, size: int, merging: Merging, progress: Progress) -> None:
    stream, number, ours, now = JsonStream(file), 0, False, time.time()
    try:
        for key, raw in stream.elements():
            if key == "format" and raw == FORMAT:
                ours = True
            elif key == "version" and ours:
                _check_version(raw)
            elif key == "folders" and ours:
                merging.add_folder(decode_folder(raw, now))
            elif (key == "chats" and ours) or key == "":
                number += 1
                found = decode_chat(raw, now) if ours else chat_of_chatgpt(raw, now)
                if found is not None:
                    merging.add(*found)
                progress.tell(min(stream.done / size, 1.0) if size else 1.0, number)
            elif not ours:
                break
    except NotJson as error:
        raise _damaged(path, error) from error
    except ValueError as error:
        raise Failure("import.entry", str(error), name=path.name, number=number) from error
    if not number and not ours:
        raise _unknown(path)


def _check_version(raw: object) -> None:
    if not isinstance(raw, int) or raw > VERSION:
        raise Failure("import.newer")


@contextlib.contextmanager
def _json_of(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """The JSON in the file, or in the zip file, and its size in bytes."""
    try:
        if not zipfile.is_zipfile(path):
            with path.open("rb") as file:
                yield file, path.stat().st_size
            return
        with zipfile.ZipFile(path) as archive:
            entry = _entry(path, archive)
            with archive.open(entry) as packed:
                yield cast(BinaryIO, packed), entry.file_size
    except OSError as error:
        reason = error.strerror or str(error)
        raise Failure("import.unreadable", str(error), name=path.name, reason=reason) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        raise Failure("import.damaged_zip", str(error), name=path.name) from error


def _entry(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """The list of chats in a zip file: in ChatGPT's it has a name, else it is the only JSON there."""
    entries = [entry for entry in archive.infolist() if entry.filename.lower().endswith(".json")]
    named = [entry for entry in entries if Path(entry.filename).name == CHATGPT_NAME]
    if not named and len(entries) != 1:
        raise _unknown(path)
    chosen = (named or entries)[0]
    if chosen.file_size > LARGEST:
        raise Failure("import.too_large", name=path.name)
    return chosen


def _unknown(path: Path) -> Failure:
    return Failure("import.unknown", name=path.name)


def _damaged(path: Path, error: NotJson) -> Failure:
    return Failure("import.damaged", str(error), name=path.name, at=error.at)
