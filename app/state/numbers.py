"""The statistics of an answer as they are stored with it, and put together when it was continued. Knows no Qt."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from engine.protocol import Statistics


def packed(statistics: Statistics) -> str:
    return msgspec.json.encode(statistics).decode()


def unpacked(text: str) -> Statistics | None:
    """None where there are none, or they come from a file that says something else."""
    try:
        return msgspec.json.decode(text, type=Statistics) if text else None
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None


def continued(before: Statistics | None, after: Statistics) -> Statistics:
    """Of the whole answer, when `after` is what was added to what `before` tells of."""
    if before is None:
        return after
    return replace(
        after,
        decode_tokens=before.decode_tokens + after.decode_tokens,
        decode_seconds=before.decode_seconds + after.decode_seconds,
        steps=before.steps + after.steps,
    )
