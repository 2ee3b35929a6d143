"""What is said above the choices where files do not fit beside the chat."""

from __future__ import annotations

from app.attachments.fitting import HEADING
from app.open_chats.unsent import Unsent
from app.words import tr, tr_n


def question_of(unsent: Unsent) -> str:
    """The sentence above the choices, or what was chosen; empty where all fits."""
    if unsent.no_room:
        return tr("This chat has no room for files. Start a new chat with them, or remove them.")
    if unsent.fit == "too_much":
        room = max(0, unsent.room - HEADING * len(unsent.items))  # the chips count the text alone
        return tr_n(
            "The file has {tokens} tokens; this chat has room for {room}.",
            "The {n} files have {tokens} tokens; this chat has room for {room}.",
            len(unsent.items),
            tokens=f"{unsent.tokens or 0:,}",
            room=f"{room:,}",
        )
    if unsent.fit == "best":
        return tr("The parts that match your question best will be sent.")
    if unsent.fit == "beginning":
        return tr("The beginning will be sent, as much of it as fits.")
    return ""
