"""The kinds of files that can be read, in one table: what people call them, and the endings of their names.

A new kind is a row here and its reader in `extraction.py`. Collections remember which files they could not read, so
raise `VERSION` in `app/collections/index.py` too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from app.words import listed, mark, tr

# The last three are no files: pasted text, collections in which nothing was found, and pictures, which have no text.
AttachmentKind = Literal["text", "code", "table", "web", "pdf", "word", "pasted", "nothing", "picture"]
CODE = """
.py .pyi .js .mjs .ts .tsx .jsx .c .h .cc .cpp .hpp .cs .java .kt .go .rs .rb .php .swift .m .r .jl .lua .pl .sh .bash
.zsh .ps1 .bat .sql .css .scss .json .jsonl .yaml .yml .toml .ini .cfg .xml .qss .vue .dart .scala .hs .ex .exs .clj
.lisp .f90 .asm .s .cmake .make .tex .ipynb"""


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of files with text; `risky`: a large library reads it, which may crash at a damaged file."""

    title: str
    endings: frozenset[str] = frozenset()
    risky: bool = False


KINDS: dict[AttachmentKind, FileKind] = {
    "text": FileKind(mark("text")),
    "code": FileKind(mark("code"), frozenset(CODE.split())),
    "table": FileKind(mark("tables"), frozenset((".csv", ".tsv"))),
    "pdf": FileKind(mark("PDF"), frozenset((".pdf",)), risky=True),
    "word": FileKind(mark("Word (.docx)"), frozenset((".docx",)), risky=True),
    "web": FileKind(mark("web pages"), frozenset((".html", ".htm", ".xhtml")), risky=True),
}


def kind_of(path: PurePath) -> AttachmentKind:
    """Return the kind that the file's name tells; text for an unknown ending."""
    suffix = path.suffix.lower()
    return next((kind for kind, facts in KINDS.items() if suffix in facts.endings), "text")


def kinds_words() -> str:
    """Return the kinds in a sentence: 'text, code, … and web pages'."""
    return listed([tr(kind.title) for kind in KINDS.values()])
