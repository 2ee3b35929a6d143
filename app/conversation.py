"""One chat while it is open: what a send, a piece of text, an end or a failure does to its messages and the library.

Knows neither windows nor the engine's process. Storing never stops a chat: what cannot be stored stays in memory, is
tried again with the next write, and the listeners hear the reason once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from app.chat import UNTITLED, Chat, ChatMessage, Ending, title_of
from app.library import Library
from app.prompt import prompt_of, turns_to_free, without_oldest
from engine.protocol import Message, Remedy, Statistics
from models.failures import Failure

log = logging.getLogger(__name__)
CHECKPOINT_SECONDS = 1.0
Phase = Literal["idle", "waiting", "reading", "answering"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How far the prompt is read, in tokens; `seconds_left` is None until there is a rate to tell it from."""

    done: int
    total: int
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class Change:
    """What a listener is told. `added` and `ended` carry the message, `grew` the new text, `storage` the sentence."""

    kind: Literal["added", "grew", "ended", "replaced", "phase", "chat", "storage"]
    message: ChatMessage | None = None
    text: str = ""


class Conversation:
    """The state machine of one chat: idle → waiting → reading → answering → idle.

    `messages` is the shown branch; while an answer is written its last entry is the answer as last checkpointed, and
    `answer_text` the whole of it. `clock` gives monotonic seconds.
    """

    def __init__(
        self,
        library: Library,
        chat: Chat | None = None,
        messages: Iterable[ChatMessage] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.library = library
        self.chat = chat or Chat()
        self.messages = list(messages)
        self.phase: Phase = "idle"
        self.reading: Reading | None = None
        self.remedies: tuple[Remedy, ...] = ()  # what the user may choose from, now that the context is full
        self.stored = chat is not None
        self.listeners: list[Callable[[Change], None]] = []
        self._clock = clock
        self._pieces: list[str] = []
        self._unsaved: dict[str, ChatMessage] = {}
        self._saved_at = 0.0
        self._read_from: tuple[float, int] | None = None
        self._storage_failed = False

    # --- what the user does -----------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        return self.phase != "idle"

    @property
    def can_answer_again(self) -> bool:
        """Is there a user message at the end of the branch, answered or not, that could be answered (again)?"""
        return not self.busy and bool(self.messages)

    def send(self, text: str) -> bool:
        """Append and store the user's message; False when there is nothing to send or an answer is under way."""
        # A lone surrogate (half an emoji pasted) can be neither stored nor sent.
        text = text.encode("utf-8", "replace").decode().strip()
        if self.busy or not text:
            return False
        message = ChatMessage(self.chat.id, self._leaf(), "user", text, stop_reason="end")
        if not self.messages and self.chat.title == UNTITLED:
            self.chat = replace(self.chat, title=title_of(text))
        self._append(message)
        self._enter("waiting")
        return True

    def answer_again(self) -> bool:
        """Take the last answer off the shown branch, so that another can be written beside it."""
        if not self.can_answer_again:
            return False
        if self.messages[-1].role == "assistant":
            self.messages.pop()
            self._notify(Change("replaced"))
        self._enter("waiting")
        return True

    def withdraw(self) -> None:
        """The user no longer wants the answer that has not begun."""
        if self.phase == "waiting":
            self._enter("idle")

    def rename(self, title: str) -> None:
        title = " ".join(title.split())
        if title and title != self.chat.title:
            self.chat = replace(self.chat, title=title)
            self._save()
            self._notify(Change("chat"))

    def forget_oldest(self, turns: int) -> None:
        """From now on leave out so many more of the oldest turns."""
        self.chat = replace(self.chat, forget_turns=self.chat.forget_turns + turns)
        self.remedies = ()
        self._save()
        self._notify(Change("chat"))

    # --- what the engine does ---------------------------------------------------------------------------------------

    def prompt(self) -> tuple[Message, ...]:
        """The branch as the model sees it, the turns to forget included."""
        return prompt_of(self.messages)

    def history(self) -> tuple[Message, ...]:
        """What the model is certain to read with the next message."""
        return without_oldest(self.prompt(), self.chat.forget_turns)

    def begin(self, model: str) -> None:
        """The engine has taken the request: open the answer."""
        self._pieces = []
        self._read_from = None
        self._append(ChatMessage(self.chat.id, self._leaf(), "assistant", "", model=model))
        self._enter("reading")

    def read(self, done: int, total: int, reused: int) -> None:
        now = self._clock()
        if self._read_from is None:
            self._read_from = (now, reused)
        since, first = self._read_from
        rate = (done - first) / (now - since) if now > since and done > first else 0.0
        self.reading = Reading(done, total, (total - done) / rate if rate else None)
        self._notify(Change("phase"))

    def grow(self, text: str) -> None:
        """A piece of the answer."""
        self._pieces.append(text)
        if self.phase == "reading":
            self._enter("answering")
        self._notify(Change("grew", text=text))
        self.checkpoint()

    def finish(self, statistics: Statistics) -> None:
        packed = msgspec.json.encode(statistics).decode()
        answer = self.messages[-1] = replace(self._answer(), stop_reason=statistics.stop_reason, statistics=packed)
        if statistics.stop_reason == "context":
            turns = turns_to_free(self.prompt(), self.chat.forget_turns)
            self.remedies = (Remedy("forget_turns", turns=turns),) if turns else ()
        self._end(answer)

    def fail(
        self, sentence: str, detail: str = "", reason: Ending = "failed", remedies: tuple[Remedy, ...] = ()
    ) -> None:
        """The answer cannot go on; what was written of it is kept."""
        if self.phase in ("reading", "answering"):
            self.remedies = remedies
            self._end(replace(self._answer(), stop_reason=reason, problem=sentence, detail=detail))

    def checkpoint(self, at_once: bool = False) -> None:
        """Store the answer written so far if the last time is a second ago, or in any case."""
        if self.phase != "answering" and not (at_once and self.busy):
            return
        if at_once or self._clock() - self._saved_at >= CHECKPOINT_SECONDS:
            answer = self.messages[-1]
            if answer.role == "assistant" and self._pieces:
                self.messages[-1] = self._answer()
                self._save(self.messages[-1])

    @property
    def answer_text(self) -> str:
        """The text of the answer under way."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    # --- inside -----------------------------------------------------------------------------------------------------

    def _leaf(self) -> str | None:
        return self.messages[-1].id if self.messages else None

    def _answer(self) -> ChatMessage:
        return replace(self.messages[-1], content=self.answer_text)

    def _append(self, message: ChatMessage) -> None:
        self.messages.append(message)
        self.chat = replace(self.chat, leaf_id=message.id, updated_at=message.created_at)
        self._save(message)
        self._notify(Change("added", message))
        self._notify(Change("chat"))

    def _end(self, answer: ChatMessage) -> None:
        self.messages[-1] = answer
        self._save(answer)
        self._pieces = []
        self._enter("idle")
        self._notify(Change("ended", answer))

    def _enter(self, phase: Phase) -> None:
        self.phase = phase
        self.reading = None
        if phase == "waiting":
            self.remedies = ()
        self._notify(Change("phase"))

    def _save(self, *messages: ChatMessage) -> None:
        self._unsaved.update((message.id, message) for message in messages)
        self._saved_at = self._clock()
        try:
            self.library.save(self.chat, list(self._unsaved.values()))
        except Failure as failure:
            log.warning("not stored: %s (%s)", failure, failure.detail)
            if not self._storage_failed:
                self._storage_failed = True
                self._notify(
                    Change("storage", text=f"{failure} The chat goes on, but only until you close the window.")
                )
            return
        self._unsaved.clear()
        self._storage_failed = False
        self.stored = True

    def _notify(self, change: Change) -> None:
        for listener in tuple(self.listeners):
            listener(change)
