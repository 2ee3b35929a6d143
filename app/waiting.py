"""What the composer's top line says while the user waits. Knows no Qt."""

from __future__ import annotations

from app.conversation import Conversation
from app.standing import Standing

SHORT_PROMPT = 256


def waiting_line(standing: Standing, conversation: Conversation) -> tuple[str, float | None]:
    """The sentence, and how full the bar is (0 to 1; None: no bar)."""
    reading = conversation.reading
    if (
        conversation.phase == "reading"
        and reading
        and reading.total - reading.done > 0
        and reading.total > SHORT_PROMPT
    ):
        left = f" · {duration(reading.seconds_left)} left" if reading.seconds_left is not None else ""
        return f"Reading {reading.done:,} of {reading.total:,} tokens{left}", reading.done / reading.total
    if standing.phase in ("starting", "loading"):
        tail = ", your message is answered next" if conversation.phase == "waiting" else ""
        name = standing.path.stem if standing.path else "the model"
        return f"Loading {name}{tail}", standing.fraction
    ahead = standing.ahead
    if ahead and ahead.chat == conversation.chat.id and not conversation.busy:
        if ahead.total - ahead.reused > SHORT_PROMPT:
            return "Reading this chat again…", ahead.done / ahead.total
        return "", None
    if conversation.phase == "waiting":
        if standing.phase == "ready":
            return "Another chat is being answered, this one is next", None
        return "Your message is kept and answered as soon as a model is loaded", None
    return "", None


def duration(seconds: float) -> str:
    whole = max(1, round(seconds))
    return f"{whole} s" if whole < 90 else f"{round(whole / 60)} min"
