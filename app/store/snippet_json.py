"""Prompt snippets as JSON: the form of the user's own file and of exports, read with limits because others write it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from app.store.chat import storable
from common.failures import Failure, system_failures
from common.files import read_small, write_atomically

FORMAT: Literal["chickadee-snippets"] = "chickadee-snippets"
VERSION = 1
MOST_BYTES = 8_000_000
MOST_SNIPPETS = 500
MOST_NAME = 60  # characters
MOST_TEXT = 20_000  # characters


class SnippetEntry(msgspec.Struct, omit_defaults=True, frozen=True):
    """Entry of the file: `name` and `text`, or, in the user's own file, the id of a `built_in` snippet alone."""

    name: str = ""
    text: str = ""
    built_in: str = ""


class _SnippetFile(msgspec.Struct, frozen=True):
    format: Literal["chickadee-snippets"]
    version: int
    snippets: list[SnippetEntry]


def cleaned_name(name: str) -> str:
    """Return the name on one line, with at most MOST_NAME characters and without what cannot be stored."""
    return " ".join(storable(name.replace("\0", "")).split())[:MOST_NAME].strip()


def cleaned_text(text: str) -> str:
    """Return the text without surrounding blank lines and without what cannot be stored."""
    return storable(text.replace("\0", "")).replace("\r\n", "\n").replace("\r", "\n").strip()


def read_snippets(path: Path) -> list[SnippetEntry]:
    """Read a file of snippets; raise Failure with a sentence for one that is no such file, or beyond the limits."""
    with system_failures("snippets.unreadable", file=path.name):
        raw = read_small(path, MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise Failure("snippets.too_large", file=path.name, most=MOST_BYTES)
    try:
        content = msgspec.json.decode(raw.removeprefix(b"\xef\xbb\xbf"), type=_SnippetFile)
    except msgspec.ValidationError as error:
        raise Failure("snippets.not_ours", str(error), file=path.name) from error
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise Failure("snippets.damaged", str(error), file=path.name) from error
    if content.version > VERSION:
        raise Failure("snippets.newer", file=path.name)
    return _checked(content.snippets, path.name)


def _checked(entries: list[SnippetEntry], file: str) -> list[SnippetEntry]:
    if len(entries) > MOST_SNIPPETS:
        raise Failure("snippets.too_many_in_file", file=file, most=MOST_SNIPPETS)
    result = []
    for number, entry in enumerate(entries, 1):
        name, text = cleaned_name(entry.name), cleaned_text(entry.text)
        if entry.built_in:
            result.append(SnippetEntry(built_in=entry.built_in))
            continue
        if not name or not text:
            raise Failure("snippets.entry_empty", file=file, number=number)
        if len(text) > MOST_TEXT:
            raise Failure("snippets.entry_long", file=file, name=name, most=MOST_TEXT)
        result.append(SnippetEntry(name, text))
    return result


def write_snippets(path: Path, entries: Iterable[SnippetEntry]) -> None:
    """Replace the file as a whole, readable by the user alone; raise Failure and leave the old file otherwise."""
    content = msgspec.json.encode(_SnippetFile(FORMAT, VERSION, list(entries)))
    with system_failures("snippets.unwritable", file=path.name):
        write_atomically(path, msgspec.json.format(content, indent=1) + b"\n")
