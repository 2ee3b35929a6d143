"""Pages of a scanned PDF as pictures: the images on each page, painted where the page has them. In the child process.

Only images are painted, because a scan has nothing else; text that recognition has put behind them would make the PDF
one with text. Images in JPEG 2000 and JBIG2 need decoders that are not here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pypdf import PdfReader
from pypdf.errors import PyPdfError
from pypdf.generic import ArrayObject, ContentStream, IndirectObject, StreamObject
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QSize, Qt
from PySide6.QtGui import QImage, QImageReader, QPainter, QTransform

from app.attachments.attachment import Refused
from app.attachments.documents import BROKEN
from app.attachments.pictures import LEAST_SIDE, MOST_DECODED, MOST_PIXELS, picture_of, scaled_size
from engine.protocol.requests import Picture

if TYPE_CHECKING:
    from pypdf import PageObject

MOST_PAGES = 20  # that become pictures, as many as a message can have
MOST_IMAGES = 500  # painted on one page; some scanners cut pages into strips
MOST_DEPTH = 4  # of forms within forms
UNUSABLE = (*BROKEN, PyPdfError, ArithmeticError, AssertionError)
FILES = {"/DCTDecode": "jpeg", "/CCITTFaxDecode": "tiff"}  # filters whose data are files of a format that Qt reads
SHORT_NAMES = {"/DCT": "/DCTDecode", "/CCF": "/CCITTFaxDecode", "/G": "/DeviceGray", "/RGB": "/DeviceRGB"}
CHANNELS = {
    "/DeviceGray": 1, "/CalGray": 1, "/DeviceRGB": 3, "/CalRGB": 3, "/DeviceCMYK": 4, "/Separation": 1,
}  # fmt: skip


def scanned_pages(path: Path, pixels: int) -> tuple[dict[int, Picture], int]:
    """Return pictures of a PDF's first MOST_PAGES pages by their numbers from 1, and how many pages it has.

    A picture has at most about `pixels` pixels. Pages without an image that can be decoded are left out. Raises Refused
    if there is no other.
    """
    QImageReader.setAllocationLimit(MOST_DECODED)
    try:
        reader = PdfReader(path, strict=False)
        if reader.is_encrypted:
            reader.decrypt("")
        count = len(reader.pages)
    except UNUSABLE as error:
        raise Refused("damaged") from error
    numbers = range(1, min(count, MOST_PAGES) + 1)
    pictures = {number: picture for number in numbers if (picture := _page(reader, number - 1, pixels))}
    if not pictures:
        raise Refused("no_images")
    return pictures, count


def _page(reader: PdfReader, number: int, pixels: int) -> Picture | None:
    """Return the picture of one page; None if it is damaged or has no image."""
    try:
        page = reader.pages[number]
        placed = list(_placed(page, reader))
        return picture_of(_painted(page, placed, pixels), pixels) if placed else None
    except (*UNUSABLE, Refused):
        return None


# --- where the images are ---------------------------------------------------------------------------------------------


def _placed(page: PageObject, reader: PdfReader) -> Iterator[tuple[QImage, QTransform]]:
    """Yield the page's images that can be decoded, each with the transformation of its unit square onto the page."""
    contents = page.get_contents()
    if contents is None:
        return
    left = MOST_IMAGES
    for name_or_object, matrix in _drawn(contents, page.get("/Resources"), QTransform(), reader, MOST_DEPTH):
        left -= 1
        if left < 0:
            return
        try:
            image = _decoded(name_or_object)
        except UNUSABLE:
            continue
        if image is not None and not image.isNull():
            yield image, matrix


def _drawn(
    contents: Any, resources: Any, matrix: QTransform, reader: PdfReader, depth: int
) -> Iterator[tuple[StreamObject, QTransform]]:
    """Yield the image objects that a content stream draws, in order, with the matrix of each (PDF 32000-1, 8.3)."""
    objects = _get(resources, "/XObject") or {}
    saved: list[QTransform] = []
    for operands, operator in ContentStream(contents, reader).operations:
        if operator == b"q":
            saved.append(matrix)
        elif operator == b"Q" and saved:
            matrix = saved.pop()
        elif operator == b"cm":
            matrix = _matrix(operands) * matrix
        elif operator == b"Do":
            drawn = _get(objects, str(operands[0]))
            kind = _get(drawn, "/Subtype")
            if kind == "/Image":
                yield drawn, matrix
            elif kind == "/Form" and depth:
                inner = _matrix(_get(drawn, "/Matrix") or (1, 0, 0, 1, 0, 0)) * matrix
                yield from _drawn(drawn, _get(drawn, "/Resources") or resources, inner, reader, depth - 1)


def _matrix(numbers: Any) -> QTransform:
    a, b, c, d, e, f = map(float, numbers)
    return QTransform(a, b, c, d, e, f)


def _get(dictionary: Any, key: str) -> Any:
    """Return an entry of a PDF's dictionary, its references resolved; None if there is none."""
    dictionary = dictionary.get_object() if isinstance(dictionary, IndirectObject) else dictionary
    entry = None if dictionary is None else dictionary.get(key)
    return entry.get_object() if isinstance(entry, IndirectObject) else entry


# --- how they are painted ---------------------------------------------------------------------------------------------


def _painted(page: PageObject, placed: list[tuple[QImage, QTransform]], pixels: int) -> QImage:
    """Return the page's images on white paper, at the resolution of the finest one or with about `pixels` pixels."""
    left, bottom, right, top = (float(number) for number in page.cropbox)
    width, height = abs(right - left), abs(top - bottom)
    finest = max(image.width() / max(1e-3, abs(matrix.m11()) + abs(matrix.m12())) for image, matrix in placed)
    size = scaled_size(QSize(max(1, round(width * finest)), max(1, round(height * finest))), pixels)
    scale = size.width() / width
    paper = QImage(size, QImage.Format.Format_RGB32)
    paper.fill(Qt.GlobalColor.white)
    painter = QPainter(paper)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
    onto_paper = QTransform(scale, 0, 0, -scale, -min(left, right) * scale, max(bottom, top) * scale)
    for image, matrix in placed:
        fitted = _fitted(image, matrix * onto_paper)
        onto_square = QTransform(1 / fitted.width(), 0, 0, -1 / fitted.height(), 0, 1)  # its first row is at the top
        painter.setTransform(onto_square * matrix * onto_paper)
        painter.drawImage(0, 0, fitted)
    painter.end()
    turned = int(page.get("/Rotate") or 0) % 360
    return paper.transformed(QTransform().rotate(turned)) if turned else paper


def _fitted(image: QImage, matrix: QTransform) -> QImage:
    """Return the image scaled down to about the size at which it is painted: a painter would leave pixels out."""
    width = (matrix.m11() ** 2 + matrix.m12() ** 2) ** 0.5
    height = (matrix.m21() ** 2 + matrix.m22() ** 2) ** 0.5
    size = QSize(max(LEAST_SIDE, round(width)), max(LEAST_SIDE, round(height))).boundedTo(image.size())
    if size == image.size():
        return image
    return image.scaled(size, Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation)


# --- what they are ----------------------------------------------------------------------------------------------------


def _decoded(image: StreamObject) -> QImage | None:
    """Return the pixels of an image object; None for a format that cannot be decoded here."""
    width, height = int(_get(image, "/Width")), int(_get(image, "/Height"))
    if min(width, height) < 1 or width * height > MOST_PIXELS:
        return None
    filters = _get(image, "/Filter") or []
    last = str((filters if isinstance(filters, ArrayObject) else [filters])[-1]) if filters else ""
    last = SHORT_NAMES.get(last, last)
    if last in ("/JPXDecode", "/JBIG2Decode"):
        return None
    data = image.get_data()
    pixels = _of_file(data, FILES[last]) if last in FILES else _of_samples(data, image, width, height)
    if pixels is None:
        return None
    decode = _get(image, "/Decode")
    if decode and float(decode[0]) > float(decode[1]) and last != "/DCTDecode":  # Qt knows Adobe's inverted JPEGs
        pixels.invertPixels()
    if _get(image, "/ImageMask"):
        return _mask(pixels)
    cover = _get(image, "/SMask")
    if cover is not None and (alpha := _decoded(cover)) is not None:
        pixels = pixels.convertToFormat(QImage.Format.Format_ARGB32)
        pixels.setAlphaChannel(alpha.convertToFormat(QImage.Format.Format_Grayscale8).scaled(pixels.size()))
    return pixels


def _of_file(data: bytes, kind: str) -> QImage:
    buffer = QBuffer()
    buffer.setData(QByteArray(data))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer, QByteArray(kind.encode()))
    reader.setAutoDetectImageFormat(False)
    image = reader.read().convertToFormat(QImage.Format.Format_RGB32)
    del reader  # before its buffer: closing a TIFF reads on
    return image


def _of_samples(data: bytes, image: StreamObject, width: int, height: int) -> QImage | None:
    """Return an image of samples; None for a colour space that is not known here."""
    bits = 1 if _get(image, "/ImageMask") else int(_get(image, "/BitsPerComponent") or 8)
    space = _get(image, "/ColorSpace") if not _get(image, "/ImageMask") else "/DeviceGray"
    palette: NDArray[np.uint8] | None = None
    if isinstance(space, ArrayObject) and space[0] in ("/Indexed", "/I"):
        palette, space = _palette(space), "/DeviceGray"
    channels = _channels(space)
    if not channels or bits not in (1, 2, 4, 8, 16):
        return None
    samples = _samples(data, width * channels, height, bits)
    if palette is not None:
        pixels = palette[np.minimum(samples, len(palette) - 1)]
    else:
        pixels = (samples * (255 // (2**bits - 1)) if bits < 8 else samples).astype(np.uint8)
        pixels = pixels.reshape(height, width, channels)
    return _image(pixels)


def _samples(data: bytes, a_row: int, height: int, bits: int) -> NDArray[np.uint8]:
    """Return the samples, [height, a_row]; 16-bit ones lose their lower half. Missing rows are white."""
    stride = (a_row * bits + 7) // 8
    raw = np.full(stride * height, 255, np.uint8)
    given = np.frombuffer(data, np.uint8, min(len(data), len(raw)))
    raw[: len(given)] = given
    rows = raw.reshape(height, stride)
    if bits == 16:
        return rows[:, ::2]
    if bits == 8:
        return rows
    single = np.unpackbits(rows, axis=1)[:, : a_row * bits].reshape(height, a_row, bits)
    return single @ (1 << np.arange(bits - 1, -1, -1, dtype=np.uint8))


def _channels(space: Any) -> int:
    """Return the number of samples of a pixel in a colour space; 0 for one that is not known here."""
    if isinstance(space, ArrayObject):
        if space[0] == "/ICCBased":
            return int(_get(space[1], "/N") or 0)
        space = space[0]
    return CHANNELS.get(SHORT_NAMES.get(str(space), str(space)), 0)


def _palette(space: ArrayObject) -> NDArray[np.uint8]:
    """Return the colours of an indexed colour space, [colours, channels]. Raises ValueError for an unknown one."""
    table = space[3].get_object()
    colours = table.get_data() if isinstance(table, StreamObject) else getattr(table, "original_bytes", None)
    base = space[1].get_object()
    channels = _channels(base)
    if not channels or not colours:
        raise ValueError("a palette without colours")
    usable = len(colours) // channels * channels
    return np.frombuffer(colours, np.uint8, usable).reshape(-1, channels)


def _image(pixels: NDArray[np.uint8]) -> QImage:
    """Return an image of [height, width, channels] bytes, in the colours of the screen."""
    height, width, channels = pixels.shape
    kinds = {
        1: QImage.Format.Format_Grayscale8, 3: QImage.Format.Format_RGB888, 4: QImage.Format.Format_CMYK8888,
    }  # fmt: skip
    data = np.ascontiguousarray(pixels).tobytes()
    return QImage(data, width, height, width * channels, kinds[channels]).convertToFormat(QImage.Format.Format_RGB32)


def _mask(image: QImage) -> QImage:
    """Return a stencil as black ink: dark samples are painted, light ones leave what is below."""
    ink = QImage(image.size(), QImage.Format.Format_ARGB32)
    ink.fill(Qt.GlobalColor.black)
    covered = image.convertToFormat(QImage.Format.Format_Grayscale8)
    covered.invertPixels()
    ink.setAlphaChannel(covered)
    return ink
