"""Numbers of an answer: tokens as clients count them, and llama.cpp's `timings`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.protocol.events import Statistics
from engine.protocol.requests import StopReason

FINISH: dict[StopReason, str] = {
    "end": "stop", "stop": "stop", "length": "length", "context": "length", "tool_calls": "tool_calls",
}  # fmt: skip


def usage(answers: Sequence[Statistics]) -> dict[str, Any]:
    """Return OpenAI's `usage` of several answers together, with the details of the first."""
    prompt, written = sum(each.prompt_tokens for each in answers), sum(each.decode_tokens for each in answers)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": written,
        "total_tokens": prompt + written,
        "prompt_tokens_details": {"cached_tokens": answers[0].reused_tokens},
        "completion_tokens_details": {"reasoning_tokens": answers[0].thinking_tokens},
    }


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
