"""Pictures in requests: data URLs and base64, never an address. Only the engine, which has few rights, decodes them.

Here the size in pixels is read from the file's header, so that a picture that is too large is refused before that.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct

from engine.api.errors import ApiError
from engine.protocol.requests import MOST_PICTURE_SIDE, Picture

MOST_PIXELS = 25_000_000  # of one picture: the engine takes 3 bytes for each, twice
MOST_PICTURES = 20  # in one message, as in the window
PNG, JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8"
# Markers of a JPEG's frame header (ITU-T T.81, table B.1): all SOF markers, without DHT, JPG and DAC between them.
FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
ALONE = {0x01, *range(0xD0, 0xD9)}  # markers without a segment


def picture_of_url(url: str, param: str | None = None) -> Picture:
    """Return the picture of a data URL. Raises ApiError for addresses, for other formats and for damaged data."""
    if not url[:5].lower() == "data:":
        raise refused_picture(
            "A picture must be sent itself, as a data URL: this server opens no addresses or files.", param
        )
    head, comma, data = url.partition(",")
    if not comma or not head.lower().endswith(";base64"):
        raise refused_picture("A picture's data URL must begin like data:image/png;base64, and its data follow.", param)
    return picture_of_base64(data, param)


def picture_of_base64(data: str, param: str | None = None) -> Picture:
    """Return the picture of a PNG or JPEG file in base64. Raises ApiError."""
    try:
        file = base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise refused_picture("A picture's data are not valid base64.", param) from error
    if not file.startswith((PNG, JPEG)):
        raise refused_picture("A picture must be a PNG or JPEG file. Convert it first.", param)
    width, height = _png_size(file) if file.startswith(PNG) else _jpeg_size(file)
    if not width or not height:
        raise refused_picture("A picture's file is damaged.", param)
    if max(width, height) > MOST_PICTURE_SIDE or width * height > MOST_PIXELS:
        most = f"{MOST_PICTURE_SIDE:,} on each side and {MOST_PIXELS // 1_000_000} million in all"
        raise refused_picture(f"A picture of {width:,} × {height:,} pixels is too large: up to {most} are read.", param)
    return Picture(hashlib.sha256(file).hexdigest(), width, height, data=file)


def _png_size(file: bytes) -> tuple[int, int]:
    """Return width and height in pixels; zeros for a damaged file."""
    return struct.unpack(">II", file[16:24]) if file[12:16] == b"IHDR" and len(file) >= 24 else (0, 0)


def _jpeg_size(file: bytes) -> tuple[int, int]:
    """Return width and height in pixels, from the frame header; zeros for a damaged file."""
    at = 2
    while at + 9 <= len(file) and file[at] == 0xFF:
        marker, length = file[at + 1], int.from_bytes(file[at + 2 : at + 4], "big")
        if marker == 0xFF:  # fill byte
            at += 1
        elif marker in ALONE:
            at += 2
        elif marker in FRAMES:
            height, width = struct.unpack(">HH", file[at + 5 : at + 9])
            return width, height
        elif length < 2:
            break
        else:
            at += 2 + length
    return 0, 0


def refused_picture(sentence: str, param: str | None) -> ApiError:
    """Return the error for a picture that is not read."""
    return ApiError(400, sentence, "bad_picture", param)
