"""What was found in collections, as attachments of the question: stored with it, and read by the model before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from app.attachments.attachment import Attachment, Place, clean_name
from app.collections.messages import Answer, FoundFile, FoundPassage

BETWEEN = "\n\n"


def attachments_of(answer: Answer, names: Sequence[str], read: Sequence[str] = ()) -> tuple[Attachment, ...]:
    """Return the found files; if there are none, an entry that says so with the collections' names.

    Passages that are in the texts which the model has `read` in this chat are named with the answer, but not sent
    again: a follow-up question finds most of the same ones, and reading takes longest (docs/notes/collections.md).
    """
    if not answer.files:
        return (Attachment(", ".join(names), "nothing", 0, "", sent=()),)
    attachments: list[Attachment] = []
    for file in answer.files:
        old = tuple(each for each in file.passages if any(each.text.strip() in text for text in read))
        new = tuple(passage for passage in file.passages if passage not in old)
        attachments += [replace(_attachment(file, old), sent=())] if old else []
        attachments += [_attachment(file, new)] if new else []
    return tuple(attachments)


def _attachment(file: FoundFile, passages: Sequence[FoundPassage]) -> Attachment:
    name = clean_name(Path(file.path).name)
    if file.whole:
        return Attachment(name, file.kind, file.size, passages[0].text, path=file.path)
    parts, at = [], 0
    for passage in passages:
        parts.append((at, at + len(passage.text)))
        at += len(passage.text) + len(BETWEEN)
    places = tuple(Place(each.begin, each.end, clean_heading(each.heading), each.page) for each in passages)
    text = BETWEEN.join(passage.text for passage in passages)
    return Attachment(name, file.kind, file.size, text, tuple(parts), path=file.path, places=places)


def clean_heading(heading: str) -> str:
    """Return a heading as one line; a file's text is a stranger's."""
    return clean_name(heading) if heading else ""
