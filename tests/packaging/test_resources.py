"""Icons and version texts, drawn and written as `make package` does, for all three systems."""

from __future__ import annotations

import ast
import struct
from importlib import import_module
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

ROOT = Path(__file__).resolve().parents[2]
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def resources(monkeypatch, qapp):
    """Return the module packaging/resources.py, with the QGuiApplication that drawing needs."""
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    return import_module("resources")


def picture(data: bytes) -> QImage:
    """Decode a PNG."""
    assert data.startswith(PNG)
    image = QImage.fromData(data)
    assert not image.isNull()
    return image


def colours(image: QImage) -> set[int]:
    """Return the colours of a picture's pixels, sampled on a grid of 16 x 16 points."""
    step = max(1, image.width() // 16)
    return {image.pixel(x, y) for x in range(0, image.width(), step) for y in range(0, image.height(), step)}


def test_every_png_has_its_size_and_shows_a_bird(resources, tmp_path):
    resources.write_resources(tmp_path, "linux")
    for size in resources.SIZES:
        image = picture((tmp_path / f"chickadee-{size}.png").read_bytes())
        assert (image.width(), image.height()) == (size, size)
        assert len(colours(image)) >= 4, "an empty picture has one colour"


def test_the_icon_of_windows_lists_pngs_at_their_places(resources, tmp_path):
    resources.write_resources(tmp_path, "win32")
    data = (tmp_path / "chickadee.ico").read_bytes()
    reserved, kind, count = struct.unpack_from("<HHH", data)
    assert (reserved, kind, count) == (0, 1, len(resources.WINDOWS))
    for number, size in enumerate(resources.WINDOWS):
        width, height, *_, length, place = struct.unpack_from("<BBBBHHII", data, 6 + 16 * number)
        assert (width or 256, height or 256) == (size, size)
        assert picture(data[place : place + length]).width() == size


def test_the_icon_of_macos_holds_pngs_behind_their_lengths(resources, tmp_path):
    resources.write_resources(tmp_path, "darwin")
    data = (tmp_path / "chickadee.icns").read_bytes()
    assert struct.unpack_from(">4sI", data) == (b"icns", len(data))
    place, sizes = 8, {}
    while place < len(data):
        kind, length = struct.unpack_from(">4sI", data, place)
        sizes[kind] = picture(data[place + 8 : place + length]).width()
        place += length
    assert sizes == resources.MAC


def test_version_texts_name_program_and_version(resources, tmp_path):
    resources.write_resources(tmp_path, "win32")
    release = import_module("release")
    assert (tmp_path / "version.txt").read_text() == release.VERSION
    for program in ("chickadee", "chickadee-engine"):
        text = (tmp_path / f"{program}.version").read_text()
        ast.parse(text, mode="eval")  # PyInstaller evaluates the text
        assert f'"{program}.exe"' in text
        assert release.VERSION in text
