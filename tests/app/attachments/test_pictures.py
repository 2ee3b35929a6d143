"""Pictures of every kind are read as the model shall see them, or refused with a sentence."""

from __future__ import annotations

import random
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import msgspec
import numpy as np
import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QColor, QImage

from app.attachments import extraction
from app.attachments.attachment import Refused, sentence
from app.attachments.child import Reply
from app.attachments.pictures import picture_of, scaled_size
from engine.protocol.requests import Picture
from tests.engine.runtime.vision_models import png

PIXELS = 64 * 48


def image_of(width: int = 120, height: int = 90, colour: str = "red") -> QImage:
    image = QImage(width, height, QImage.Format.Format_ARGB32)
    image.fill(QColor(colour))
    return image


def read(path: Path, pixels: int = PIXELS) -> Picture:
    found = extraction.read_file(path, pixels)
    assert found.kind == "picture"
    assert found.picture
    return found.picture


def colour_at(picture: Picture, x: int, y: int) -> tuple[int, int, int]:
    colour = QImage.fromData(picture.data).pixelColor(x, y)
    return colour.red(), colour.green(), colour.blue()


def refusal(path: Path) -> str:
    with pytest.raises(Refused) as caught:
        extraction.read_file(path, PIXELS)
    words = sentence(caught.value.code, path.name, caught.value.values)
    assert path.name in words
    assert "{" not in words
    return caught.value.code


@pytest.mark.parametrize("kind", ["png", "jpg", "bmp", "webp"])
def test_pictures_are_scaled_and_written_anew(tmp_path: Path, kind: str) -> None:
    image = image_of()
    image.setText("Author", "a secret name")
    assert image.save(str(tmp_path / f"a.{kind}"))
    picture = read(tmp_path / f"a.{kind}")
    assert (picture.width, picture.height) == (64, 48)
    assert colour_at(picture, 30, 20)[0] > 240
    assert b"secret" not in picture.data


def test_the_name_does_not_matter(tmp_path: Path) -> None:
    image_of().save(str(tmp_path / "a.png"))
    (tmp_path / "a.txt").write_bytes((tmp_path / "a.png").read_bytes())
    assert read(tmp_path / "a.txt") == read(tmp_path / "a.png")


def test_a_small_picture_keeps_its_pixels(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png(np.full((7, 9, 3), 200)))
    picture = read(tmp_path / "a.png")
    assert (picture.width, picture.height) == (9, 7)
    assert colour_at(picture, 3, 3) == (200, 200, 200)


def test_transparent_parts_are_white() -> None:
    image = QImage(20, 20, QImage.Format.Format_ARGB32)
    image.fill(0)
    assert colour_at(picture_of(image, PIXELS), 5, 5) == (255, 255, 255)


def test_the_orientation_of_a_camera_is_applied_and_forgotten(tmp_path: Path) -> None:
    image = image_of(40, 20)
    for x in range(20):
        for y in range(20):
            image.setPixelColor(x, y, QColor("blue"))
    image.save(str(tmp_path / "a.jpg"), quality=100)
    exif = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"  # 6: turned to the right
    raw = (tmp_path / "a.jpg").read_bytes()
    (tmp_path / "a.jpg").write_bytes(raw[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + raw[2:])
    picture = read(tmp_path / "a.jpg")
    assert (picture.width, picture.height) == (20, 40)
    assert colour_at(picture, 10, 5)[2] > 200
    assert colour_at(picture, 10, 35)[0] > 200
    assert b"Exif" not in picture.data


def test_deep_colours_and_greys_are_read(tmp_path: Path) -> None:
    for kind in (QImage.Format.Format_RGBA64, QImage.Format.Format_Grayscale16, QImage.Format.Format_Indexed8):
        image_of().convertToFormat(kind).save(str(tmp_path / "a.png"))
        assert read(tmp_path / "a.png").width == 64


def test_sizes_keep_their_shape_and_their_limits() -> None:
    assert scaled_size(QSize(4000, 3000), 48 * 64) == QSize(64, 48)
    assert scaled_size(QSize(10, 20), 48 * 64) == QSize(10, 20)
    assert scaled_size(QSize(100_000, 10), 1 << 22).width() <= 8192


def bomb(width: int, height: int) -> bytes:
    """Build a PNG that says it has so many pixels, and has none."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (bomb(50_000, 50_000), "many_pixels"),
        (bomb(0, 10), "damaged"),
        (bomb(1, 1), "tiny"),
        (b"\x89PNG\r\n\x1a\n", "damaged"),
        (b"\xff\xd8\xff\xe0", "damaged"),
        (b"GIF89a", "damaged"),
        (b"BM" + b"\0" * 60, "damaged"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "damaged"),
        (b"\0\0\0\x18ftypheic" + b"\0" * 20, "heic"),
        (b"\0\0\0\x18ftypavif" + b"\0" * 20, "image"),
        (b"II*\0" + b"\0" * 20, "image"),
    ],
)
def test_bad_files_have_one_sentence(tmp_path: Path, raw: bytes, code: str) -> None:
    (tmp_path / "a.png").write_bytes(raw)
    assert refusal(tmp_path / "a.png") == code


def test_a_model_that_cannot_see_refuses_pictures(tmp_path: Path) -> None:
    image_of().save(str(tmp_path / "a.png"))
    with pytest.raises(Refused) as caught:
        extraction.read_file(tmp_path / "a.png")
    assert caught.value.code == "blind"


def test_two_hundred_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    """Files that are cut short or have other bytes: Qt raises nothing, and what it returns is a picture."""
    dice = random.Random(1)
    whole = {}
    for kind in ("png", "jpg", "bmp", "webp"):
        image_of(colour="green").save(str(tmp_path / f"a.{kind}"))
        whole[kind] = (tmp_path / f"a.{kind}").read_bytes()
    refused: list[Refused] = []
    for _ in range(200):
        raw = bytearray(whole[dice.choice(sorted(whole))])
        if dice.random() < 0.5:
            del raw[dice.randrange(len(raw)) :]
        for _ in range(dice.choice((0, 1, 8))):
            if raw:
                raw[dice.randrange(len(raw))] = dice.randrange(256)
        (tmp_path / "a.bin").write_bytes(raw)
        try:
            found = extraction.read_file(tmp_path / "a.bin", PIXELS)
        except Refused as caught:
            refused.append(caught)
            continue
        assert found.kind == "text" or (found.picture and found.picture.width * found.picture.height <= PIXELS + 200)
    assert not any("{" in sentence(each.code, "a.bin", each.values) for each in refused)
    assert len(refused) > 40


def test_the_confined_process_reads_a_picture(tmp_path: Path) -> None:
    image_of().save(str(tmp_path / "a.webp"))
    command = [sys.executable, "-m", "app.attachments.child", str(tmp_path / "a.webp"), str(PIXELS)]
    reply = msgspec.json.decode(subprocess.run(command, capture_output=True, timeout=120).stdout, type=Reply)
    assert reply.file
    assert reply.file.picture
    assert (reply.file.picture.width, reply.file.picture.height) == (64, 48)
    assert colour_at(reply.file.picture, 30, 20)[0] > 240
