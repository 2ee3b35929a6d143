"""Writes chats to a file or, as Markdown, several to a folder: whole or not at all. Knows no windows."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from app.folders import users_umask
from app.library.chat import Chat
from app.library.chat_json import FORMAT, VERSION, encode_chat, encode_folder
from app.library.chat_markdown import file_name, markdown_of
from app.library.library import Library
from app.library.progress import Progress
from app.words import tr
from common.failures import Failure
from common.files import TEMPORARY, replacing

ENDING = ".md"


def export_json(library: Path, chat_ids: Iterable[str] | None, target: Path, progress: Progress) -> int:
    """All chats, or these, with their folders; returns how many. Raises Failure, and Stopped."""
    with _opened(library) as source, _written(target) as file:
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


def export_markdown(library: Path, chat_ids: Iterable[str] | None, target: Path, progress: Progress) -> int:
    """One chat as a file, several as a folder of files; returns how many. Raises Failure, and Stopped."""
    with _opened(library) as source:
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


def _chosen(library: Library, chat_ids: Iterable[str] | None) -> list[Chat]:
    wanted = None if chat_ids is None else set(chat_ids)
    return [chat for chat in library.chats() if wanted is None or chat.id in wanted]


def _counted(chats: Sequence[Chat], progress: Progress) -> Iterator[Chat]:
    for number, chat in enumerate(chats):
        progress.tell(number / len(chats), number)
        yield chat


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Library]:
    """A library of its own for this thread."""
    library = Library(path)
    try:
        yield library
    finally:
        library.close()


@contextlib.contextmanager
def _written(target: Path) -> Iterator[BinaryIO]:
    """The file appears, or is replaced, when all of it is on the disk."""
    with _failures(target), replacing(target.resolve(), _mode(target)) as file:
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
    with _failures(target):
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
def _failures(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _failure(target, error) from error


def _failure(path: Path, error: OSError) -> Failure:
    reason = error.strerror or str(error)
    return Failure("export", lambda: tr("{path} could not be written: {reason}.", path=path, reason=reason), str(error))
