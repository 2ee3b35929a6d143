"""When a message was written, by which model and how fast, in words. Knows no Qt."""

from __future__ import annotations

from datetime import datetime

from app.library.chat import ChatMessage
from app.state.numbers import unpacked
from app.words import tr, tr_n


def facts_of(message: ChatMessage) -> list[str]:
    """Lines for the tool tip and the menu of the message."""
    lines = [f"{datetime.fromtimestamp(message.created_at):%Y-%m-%d %H:%M}"]
    if message.model:
        lines.append(message.model)
    numbers = unpacked(message.statistics)
    if numbers is None:
        return lines
    tokens = tr_n("{n} token", "{n} tokens", numbers.decode_tokens)
    if numbers.decode_seconds > 0 and numbers.decode_tokens > 1:
        speed = numbers.decode_tokens / numbers.decode_seconds
        seconds = f"{numbers.decode_seconds:.1f}"
        lines.append(
            tr("{tokens} in {seconds} s, {speed} tok/s", tokens=tokens, seconds=seconds, speed=f"{speed:,.0f}")
        )
    else:
        lines.append(tokens)
    read = tr_n("{n} token", "{n} tokens", numbers.prompt_tokens - numbers.reused_tokens)
    lines.append(
        tr("{tokens} of the prompt read, {known} from the cache", tokens=read, known=f"{numbers.reused_tokens:,}")
    )
    return lines
