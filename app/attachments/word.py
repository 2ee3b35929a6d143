"""The text of a Word document (.docx), tables included."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import docx
from docx.opc.exceptions import OpcError
from docx.table import Table, _Cell
from docx.text.paragraph import Paragraph
from lxml.etree import LxmlError

from app.attachments.attachment import Refused
from app.attachments.plain_text import clean

MOST_UNPACKED = 200 << 20  # bytes, pictures included
MOST_FILES = 5_000
MOST_RATIO = 200  # of the text: real documents shrink to a tenth, at most to a fiftieth
MAIN = "word/document.xml"
BROKEN = (
    OpcError, LxmlError, zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError, IndexError, OSError,
    NotImplementedError, RuntimeError, EOFError, zlib.error,
)  # fmt: skip


def text_of_document(path: Path) -> str:
    """Paragraphs and rows of tables in their order. Raises Refused."""
    try:
        _check(path)
        text = "\n".join(_lines(docx.Document(str(path))))
    except BROKEN as error:
        raise Refused("damaged") from error
    return clean(text).strip()


def _check(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        files = archive.infolist()
        if any(file.flag_bits & 1 for file in files):
            raise Refused("encrypted")
        main = archive.getinfo(MAIN)
        unpacked = sum(file.file_size for file in files)
        if len(files) > MOST_FILES or unpacked > MOST_UNPACKED:
            raise Refused("bomb")
        if main.file_size > 1 << 20 and main.file_size > MOST_RATIO * max(1, main.compress_size):
            raise Refused("bomb")


def _lines(container: docx.document.Document | _Cell) -> Iterator[str]:
    for block in container.iter_inner_content():
        if isinstance(block, Paragraph):
            yield _paragraph(block)
        else:
            yield from _rows(block)
            yield ""


def _paragraph(paragraph: Paragraph) -> str:
    style = paragraph.style.name if paragraph.style and paragraph.style.name else ""
    if style.startswith("Heading ") and style[-1].isdigit():
        return f"\n{'#' * int(style[-1])} {paragraph.text}"
    if style.startswith("List"):
        return f"- {paragraph.text}"
    return f"{paragraph.text}\n" if paragraph.text else ""


def _rows(table: Table) -> Iterator[str]:
    for row in table.rows:
        # A merged cell comes once for each column; its element is one.
        cells = list({id(cell._tc): cell for cell in row.cells}.values())  # noqa: SLF001
        yield "| " + " | ".join(" ".join(" ".join(_lines(cell)).split()) for cell in cells) + " |"
