"""A chat as any program has it, and the way from there to ours. Knows neither files nor programs."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, cast

import msgspec

from app.attachments.attachment import Attachment, clean_name
from app.store.chat import UNTITLED, Chat, ChatMessage, Ending, storable, title_of
from app.store.formats import SPACE, line, moment

Program = Literal[
    "chickadee", "chatgpt", "claude", "gpt4all", "jan", "lm-studio", "open-webui", "ollama", "llama.cpp"
]  # fmt: skip
MILLISECONDS_FROM = 1e11  # as seconds, this is the year 5138; so larger numbers are milliseconds


@dataclass(frozen=True, slots=True)
class ProgramFacts:
    """A program whose chats can be imported.

    `kept`: it keeps chats on this computer, where they are found (`places.py`); `exports`: the user exports them to a
    file. `endings` are those of files that the user can choose.
    """

    name: str
    endings: tuple[str, ...]
    kept: bool = False
    exports: bool = False


PROGRAMS: dict[Program, ProgramFacts] = {
    "chickadee": ProgramFacts("Chickadee", (".json",)),
    "chatgpt": ProgramFacts("ChatGPT", (".json", ".zip"), exports=True),
    "claude": ProgramFacts("Claude", (".json", ".zip"), exports=True),
    "gpt4all": ProgramFacts("GPT4All", (".chat",), kept=True),
    "jan": ProgramFacts("Jan", (".json",), kept=True),
    "lm-studio": ProgramFacts("LM Studio", (".json",), kept=True),
    "open-webui": ProgramFacts("Open WebUI", (".json", ".db"), kept=True, exports=True),
    "ollama": ProgramFacts("Ollama", (".sqlite",), kept=True),
    "llama.cpp": ProgramFacts("llama.cpp", (".json",), exports=True),
}
ENDINGS = sorted({ending for program in PROGRAMS.values() for ending in program.endings})


class Turn(msgspec.Struct):
    """One message of a ImportedConversation.

    One without text, or of another role than "user" and "assistant", is left out: its children follow `parent`.

    Attributes:
        key: unique in the conversation; `parent` is the key of the message before, None for a first one.
        time: Unix seconds; None takes the chat's.
        thought_seconds: how long the model thought, as in ChatMessage.
        attachments: files of a user's message.
    """

    key: str
    parent: str | None
    role: str
    text: str
    time: float | None = None
    model: str = ""
    ending: Ending = "end"
    thought_seconds: float | None = None
    attachments: tuple[Attachment, ...] = ()


class ImportedConversation(msgspec.Struct):
    """A chat of another program.

    Attributes:
        id: unique among the chats of all programs, and the same whenever the chat is read.
        created: Unix seconds, like `updated`; None if nobody knows.
        current: key of the last message of the shown branch; None for the last of `turns`.
    """

    program: Program
    id: str
    title: str
    turns: list[Turn]
    created: float | None = None
    updated: float | None = None
    current: str | None = None


def seconds(value: object) -> float | None:
    """Return a time as Unix seconds: from seconds, milliseconds, or text as in ISO 8601; None if it is no time."""
    if isinstance(value, str):
        try:
            time = datetime.fromisoformat(value.strip())
            return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError, OSError):
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    epoch = moment(value / 1000 if value > MILLISECONDS_FROM else value, -1.0)
    return None if epoch < 0 else epoch


def chat_of(conversation: ImportedConversation, now: float) -> tuple[Chat, list[ChatMessage]] | None:
    """Return our chat and its messages, parents first; None if there are no messages.

    Ids are derived from theirs, so that importing again makes no duplicates.
    """
    started_at = now if conversation.created is None else conversation.created
    chat_id = uuid.uuid5(SPACE, storable(conversation.id)).hex
    messages: list[ChatMessage] = []
    message_of: dict[str, str | None] = {}  # by a turn's key: the id of the message there or last before
    for turn in _from_the_top(conversation.turns):
        above = message_of.get(turn.parent) if turn.parent is not None else None
        message = _message(chat_id, above, turn, started_at)
        message_of[turn.key] = message.id if message else above
        if message:
            messages.append(message)
    if not messages:
        return None
    questions = [message for message in messages if message.role == "user"]
    named = (message.content or message.attachments[0].name for message in questions)
    first = next(named, UNTITLED)
    title = line(conversation.title) or title_of(first)
    leaf = message_of.get(conversation.current or "") or messages[-1].id
    latest = max(message.created_at for message in messages)
    updated = latest if conversation.updated is None else conversation.updated
    return Chat(title, chat_id, started_at, updated, leaf), messages


def thought(text: str) -> str:
    """Return a thought as our answers contain it, with a blank line for what follows; "" for a blank one."""
    return f"<think>\n{text.strip()}\n</think>\n\n" if text.strip() else ""


def attached(name: str, words: str) -> Attachment:
    """Return a file of a message, of which the other program kept the text."""
    words = storable(words).strip("\n")
    return Attachment(clean_name(name), "text", len(words.encode()), words, ((0, len(words)),))


def object_of(raw: bytes) -> dict[str, Any]:
    """Return the JSON object in the bytes; raise ValueError if there is none."""
    try:
        value = json.loads(raw)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("it is no object")
    return value


def part(raw: object, name: str) -> dict[str, Any]:
    """Return an object's member that is an object; empty if there is none."""
    value = raw.get(name) if isinstance(raw, dict) else None
    return value if isinstance(value, dict) else {}


def text(raw: object, name: str) -> str:
    """Return an object's member that is text; "" if there is none."""
    value = raw.get(name) if isinstance(raw, dict) else None
    return value if isinstance(value, str) else ""


def items(raw: object, name: str) -> list[dict[str, Any]]:
    """Return the objects in an object's member that is a list."""
    value = raw.get(name) if isinstance(raw, dict) else None
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _message(chat_id: str, parent: str | None, turn: Turn, started_at: float) -> ChatMessage | None:
    content = storable(turn.text).strip()
    is_answer = turn.role == "assistant"
    files = () if is_answer else turn.attachments
    if turn.role not in ("user", "assistant") or not (content or files):
        return None
    return ChatMessage(
        chat_id,
        parent,
        cast(Literal["user", "assistant"], turn.role),
        content,
        uuid.uuid5(SPACE, storable(f"{chat_id}/{turn.key}")).hex,
        started_at if turn.time is None else turn.time,
        turn.ending if is_answer else "end",
        model=line(turn.model) if is_answer else "",
        thought_seconds=turn.thought_seconds if is_answer else None,
        attachments=files,
    )


def _from_the_top(turns: list[Turn]) -> Iterator[Turn]:
    """Yield the turns, parents before children and siblings by time; those in rings are left out."""
    by_key = {turn.key: turn for turn in turns}
    children: dict[str | None, list[Turn]] = {}
    for turn in by_key.values():
        children.setdefault(turn.parent if turn.parent in by_key else None, []).append(turn)
    for siblings in children.values():
        siblings.sort(key=lambda turn: turn.time or 0.0)
    waiting = children.get(None, [])[::-1]
    while waiting:
        turn = waiting.pop()
        yield turn
        waiting += children.get(turn.key, [])[::-1]
