"""Text of documents: PDF files page by page, Word documents (.docx) with their tables.

The libraries are imported only for a file of their kind, because each import takes a quarter of a second.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from app.attachments.attachment import Refused
from app.attachments.plain_text import clean

if TYPE_CHECKING:
    from docx.document import Document
    from docx.table import Table, _Cell
    from docx.text.paragraph import Paragraph
    from pypdfium2 import PdfDocument

MOST_PAGES = 2_000
MOST_UNPACKED = 200 << 20  # bytes of a Word document, pictures included
MOST_FILES = 5_000
MOST_RATIO = 200  # of the text; real documents shrink to a tenth, at most to a fiftieth
MAIN = "word/document.xml"
BROKEN = (
    ValueError, KeyError, TypeError, IndexError, AttributeError, OSError, EOFError, NotImplementedError, zlib.error,
)  # fmt: skip


def open_pdf(file: Path | BinaryIO) -> PdfDocument:
    """Open a PDF file. Raises Refused."""
    from pypdfium2 import PdfDocument, PdfiumError
    from pypdfium2.raw import FPDF_ERR_PASSWORD

    try:
        return PdfDocument(file)
    except PdfiumError as error:
        raise Refused("encrypted" if error.err_code == FPDF_ERR_PASSWORD else "damaged") from error


def pages_of_pdf(file: Path | BinaryIO) -> list[str]:
    """Return the text of each page, "" for a page without text. Raises Refused."""
    reader = open_pdf(file)
    if len(reader) > MOST_PAGES:
        raise Refused("many_pages", pages=f"{len(reader):,}", most=f"{MOST_PAGES:,}")
    pages = [_page(reader, number) for number in range(len(reader))]
    readable = [page for page in pages if page is not None]
    if not readable:
        raise Refused("damaged")
    if not any(page.strip() for page in readable):
        raise Refused("no_text")
    return [page or "" for page in pages]


def _page(reader: PdfDocument, number: int) -> str | None:
    """Return the page's text; None if the page is damaged, because the others can still be read."""
    from pypdfium2 import PdfiumError

    try:
        text = reader[number].get_textpage().get_text_range()
        return clean(text.replace("\ufffe", ""))  # which stands for the hyphen of a word that two lines share
    except PdfiumError:
        return None


def text_of_document(path: Path) -> str:
    """Return paragraphs and table rows in their order. Raises Refused."""
    import docx
    from docx.opc.exceptions import OpcError
    from lxml.etree import LxmlError

    try:
        _check_archive(path)
        text = "\n".join(_lines(docx.Document(str(path))))
    except (*BROKEN, OpcError, LxmlError, zipfile.BadZipFile, RuntimeError) as error:
        raise Refused("damaged") from error
    return clean(text).strip()


def _check_archive(path: Path) -> None:
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


def _lines(container: Document | _Cell) -> Iterator[str]:
    from docx.text.paragraph import Paragraph

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
        # A merged cell is listed once for each column, with the same element.
        cells = list({id(cell._tc): cell for cell in row.cells}.values())  # noqa: SLF001
        yield "| " + " | ".join(" ".join(" ".join(_lines(cell)).split()) for cell in cells) + " |"
