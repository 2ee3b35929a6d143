"""A chat as Markdown to read: the branch that is shown, who said what and when. Knows no files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from app.library.chat import Chat, ChatMessage
from app.library.tree import Tree, chosen_from
from app.words import tr

_UNSAFE = re.compile(r'[\x00-\x1f<>:"/\\|?*\x7f]+')
_DEVICE = re.compile(r"CON|PRN|AUX|NUL|COM\d|LPT\d", re.IGNORECASE)  # Windows writes to these
LONGEST_NAME = 80


def markdown_of(chat: Chat, messages: Iterable[ChatMessage]) -> str:
    branch = Tree(messages, chat.leaf_id, chosen_from(chat.chosen)).branch()
    pieces = [f"# {_line(chat.title)}", *map(_turn, branch)]
    return "\n\n".join(pieces) + "\n"


def file_name(title: str) -> str:
    """A name for a file that every system takes, without an ending."""
    name = _UNSAFE.sub(" ", title)
    name = " ".join(name.split())[:LONGEST_NAME].strip(" .")
    return f"_{name}" if _DEVICE.fullmatch(name.split(".")[0]) else name or "chat"


def _turn(message: ChatMessage) -> str:
    who = tr("You") if message.role == "user" else message.model or tr("EngineQueue")
    moment = datetime.fromtimestamp(message.created_at).strftime("%Y-%m-%d %H:%M")
    pieces = [f"## {_line(who)} · {moment}"]
    pieces += [tr("*Attached: {name}*", name=_line(file.name)) for file in message.attachments]
    pieces += [message.content] if message.content else []
    pieces += [f"*{_line(message.problem)}*"] if message.problem else []
    return "\n\n".join(pieces)


def _line(text: str) -> str:
    """One line in which nothing is markup."""
    return re.sub(r"([\\`*_\[\]<>#])", r"\\\1", " ".join(text.split()))
