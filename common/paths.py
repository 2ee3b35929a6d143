"""Paths as text. A file's name may hold any bytes; JSON, SQLite, TOML, Qt and a screen take text only.

Python keeps bytes that are not UTF-8 as lone surrogates (PEP 383): msgspec and SQLite raise on them, Qt drops them.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from urllib.parse import unquote_to_bytes

URI = "file://"
LONGEST = 200  # characters of a name that are shown
REPLACED = "\N{REPLACEMENT CHARACTER}"
# Lone surrogates, control characters, and what turns the order of the letters behind it.
UNSHOWN = re.compile("[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """`text` as UTF-8 can say it, without what makes a terminal do something; lines and tabs stay."""
    return UNSHOWN.sub(REPLACED, text)


def shown(path: Path | str) -> str:
    """A file's name, or a whole path that is given as text, as people can read it: one line, a long one without its
    middle. No path can be made of it."""
    text = printable(path.name or str(path) if isinstance(path, Path) else path)
    text = text.replace("\n", REPLACED).replace("\t", REPLACED)
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2 - 1]}…{text[-LONGEST // 2 :]}"


def path_text(path: Path | str) -> str:
    """The path as text that `path_of` reads: as it is, or as a file URI where its name is not UTF-8."""
    text = str(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        return Path(text).absolute().as_uri()
    return text


def path_of(text: str) -> Path:
    """The path that `path_text` wrote, that a user typed or that a file manager gave."""
    if not text.startswith(f"{URI}/"):
        return Path(text)
    path = os.fsdecode(unquote_to_bytes(text[len(URI) :]))
    return Path(path.lstrip("/") if sys.platform == "win32" else path)


def typed_path(text: str) -> Path:
    """Whole, of what a user typed: also `~/models`."""
    return path_of(os.path.expanduser(text)).absolute()  # noqa: PTH111 - Path's own raises for a user who is not there
