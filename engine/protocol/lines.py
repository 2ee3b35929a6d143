"""Messages as lines of JSON: `{"v": 1, "type": "generate", "id": 7, ...}`.

New fields get defaults, and new messages get new types. VERSION changes only when an old message changes its meaning.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from typing import Any, BinaryIO, TypeVar

import msgspec

from common.sentences import Sentence
from engine.protocol.events import ENDS, Event, Failed
from engine.protocol.requests import Request

log = logging.getLogger("engine.protocol")
VERSION = 1
MAX_LINE = 64 << 20  # bytes; a longer line is no message of ours


class ProtocolError(Exception):
    """Error for a line that is no message.

    `id`: the id of its request, 0 if unknown. `kind`: what is wrong, for the log; the sentence may quote the line.
    `type`: the line's own word for what it is, "" if it has none.
    """

    def __init__(self, sentence: str, id: int = 0, kind: str = "no JSON object", type: str = "") -> None:
        super().__init__(sentence)
        self.id, self.kind, self.type = id, kind, type


def claim_stdout() -> BinaryIO:
    """Return the real stdout for messages, and redirect file descriptor 1 to stderr for all other output."""
    sys.stdout.flush()
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return output


def type_name(cls: type) -> str:
    """Return the `type` field of a message class, in snake case."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()


REQUESTS: dict[str, type[Request]] = {type_name(cls): cls for cls in Request.__args__}
EVENTS: dict[str, type[Event]] = {type_name(cls): cls for cls in Event.__args__}
END_NAMES = {type_name(end) for end in ENDS}
T = TypeVar("T")


def encode(message: Request | Event) -> bytes:
    """Return the message as one line of JSON, newline included."""
    envelope = {"v": VERSION, "type": type_name(type(message))}
    return msgspec.json.encode(envelope | msgspec.to_builtins(message)) + b"\n"


def decode_request(line: bytes) -> Request:
    """Parse a line with a request. Raises ProtocolError."""
    return _decode(line, REQUESTS)


def decode_event(line: bytes) -> Event:
    """Parse a line with an event. Raises ProtocolError."""
    return _decode(line, EVENTS)


def event_of(line: bytes) -> Event | None:
    """Return the event of a line from another process; None, with an entry in the log, if it is none.

    A line that says that it ends a request ends that request even if the rest of the line is not understood.
    """
    try:
        return decode_event(line)
    except ProtocolError as error:
        log.warning("a line of %d bytes from the engine was ignored: %s", len(line), error.kind)
        if error.id and error.type in END_NAMES:
            return Failed(error.id, Sentence.of("protocol.unknown"), str(error))
        return None


def _decode(line: bytes, types: dict[str, type[T]]) -> T:
    try:
        fields: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(f"a message must be one line of JSON: {error}") from error
    if not isinstance(fields, dict):
        raise ProtocolError("a message must be a JSON object")
    id = fields.get("id")
    id = id if type(id) is int else 0  # `type` and not isinstance, because True is an int, too
    if fields.get("v") != VERSION:
        raise ProtocolError(
            f"this engine speaks protocol version {VERSION}, the message says {fields.get('v')!r:.80}",
            id,
            "another version",
            str(fields.get("type")),
        )
    name = fields.get("type")
    cls = types.get(name) if isinstance(name, str) else None
    if cls is None:
        raise ProtocolError(f"there is no message of type {name!r:.80}", id, "an unknown type")
    try:
        return msgspec.convert(fields, cls)
    except msgspec.ValidationError as error:
        raise ProtocolError(f"{name}: {error}", id, f"wrong values in a {name}", str(name)) from error
