"""The SVG icons of `assets/icons`, tinted in the theme's colours."""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QGuiApplication, QIcon, QImage, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from app.look.theme import SIZES
from models.assets import asset


def icon(name: str, colour: str) -> QIcon:
    """The icon `name` with `currentColor` replaced by `colour`."""
    result = QIcon()
    for scale in (1.0, 2.0):
        result.addPixmap(_pixmap(f"icons/{name}.svg", colour, SIZES.icon, scale))
    return result


def bird(size: int, scale: float | None = None) -> QPixmap:
    """The chickadee, `size` device-independent pixels wide and high."""
    return _pixmap("chickadee.svg", "", size, scale or QGuiApplication.primaryScreen().devicePixelRatio())


def application_icon() -> QIcon:
    result = QIcon()
    for size in (16, 32, 64, 128):
        result.addPixmap(_pixmap("chickadee.svg", "", size, 1.0))
    return result


@cache
def _pixmap(name: str, colour: str, size: int, scale: float) -> QPixmap:
    source = asset(name).read_text(encoding="utf-8").replace("currentColor", colour)
    image = QImage(QSize(round(size * scale), round(size * scale)), QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    QSvgRenderer(QByteArray(source.encode())).render(painter, QRectF(image.rect()))
    painter.end()
    pixmap = QPixmap.fromImage(image)
    pixmap.setDevicePixelRatio(scale)
    return pixmap
