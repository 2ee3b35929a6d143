"""Calls of tools as messages store them: an answer has the calls that it made, a result the one that it is from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from app.store.chat import ChatMessage


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool. `id`: unique in its answer; `name`: the model's name of the tool; `arguments`: JSON as text.

    The others are a result's. `title`, `source_title`: what people read of the tool and its source; `summary`: a few
    words about the result; `seconds`: how long the call took, None if it did not run; `failed`: the result says why
    there is none; `cut`: the result was too long for the model and was cut.
    """

    id: str
    name: str
    arguments: str
    title: str = ""
    source_title: str = ""
    summary: str = ""
    seconds: float | None = None
    failed: bool = False
    cut: bool = False


def shown_text(message: ChatMessage) -> str:
    """Return a message's text as the window shows it: a result below the arguments of its call."""
    calls = calls_of(message) if message.role == "tool" else ()
    return "\n\n".join(filter(None, (*(call.arguments for call in calls), message.content)))


def encode_calls(calls: Iterable[Call]) -> str:
    """Return the calls as `ChatMessage.calls` stores them; "" if there are none."""
    listed = tuple(calls)
    return msgspec.json.encode(listed).decode() if listed else ""


def calls_of(message: ChatMessage) -> tuple[Call, ...]:
    """Return a message's calls; none if there are none or the text, from a damaged file, has another form."""
    try:
        return msgspec.json.decode(message.calls, type=tuple[Call, ...]) if message.calls else ()
    except (msgspec.DecodeError, msgspec.ValidationError):
        return ()
