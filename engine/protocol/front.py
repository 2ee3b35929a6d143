"""Messages between the window and the front of its local API, in addition to the engine's requests and events.

The front sends the engine's requests to the window and gets the engine's events from it. These messages have no
version field, which tells them apart.
"""

from __future__ import annotations

import time

import msgspec

from common.sentences import Sentence
from engine.protocol.events import ModelInfo
from engine.protocol.requests import Generate


class Configure(msgspec.Struct, tag="configure", frozen=True):
    """Options of the front, to it. `host` and `port` count only in the first of these messages.

    `key`: what clients must send; empty if they need none. `default`: a Generate with the options that clients leave
    open. `model`: the loaded model, None while there is none. `store`: whether chats are kept on disk unless a request
    says otherwise.
    """

    host: str
    port: int
    key: str
    default: Generate
    model: ModelInfo | None = None
    store: bool = False


class Serving(msgspec.Struct, tag="serving", frozen=True):
    """News from the front: it answers at `address`."""

    address: str


class Refused(msgspec.Struct, tag="refused", frozen=True):
    """News from the front: it cannot listen, and ends."""

    sentence: Sentence


class Served(msgspec.Struct, tag="served"):
    """News from the front: a request has begun or, with a `status`, ended. It has nothing of the request's contents.

    `number`: names the request. `client`: the name that the program gives itself. `begun`: time as `time.time` has it.
    """

    number: int
    client: str
    method: str
    path: str
    begun: float = msgspec.field(default_factory=time.time)
    seconds: float = 0.0
    status: int = 0
    prompt_tokens: int = 0
    tokens: int = 0


FrontMessage = Configure | Serving | Refused | Served


def encode_front(message: FrontMessage) -> bytes:
    """Return the message as one line of JSON, newline included."""
    return msgspec.json.encode(message) + b"\n"


def decode_front(line: bytes) -> FrontMessage | None:
    """Return the message of a line; None if the line is a request or an event of the engine."""
    try:
        message: FrontMessage = msgspec.json.decode(line, type=FrontMessage)
        return message
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
