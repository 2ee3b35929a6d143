"""Export of chats to files (Markdown, PDF, HTML, JSON), all or nothing. Knows no windows."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from app.folders import users_umask
from app.store.chat import Chat, ChatMessage
from app.store.chat_store import ChatStore
from app.store.formats import (
    FORMAT,
    VERSION,
    HtmlRenderer,
    encode_chat,
    encode_folder,
    file_name,
    html_of,
    markdown_of,
)
from app.store.project_store import ProjectStore
from app.store.transfer import TransferProgress
from app.words import mark
from common.failures import system_failures
from common.files import TEMPORARY, replacing


@dataclass(frozen=True, slots=True)
class Exported:
    """Number of exported chats, and the file or folder that has them."""

    count: int
    path: Path


@dataclass(frozen=True)
class JsonExporter:
    """Exporter to one file of our JSON, with the folders of the chats; the file can be imported again.

    What a folder's chats begin with is in the file if all chats are exported, or for the folder `project`.
    """

    project: str = ""
    extension: str = ".json"

    def name(self, _chat_count: int) -> str:
        """Return the marked name of the format for this many chats, with its filter for file dialogs."""
        return mark("JSON, can be imported again (*.json)")

    def writes_folder(self, _chat_count: int) -> bool:
        """Return whether this many chats become a folder of files instead of one file."""
        return False

    def export(self, store: Path, chat_ids: Iterable[str] | None, target: Path, progress: TransferProgress) -> Exported:
        """Write these chats of the store, or all, to `target`. Raises Failure and Stopped."""
        with contextlib.closing(ChatStore(store)) as source, _written(target) as file:
            chats = _chosen(source, chat_ids)
            used = {self.project, *(chat.folder_id for chat in chats)}
            folders = [folder for folder in source.folders() if chat_ids is None or folder.id in used]
            moment = datetime.now().astimezone().isoformat(timespec="seconds")
            file.write(f'{{"format": "{FORMAT}", "version": {VERSION}, "exported_at": "{moment}",\n'.encode())
            files = ProjectStore(source).files
            whole = {folder.id for folder in folders if chat_ids is None or folder.id == self.project}
            entries = [
                encode_folder(each, [file.attachment for file in files(each.id)] if each.id in whole else None)
                for each in folders
            ]
            file.write(b'"folders": [\n' + b",\n".join(entries) + b'],\n"chats": [')
            for number, chat in enumerate(_with_progress(chats, progress)):
                file.write((b",\n" if number else b"\n") + encode_chat(chat, source.messages(chat)))
            file.write(b"]}\n")
        return Exported(len(chats), target)


@dataclass(frozen=True, slots=True)
class ReadableExporter:
    """Exporter to files for reading: one file for one chat, a folder of files for several.

    `content` returns a chat's file, and its pictures' files by name, which belong into the folder of the given name
    beside it.
    """

    extension: str
    file_filter: str
    folder_filter: str
    content: Callable[[Chat, Iterable[ChatMessage], str], tuple[bytes, Mapping[str, bytes]]]

    def name(self, chat_count: int) -> str:
        return self.folder_filter if self.writes_folder(chat_count) else self.file_filter

    def writes_folder(self, chat_count: int) -> bool:
        return chat_count != 1

    def export(self, store: Path, chat_ids: Iterable[str] | None, target: Path, progress: TransferProgress) -> Exported:
        with contextlib.closing(ChatStore(store)) as source:
            chats = _chosen(source, chat_ids)
            if not self.writes_folder(len(chats)):
                beside = _free(target.with_name(f"{target.stem} files"))
                content, files = self.content(chats[0], source.messages(chats[0]), beside.name)
                if files:
                    with _filled(beside) as folder:
                        _write_files(folder, files)
                with _written(target) as file:
                    file.write(content)
                return Exported(1, target)
            wanted = target.with_suffix("") if target.suffix.lower() == self.extension else target
            folder_path = _free(wanted)
            with _filled(folder_path) as folder:
                for chat in _with_progress(chats, progress):
                    path = _free(folder / file_name(chat.title), self.extension)
                    beside = folder / f"{path.stem} files"
                    content, files = self.content(chat, source.messages(chat), beside.name)
                    path.write_bytes(content)
                    if files:
                        beside.mkdir()
                        _write_files(beside, files)
        return Exported(len(chats), folder_path)


def _markdown(chat: Chat, messages: Iterable[ChatMessage], folder: str) -> tuple[bytes, Mapping[str, bytes]]:
    text, files = markdown_of(chat, messages, folder)
    return text.encode(), files


Exporter = JsonExporter | ReadableExporter


def exporters(render: HtmlRenderer, pdf_of: Callable[[str], bytes]) -> tuple[Exporter, ...]:
    """Return the exporters in the order of the save dialog.

    `render` makes HTML of Markdown; `pdf_of` lays out HTML on the pages of a PDF file.
    """
    return (
        MARKDOWN,
        ReadableExporter(
            ".pdf",
            mark("PDF, for reading (*.pdf)"),
            mark("Folder of PDF files, for reading (*.pdf)"),
            lambda chat, messages, _: (pdf_of(html_of(chat, messages, render)), {}),
        ),
        ReadableExporter(
            ".html",
            mark("Web page, for reading (*.html)"),
            mark("Folder of web pages, for reading (*.html)"),
            lambda chat, messages, _: (html_of(chat, messages, render).encode(), {}),
        ),
        JsonExporter(),
    )


MARKDOWN = ReadableExporter(
    ".md", mark("Markdown, for reading (*.md)"), mark("Folder of Markdown files, for reading (*.md)"), _markdown
)


def _write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).write_bytes(data)


def _chosen(store: ChatStore, chat_ids: Iterable[str] | None) -> list[Chat]:
    wanted = None if chat_ids is None else set(chat_ids)
    return [chat for chat in store.chats() if wanted is None or chat.id in wanted]


def _with_progress(chats: Sequence[Chat], progress: TransferProgress) -> Iterator[Chat]:
    for number, chat in enumerate(chats):
        progress.update(number / len(chats), number)
        yield chat


@contextlib.contextmanager
def _written(target: Path) -> Iterator[BinaryIO]:
    """Yield a file that appears, or replaces the old one, when all of it is on the disk."""
    with system_failures("export.unwritable", path=target), replacing(target.resolve(), _mode(target)) as file:
        yield file


def _mode(target: Path) -> int:
    """Return the mode of the file to be replaced, or of a new file; raise OSError if `target` is not a file."""
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
    """Yield a folder that appears as `target`, which is free, when all of its files are written."""
    with system_failures("export.unwritable", path=target):
        part = Path(tempfile.mkdtemp(dir=target.parent, prefix=TEMPORARY))  # mkdtemp's mode is 0700
        try:
            yield part
            for file in part.rglob("*"):
                file.chmod((0o777 if file.is_dir() else 0o666) & ~users_umask())
            part.chmod(0o777 & ~users_umask())
            part.rename(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def _free(path: Path, ending: str = "") -> Path:
    """Return this name with the ending, or with the next number if it is taken."""
    number, free = 2, path.with_name(path.name + ending)
    while os.path.lexists(free):
        free = path.with_name(f"{path.name} {number}{ending}")
        number += 1
    return free
