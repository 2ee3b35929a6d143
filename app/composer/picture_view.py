"""Pictures on the screen: thumbnails in chips, and a window that shows one whole."""

from __future__ import annotations

from PySide6.QtCore import QBuffer, QByteArray, QSize, Qt
from PySide6.QtGui import QImage, QImageReader, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QDialog, QVBoxLayout, QWidget

from app.look.live import Live
from app.look.sheet import fill
from app.look.theme import SIZES
from app.words import tr
from engine.protocol.requests import Picture

MOST_DECODED = 256  # MB: pictures are small once they are attached; those of imported chats need not be


def image_of(picture: Picture) -> QImage:
    """Return the picture's pixels; an empty image if the file is damaged."""
    QImageReader.setAllocationLimit(MOST_DECODED)
    data = QByteArray(picture.data)
    buffer = QBuffer(data)
    reader = QImageReader(buffer, QByteArray(b"png" if picture.data.startswith(b"\x89PNG") else b"jpeg"))
    reader.setAutoDetectImageFormat(False)
    return reader.read()


def thumbnail_of(picture: Picture, height: int) -> QPixmap:
    """Return the picture at this height, and no more than twice as wide."""
    image = image_of(picture)
    if image.isNull():
        return QPixmap(height, height)
    size = image.size().scaled(QSize(2 * height, height), Qt.AspectRatioMode.KeepAspectRatio)
    smooth = Qt.TransformationMode.SmoothTransformation
    return QPixmap.fromImage(image.scaled(size.expandedTo(QSize(1, 1)), Qt.AspectRatioMode.IgnoreAspectRatio, smooth))


class Canvas(QWidget):
    """A picture, as large as there is room for it and never larger than it is."""

    def __init__(self, image: QImage, parent: QWidget) -> None:
        super().__init__(parent)
        self._image = image
        self._scaled = QPixmap()

    def sizeHint(self) -> QSize:
        return self._image.size()

    def paintEvent(self, _event: QPaintEvent) -> None:
        if self._image.isNull():
            return
        size = self._image.size()
        if size.width() > self.width() or size.height() > self.height():
            size.scale(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
        if self._scaled.size() != size:
            smooth = Qt.TransformationMode.SmoothTransformation
            self._scaled = QPixmap.fromImage(self._image.scaled(size, Qt.AspectRatioMode.KeepAspectRatio, smooth))
        painter = QPainter(self)
        painter.drawPixmap((self.width() - size.width()) // 2, (self.height() - size.height()) // 2, self._scaled)
        painter.end()


class PictureWindow(Live, QDialog):
    """Window with one picture as the model sees it; a click or Esc closes it."""

    def __init__(self, name: str, picture: Picture, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("pictureWindow")
        self._name = name
        self.canvas = Canvas(image_of(picture), self)
        self._pixels = f"{picture.width:,} × {picture.height:,}"
        fill(QVBoxLayout(self), self.canvas, margins=(SIZES.gap, SIZES.gap, SIZES.gap, SIZES.gap))
        largest = parent.window().size()
        wanted = self.canvas.sizeHint() + QSize(2 * SIZES.gap, 2 * SIZES.gap)
        self.resize(wanted.boundedTo(largest).expandedTo(QSize(SIZES.chip, SIZES.chip)))
        self.apply_look()

    def retranslate(self) -> None:
        self.setWindowTitle(f"{self._name} · {self._pixels}")
        self.canvas.setAccessibleName(tr("Picture {name}", name=f"{self._name}, {self._pixels}"))

    def mouseReleaseEvent(self, _event: object) -> None:
        self.close()


def show_picture(name: str, picture: Picture, window: QWidget) -> None:
    """Open the picture in a window beside the chat."""
    dialog = PictureWindow(name, picture, window)
    dialog.finished.connect(dialog.deleteLater)
    dialog.show()
