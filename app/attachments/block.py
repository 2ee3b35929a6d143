"""An attachment as the model reads it: a plain block before the question. The same attachment always gives the same."""

from __future__ import annotations

import re
from collections.abc import Iterable

from app.attachments.attachment import Attachment


def with_attachments(attachments: Iterable[Attachment], question: str) -> str:
    """A user's message as the model sees it."""
    blocks = [block_of(attachment) for attachment in attachments if attachment.sent != ()]
    return "\n\n".join([*blocks, question] if question else blocks)


def block_of(attachment: Attachment) -> str:
    """The name, and the text in a fence that it cannot close: longer than any row of backticks in it."""
    text = attachment.text.strip("\n") if attachment.sent is None else _parts(attachment)
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{_heading(attachment)}\n{fence}\n{text}\n{fence}"


def _heading(attachment: Attachment) -> str:
    name = attachment.name.replace('"', "'")
    if attachment.sent is None:
        return f'File "{name}":'
    return f'Parts of the file "{name}", which has {len(attachment.parts)} parts:'


def _parts(attachment: Attachment) -> str:
    """Neighbours are joined without their overlap; gaps are marked."""
    pieces = []
    for run in runs(attachment.sent or ()):
        begin, end = attachment.parts[run[0]][0], attachment.parts[run[-1]][1]
        name = f"part {run[0] + 1}" if len(run) == 1 else f"parts {run[0] + 1} to {run[-1] + 1}"
        pieces.append(f"[{name}]\n{attachment.text[begin:end].strip()}")
    return "\n\n".join(pieces)


def runs(numbers: Iterable[int]) -> list[list[int]]:
    """Ascending numbers as runs of neighbours: 1 2 3 7 gives [1 2 3] [7]."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][-1] == number - 1:
            found[-1].append(number)
        else:
            found.append([number])
    return found
