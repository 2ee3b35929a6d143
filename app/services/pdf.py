"""PDF files: HTML laid out on pages by Qt. May be called in any thread."""

from __future__ import annotations

from PySide6.QtCore import QBuffer, QIODevice, QLocale, QMarginsF, QUrl
from PySide6.QtGui import QPageLayout, QPageSize, QPdfWriter, QTextDocument

MARGIN_MM = 18.0


class _Page(QTextDocument):
    """A document that loads no files; its pictures are in its text."""

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        return super().loadResource(kind, name) if QUrl(name).scheme() == "data" else None


def pdf_of(html: str) -> bytes:
    """Return a PDF file with the text on pages of the size that is usual where the user lives."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setPageSize(QPageSize(_usual_size()))
    writer.setPageMargins(QMarginsF(MARGIN_MM, MARGIN_MM, MARGIN_MM, MARGIN_MM), QPageLayout.Unit.Millimeter)
    document = _Page()
    document.setHtml(html)
    document.print_(writer)
    del writer  # writes the end of the file
    return bytes(buffer.data().data())


def _usual_size() -> QPageSize.PageSizeId:
    """Return Letter in North America, else A4."""
    letter = {QLocale.Country.UnitedStates, QLocale.Country.Canada, QLocale.Country.Mexico}
    return QPageSize.PageSizeId.Letter if QLocale.system().territory() in letter else QPageSize.PageSizeId.A4
