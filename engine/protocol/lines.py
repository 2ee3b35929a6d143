"""Messages as lines of JSON: `{"v": 1, "type": "generate", "id": 7, ...}`.

New fields get defaults and new messages new types: VERSION changes only when an old message means something else.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any, BinaryIO, TypeVar

import msgspec

from engine.protocol.events import Event
from engine.protocol.requests import Request

VERSION = 1


class ProtocolError(Exception):
    """A line that is no message; `id` is the request it came from, 0 if that cannot be told."""

    def __init__(self, sentence: str, id: int = 0) -> None:
        super().__init__(sentence)
        self.id = id


def claim_stdout() -> BinaryIO:
    """The real stdout for messages alone; file descriptor 1 becomes stderr for everyone else who prints."""
    sys.stdout.flush()
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return output


def type_name(cls: type) -> str:
    """A message's type as it stands in its line."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()


REQUESTS: dict[str, type[Request]] = {type_name(cls): cls for cls in Request.__args__}
EVENTS: dict[str, type[Event]] = {type_name(cls): cls for cls in Event.__args__}
T = TypeVar("T")


def encode(message: Request | Event) -> bytes:
    """The message as one line, newline included."""
    envelope = {"v": VERSION, "type": type_name(type(message))}
    return msgspec.json.encode(envelope | msgspec.to_builtins(message)) + b"\n"


def decode_request(line: bytes) -> Request:
    """Raises ProtocolError."""
    return _decode(line, REQUESTS)


def decode_event(line: bytes) -> Event:
    """Raises ProtocolError."""
    return _decode(line, EVENTS)


def _decode(line: bytes, types: dict[str, type[T]]) -> T:
    try:
        fields: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(f"a message must be one line of JSON: {error}") from error
    if not isinstance(fields, dict):
        raise ProtocolError("a message must be a JSON object")
    id = fields.get("id")
    id = id if type(id) is int else 0  # not True, which is one too
    if fields.get("v") != VERSION:
        raise ProtocolError(
            f"this engine speaks protocol version {VERSION}, the message says {fields.get('v')!r:.80}", id
        )
    cls = types.get(fields["type"]) if isinstance(fields.get("type"), str) else None
    if cls is None:
        raise ProtocolError(f"there is no message of type {fields.get('type')!r:.80}", id)
    try:
        return msgspec.convert(fields, cls)
    except msgspec.ValidationError as error:
        raise ProtocolError(f"{fields['type']}: {error}", id) from error
