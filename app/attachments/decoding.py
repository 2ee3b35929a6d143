"""Bytes of a text file to text: which encoding it is in, or that it is no text. Knows no files."""

from __future__ import annotations

import codecs

from app.attachments.encodings import encoding_of
from app.attachments.refusal import Refused

BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
SAMPLE = 65_536  # bytes or characters that are enough to tell
CONTROLS = frozenset(map(chr, (*range(9), 11, *range(14, 27), *range(28, 32), 127)))


def decode(raw: bytes) -> str:
    """The text, lines ending in newlines only. Raises Refused for what is no text."""
    text = _decoded(raw)
    sample = text[:SAMPLE]
    if sum(map(CONTROLS.__contains__, sample)) * 50 > len(sample):
        raise Refused("binary")
    return clean(text)


def clean(text: str) -> str:
    """Text that can be stored, shown and sent: no control characters, no lone surrogates."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n").replace("\ufeff", "")
    text = text.encode("utf-8", "replace").decode()
    return text.translate(dict.fromkeys(map(ord, CONTROLS)))


def _decoded(raw: bytes) -> str:
    for mark, name in BOMS:
        if raw.startswith(mark):
            return raw.decode(name, "replace")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        if "\0" not in text[:SAMPLE]:
            return text
    if (wide := _wide(raw)) is not None:
        return wide
    if b"\0" in raw[:SAMPLE]:
        raise Refused("binary")
    return raw.decode(encoding_of(raw), "replace")


def _wide(raw: bytes) -> str | None:
    """UTF-16 without a mark: of Western text every other byte is zero."""
    sample = raw[:SAMPLE]
    for name, high in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[::2])):
        low = sample[::2] if name == "utf-16-le" else sample[1::2]
        if len(sample) > 3 and high.count(0) > 0.4 * len(high) and low.count(0) < 0.05 * len(low):
            return raw.decode(name, "replace")
    return None
