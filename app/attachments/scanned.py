"""Pages of a scanned PDF as pictures, painted by PDFium. In the child process."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pypdfium2 as pdfium
from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE
from PySide6.QtCore import QSize
from PySide6.QtGui import QImage

from app.attachments.attachment import Refused
from app.attachments.documents import open_pdf
from app.attachments.pictures import MOST_PIXELS, picture_of, scaled_size
from engine.protocol.requests import Picture

MOST_PAGES = 20  # that become pictures, as many as a message can have
MOST_IMAGES = 500  # of one page that are looked at; some scanners cut pages into strips


def scanned_pages(path: Path, pixels: int) -> tuple[dict[int, Picture], int]:
    """Return pictures of a PDF's first MOST_PAGES pages by their numbers from 1, and how many pages it has.

    A picture has at most about `pixels` pixels. Pages without an image that can be decoded are left out. Raises Refused
    if there is no other.
    """
    reader = open_pdf(path)
    numbers = range(1, min(len(reader), MOST_PAGES) + 1)
    pictures = {number: picture for number in numbers if (picture := _page(reader, number - 1, pixels))}
    if not pictures:
        raise Refused("no_images")
    return pictures, len(reader)


def _page(reader: pdfium.PdfDocument, number: int, pixels: int) -> Picture | None:
    """Return the picture of one page; None if it is damaged or has no image."""
    try:
        page = reader[number]
        images = list(islice(page.get_objects(filter=[FPDF_PAGEOBJ_IMAGE]), MOST_IMAGES))
        if sum(map(_size, images)) > MOST_PIXELS or not any(map(_is_decodable, images)):
            return None
        return picture_of(_painted(page, max(map(_resolution, images)), pixels), pixels)
    except (pdfium.PdfiumError, Refused):
        return None


def _size(image: pdfium.PdfImage) -> int:
    width, height = image.get_px_size()
    return int(width * height)


def _is_decodable(image: pdfium.PdfImage) -> bool:
    try:
        image.get_bitmap()
    except pdfium.PdfiumError:
        return False
    return True


def _painted(page: pdfium.PdfPage, resolution: float, pixels: int) -> QImage:
    """Return the page at this resolution, in pixels a point, or with about `pixels` pixels."""
    width, height = page.get_size()
    size = scaled_size(QSize(max(1, round(width * resolution)), max(1, round(height * resolution))), pixels)
    painted = page.render(scale=size.width() / width, rev_byteorder=True, prefer_bgrx=True).to_numpy()
    return QImage(painted.tobytes(), painted.shape[1], painted.shape[0], QImage.Format.Format_RGBX8888).copy()


def _resolution(image: pdfium.PdfImage) -> float:
    """Return the image's resolution in pixels a point."""
    left, bottom, right, top = image.get_bounds()
    return float(max(image.get_px_size()) / max(1e-3, right - left, top - bottom))
