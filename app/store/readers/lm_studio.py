"""LM Studio: one `*.conversation.json` for each chat in the folder `conversations`.

A message has versions, one of which is selected; what follows belongs to that one. An answer of several steps has its
text and its thoughts in them.
"""

from __future__ import annotations

import re
from typing import Any

from app.store.readers.neutral import ImportedConversation, Turn, items, part, seconds, text, thought

_SECONDS = re.compile(r"([\d.]{1,9}) seconds")


def conversation_of(raw: dict[str, Any], name: str) -> ImportedConversation:
    """Return the chat; `name` is the file's without folder and ending. Raises ValueError if it is none."""
    if not isinstance(raw.get("messages"), list) or not isinstance(raw.get("name", ""), str):
        raise ValueError("it has no messages")
    turns: list[Turn] = []
    before: str | None = None
    for number, message in enumerate(items(raw, "messages")):
        versions = items(message, "versions")
        chosen = message.get("currentlySelected")
        for version, each in enumerate(versions):
            turns.append(_turn(f"{number}/{version}", before, each))
        if versions:
            before = f"{number}/{chosen if isinstance(chosen, int) and 0 <= chosen < len(versions) else 0}"
    created = seconds(raw.get("createdAt"))
    times = [seconds(raw.get(key)) for key in ("userLastMessagedAt", "assistantLastMessagedAt")]
    latest = max((time for time in times if time is not None), default=None)
    return ImportedConversation("lm-studio", f"lm-studio/{name}", text(raw, "name"), turns, created, latest, before)


def _turn(key: str, parent: str | None, raw: dict[str, Any]) -> Turn:
    took: list[float] = []
    pieces = [_words(raw)]
    for step in items(raw, "steps"):
        if step.get("type") != "contentBlock":
            continue
        style = part(step, "style")
        if style.get("type") == "thinking":
            pieces.append(thought(_words(step)))
            match = _SECONDS.search(text(style, "title"))
            took += [float(match[1])] if match and match[1].count(".") < 2 and match[1] != "." else []
        else:
            pieces.append(_words(step) + "\n\n")
    if items(raw, "steps"):
        pieces.pop(0)  # some versions repeat the steps' text there
    model = text(part(raw, "senderInfo"), "senderName")
    return Turn(
        key, parent, text(raw, "role"), "".join(pieces), None, model, thought_seconds=sum(took) if took else None
    )


def _words(raw: dict[str, Any]) -> str:
    """Return the text of a version or step; files are named."""
    pieces = []
    for each in items(raw, "content"):
        if each.get("type") == "text" and not each.get("isStructural"):
            pieces.append(text(each, "text"))
        elif each.get("type") == "file":
            pieces.append(f"[{text(each, 'fileIdentifier')}]")
    return "\n\n".join(filter(None, pieces))
