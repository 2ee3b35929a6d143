"""Server-sent events: the form of streamed answers."""

from __future__ import annotations

from typing import Any

import msgspec

encoder = msgspec.json.Encoder()
DONE = b"data: [DONE]\n\n"  # ends OpenAI's streams
WAITING = b": waiting\n\n"  # a comment, which keeps the connection alive


def data(value: Any) -> bytes:
    """Return an event without a name."""
    return b"data: " + encoder.encode(value) + b"\n\n"


def event(value: dict[str, Any]) -> bytes:
    """Return an event whose name is the value's `type`."""
    name: str = value["type"]
    return b"event: " + name.encode() + b"\n" + data(value)
