"""Keeps the engine running with the chosen model and gives it one conversation after the other. Knows no Qt.

The engine's process is behind `Link`. Whatever it does (dies, refuses, says nonsense), conversations end with a
sentence and keep their text; the next message starts the engine again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

from app.conversation import Conversation
from app.engine_end import EngineEnd
from engine import protocol
from engine.protocol import ModelInfo

log = logging.getLogger(__name__)


class Link(Protocol):
    """The engine process as the assistant needs it: it is running or not, and takes requests while it is."""

    @property
    def running(self) -> bool: ...

    def start(self) -> None: ...

    def send(self, request: protocol.Request) -> None: ...


@dataclass(frozen=True, slots=True)
class Problem:
    """Something the user should know: one sentence, the next sensible step, and details for the curious."""

    sentence: str
    step: Literal["restart", "choose", "none"]
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """What the engine is about: whether it runs, which model it has or loads, and how much it uses."""

    phase: Literal["off", "starting", "loading", "ready", "failed"] = "off"
    path: Path | None = None
    fraction: float = 0.0
    model: ModelInfo | None = None
    problem: Problem | None = None
    context_tokens: int = 0
    rss_bytes: int = 0
    statistics: protocol.Statistics | None = None


class Assistant:
    """One engine, one model, a queue of conversations. `listeners` hear every change of `standing`."""

    def __init__(self, link: Link, max_tokens: int | None = None) -> None:
        self.standing = Standing()
        self.listeners: list[Callable[[Standing], None]] = []
        self._link = link
        self._max_tokens = max_tokens
        self._queue: list[Conversation] = []
        self._active: Conversation | None = None
        self._last_id = 0
        self._hello = self._load = self._generate = 0

    @property
    def active(self) -> Conversation | None:
        """The conversation that is being answered."""
        return self._active

    # --- what the user does -----------------------------------------------------------------------------------------

    def use_model(self, path: Path) -> None:
        """Load the model at `path` in place of the loaded one; an answer under way is stopped first."""
        if self._active:
            self.stop(self._active)
        self._set(path=path, problem=None)
        if self._link.running and self.standing.phase != "starting":
            self._send_load()
        else:
            self.start_engine()

    def start_engine(self) -> None:
        """Start the engine, if it does not run, and load the chosen model."""
        if self._link.running:
            if self.standing.phase == "failed" and self.standing.path:
                self._send_load()
            return
        self._set(phase="starting", model=None, fraction=0.0, problem=None)
        self._link.start()
        self._hello = self._send(protocol.Hello)

    def submit(self, conversation: Conversation) -> None:
        """Answer the conversation's last message as soon as model and engine are ready."""
        if conversation not in self._queue:
            self._queue.append(conversation)
        if not self._link.running and self.standing.path:
            self.start_engine()
        self._pump()

    def stop(self, conversation: Conversation) -> None:
        """Stop the conversation's answer, or take it off the queue."""
        if conversation is self._active:
            self._send(protocol.Cancel, request=self._generate)
            return
        if conversation in self._queue:
            self._queue.remove(conversation)
        conversation.withdraw()

    def forget(self, chat_id: str) -> None:
        """The chat was deleted: nothing of it stays in the engine's cache. Undo costs reading it once more."""
        if self._link.running:
            self._send(protocol.Forget, chat=chat_id)

    def dismiss_problem(self) -> None:
        self._set(problem=None)

    def checkpoint(self, at_once: bool = False) -> None:
        if self._active:
            self._active.checkpoint(at_once)

    # --- what the engine does ---------------------------------------------------------------------------------------

    def handle(self, event: protocol.Event) -> None:
        """One event from the engine. Events of requests that are no longer ours are ignored."""
        match event:
            case protocol.Welcome():
                self._send_load()
            case protocol.Notice():
                self._set(problem=Problem(event.message, "none"))
            case protocol.StatusReport():
                self._take_status(event)
            case protocol.LoadProgress() if event.id == self._load:
                self._set(phase="loading", fraction=event.fraction)
            case protocol.Loaded() if event.id == self._load:
                self._set(phase="ready", model=event.model, problem=None, context_tokens=0, statistics=None)
                self._send(protocol.Status)
                self._pump()
            case protocol.Failed():
                self._take_failure(event)
            case _ if self._active and event.id == self._generate:
                self._take_answer(self._active, event)
            case _:
                log.info("event without a use: %s", type(event).__name__)

    def engine_ended(self, end: EngineEnd) -> None:
        """The process is gone: keep the partial answer, say why, wait for the next message."""
        if self._active:
            active, self._active = self._active, None
            active.fail(str(end), end.output, reason="engine")
        problem = Problem(str(end), "restart", end.output)
        self._set(phase="off", model=None, problem=problem, context_tokens=0, rss_bytes=0)

    def _take_answer(self, conversation: Conversation, event: protocol.Event) -> None:
        match event:
            case protocol.PrefillProgress():
                conversation.read(event.done, event.total, event.reused)
            case protocol.Text():
                conversation.grow(event.text)
            case protocol.Finished():
                self._active = None
                self._set(context_tokens=event.statistics.context_tokens, statistics=event.statistics)
                conversation.finish(event.statistics)
                self._next()

    def _take_failure(self, event: protocol.Failed) -> None:
        log.warning("request %d failed: %s %s %s", event.id, event.code, event.message, event.detail)
        if event.id == self._generate and self._active:
            active, self._active = self._active, None
            active.fail(event.message, event.detail)
            self._next()
        elif event.id == self._hello:
            self._set(phase="failed", problem=Problem(event.message, "restart", event.detail))
        elif event.id == self._load:
            self._set(phase="failed", problem=Problem(event.message, "choose", event.detail))
            self._send(protocol.Status)  # the model that was loaded before may still be there

    def _take_status(self, event: protocol.StatusReport) -> None:
        self._set(rss_bytes=event.rss_bytes)
        if self.standing.phase == "failed" and event.model:
            self._set(phase="ready", model=event.model, path=Path(event.model.path))
            self._pump()

    # --- inside -----------------------------------------------------------------------------------------------------

    def _next(self) -> None:
        self._send(protocol.Status)
        self._pump()

    def _pump(self) -> None:
        if self._active or not self._queue or self.standing.phase != "ready":
            return
        conversation = self._active = self._queue.pop(0)
        messages = conversation.prompt()
        conversation.begin(self.standing.model.name if self.standing.model else "")
        self._generate = self._send(
            protocol.Generate, messages=messages, max_tokens=self._max_tokens, chat=conversation.chat.id
        )

    def _send_load(self) -> None:
        if self.standing.path is None:
            self._set(phase="failed")
            return
        self._set(phase="loading", fraction=0.0, model=None)
        self._load = self._send(protocol.Load, path=str(self.standing.path))

    def _send(self, kind: type[protocol.Request], **fields: object) -> int:
        self._last_id += 1
        self._link.send(kind(id=self._last_id, **fields))  # type: ignore[arg-type]
        return self._last_id

    def _set(self, **changes: object) -> None:
        self.standing = replace(self.standing, **changes)  # type: ignore[arg-type]
        for listener in tuple(self.listeners):
            listener(self.standing)
