"""The text of a PDF file, page by page."""

from __future__ import annotations

import zlib
from pathlib import Path

from pypdf import PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

from app.attachments.attachment import Refused
from app.attachments.plain_text import clean

MOST_PAGES = 2_000
BROKEN = (
    PyPdfError, ValueError, KeyError, TypeError, IndexError, AttributeError, AssertionError, OSError, ArithmeticError,
    EOFError, NotImplementedError, zlib.error,
)  # fmt: skip


def pages_of_pdf(path: Path) -> list[str]:
    """The text of each page, empty where there is none. Raises Refused."""
    try:
        reader = PdfReader(path, strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise Refused("encrypted")
        count = len(reader.pages)
    except (DependencyError, FileNotDecryptedError) as error:
        raise Refused("encrypted") from error
    except BROKEN as error:
        raise Refused("damaged") from error
    if count > MOST_PAGES:
        raise Refused("many_pages", pages=f"{count:,}", most=f"{MOST_PAGES:,}")
    pages = [_page(reader, number) for number in range(count)]
    readable = [page for page in pages if page is not None]
    if not readable:
        raise Refused("damaged")
    if not any(page.strip() for page in readable):
        raise Refused("no_text")
    return [page or "" for page in pages]


def _page(reader: PdfReader, number: int) -> str | None:
    """None for a page that is damaged; the others can still be read."""
    try:
        return clean(reader.pages[number].extract_text())
    except BROKEN:
        return None
