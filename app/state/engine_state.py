"""What the engine is about, as one value: whether it runs, what is loaded or read, how much it uses. Knows no Qt."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.protocol import Limit, ModelInfo, Statistics


@dataclass(frozen=True, slots=True)
class Problem:
    """Something the user should know: one sentence, the next sensible step, and details for the curious."""

    sentence: str
    step: Literal["restart", "choose", "none"]
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Ahead:
    """How far the engine has read a chat that was opened, in tokens."""

    chat: str
    done: int
    total: int
    reused: int


@dataclass(frozen=True, slots=True)
class EngineState:
    """`live_speed` is in tokens per second while an answer streams, None otherwise; `statistics` are the last one's.
    `context_tokens` are in the engine's cache, of the chat `context_chat`. `limits`: what the system refuses the engine
    that was started last, None before there was one."""

    phase: Literal["off", "starting", "loading", "ready", "failed"] = "off"
    path: Path | None = None
    fraction: float = 0.0
    model: ModelInfo | None = None
    problem: Problem | None = None
    context_tokens: int = 0
    context_chat: str = ""
    rss_bytes: int = 0
    statistics: Statistics | None = None
    ahead: Ahead | None = None
    live_speed: float | None = None
    limits: tuple[Limit, ...] | None = None
