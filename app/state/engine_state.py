"""What the engine is about: whether it runs, what is loaded or read, how much it uses. Knows no Qt."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.events import Event
from common.sentences import Sentence
from engine.protocol import Limit, ModelInfo, Statistics

Phase = Literal["off", "starting", "loading", "ready", "failed"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something the user should know: one sentence, the next sensible step, and details for the curious."""

    sentence: Sentence
    step: Literal["restart", "choose", "none"]
    detail: str = ""

    @property
    def needs_llama(self) -> bool:
        """Is it that the model needs llama.cpp, which is not there yet?"""
        return self.sentence.id == "no_backend.for_model"


@dataclass(frozen=True, slots=True)
class Preparing:
    """How many of how many files of llama.cpp are compiled, and the seconds that the rest will take; zeros before that
    is known."""

    done: int = 0
    total: int = 0
    seconds_left: float = 0


@dataclass(frozen=True, slots=True)
class Ahead:
    """How far the engine has read a chat that was opened, in tokens."""

    chat: str
    done: int
    total: int
    reused: int


@dataclass
class EngineState:
    """`live_speed` is in tokens per second while an answer streams, None otherwise; `statistics` are the last one's.
    `context_tokens` are in the engine's cache, of the chat `context_chat`. `limits`: what the system refuses the engine
    that was started last, None before there was one. `preparing`: llama.cpp is being compiled, and ik_llama.cpp alone
    computes meanwhile.

    Whoever shows something of it connects to the event that tells of it: `phase_changed` of the phase and of which
    model, `progress_changed` of how far it was loaded or a chat read ahead, `numbers_changed` of the rest."""

    phase: Phase = "off"
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
    preparing: Preparing | None = None

    def __post_init__(self) -> None:
        self.phase_changed: Event[EngineState] = Event()
        self.progress_changed: Event[EngineState] = Event()
        self.problem_changed: Event[EngineState] = Event()
        self.numbers_changed: Event[EngineState] = Event()

    def change(self, **values: object) -> None:
        """Take these values, then tell of those that are new. A problem in the same words is still another one."""
        changed = {
            name for name, value in values.items()
            if getattr(self, name) is not value and (name == "problem" or getattr(self, name) != value)
        }  # fmt: skip
        for name in changed:
            setattr(self, name, values[name])
        if changed & {"phase", "path", "model"}:
            self.phase_changed.emit(self)
        if changed & {"fraction", "ahead"}:
            self.progress_changed.emit(self)
        if "problem" in changed:
            self.problem_changed.emit(self)
        if changed & {"context_tokens", "context_chat", "rss_bytes", "statistics", "live_speed", "preparing"}:
            self.numbers_changed.emit(self)
