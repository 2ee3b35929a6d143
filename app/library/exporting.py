"""Writes chats to a file or, as Markdown, several to a folder: whole or not at all. Knows no windows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from app.chats.chat import Chat
from app.library.chat_json import FORMAT, VERSION, encode_chat, encode_folder
from app.library.chat_markdown import file_name, markdown_of
from app.library.library import Library
from app.library.progress import Progress
from app.words import tr
from models.failures import Failure


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
        with _filled(target.with_suffix("")) as folder:
            for chat in _counted(chats, progress):
                _free(folder / f"{file_name(chat.title)}.md").write_text(
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


class _opened:
    """A library of its own for this thread."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Library:
        self._library = Library(self._path)
        return self._library

    def __exit__(self, *_error: object) -> None:
        self._library.close()


class _written:
    """The file appears, or is replaced, when all of it is on the disk."""

    def __init__(self, target: Path) -> None:
        self._target, self._part = target, target.with_name(target.name + ".part")

    def __enter__(self) -> BinaryIO:
        try:
            self._file = os.fdopen(os.open(self._part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb")
        except OSError as error:
            raise _failure(self._target, error) from error
        return self._file

    def __exit__(self, kind: object, error: object, _trace: object) -> None:
        try:
            if error is None:
                self._file.flush()
                os.fsync(self._file.fileno())
            self._file.close()
            if error is None:
                self._part.replace(self._target)
        except OSError as failed:
            self._part.unlink(missing_ok=True)
            raise _failure(self._target, failed) from failed
        self._part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _failure(self._target, error) from error


class _filled:
    """The folder appears when all of its files are written; one that is there already is left alone."""

    def __init__(self, target: Path) -> None:
        self._target, self._part = target, target.with_name(target.name + ".part")

    def __enter__(self) -> Path:
        shutil.rmtree(self._part, ignore_errors=True)
        try:
            self._part.mkdir(mode=0o700)
        except OSError as error:
            raise _failure(self._target, error) from error
        return self._part

    def __exit__(self, kind: object, error: object, _trace: object) -> None:
        try:
            if error is None:
                self._part.rename(_free(self._target))
        except OSError as failed:
            raise _failure(self._target, failed) from failed
        finally:
            shutil.rmtree(self._part, ignore_errors=True)
        if isinstance(error, OSError):
            raise _failure(self._target, error) from error


def _free(path: Path) -> Path:
    """This name, or with a number the next one that nothing has."""
    number, free = 2, path
    while free.exists():
        free = path.with_name(f"{path.stem} {number}{path.suffix}")
        number += 1
    return free


def _failure(path: Path, error: OSError) -> Failure:
    reason = error.strerror or str(error)
    return Failure("export", lambda: tr("{path} could not be written: {reason}.", path=path, reason=reason), str(error))
