"""Extracts the text of a file, whose kind is recognised by its first bytes. Runs in the child process."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.attachments.attachment import Refused, parts_of
from app.attachments.documents import MAIN, pages_of_pdf, text_of_document
from app.attachments.kinds import AttachmentKind, kind_of
from app.attachments.plain_text import decode
from app.attachments.web_page import declared_encoding, main_text_of_page, text_of_page
from common.byte_sizes import show_bytes
from engine.protocol.events import PageRead
from engine.protocol.requests import Picture

MB = 10**6
MOST_PLAIN = 20 * MB
MOST_DOCUMENT = 100 * MB
MOST_TEXT = 3_000_000  # characters: three thick novels
PICTURES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM")
IMAGES = (b"II*\0", b"MM\0*", b"\0\0\1\0", b"8BPS")
MEDIA = (b"ID3", b"OggS", b"fLaC", b"\x1aE\xdf\xa3", b"\xff\xfb", b"\xff\xf3")
WEB_KINDS = ("text/html", "application/xhtml+xml")
WEB_BEGINNINGS = ("<!doctype html", "<html")


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text or picture extracted from a file of `size` bytes; the other fields are those of an Attachment.

    A scanned PDF of `page_count` pages has no text; `scans` has pictures of its first pages by their numbers.
    """

    kind: AttachmentKind
    size: int
    text: str
    parts: tuple[tuple[int, int], ...]
    pages: tuple[int, ...] = ()
    picture: Picture | None = None
    scans: dict[int, Picture] = field(default_factory=dict)
    page_count: int = 0


def read_file(path: Path, pixels: int = 0) -> Extracted:
    """Return the file's text with its parts, or its picture of at most about `pixels` pixels; raise Refused.

    0 pixels refuse pictures, because the model cannot see.
    """
    return _with_parts(read_text(path, pixels))


def read_text(path: Path, pixels: int = 0) -> Extracted:
    """Return the file's text without parts, or its picture; raise Refused if there is neither."""
    try:
        return _read(path, pixels)
    except FileNotFoundError as error:
        raise Refused("gone") from error
    except PermissionError as error:
        raise Refused("denied") from error
    except OSError as error:
        raise Refused("unreadable", reason=error.strerror or str(error)) from error


def extracted(kind: AttachmentKind, size: int, text: str) -> Extracted:
    """Return the text with its parts; raise Refused if it is empty or too long."""
    return _with_parts(_checked(kind, size, text))


def _with_parts(whole: Extracted) -> Extracted:
    return replace(whole, parts=parts_of(whole.text))


def _checked(kind: AttachmentKind, size: int, text: str, pages: tuple[int, ...] = ()) -> Extracted:
    if not text.strip():
        raise Refused("empty")
    if len(text) > MOST_TEXT:
        raise Refused("too_long", most=str(MOST_TEXT // 1_000_000))
    return Extracted(kind, size, text, (), pages)


def _read(path: Path, pixels: int) -> Extracted:
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise Refused("folder")
    if not stat.S_ISREG(status.st_mode):  # reading a pipe would block, and a device may be endless
        raise Refused("special")
    with path.open("rb") as file:
        head = file.read(4096)
    if not head:
        raise Refused("empty")
    if b"%PDF-" in head[:1024]:
        return _pdf(path, status.st_size, pixels)
    if head.startswith(b"PK\3\4"):
        return _zip(path, status.st_size)
    if is_picture(head):
        return _picture(path, status.st_size, head, pixels)
    _refuse_known(head)
    _limit(status.st_size, MOST_PLAIN)
    return _plain(path, status.st_size)


def is_picture(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is a picture of a format that can be read."""
    return head.startswith(PICTURES) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")


def _picture(path: Path, size: int, head: bytes, pixels: int) -> Extracted:
    if not pixels:
        raise Refused("blind")
    _limit(size, MOST_DOCUMENT)
    from app.attachments.pictures import read_picture  # Qt takes 60 MB, which other files do not need

    return Extracted("picture", size, "", (), picture=read_picture(path, head, pixels))


def _plain(path: Path, size: int) -> Extracted:
    with path.open("rb") as file:
        raw = file.read(MOST_PLAIN)
    kind = kind_of(path)
    text = decode(raw, declared_encoding(raw) if kind == "web" else "")
    if kind == "web" or _begins_a_page(text):
        return _checked("web", size, text_of_page(text))
    return _checked(kind if kind in ("code", "table") else "text", size, text)


def _begins_a_page(text: str) -> bool:
    return text[:512].lstrip().lower().startswith(WEB_BEGINNINGS)


def read_page(page: PageRead) -> tuple[Extracted, str]:
    """Return the main text of a page that was fetched, and its title, "" if it has none; raise Refused."""
    raw, size = page.data, len(page.data)
    if not raw.strip():
        raise Refused("empty_page")
    if b"%PDF-" in raw[:1024]:
        return _with_parts(_paged(pages_of_pdf(io.BytesIO(raw)), size)), ""
    if is_picture(raw[:4096]) or raw.startswith(b"PK\3\4"):
        raise Refused("binary")
    _refuse_known(raw[:4096])
    text = decode(raw, declared_encoding(raw, page.charset))
    if page.kind not in WEB_KINDS and not _begins_a_page(text):
        return extracted("text", size, text), ""
    title, text = main_text_of_page(text)
    if not text.strip():
        raise Refused("empty_page")
    return extracted("web", size, f"# {title}\n\n{text}" if title and not text.startswith("# ") else text), title


def _pdf(path: Path, size: int, pixels: int) -> Extracted:
    _limit(size, MOST_DOCUMENT)
    try:
        pages = pages_of_pdf(path)
    except Refused as refused:
        if refused.code != "no_text" or not pixels:
            raise
        return _scanned(path, size, pixels)
    return _paged(pages, size)


def _paged(pages: Sequence[str], size: int) -> Extracted:
    starts, at = [], 0
    for page in pages:
        starts.append(at)
        at += len(page) + 2
    return _checked("pdf", size, "\n\n".join(pages), tuple(starts))


def _scanned(path: Path, size: int, pixels: int) -> Extracted:
    from app.attachments.scanned import scanned_pages  # Qt, as above

    pictures, count = scanned_pages(path, pixels)
    return Extracted("pdf", size, "", (), scans=pictures, page_count=count)


def _zip(path: Path, size: int) -> Extracted:
    _limit(size, MOST_DOCUMENT)
    try:
        with zipfile.ZipFile(path) as archive:
            document = MAIN in archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise Refused("damaged") from error
    if not document:
        raise Refused("archive")
    return _checked("word", size, text_of_document(path))


def _refuse_known(head: bytes) -> None:
    if head.startswith(IMAGES):
        raise Refused("image")
    if head[4:8] == b"ftyp":
        kinds = {b"heic": "heic", b"heix": "heic", b"mif1": "heic", b"avif": "image"}
        raise Refused(kinds.get(head[8:12], "media"))
    if head.startswith(MEDIA) or (head[:4] == b"RIFF" and head[8:12] in (b"WAVE", b"AVI ")):
        raise Refused("media")
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        raise Refused("old_word")
    if head.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!", b"\x28\xb5\x2f\xfd")):
        raise Refused("archive")


def _limit(size: int, most: int) -> None:
    if size > most:
        raise Refused("too_large", size=show_bytes(size), most=show_bytes(most))
