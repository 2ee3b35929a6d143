"""What is said above the choices where files do not fit beside the chat."""

from __future__ import annotations

from app.attachments.fitting import HEADING
from app.state.draft import MessageDraft
from app.words import tr, tr_n


def question_of(draft: MessageDraft) -> str:
    """The sentence above the choices, or what was chosen; empty where all fits."""
    if draft.no_room:
        return tr("This chat has no room for files. Start a new chat with them, or remove them.")
    if draft.fit == "too_much":
        room = max(0, draft.room - HEADING * len(draft.items))  # the chips count the text alone
        return tr_n(
            "The file has {tokens} tokens; this chat has room for {room}.",
            "The {n} files have {tokens} tokens; this chat has room for {room}.",
            len(draft.items),
            tokens=f"{draft.tokens or 0:,}",
            room=f"{room:,}",
        )
    if draft.fit == "best":
        return tr("The parts that match your question best will be sent.")
    if draft.fit == "beginning":
        return tr("The beginning will be sent, as much of it as fits.")
    return ""
