"""Which parts of files an answer is from, where the files did not fit as a whole: stored with it, told below it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from app.attachments.attachment import Attachment, runs
from app.words import tr, tr_n


@dataclass(frozen=True, slots=True)
class Source:
    """`parts` count from 1, there are `total`; `pages` are those that the parts lie on, empty for a file without."""

    name: str
    parts: tuple[int, ...]
    total: int
    pages: tuple[int, ...] = ()


def sources_of(attachments: Iterable[Attachment]) -> str:
    """JSON of what is sent in parts, empty where everything is sent as a whole."""
    sources = [_source(attachment) for attachment in attachments if attachment.sent is not None]
    return msgspec.json.encode(sources).decode() if sources else ""


def sources_line(packed: str) -> str:
    """The footer: `From report.pdf: parts 3, 7, 12 of 40 (pages 4–5)`, a line for each file."""
    if not packed:
        return ""
    try:
        sources = msgspec.json.decode(packed, type=list[Source])
    except msgspec.DecodeError:  # from a damaged file
        return ""
    return "\n".join(map(_line, sources))


def _line(source: Source) -> str:
    if not source.parts:
        return tr("Nothing from {name} was sent.", name=source.name)
    line = tr_n(
        "From {name}: part {parts} of {total}",
        "From {name}: parts {parts} of {total}",
        len(source.parts),
        name=source.name,
        parts=_listed(source.parts),
        total=f"{source.total:,}",
    )
    if not source.pages:
        return line
    return line + tr_n(" (page {pages})", " (pages {pages})", len(source.pages), pages=_listed(source.pages))


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs(numbers))


def _source(attachment: Attachment) -> Source:
    spans = [attachment.pages_of(index) for index in attachment.sent or ()]
    pages = {page for span in spans if span for page in range(span[0], span[1] + 1)}
    parts = tuple(index + 1 for index in attachment.sent or ())
    return Source(attachment.name, parts, len(attachment.parts), tuple(sorted(pages)))
