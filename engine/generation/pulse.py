"""What the engine tells of its work while somebody looks: gathered a few times a second, and nothing otherwise.

Knows how the parts of a loaded model are read, and changes none of them. Only the thread that changes these parts
gathers; any other one gets what was gathered last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from engine.machine import memory, resident_bytes
from engine.protocol import Event, Finished, Pulse

if TYPE_CHECKING:
    from engine.costs.cost_model import CostModel
    from engine.costs.measurements import Measurements
    from engine.generation.answer import Answer
    from engine.kv.session import ChatMemory, Session
    from engine.runtime.interface import Runtime

EVERY_SECONDS = 0.5  # one takes about 0.4 ms; the panel draws numbers every second


class Watched(Protocol):
    """The parts of a loaded model that are looked at."""

    @property
    def target(self) -> Runtime:
        """The model with its KV cache."""

    @property
    def session(self) -> Session:
        """The chat's tokens in that cache."""

    @property
    def memory(self) -> ChatMemory:
        """Its way to the disk."""

    @property
    def measured(self) -> Measurements:
        """What passes cost."""


class Pulses:
    """`on`: somebody looks. `clock` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.on = False
        self._clock = clock
        self._told = -EVERY_SECONDS
        self._answer: Answer | None = None  # the last one, whose numbers stay on show
        self._last: Pulse | None = None

    def due(self, last: bool = False) -> bool:
        """Is it time for another one? In any case at the end of an answer, for who looks afterwards."""
        return last or (self.on and self._clock() - self._told >= EVERY_SECONDS)

    def follow(self, answer: Answer) -> None:
        """It is under way, or was the last one: kept also while nobody looks, for who looks afterwards."""
        self._answer = answer

    def last(self) -> Pulse:
        """How things stood when that was gathered last, with the memory of now. May be called from any thread."""
        now = memory()
        last = self._last or Pulse(0, 0, 0, 0)
        return replace(last, rss_bytes=resident_bytes(), free_bytes=now.available, total_bytes=now.total)

    def of(self, chat: Watched | None) -> Pulse:
        """How things stand. To be called by the thread alone that works with `chat`."""
        self._last = pulse = self._gather(chat)
        return pulse

    def among(self, events: Iterable[Event], chat: Watched) -> Iterator[Event]:
        """The events of an answer, and pulses between them while somebody looks."""
        for event in events:
            if self.due(last=isinstance(event, Finished)):
                pulse = self.of(chat)
                if self.on:
                    yield pulse
            yield event

    def _gather(self, chat: Watched | None) -> Pulse:
        self._told = self._clock()
        if self._answer and (chat is None or self._answer.session is not chat.session):
            self._answer = None  # of a model that is no longer loaded
        computer = memory()
        counts = self._answer.counts if self._answer else None
        pending = len(self._answer.kv.pending) if self._answer else 0
        cached = len(chat.session.tokens) if chat else 0
        return Pulse(
            id=0,
            rss_bytes=resident_bytes(),
            free_bytes=computer.available,
            total_bytes=computer.total,
            fixed=cached,
            pending=pending,
            saved=min(cached, chat.memory.saved_tokens) if chat else 0,
            capacity=chat.target.n_ctx if chat else 0,
            steps=counts.passes if counts else 0,
            tokens=len(counts.tokens) if counts else 0,
            decode_seconds=counts.decode_seconds if counts else 0.0,
            drafters=counts.drafts.drafters if counts else (),
            estimated_speedup=counts.drafts.estimated_speedup if counts else 1.0,
            prompt_rate=chat.memory.prefill_rate if chat else 0.0,
            costs=cost_curve(chat.measured.cost_model, cached) if chat else (),
            batch=counts.batch if counts else 0,
            head_groups=chat.target.head_groups if chat else (),
        )


def cost_curve(table: CostModel | None, depth: int) -> tuple[tuple[int, float], ...]:
    """(tokens, c) of passes at `depth`; nothing where they were not measured."""
    return tuple((k, table.c(k, depth)) for k in table.timings.ks) if table else ()
