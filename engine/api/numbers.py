"""Numbers of an answer: tokens as clients count them, and llama.cpp's `timings`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.protocol.events import Statistics
from engine.protocol.requests import StopReason

FINISH: dict[StopReason, str] = {
    "end": "stop", "stop": "stop", "length": "length", "context": "length", "tool_calls": "tool_calls",
}  # fmt: skip


def usage(numbers: Statistics) -> dict[str, Any]:
    """Return OpenAI's `usage`."""
    return {
        "prompt_tokens": numbers.prompt_tokens,
        "completion_tokens": numbers.decode_tokens,
        "total_tokens": numbers.prompt_tokens + numbers.decode_tokens,
        "prompt_tokens_details": {"cached_tokens": numbers.reused_tokens},
        "completion_tokens_details": {"reasoning_tokens": numbers.thinking_tokens},
    }


def total(ends: Sequence[Statistics]) -> dict[str, Any]:
    """Return the `usage` of several answers together, with the details of the first."""
    whole = usage(ends[0])
    for name in ("prompt_tokens", "completion_tokens", "total_tokens"):
        whole[name] = sum(usage(end)[name] for end in ends)
    return whole


def timings(numbers: Statistics) -> dict[str, Any]:
    """Return the `timings` of llama.cpp's server."""
    times: dict[str, Any] = {"cache_n": numbers.reused_tokens}
    for name, count, seconds in (
        ("prompt", numbers.read_tokens, numbers.prompt_seconds),
        ("predicted", numbers.decode_tokens, numbers.decode_seconds),
    ):
        times |= {
            f"{name}_n": count,
            f"{name}_ms": seconds * 1000,
            f"{name}_per_token_ms": seconds * 1000 / count if count else 0.0,
            f"{name}_per_second": count / seconds if seconds > 0 else 0.0,
        }
    if numbers.drafted:
        times |= {"draft_n": numbers.drafted, "draft_n_accepted": numbers.accepted}
    return times
