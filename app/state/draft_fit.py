"""Counts the tokens of an unsent message's files, and decides what of them fits beside the chat. Knows no Qt."""

from __future__ import annotations

from functools import partial

from app.attachments.attachment import Attachment
from app.attachments.fitting import (
    best_matching,
    from_the_beginning,
    room_beside_question,
    room_for_files,
    tokens_needed,
)
from app.events import Event
from app.state.conversation import Conversation
from app.state.draft import Unsent
from app.state.engine_queue import EngineQueue
from app.state.sight import picture_tokens
from engine.protocol.events import Counted

ASSUMED_CONTEXT = 16_384  # tokens, where a server does not tell: what most can read at least


class DraftFit:
    """The fit of files into the context; `decided` is emitted when a message's files have been counted."""

    def __init__(self, engine: EngineQueue) -> None:
        self._engine = engine
        self.decided: Event[Conversation, Unsent] = Event()

    def is_due(self, message: Unsent) -> bool:
        """Return whether files wait to be counted, and a model is there to count them."""
        return bool(message.items) and message.fit == "unknown" and self._engine.state.phase == "ready"

    def count(self, conversation: Conversation, message: Unsent) -> None:
        """Count the files that have no count yet, by the engine, then decide whether they fit.

        Files of which the engine cannot count the tokens are sent whole: the engine says if they are too long.
        """
        model = self._engine.state.model
        if model is None:
            return
        new = message.files_to_count(model)
        for item in new:
            if item.attachment and item.attachment.picture:
                item.tokens = picture_tokens(item.attachment.picture, model.vision) or 0
        new = [item for item in new if item.tokens is None]

        def counted(event: Counted | None) -> None:
            if event is not None:
                for item, tokens in zip(new, event.texts, strict=True):
                    item.tokens = tokens
                self._decide(message, event.prompt)
            elif message.fit == "unknown":
                message.fit = "all"
            self.decided.emit(conversation, message)

        if message.items and not message.reading:
            texts = tuple(item.attachment.text for item in new if item.attachment)
            self._engine.idle.count(texts, conversation, counted)

    def _decide(self, message: Unsent, history: int) -> None:
        model = self._engine.state.model
        if model is None or message.tokens is None:
            return
        message.room = room_for_files(model.n_ctx or ASSUMED_CONTEXT, history)
        if tokens_needed(message.counted_files) <= room_beside_question(message.room, message.text):
            message.fit = "all"
        elif message.fit not in ("best", "beginning"):
            message.fit = "too_much"


def selected_files(message: Unsent) -> tuple[Attachment, ...]:
    """Return the files with the parts that the user's choice sends. Takes up to a second, so call it in a thread."""
    if message.fit not in ("best", "beginning"):
        return message.attachments
    pictures = [file for file in message.counted_files if file.attachment.picture]
    files = [file for file in message.counted_files if not file.attachment.picture]
    room = room_beside_question(message.room, message.text) - tokens_needed(pictures)
    select = partial(best_matching, question=message.text) if message.fit == "best" else from_the_beginning
    return (*(file.attachment for file in pictures), *select(files, room=room))
