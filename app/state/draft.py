"""Drafts: what the user has written and attached in a chat and not sent yet. Knows no Qt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from app.attachments.attachment import Attachment
from app.attachments.fitting import CountedFile
from app.store.chat import Chat
from engine.protocol.events import ModelInfo

Fit = Literal["all", "unknown", "too_much", "best", "beginning"]
CHOICES = ("options", "collections", "tools", "folder_id")  # of a chat that is not stored yet
LEAST_ROOM = 400  # tokens: a part and its heading


@dataclass(eq=False)
class DraftFile:
    """An attached file or web page; `attachment` is None while it is read, `tokens` until they are counted.

    `link`: the web page's address as the user wrote it; "" for a file. `stop`: ends the reading. `source`: the path or
    image from which it can be read again, None for a file that was read before a restart. `in_detail`: whether the
    picture has all its detail; `more_detail`: whether it can have it.
    """

    name: str
    attachment: Attachment | None = None
    tokens: int | None = None
    link: str = ""
    stop: Callable[[], object] = lambda: None
    source: object = None
    in_detail: bool = False
    more_detail: bool = False

    @property
    def address(self) -> str:
        """The web page's address; "" for a file."""
        return self.link or (self.attachment.address if self.attachment else "")


@dataclass(eq=False)
class Unsent:
    """A message that is not sent yet: its text and files.

    `fit` is whether the files fit into the context: `too_much` waits for the user's choice, `best` and `beginning` are
    choices. `room` is how many tokens of files fit. `model` is the one that counted the tokens.
    """

    text: str = ""
    items: list[DraftFile] = field(default_factory=list)
    fit: Fit = "unknown"
    room: int = 0
    model: ModelInfo | None = None

    @property
    def empty(self) -> bool:
        """Whether there is nothing to send."""
        return not (self.text.strip() or self.items)

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        return tuple(item.attachment for item in self.items if item.attachment)

    @property
    def unread(self) -> tuple[Path, ...]:
        """The files that are still being read: the next start reads them again if this one ends before."""
        return tuple(item.source for item in self.items if item.attachment is None and isinstance(item.source, Path))

    @property
    def no_room(self) -> bool:
        """Whether this chat has too little room left for even one part."""
        return self.fit == "too_much" and self.room < LEAST_ROOM

    @property
    def reading(self) -> bool:
        """Whether a file is still being read."""
        return any(item.attachment is None for item in self.items)

    @property
    def tokens(self) -> int | None:
        """Tokens of all files; None while one is not counted."""
        counts = [item.tokens for item in self.items]
        return None if None in counts else sum(count for count in counts if count is not None)

    @property
    def counted_files(self) -> list[CountedFile]:
        return [CountedFile(item.attachment, item.tokens or 0) for item in self.items if item.attachment]

    def certain_attachments(self) -> tuple[Attachment, ...]:
        """Return the files if they are certain to be sent whole, because they fit; else ()."""
        return self.attachments if self.fit == "all" and not self.reading else ()

    def files_to_count(self, model: ModelInfo) -> list[DraftFile]:
        """Return the files whose tokens are not counted; for another model than before, all that have been read."""
        if model is not self.model:
            self.model = model
            for item in self.items:
                item.tokens = None
        return [item for item in self.items if item.attachment and item.tokens is None]

    def drop(self, item: DraftFile) -> None:
        """Remove a file, or what is left of its reading."""
        item.stop()
        self.items.remove(item)
        self.fit = "unknown"

    def append(self, later: Unsent) -> None:
        """Move the text, as a paragraph of its own, and the files of a later message to the end of this one."""
        self.text = "\n\n".join(text for text in (self.text.rstrip(), later.text) if text.strip())
        self.items += later.items
        self.fit = "unknown"
        later.clear()

    def clear(self) -> None:
        """Empty the message, because it was sent or is part of another one now."""
        self.text, self.items, self.fit = "", [], "unknown"


@dataclass(eq=False)
class MessageDraft(Unsent):
    """The unsent content of one chat's composer, and `queued`: the message that waits for the answer under way.

    The CHOICES are values for a chat's entry that were chosen before the chat is stored; other chats have them there.
    """

    options: str = ""
    collections: str = ""
    tools: str = ""
    folder_id: str = ""
    queued: Unsent = field(default_factory=Unsent)

    @property
    def has_content(self) -> bool:
        return not (self.empty and self.queued.empty) or bool(self.choices)

    @property
    def choices(self) -> dict[str, str]:
        """Values that were chosen for the chat, by their names in its entry."""
        return {name: value for name in CHOICES if (value := getattr(self, name))}

    def choose(self, chat: Chat | None = None) -> None:
        """Take over what is chosen in the chat's entry; None chooses nothing."""
        for name in CHOICES:
            setattr(self, name, (getattr(chat, name) if chat else "") or "")

    def message_with(self, item: DraftFile) -> Unsent | None:
        """Return the message that has the file; None if the user has removed the file."""
        return next((message for message in (self, self.queued) if item in message.items), None)
