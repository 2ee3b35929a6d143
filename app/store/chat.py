"""Chats, messages and folders as plain values; storage and windows live elsewhere."""

from __future__ import annotations

import re
import time
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from app.attachments.attachment import Attachment
from app.words import mark
from common.reasoning import without_thoughts
from common.tool_marks import without_tool_marks

Speaker = Literal["user", "assistant", "tool"]
Ending = Literal["end", "stop", "length", "context", "cancelled", "tool_calls", "engine", "failed"]
COMPLETE: tuple[Ending, ...] = ("end", "stop", "tool_calls")  # ends of an answer that lacks nothing
GROUPS = (mark("Today"), mark("Yesterday"), mark("Last 7 days"), mark("Last 30 days"))
UNTITLED = "New chat"
TITLE_LENGTH = 64


def new_id() -> str:
    return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One stored message. One of the role tool is the result of a call: it follows the answer that made the call.

    Attributes:
        stop_reason: why an answer ended; None while it is written, and for ever if the window was killed meanwhile.
        problem: why the answer failed (`common.sentences.encode_sentence`); `detail` has technical details.
        sources: JSON of app.state.answer_facts.Source: the parts of files that an answer is from; "" for whole files.
        deleted_at: Unix time; None while the message is not deleted.
        thought_seconds: how long the model thought before it answered; None if it did not or nothing was measured.
        edited_at: when the user wrote this version of an answer; None for what a model wrote.
        attachments: files of a user's message, or what the call of a result has found in collections.
        summary: text that the model reads in place of this message and all above it; "" if it reads the messages.
        calls: JSON of app.store.calls.Call: an answer's calls of tools, or the one that a result is from.
    """

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
    edited_at: float | None = None
    summary: str = ""
    calls: str = ""
    attachments: tuple[Attachment, ...] = ()

    @property
    def text_to_copy(self) -> str:
        """The text that leaves the window when nothing else is chosen: an answer's goes without its thoughts."""
        return without_tool_marks(without_thoughts(self.content) if self.role == "assistant" else self.content)

    @property
    def unfinished(self) -> bool:
        """Whether this is the beginning of an answer that could be continued."""
        return self.role == "assistant" and bool(self.content) and self.stop_reason not in COMPLETE


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat's entry in the list; times are Unix seconds.

    Attributes:
        leaf_id: last message of the shown branch.
        forget_turns: how many of the oldest turns the model does not read, because the context was full.
        options: JSON of app.settings.resolve.ChatOptions: values that differ from the settings.
        chosen: JSON of app.store.tree.Tree.chosen: the branches that were shown last.
        pinned_at: when the chat was pinned above the others.
        folder_id: the folder that has the chat.
        model: name of the model that wrote the last answer, "" if none of ours did.
        model_path: that model's file, as `path_text` writes it; "" if it is unknown.
        unread_at: when an answer ended while another chat was open; None once the chat was opened.
        agreed: hosts of servers that the user lets read this chat, one a line. Behind a host may stand the digest of
            what the chat began with when the user was asked.
        collections: ids of the collections that are searched for this chat, one a line.
        tools: JSON of app.tools.choices.Choices: which tools the chat may use, and which of them without a question.
        title_from: who wrote the title: the user, or a model; "" for the first line, or if it is unknown.
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
    model: str = ""
    model_path: str = ""
    unread_at: float | None = None
    agreed: str = ""
    collections: str = ""
    title_from: Literal["", "user", "model"] = ""
    tools: str = ""


@dataclass(frozen=True, slots=True)
class Folder:
    """A heading of the user's own in the list of chats; a project if its chats begin with something of the folder's.

    Attributes:
        folded: whether its chats are hidden in the list.
        options: JSON of app.settings.resolve.ChatOptions, which its chats have unless they have their own.
        collections: ids of the collections that are searched for its chats, one a line.
        model: name of the model that is offered in its new chats, "" if any will do.
        model_path: that model's file, as `path_text` writes it; "" if it is unknown.
    """

    name: str
    id: str = field(default_factory=new_id)
    created_at: float = field(default_factory=time.time)
    folded: bool = False
    options: str = ""
    collections: str = ""
    model: str = ""
    model_path: str = ""


def storable(text: str) -> str:
    """Replace lone surrogates (half of a pasted emoji), which can be neither stored nor sent."""
    return text.encode("utf-8", "replace").decode()


_BLOCK_MARK = re.compile(r"^\s*(?:(?:>|[-*+]|#{1,6})(?=\s|$)\s*)+|^\s*(?:`{3,}|~{3,}|[-*_]{3,}\s*$).*")
_PAIRED_MARK = re.compile(r"(?<!\w)(\*{1,3}|_{1,3}|`+)(?=\S)(.+?)(?<=\S)\1(?!\w)")


def _without_marks(line: str) -> str:
    return _PAIRED_MARK.sub(r"\2", _BLOCK_MARK.sub("", line)).strip("`")


def title_of(text: str) -> str:
    """Return a chat's title: the first line with words of its first message, without marks of Markdown, cut at a word.

    Only marks are removed: a heading's, a quotation's or a list's at the beginning, and pairs around words. The signs
    of "C#", "snake_case" and "2 * 3" stay.
    """
    lines = (" ".join(_without_marks(line).split()) for line in text.split("\n"))
    line = next((line for line in lines if line), UNTITLED)
    if len(line) <= TITLE_LENGTH:
        return line
    cut = line[:TITLE_LENGTH]
    return (cut.rsplit(" ", 1)[0] if " " in cut[TITLE_LENGTH // 2 :] else cut) + "…"


def days_of(now: float) -> tuple[float, ...]:
    """Return the Unix times at which the days of the GROUPS begin, by the local calendar."""
    today = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    return tuple((today - timedelta(days=days)).timestamp() for days in (0, 1, 6, 29))


def group_of(moment: float, days: tuple[float, ...]) -> str:
    """Return the group of a chat of Unix time `moment`: one of GROUPS, else its month as 2026-11.

    `days` is from `days_of`.
    """
    later = (group for group, begin in zip(GROUPS, days, strict=True) if moment >= begin)
    return next(later, None) or f"{datetime.fromtimestamp(moment):%Y-%m}"
