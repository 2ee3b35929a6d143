"""What the composer's top line says while the user waits. Knows no Qt."""

from __future__ import annotations

from app.state.conversation import Conversation
from app.state.engine_state import EngineState
from app.words import mark, tr
from models.titles import title_of

SHORT_PROMPT = 256
LOADING = mark("Loading {model}")
LOADING_FIRST = mark("Loading {model}, then answering your message")


def waiting_line(engine: EngineState, conversation: Conversation) -> tuple[str, float | None]:
    """The sentence, and how full the bar is (0 to 1; None: no bar)."""
    reading = conversation.reading
    if (
        conversation.phase == "reading"
        and reading
        and reading.total - reading.done > 0
        and reading.total > SHORT_PROMPT
    ):
        line = tr("Reading {done:,} of {total:,} tokens", done=reading.done, total=reading.total)
        if reading.seconds_left is not None:
            line = tr("{line} · {time} left", line=line, time=duration(reading.seconds_left))
        return line, reading.done / reading.total
    if engine.phase in ("starting", "loading"):
        name = title_of(engine.path) if engine.path else tr("the model")
        said = LOADING_FIRST if conversation.phase == "waiting" else LOADING
        return tr(said, model=name), engine.fraction
    ahead = engine.ahead
    if ahead and ahead.chat == conversation.chat.id and not conversation.busy:
        if ahead.total - ahead.reused > SHORT_PROMPT:
            return tr("Reading this chat again…"), ahead.done / ahead.total
        return "", None
    if conversation.phase == "waiting":
        if engine.phase == "ready":
            return tr("Waiting: another chat is being answered first"), None
        return tr("Your message will be answered as soon as a model is loaded"), None
    return "", None


def duration(seconds: float) -> str:
    whole = max(1, round(seconds))
    return tr("{n} s", n=whole) if whole < 90 else tr("{n} min", n=round(whole / 60))
