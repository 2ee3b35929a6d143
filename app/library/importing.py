"""Reads chats from a file into the library: Chickadee's own JSON, or an export of ChatGPT. Knows no windows.

All or nothing: what is read is hidden until the whole file is. A chat that is in the library already is merged:
messages that only one side has are kept, and where both have different ones, the chat that changed last wins. So the
same file may be imported again and again, and nothing is ever lost by it.
"""

from __future__ import annotations

import contextlib
import time
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from app.library import chatgpt
from app.library.chat_json import FORMAT, VERSION, decode_chat, decode_folder
from app.library.json_stream import JsonStream, NotJson
from app.library.library import Library
from app.library.merging import Imported, Merging
from app.library.progress import Progress
from common.failures import Failure

LARGEST = 8 << 30  # bytes of JSON: a zip file may claim any number
CHATGPT_NAME = "conversations.json"


def import_chats(path: Path, library: Path, progress: Progress) -> Imported:
    """Raises Failure with what is wrong with the file, and Stopped; the library is then as it was."""
    target = Library(library)
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
                found = decode_chat(raw, now) if ours else chatgpt.chat_of(raw, now)
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
