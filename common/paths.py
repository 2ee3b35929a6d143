"""Paths as text: file names may hold any bytes, but JSON, SQLite, TOML, Qt and screens take only text.

Python keeps bytes that are not UTF-8 as lone surrogates (PEP 383): msgspec and SQLite raise on them, Qt drops them.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path, PurePath
from urllib.parse import quote_from_bytes, unquote_to_bytes

URI = "file://"
LONGEST = 200  # characters
REPLACED = "\N{REPLACEMENT CHARACTER}"
# Lone surrogates, control characters, and characters that reverse the text direction.
UNSHOWN = re.compile("[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Replace lone surrogates, control characters and text-direction marks in `text`; line ends and tabs stay."""
    return UNSHOWN.sub(REPLACED, text)


def display_name(path: Path | str) -> str:
    """Return a file's name, or a whole path given as text, for people to read: one line, shortened in the middle.

    The result cannot be converted back to a path.
    """
    text = printable(path.name or str(path) if isinstance(path, Path) else path)
    return shortened(text.replace("\n", REPLACED).replace("\t", REPLACED), LONGEST)


def shortened(text: str, most: int) -> str:
    """Return the text with its middle left out where it is longer than `most` characters."""
    return text if len(text) <= most else f"{text[: most // 2 - 1]}…{text[-most // 2 :]}"


def path_text(path: Path | str) -> str:
    """Return the path as text that `path_of` reads: unchanged, or as a file URI if its name is not UTF-8."""
    text = str(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        return file_uri(Path(text).absolute())
    return text


def file_uri(path: PurePath) -> str:
    """Return the URI of an absolute path; Path.as_uri raises for half a character, which names on Windows may hold."""
    text = path.as_posix()
    start = "file:" if path.drive.startswith("\\\\") else URI if text.startswith("/") else f"{URI}/"
    return start + quote_from_bytes(os.fsencode(text), safe="/:")


def path_of(text: str) -> Path:
    """Return the path that a text names: one written by `path_text`, typed by a user or given by a file manager."""
    windows = sys.platform == "win32"
    if not text.startswith(URI if windows else f"{URI}/"):
        return Path(text)
    path = os.fsdecode(unquote_to_bytes(text[len(URI) :]))
    return Path(without_host(path) if windows else path)


def without_host(path: str) -> str:
    """Return the Windows path of a file URI's host and path: `/C:/file`, or `server/share/file` for a network share."""
    if path.startswith("//"):  # as some programs write a share
        return path
    host, _, rest = path.partition("/")
    return rest if host in ("", "localhost") else f"//{path}"


def typed_path(text: str) -> Path:
    """Return the absolute path that a user typed; `~` stands for the home folder."""
    return path_of(os.path.expanduser(text)).absolute()  # noqa: PTH111 - Path's own raises for a user who is not there
