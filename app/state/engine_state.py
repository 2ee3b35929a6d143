"""The engine's state: whether it runs, what is loaded or being read, and how much memory it uses. Knows no Qt."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from app.events import Event
from common.power import PowerState
from common.sentences import Sentence
from engine.protocol.events import ModelInfo, Statistics
from engine.protocol.requests import Limit
from models.servers import remote_model

Phase = Literal["off", "starting", "loading", "ready", "failed"]


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem for the user: one sentence, the next sensible step, and technical details."""

    sentence: Sentence
    step: Literal["restart", "again", "choose", "none"]
    detail: str = ""

    @property
    def needs_llama(self) -> bool:
        """Whether the model needs llama.cpp, which is not there yet."""
        return self.sentence.id == "no_backend.for_model"


@dataclass(frozen=True, slots=True)
class CompileProgress:
    """Progress of compiling llama.cpp: files done, all files, and seconds left; zeros until the numbers are known."""

    done: int = 0
    total: int = 0
    seconds_left: float = 0


@dataclass(frozen=True, slots=True)
class ReadAheadProgress:
    """Progress of reading an opened chat ahead, in tokens."""

    chat: str
    done: int
    total: int
    reused: int


@dataclass
class EngineState:
    """The engine's state and the events of its changes.

    `phase_changed` is emitted for phase, path and model, `progress_changed` for the progress of loading and of reading
    ahead, `problem_changed` for the problem, `power_changed` for power, and `numbers_changed` for the rest.

    Attributes:
        context_tokens: tokens in the engine's cache, of the chat `context_chat`.
        statistics: those of the last answer.
        live_speed: tokens/s while an answer streams, else None.
        limits: what the system denies to the engine that was started last; None before the first start.
        preparing: progress of compiling llama.cpp, during which only ik_llama.cpp computes; None otherwise.
        power: whether power is saved, and why.
    """

    phase: Phase = "off"
    path: Path | None = None
    fraction: float = 0.0
    model: ModelInfo | None = None
    problem: Problem | None = None
    context_tokens: int = 0
    context_chat: str = ""
    rss_bytes: int = 0
    statistics: Statistics | None = None
    read_ahead: ReadAheadProgress | None = None
    live_speed: float | None = None
    limits: tuple[Limit, ...] | None = None
    preparing: CompileProgress | None = None
    power: PowerState = field(default_factory=PowerState)

    def __post_init__(self) -> None:
        self.phase_changed: Event[EngineState] = Event()
        self.progress_changed: Event[EngineState] = Event()
        self.problem_changed: Event[EngineState] = Event()
        self.power_changed: Event[EngineState] = Event()
        self.numbers_changed: Event[EngineState] = Event()

    @property
    def sees(self) -> bool:
        """Whether the loaded model can see pictures."""
        return self.model is not None and self.model.vision is not None

    @property
    def host(self) -> str:
        """Host of the server that answers, or is about to; "" for a model on this computer."""
        remote = remote_model(self.path)
        return remote.host if remote else ""

    def change(self, **values: object) -> None:
        """Set these values, then emit the events of those that changed.

        A new problem counts as a change even if its words are the same.
        """
        changed = {
            name for name, value in values.items()
            if getattr(self, name) is not value and (name == "problem" or getattr(self, name) != value)
        }  # fmt: skip
        for name in changed:
            setattr(self, name, values[name])
        if changed & {"phase", "path", "model"}:
            self.phase_changed.emit(self)
        if changed & {"fraction", "read_ahead"}:
            self.progress_changed.emit(self)
        if "problem" in changed:
            self.problem_changed.emit(self)
        if "power" in changed:
            self.power_changed.emit(self)
        if changed & {"context_tokens", "context_chat", "rss_bytes", "statistics", "live_speed", "preparing"}:
            self.numbers_changed.emit(self)

    def repeat(self) -> None:
        """Emit the events of phase and problem again, for those who have connected after the engine was started."""
        self.phase_changed.emit(self)
        if self.problem:
            self.problem_changed.emit(self)
