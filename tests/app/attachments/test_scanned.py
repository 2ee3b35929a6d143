"""Scanned PDFs: their pages become pictures, whatever scanners put into them."""

from __future__ import annotations

import struct
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pypdf import PdfWriter
from pypdf.generic import (
    ArrayObject,
    ByteStringObject,
    DictionaryObject,
    NameObject,
    NumberObject,
    StreamObject,
)
from PySide6.QtCore import QBuffer
from PySide6.QtGui import QColor, QImage, QPainter
from pytestqt.qtbot import QtBot

from app.attachments.attachment import Attachment, Refused, ScannedPages
from app.attachments.extraction import read_file
from app.attachments.reader import FileReader
from app.attachments.scanned import MOST_PAGES, scanned_pages
from app.composer.picture_view import image_of
from engine.protocol.requests import Picture

PIXELS = 200_000
WHOLE = "q 200 0 0 100 0 0 cm /I Do Q"  # the image covers the page of 200 × 100 points
GREY, RGB = NameObject("/DeviceGray"), NameObject("/DeviceRGB")


def image_object(data: bytes, width: int, height: int, space: Any, bits: int = 8, **more: Any) -> StreamObject:
    made = StreamObject()
    made.set_data(data)
    entries = {"Subtype": NameObject("/Image"), "Width": NumberObject(width), "Height": NumberObject(height)}
    entries |= {"ColorSpace": space, "BitsPerComponent": NumberObject(bits)} | more
    for key, value in entries.items():
        made[NameObject(f"/{key}")] = value
    return made


def jpeg_of(colour: str, width: int = 80, height: int = 40) -> StreamObject:
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(QColor(colour))
    painter = QPainter(image)
    painter.fillRect(0, 0, width // 2, height // 2, QColor("white"))  # the upper left quarter
    painter.end()
    buffer = QBuffer()
    image.save(buffer, "JPEG", 95)  # type: ignore[call-overload]
    return image_object(bytes(buffer.data().data()), width, height, RGB, Filter=NameObject("/DCTDecode"))


def write_pdf(path: Path, *pages: StreamObject | None, contents: str = WHOLE, rotate: int = 0) -> Path:
    writer = PdfWriter()
    for image in pages:
        page = writer.add_blank_page(200, 100)
        if image is None:
            continue
        drawing = StreamObject()
        drawing.set_data(contents.encode())
        page[NameObject("/Contents")] = writer._add_object(drawing)
        objects = DictionaryObject({NameObject("/I"): writer._add_object(image)})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/XObject"): objects})
        if rotate:
            page[NameObject("/Rotate")] = NumberObject(rotate)
    writer.write(path)
    return path


def colours(picture: Picture, *places: tuple[float, float]) -> list[str]:
    """Name the colours at these places, given as shares of width and height."""
    names = {"white": (255, 255, 255), "black": (0, 0, 0), "red": (255, 0, 0), "blue": (0, 0, 255)}
    image = image_of(picture)

    def name(x: float, y: float) -> str:
        colour = image.pixelColor(int(x * image.width()), int(y * image.height()))
        rgb = np.array([colour.red(), colour.green(), colour.blue()])
        return min(names, key=lambda key: float(np.abs(rgb - names[key]).sum()))

    return [name(x, y) for x, y in places]


QUARTERS = (0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)


def test_pages_become_pictures(tmp_path: Path) -> None:
    pages, count = scanned_pages(write_pdf(tmp_path / "scan.pdf", jpeg_of("red"), None, jpeg_of("blue")), PIXELS)
    assert (list(pages), count) == ([1, 3], 3)
    assert colours(pages[1], *QUARTERS) == ["white", "red", "red", "red"]
    assert colours(pages[3], *QUARTERS) == ["white", "blue", "blue", "blue"]
    assert (pages[1].width, pages[1].height) == (80, 40)  # no larger than the scan


def bits(pattern: str) -> bytes:
    padded = pattern + "0" * (-len(pattern) % 8)
    return bytes(int(padded[i : i + 8], 2) for i in range(0, len(padded), 8))


# 16 × 8 pixels, white at the left and black at the right, in the code of fax machines (ITU-T T.6).
FAX = bits("00110011000101" + "11" * 7 + "000000000001" * 2)
FAX_PARAMETERS = DictionaryObject({NameObject("/K"): NumberObject(-1), NameObject("/Columns"): NumberObject(16)})
# 16 × 8 pixels, black at the left and white at the right, written by OpenJPEG.
JPEG_2000 = b64decode(
    "AAAADGpQICANCocKAAAAFGZ0eXBqcDIgAAAAAGpwMiAAAAAtanAyaAAAABZpaGRyAAAACAAAABAAAQcHAAAAAAAPY29scgEAAAAA"
    "ABEAAADKanAyY/9P/1EAKQAAAAAAEAAAAAgAAAAAAAAAAAAAABAAAAAIAAAAAAAAAAAAAQcBAf9SAAwAAAABAAAEBAAB/1wABEBA"
    "/2QAJQABQ3JlYXRlZCBieSBPcGVuSlBFRyB2ZXJzaW9uIDIuNS4w/5AACgAAAAAAWAAB/5PfYjgRUFMZCqxczXPC5gAAYSEoGgAA"
    "AAAwjWH2P0U4R9ymiPuU0R9ymiPuU0R9ymiPuU0R9ymiPuU0R9ymiPuU0R9ymiPuU0R9yv/Z"
)


def jbig2_of(fax: bytes) -> bytes:
    """Return an image in the code of fax machines as two segments of JBIG2 (ITU-T T.88): a page and its region."""
    size = struct.pack(">II", 16, 8)
    page = size + bytes(8 + 1 + 2)  # resolutions, flags, stripes
    region = size + bytes(8 + 1) + b"\x01" + fax  # position, combination, and that it is coded as a fax
    kinds = ((48, page), (38, region))
    return b"".join(struct.pack(">IBBBI", n, kind, 0, 1, len(data)) + data for n, (kind, data) in enumerate(kinds))


PALETTE = ArrayObject([NameObject("/Indexed"), RGB, NumberObject(1), ByteStringObject(b"\xff\0\0\0\0\xff")])
HALVES = (0.25, 0.5), (0.75, 0.5)
BLACK_LEFT = np.repeat([[0] * 8 + [255] * 8], 8, 0).astype(np.uint8)


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (image_object(FAX, 16, 8, GREY, 1, Filter=NameObject("/CCITTFaxDecode"), DecodeParms=FAX_PARAMETERS),
         ["white", "black"]),
        (image_object(BLACK_LEFT.tobytes(), 16, 8, GREY), ["black", "white"]),
        (image_object(BLACK_LEFT.tobytes(), 16, 8, GREY, Decode=ArrayObject([NumberObject(1), NumberObject(0)])),
         ["white", "black"]),
        (image_object(np.packbits(BLACK_LEFT > 0, axis=1).tobytes(), 16, 8, GREY, 1), ["black", "white"]),
        (image_object(np.packbits(BLACK_LEFT > 0, axis=1).tobytes(), 16, 8, GREY, 1, ImageMask=NumberObject(1)),
         ["black", "white"]),
        (image_object(np.packbits(BLACK_LEFT > 0, axis=1).tobytes(), 16, 8, PALETTE, 1), ["red", "blue"]),
        (image_object((BLACK_LEFT.astype(">u2") * 257).tobytes(), 16, 8, GREY, 16), ["black", "white"]),
        (image_object((b"\0" * 4 + b"\xff" * 4) * 8, 16, 8, GREY, 4), ["black", "white"]),
        (image_object(bytes([0, 255, 255, 0] * 8 + [255, 255, 0, 0] * 8) * 8, 16, 8, NameObject("/DeviceCMYK")),
         ["red", "blue"]),
        (image_object(JPEG_2000, 16, 8, GREY, Filter=NameObject("/JPXDecode")), ["black", "white"]),
        (image_object(jbig2_of(FAX), 16, 8, GREY, 1, Filter=NameObject("/JBIG2Decode")), ["white", "black"]),
    ],
    ids=["fax", "grey", "inverted", "bits", "stencil", "palette", "16 bits", "4 bits", "cmyk", "JPEG 2000", "JBIG2"],
)  # fmt: skip
def test_kinds_of_images(tmp_path: Path, image: StreamObject, expected: list[str]) -> None:
    pages, _ = scanned_pages(write_pdf(tmp_path / "scan.pdf", image), PIXELS)
    assert colours(pages[1], *HALVES) == expected


def test_images_lie_where_the_page_has_them(tmp_path: Path) -> None:
    strips = "q 200 0 0 50 0 50 cm /I Do Q q 1 0 0 1 100 0 cm q 100 0 0 50 0 0 cm /I Do Q Q"
    pages, _ = scanned_pages(write_pdf(tmp_path / "strips.pdf", jpeg_of("red"), contents=strips), PIXELS)
    places = (0.25, 0.1), (0.75, 0.1), (0.25, 0.75), (0.6, 0.6), (0.9, 0.9)
    assert colours(pages[1], *places) == ["white", "red", "white", "white", "red"]
    turned, _ = scanned_pages(write_pdf(tmp_path / "turned.pdf", jpeg_of("red"), rotate=90), PIXELS)
    assert (turned[1].width, turned[1].height) == (40, 80)
    assert colours(turned[1], *QUARTERS) == ["red", "white", "red", "red"]


def test_a_scan_is_read_if_the_model_sees(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "scan.pdf", jpeg_of("red"))
    assert colours(read_file(path, PIXELS).scans[1], QUARTERS[3]) == ["red"]
    with pytest.raises(Refused, match="no_text"):
        read_file(path)


@pytest.mark.parametrize("code", ["/JPXDecode", "/JBIG2Decode"])
def test_images_that_cannot_be_decoded_are_refused(tmp_path: Path, code: str) -> None:
    image = image_object(b"\0" * 64, 8, 8, GREY, Filter=NameObject(code))
    with pytest.raises(Refused, match="no_images"):
        read_file(write_pdf(tmp_path / "scan.pdf", image), PIXELS)


def test_damaged_scans_are_refused_or_read(tmp_path: Path) -> None:
    whole = write_pdf(tmp_path / "scan.pdf", jpeg_of("red"), image_object(FAX, 16, 8, GREY, 1)).read_bytes()
    dice = np.random.default_rng(7)
    for _ in range(60):
        damaged = bytearray(whole)
        for at in dice.integers(0, len(whole), 12):
            damaged[at] = dice.integers(256)
        (tmp_path / "damaged.pdf").write_bytes(damaged)
        try:
            made = read_file(tmp_path / "damaged.pdf", PIXELS)
        except Refused:
            continue
        assert made.scans or made.text


def test_the_confined_process_reads_a_scan(qtbot: QtBot, tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "scan.pdf", *[jpeg_of("red")] * (MOST_PAGES + 2))
    got: list[Attachment | ScannedPages | str] = []
    FileReader().read(path, got.append, PIXELS)
    qtbot.waitUntil(lambda: bool(got))
    (result,) = got
    assert isinstance(result, ScannedPages), result
    assert (len(result.pages), result.count) == (MOST_PAGES, MOST_PAGES + 2)
    assert result.pages[2].name == "scan.pdf, page 3"
    assert result.pages[2].kind == "picture"
