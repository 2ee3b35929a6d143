"""A file's extracted text, its parts, and which parts are sent; or a picture; or why there is neither."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from app.attachments.kinds import AttachmentKind, kinds_words
from app.words import mark, tr
from engine.protocol.requests import Picture
from models.servers import host_of

MOST_NAME = 120  # characters
WEB_ADDRESS = re.compile(r"https?://[^\s<>\"]+")
CALENDAR_END = 32_503_507_200.0  # the last days of the year 2999 as Unix time: Windows' calendar ends with 3000


@dataclass(frozen=True, slots=True)
class Place:
    """Position of a passage in its file: characters of the file's text, heading above it, and page from 1."""

    begin: int
    end: int
    heading: str = ""
    page: int | None = None


@dataclass(frozen=True, slots=True)
class ScannedPages:
    """Pictures of a scanned PDF's pages, each an attachment of its own; `count`: the pages that the PDF has."""

    pages: tuple[Attachment, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Attachment:
    """The text of an attached file, or what was found in a file of a collection.

    Attributes:
        size: bytes of the file.
        parts: (begin, end) of each part in `text`; parts overlap.
        pages: where each page begins in `text`.
        sent: indices of the parts that the model reads, in order; None for the whole text.
        path: of a collection's file; "" for a file that the user attached.
        places: where each of `parts` was found in that file; empty if `text` is all of the file's text.
        address: of a web page; "" for a file.
        read_at: when the page was fetched, in Unix seconds.
        picture: what the model sees; a picture has no text.
    """

    name: str
    kind: AttachmentKind
    size: int
    text: str
    parts: tuple[tuple[int, int], ...] = ()
    pages: tuple[int, ...] = ()
    sent: tuple[int, ...] | None = None
    path: str = ""
    places: tuple[Place, ...] = ()
    picture: Picture | None = None
    address: str = ""
    read_at: float = 0.0

    def __post_init__(self) -> None:
        """Raise ValueError for an address or a time that nobody could have read a page at or on."""
        if self.address and not (WEB_ADDRESS.fullmatch(self.address) and host_of(self.address)):
            raise ValueError("this is no address of a web page")
        if not 0 <= self.read_at < CALENDAR_END:
            raise ValueError("a web page was not read at this time")

    @property
    def host(self) -> str:
        """The web page's host; "" for a file."""
        return host_of(self.address) if self.address else ""

    @property
    def read_on(self) -> str:
        """The day on which the web page was fetched, as 2026-11-25, by the local calendar."""
        return f"{datetime.fromtimestamp(self.read_at):%Y-%m-%d}"

    @property
    def from_collection(self) -> bool:
        """Whether this was found in a collection, or stands for a collection in which nothing was."""
        return bool(self.path) or self.kind == "nothing"

    def part(self, index: int) -> str:
        begin, end = self.parts[index]
        return self.text[begin:end]

    def pages_of(self, index: int) -> tuple[int, int] | None:
        """Return the first and last page of a part, counted from 1; None if the file has no pages."""
        if not self.pages:
            return None
        begin, end = self.parts[index]
        return max(1, bisect_right(self.pages, begin)), max(1, bisect_right(self.pages, max(begin, end - 1)))


def clean_name(name: str) -> str:
    """Return a file's name as one short line without control or direction characters and lone surrogates."""
    name = name.encode("utf-8", "replace").decode()
    kept = "".join(c for c in name if unicodedata.category(c) not in ("Cc", "Cf", "Zl", "Zp")).strip()
    if len(kept) > MOST_NAME:  # keep the end, which has the extension
        kept = f"{kept[: MOST_NAME - 20]}…{kept[-19:]}"
    return kept or "file"


# --- why a file is not attached: a code where it is read, the sentence where it is shown ------------------------------

SENTENCES = {
    "gone": mark("“{name}” no longer exists. It may have been moved or deleted."),
    "denied": mark("You do not have permission to read “{name}”. Change its permissions or attach a copy."),
    "unreadable": mark("“{name}” cannot be read: {reason}."),
    "folder": mark("“{name}” is a folder. Attach the files in it instead."),
    "special": mark("“{name}” is not a regular file, so it cannot be attached."),
    "empty": mark("“{name}” is empty."),
    "too_large": mark("“{name}” is {size}; files up to {most} can be attached. Attach a part of it."),
    "too_long": mark("“{name}” has more than {most} million characters of text. Attach a part of it."),
    "image": mark("“{name}” is a picture in a format that cannot be read. Save it as PNG or JPEG and attach that."),
    "heic": mark("“{name}” is a HEIC picture, which cannot be read here. Save it as JPEG and attach that."),
    "blind": mark("“{name}” is a picture, and this model cannot see."),
    "many_pixels": mark("“{name}” has {size} pixels, more than can be read. Attach a smaller copy, or a part of it."),
    "tiny": mark("“{name}” is too small to show anything."),
    "media": mark("“{name}” is audio or video, and this model reads text only."),
    "binary": mark("“{name}” contains no text. You can attach {kinds}."),
    "old_word": mark("“{name}” is in an old Office format. Save it as .docx or PDF and attach that."),
    "archive": mark("“{name}” is an archive or an unsupported document. Attach it as PDF, .docx or text."),
    "encrypted": mark("“{name}” is password-protected. Save a copy without the password and attach that."),
    "no_text": mark(

            "“{name}” has scanned pages without text. Choose a model that can see, or run text recognition (OCR) on "
            "it first."

    ),
    "no_images": mark(

            "“{name}” has scanned pages without text, which cannot be read here. Save the pages as PNG or JPEG and "
            "attach those."

    ),
    "damaged": mark("“{name}” is damaged, or is not the type its name says. Open it in its own app and save it again."),
    "many_pages": mark("“{name}” has {pages} pages; up to {most} can be read. Attach fewer pages."),
    "bomb": mark("“{name}” unpacks to far more data than it should, so it was not opened."),
    "slow": mark("Reading “{name}” took longer than a minute and was stopped. Attach a part, or save it as text."),
    "memory": mark("Reading “{name}” needed too much memory and was stopped. Attach a part, or save it as text."),
    "empty_page": mark("“{name}” shows no text without its scripts. Open it in a browser and paste the text you need."),
    "crashed": mark("“{name}” could not be read: the file reader stopped. Save it as text and attach that."),
}  # fmt: skip


class Refused(Exception):
    """A file that cannot be attached; `code` is a key of SENTENCES, and `values` fill its placeholders."""

    def __init__(self, code: str, **values: str) -> None:
        super().__init__(code)
        self.code, self.values = code, values


def sentence(code: str, name: str, values: dict[str, str] | None = None) -> str:
    """Return the sentence for the user."""
    values = {"reason": "", "size": "", "kinds": kinds_words()} | (values or {})
    return tr(SENTENCES.get(code, SENTENCES["crashed"]), **values, name=name)


# --- cut into parts of about 300 tokens, overlapping a little, at borders of paragraphs where there are ---------------

PART = 300  # tokens, as estimated
UNIT = 90  # tokens of the longest piece; pieces up to OVERLAP are repeated in the next part
OVERLAP = 60
LETTERS_A_TOKEN = 4
WIDE = re.compile(r"[\u2e80-\U0003ffff]")  # about a token each
PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
LINE = re.compile(r"\n")
SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])")


def estimated_tokens(text: str) -> float:
    """Estimate the tokens of a text, within a third in most languages; the engine counts exactly."""
    wide = len(WIDE.findall(text))
    return wide + (len(text) - wide) / LETTERS_A_TOKEN


def parts_of(text: str) -> tuple[tuple[int, int], ...]:
    """Return (begin, end) of each part; together they cover everything except blanks at the ends."""
    units = [(begin, end, estimated_tokens(text[begin:end])) for begin, end in _units(text, 0, len(text))]
    parts: list[tuple[int, int]] = []
    first, size = 0, 0.0
    for number, (_, end, tokens) in enumerate(units):
        size += tokens
        if size >= PART or number == len(units) - 1:
            parts.append((units[first][0], end))
            first, size = _overlap(units, first, number)
    return tuple(parts)


def _overlap(units: list[tuple[int, int, float]], first: int, last: int) -> tuple[int, float]:
    """Return the unit at which the next part begins, and the tokens that it repeats."""
    repeated, begin = 0.0, last + 1
    while begin - 1 > first and repeated + units[begin - 1][2] <= OVERLAP:
        begin -= 1
        repeated += units[begin][2]
    return begin, repeated


def _units(
    text: str, begin: int, end: int, borders: tuple[re.Pattern[str], ...] = (PARAGRAPH, LINE, SENTENCE)
) -> Iterator[tuple[int, int]]:
    """Yield paragraphs, or for long ones their lines, sentences, or pieces; blanks belong to the unit before them."""
    if estimated_tokens(text[begin:end]) <= UNIT:
        if text[begin:end].strip():
            yield begin, end
        return
    if not borders:
        step = UNIT if WIDE.search(text, begin, end) else UNIT * LETTERS_A_TOKEN
        yield from ((at, min(at + step, end)) for at in range(begin, end, step))
        return
    at = begin
    for border in borders[0].finditer(text, begin, end):
        yield from _units(text, at, border.end(), borders[1:])
        at = border.end()
    yield from _units(text, at, end, borders[1:])


# --- as the model reads it: a plain block before the question; the same attachment always gives the same --------------


def with_attachments(attachments: Iterable[Attachment], question: str) -> str:
    """Return a user's message as the model sees it: attachments, then the question."""
    blocks = [block_of(attachment) for attachment in attachments if attachment.sent != () and not attachment.picture]
    return "\n\n".join([*blocks, question] if question else blocks)


def pictures_in(attachments: Iterable[Attachment]) -> tuple[Picture, ...]:
    """Return the pictures among the attachments, in order."""
    return tuple(attachment.picture for attachment in attachments if attachment.picture)


def block_of(attachment: Attachment) -> str:
    """Return the name and the fenced text; the fence is longer than any row of backticks in the text."""
    text = attachment.text.strip("\n") if attachment.sent is None else _parts(attachment)
    text = _found_passages(attachment) if attachment.places else text
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{_heading(attachment)}\n{fence}\n{text}\n{fence}"


def _heading(attachment: Attachment) -> str:
    name = '"' + attachment.name.replace('"', "'") + '"'
    if attachment.places:
        return f"Passages found in the file {name}:"
    what = "file"
    if attachment.address:
        what, name = "web page", f"{name} ({attachment.host}, read on {attachment.read_on})"
    if attachment.sent is None:
        return f"{what.capitalize()} {name}:"
    return f"Parts of the {what} {name}, which has {len(attachment.parts)} parts:"


def _found_passages(attachment: Attachment) -> str:
    """Return the passages, each with its page and the heading above it."""
    pieces = []
    for index, place in enumerate(attachment.places):
        where = [f"page {place.page}"] if place.page else []
        where += [f"under the heading: {place.heading}"] if place.heading else []
        mark = ", ".join([f"passage {index + 1}", *where])
        pieces.append(f"[{mark}]\n{attachment.part(index).strip()}")
    return "\n\n".join(pieces)


def _parts(attachment: Attachment) -> str:
    """Return the sent parts; neighbours are joined without their overlap, and gaps are marked."""
    pieces = []
    for run in runs(attachment.sent or ()):
        begin, end = attachment.parts[run[0]][0], attachment.parts[run[-1]][1]
        name = f"part {run[0] + 1}" if len(run) == 1 else f"parts {run[0] + 1} to {run[-1] + 1}"
        pieces.append(f"[{name}]\n{attachment.text[begin:end].strip()}")
    return "\n\n".join(pieces)


def runs(numbers: Iterable[int]) -> list[list[int]]:
    """Split ascending numbers into runs of neighbours: 1 2 3 7 gives [1 2 3] [7]."""
    consecutive: list[list[int]] = []
    for number in numbers:
        if consecutive and consecutive[-1][-1] == number - 1:
            consecutive[-1].append(number)
        else:
            consecutive.append([number])
    return consecutive
