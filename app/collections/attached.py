"""What was found in collections, as attachments of the question: stored with it, and read by the model before it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.attachments.attachment import Attachment, Place, clean_name
from app.collections.messages import Answer, FoundFile

BETWEEN = "\n\n"


def attachments_of(answer: Answer, names: Sequence[str]) -> tuple[Attachment, ...]:
    """Return the found files; if there are none, an entry that says so with the collections' names."""
    if not answer.files:
        return (Attachment(", ".join(names), "nothing", 0, "", sent=()),)
    return tuple(_attachment(file) for file in answer.files)


def _attachment(file: FoundFile) -> Attachment:
    name = clean_name(Path(file.path).name)
    if file.whole:
        return Attachment(name, file.kind, file.size, file.passages[0].text, path=file.path)
    parts, at = [], 0
    for passage in file.passages:
        parts.append((at, at + len(passage.text)))
        at += len(passage.text) + len(BETWEEN)
    places = tuple(Place(each.begin, each.end, clean_heading(each.heading), each.page) for each in file.passages)
    text = BETWEEN.join(passage.text for passage in file.passages)
    return Attachment(name, file.kind, file.size, text, tuple(parts), path=file.path, places=places)


def clean_heading(heading: str) -> str:
    """Return a heading as one line; a file's text is a stranger's."""
    return clean_name(heading) if heading else ""
