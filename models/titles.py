"""Titles of models: the one name that the user reads for a file, before and after it is loaded."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from common.failures import Failure
from common.paths import display_name
from models.catalogue import CatalogueEntry, catalogue
from models.default import BUILT_IN
from models.names import SAME_FOR_ALL
from models.ollama import name_of_blob
from models.servers import remote_model
from models.split import PART

SIZES = "0|1|2|3|4|5|6|7|8|K|S|M|L|XL|XS|XXS|NL"
LABEL = re.compile(rf"(?<![a-z0-9])([IT]?Q\d(?:_(?:{SIZES})(?![a-z0-9]))*|MXFP4|BF16|FP?(?:16|32))(?![a-z0-9])", re.I)
BETWEEN = re.compile(r"[-_\s]+|(?<!\d)\.+|\.+(?!\d)")  # separators of the words in a file's name; 2.5 is one word


def title_of(path: Path) -> str:
    """Return the catalogue's title, Ollama's name, or the words of the file's name.

    The header's own name is not used: it is often a note of its makers ("Smollm2 135M 8k Lc100K Mix1 Ep2"). The title
    of a model on a server has the host in it, so it says everywhere where the answers come from.
    """
    if (remote := remote_model(path)) is not None:
        return f"{name_on_server(remote.name)} · {remote.host}"
    name = path.name.casefold()
    if name == SAME_FOR_ALL:
        return title_from_name(display_name(path.parent)) or "model"
    if name in BUILT_IN:
        return BUILT_IN[name].title
    return _suggested(name) or name_of_blob(path) or title_from_name(display_name(path))


def name_on_server(name: str) -> str:
    """Return a server's name of a model for people to read: llama.cpp's own is the path of the file."""
    file = name.rpartition("/")[2]
    return title_from_name(file) if file.casefold().endswith(".gguf") else display_name(name)


def title_from_name(name: str) -> str:
    """Turn a file's name into words: 'mistral-7b-instruct-v0.2.q4_k_m.gguf' → 'mistral 7b instruct v0.2 Q4_K_M'.

    The case of letters stays, except in the quantisation.
    """
    part = PART.fullmatch(name)
    stem = part[1] if part else re.sub(r"\.gguf$", "", name, flags=re.IGNORECASE)
    pieces = LABEL.split(stem)  # every second piece is a quantisation
    words = [piece.upper() if at % 2 else BETWEEN.sub(" ", piece) for at, piece in enumerate(pieces)]
    return " ".join(" ".join(words).split()) or stem or name


def _suggested(name: str) -> str:
    try:
        return _titles_by_file(catalogue()).get(name, "")
    except Failure:  # the installation lacks the catalogue; the models' dialog says so
        return ""


@cache
def _titles_by_file(entries: tuple[CatalogueEntry, ...]) -> dict[str, str]:
    return {entry.file.casefold(): entry.title for entry in entries}
