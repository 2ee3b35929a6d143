"""Requests to the engine: what takes them, and what was asked for already: a model, counts, a chat to read ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from app.state.conversation import Conversation
from common.paths import path_text
from engine import protocol
from engine.protocol import Counted, KVType, Load, Message

Taker = Callable[[Counted], None]


class Link(Protocol):
    """The engine's process, whoever runs it: it is running or not, and takes requests while it is."""

    @property
    def running(self) -> bool: ...

    def start(self, files: Iterable[str | Path | None] = ()) -> None:
        """`files` are those that it will be asked to load."""

    def send(self, request: protocol.Request) -> None: ...

    def kill(self) -> None:
        """End an engine that no longer answers; `EngineQueue.engine_ended` follows."""


class Loading:
    """How the model is to be loaded, and whether it was.

    `options` is a Load without a path. What was chosen for a chat goes above it until another model is chosen."""

    def __init__(self, options: Load) -> None:
        self.options = options
        self._chosen: dict[str, object] = {}
        self._asked: Load | None = None

    def choose(self, n_ctx: int | None, kv_type: KVType | None) -> None:
        """None leaves the setting."""
        wishes = {"n_ctx": n_ctx, "kv_type": kv_type}
        self._chosen = {field: wish for field, wish in wishes.items() if wish is not None}

    def use(self, options: Load) -> None:
        """The settings have changed: a changed one is newer than what was chosen."""
        kept = [field for field in self._chosen if getattr(options, field) == getattr(self.options, field)]
        self._chosen = {field: self._chosen[field] for field in kept}
        self.options = options

    def failed(self) -> None:
        """What was chosen cannot be had; a model that is still loaded stays as it is."""
        if self._chosen:
            self._chosen = {}
            self._asked = self._wanted()

    def stays(self) -> None:
        """What is loaded is kept as it is, although something else was asked for."""
        self._asked = self._wanted()

    def outdated(self) -> bool:
        """Was the model asked for with other options than it would be now?"""
        return self._asked is not None and self._asked != self._wanted()

    def request(self, path: Path) -> Load:
        """Ask for the model now."""
        self._asked = self._wanted()
        return replace(self._asked, path=path_text(path))

    def _wanted(self) -> Load:
        return replace(self.options, **self._chosen)  # type: ignore[arg-type]


class Counting:
    """Who waits for what is counted, by the request's id. Where the engine ends or refuses, nobody is called."""

    def __init__(self) -> None:
        self._waiting: dict[int, Taker] = {}

    def expect(self, id: int, done: Taker) -> None:
        self._waiting[id] = done

    def take(self, event: Counted) -> None:
        done = self._waiting.pop(event.id, None)
        if done:
            done(event)

    def forget(self) -> None:
        self._waiting.clear()


class ReadAhead:
    """Which state of which chat the engine was last told to read, so that it is told once for each.

    `id` is the last Prepare request's, so that its events can be told from older ones'."""

    def __init__(self) -> None:
        self.id = 0
        self._state: object = None

    def wanted(self, conversation: Conversation) -> tuple[Message, ...]:
        """The messages to read for this chat, once; empty when they were asked for, or will not be sent as they are."""
        chat = conversation.chat
        files = conversation.draft.certain() if conversation.draft else ()
        state = (chat.id, chat.leaf_id, chat.forget_turns, chat.options, files)
        if state == self._state or conversation.busy or conversation.remedies:
            return ()
        self._state = state
        return conversation.history()

    def forget(self) -> None:
        """The engine's cache holds something else now."""
        self.id = 0
        self._state = None
