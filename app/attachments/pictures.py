"""Pictures for a model to see: decoded, turned upright, scaled and written anew, without anything else a file holds.

Files are decoded in the child process alone. The formats are named to Qt, so that no other decoder of its own sees a
stranger's file. What is kept is what the model sees: pixels, as PNG or JPEG, with no metadata (place, camera, names).
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QSize, Qt
from PySide6.QtGui import QColorSpace, QImage, QImageReader, QPainter

from app.attachments.attachment import Refused
from engine.protocol.requests import MOST_PICTURE_SIDE, Picture

FORMATS = ((b"\x89PNG", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF8", "gif"), (b"BM", "bmp"))
MOST_PIXELS = 120_000_000  # of a file: the largest pictures of telephones
MOST_DECODED = 600  # MB that Qt may take for one picture
LEAST_SIDE = 2  # pixels
USUAL_PIXELS = 786_432  # 1024 × 768: screens stay legible, and most models see no more
PLAIN_BYTES = 300_000  # a PNG up to this size is kept; a larger one becomes a JPEG if that is much smaller
JPEG_QUALITY = 92


def format_of(head: bytes) -> str:
    """Return Qt's name for the format of a picture that begins with these bytes; "" if it is none that we decode."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    return next((name for begin, name in FORMATS if head.startswith(begin)), "")


def read_picture(path: Path, head: bytes, pixels: int) -> Picture:
    """Return the picture in a file that begins with `head`, of at most about `pixels` pixels. Raises Refused."""
    QImageReader.setAllocationLimit(MOST_DECODED)
    reader = QImageReader(str(path), QByteArray(format_of(head).encode()))
    reader.setAutoDetectImageFormat(False)
    reader.setAutoTransform(True)
    size = reader.size()
    if not size.isValid() or size.isEmpty():
        raise Refused("damaged")
    if size.width() * size.height() > MOST_PIXELS:
        raise Refused("many_pixels", size=f"{size.width():,} × {size.height():,}")
    if min(size.width(), size.height()) < LEAST_SIDE:
        raise Refused("tiny")
    reader.setScaledSize(scaled_size(size, pixels))  # JPEG is decoded at a fraction of its size where that suffices
    image = reader.read()
    if image.isNull():
        raise Refused("damaged")
    return picture_of(image, pixels)


def picture_of(image: QImage, pixels: int) -> Picture:
    """Return an image, such as one of the clipboard, as a picture of at most about `pixels` pixels. Raises Refused."""
    if min(image.width(), image.height()) < LEAST_SIDE:
        raise Refused("tiny")
    if image.colorSpace().isValid():
        image.convertToColorSpace(QColorSpace(QColorSpace.NamedColorSpace.SRgb))
    size = scaled_size(image.size(), pixels)
    if size != image.size():
        image = image.scaled(size, Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation)
    # Painted on white: transparent parts get a colour, and texts and profiles of the old image stay behind.
    clean = QImage(size, QImage.Format.Format_RGB888)
    clean.fill(Qt.GlobalColor.white)
    painter = QPainter(clean)
    painter.drawImage(0, 0, image)
    painter.end()
    data = _written(clean)
    return Picture(hashlib.sha256(data).hexdigest(), size.width(), size.height(), data=data)


def scaled_size(size: QSize, pixels: int) -> QSize:
    """Return the size with the same shape, at most about `pixels` pixels and no side longer than the engine takes."""
    factor = min(1.0, (pixels / (size.width() * size.height())) ** 0.5)
    factor = min(factor, MOST_PICTURE_SIDE / max(size.width(), size.height()))
    return QSize(max(LEAST_SIDE, round(size.width() * factor)), max(LEAST_SIDE, round(size.height() * factor)))


def _written(image: QImage) -> bytes:
    """Return the file that is kept: a PNG, or a JPEG where that is much smaller."""
    plain = _encoded(image, "PNG", -1)
    if len(plain) <= PLAIN_BYTES:
        return plain
    lossy = _encoded(image, "JPEG", JPEG_QUALITY)
    return lossy if len(lossy) < len(plain) // 2 else plain


def _encoded(image: QImage, kind: str, quality: int) -> bytes:
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not image.save(buffer, kind, quality):  # type: ignore[call-overload]
        raise Refused("damaged")
    return bytes(data.data())
