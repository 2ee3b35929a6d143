"""Chats and messages as plain values; storage and windows live elsewhere."""

from __future__ import annotations

import re
import time
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from app.attachments.attachment import Attachment
from app.words import mark

Speaker = Literal["user", "assistant"]
# What an answer ended with; None while it is written, or for ever if the window was killed meanwhile.
Ending = Literal["end", "stop", "length", "context", "cancelled", "engine", "failed"]
GROUPS = (mark("Today"), mark("Yesterday"), mark("Last 7 days"), mark("Older"))
UNTITLED = "New chat"
TITLE_LENGTH = 64


def new_id() -> str:
    return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One stored turn. `problem` says why the answer failed (`common.sentences.stored`), `detail` is for the curious.

    `attachments` are a user message's files; `sources` is JSON of app.state.answer_facts.Source: which parts of them an
    answer is from, where it was not the whole files. `deleted_at` is a Unix time; None while the message is there.
    `thought_seconds`: how long the model thought before it answered; None where it did not, or nobody measured it."""

    chat_id: str
    parent_id: str | None
    role: Speaker
    content: str
    id: str = field(default_factory=new_id)
    created_at: float = field(default_factory=time.time)
    stop_reason: Ending | None = None
    problem: str = ""
    detail: str = ""
    model: str = ""
    statistics: str = ""
    sources: str = ""
    deleted_at: float | None = None
    thought_seconds: float | None = None
    attachments: tuple[Attachment, ...] = ()

    @property
    def unfinished(self) -> bool:
        """Is it the beginning of an answer that could be continued?"""
        return self.role == "assistant" and bool(self.content) and self.stop_reason not in ("end", "stop")


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat's entry in the list. `leaf_id` is the last message of the branch that is shown; times are Unix seconds.

    `forget_turns`: so many of the oldest turns are left out of what the model reads, because the context was full.
    `options`: JSON of app.settings.resolve.ChatOptions, what this chat has other than the settings.
    `chosen`: JSON of app.store.tree.Tree.chosen, which branches were looked at last.
    `pinned_at`: when it was pinned above the others; `folder_id`: the folder it lies in.
    """

    title: str = UNTITLED
    id: str = field(default_factory=new_id)
    created_at: float = field(default_factory=time.time)
    updated_at: float = field(default_factory=time.time)
    leaf_id: str | None = None
    forget_turns: int = 0
    options: str = ""
    chosen: str = ""
    pinned_at: float | None = None
    folder_id: str | None = None


@dataclass(frozen=True, slots=True)
class Folder:
    """A heading of the user's own in the list; `folded` hides its chats."""

    name: str
    id: str = field(default_factory=new_id)
    created_at: float = field(default_factory=time.time)
    folded: bool = False


def cleaned(text: str) -> str:
    """A message without blanks around it. A lone surrogate (half an emoji pasted) can be neither stored nor sent."""
    return text.encode("utf-8", "replace").decode().strip()


def title_of(text: str) -> str:
    """A chat's title from its first message: the first line with words in it, cut at a word."""
    words = re.sub(r"[`*#>_]+", "", text).split("\n")
    line = next((" ".join(line.split()) for line in words if line.strip()), UNTITLED)
    if len(line) <= TITLE_LENGTH:
        return line
    cut = line[:TITLE_LENGTH]
    return (cut.rsplit(" ", 1)[0] if " " in cut[TITLE_LENGTH // 2 :] else cut) + "…"


def days_of(now: float) -> tuple[float, float, float]:
    """The Unix times at which the days of the first of GROUPS begin, by the local calendar."""
    today = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    one, week = timedelta(days=1), timedelta(days=6)
    return today.timestamp(), (today - one).timestamp(), (today - week).timestamp()


def group_of(moment: float, days: tuple[float, float, float]) -> str:
    """Which of GROUPS a chat of Unix time `moment` belongs to; `days` as `days_of` gives them."""
    today, yesterday, week = days
    return GROUPS[(moment < today) + (moment < yesterday) + (moment < week)]
