"""Pulses: reports of the engine's work, gathered a few times a second while somebody watches.

Without a watcher, reports are only gathered at the end of some work, for a later watcher. This module reads the parts
of a loaded model and changes none. Only the thread that changes these parts gathers; other threads get the last report.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from common.power import SavingReason
from engine.machine import memory, resident_bytes
from engine.protocol.events import Event, Finished, Pulse
from engine.runtime.interface import NO_THREADS, thread_counts_of

if TYPE_CHECKING:
    from engine.costs.cost_model import CostModel
    from engine.costs.measurements import CostMeasurements
    from engine.generation.answer import Answer
    from engine.kv.chat_cache import ChatCache
    from engine.kv.session import Session
    from engine.runtime.interface import Runtime

EVERY_SECONDS = 0.5  # gathering takes about 0.4 ms; the panel draws numbers every second


class Watched(Protocol):
    """The parts of a loaded model that a pulse reads."""

    @property
    def target(self) -> Runtime:
        """The model with its KV cache."""

    @property
    def session(self) -> Session:
        """The session: the chat's tokens in the KV cache of `target`."""

    @property
    def chat_cache(self) -> ChatCache:
        """The session's link to the chats kept in memory and saved on disk."""

    @property
    def cost_measurements(self) -> CostMeasurements:
        """The measured costs of passes."""


class PulseCollector:
    """Collector of pulses. `watched`: somebody watches. `saving_power`: why power is saved."""

    def __init__(self) -> None:
        self.watched = False
        self.saving_power: SavingReason = ""
        self._gathered_at = -EVERY_SECONDS
        self._answer: Answer | None = None  # the current or last answer, whose numbers stay visible
        self._last: Pulse | None = None

    def is_due(self, at_end: bool = False) -> bool:
        """Return whether to gather a pulse now; always at the end of an answer, for a window that watches later."""
        return at_end or (self.watched and time.monotonic() - self._gathered_at >= EVERY_SECONDS)

    def report_answer(self, answer: Answer) -> None:
        """Report this answer in the next pulses, until the next answer begins.

        The answer is remembered also while nobody watches, for a window that watches later.
        """
        self._answer = answer

    def last_pulse(self) -> Pulse:
        """Return the last gathered pulse with the current memory use. May be called from any thread."""
        now = memory()
        last = self._last or Pulse(0, 0, 0, 0)
        return replace(last, rss_bytes=resident_bytes(), free_bytes=now.available, total_bytes=now.total)

    def insert_into(self, events: Iterable[Event], model: Watched) -> Iterator[Event]:
        """Yield an answer's events with pulses between them while somebody watches."""
        for event in events:
            if self.is_due(at_end=isinstance(event, Finished)):
                pulse = self.gather(model)
                if self.watched:
                    yield pulse
            yield event

    def gather(self, model: Watched | None) -> Pulse:
        """Gather a pulse of the loaded model (None: no model is loaded).

        Only the thread that works with the model may call this.
        """
        self._gathered_at = time.monotonic()
        if self._answer and (model is None or self._answer.session is not model.session):
            self._answer = None  # its model is no longer loaded
        computer = memory()
        counts = self._answer.counts if self._answer else None
        pending = len(self._answer.kv.pending) if self._answer else 0
        cached = len(model.session.tokens) if model else 0
        threads = thread_counts_of(model.target) if model else NO_THREADS
        self._last = Pulse(
            id=0,
            rss_bytes=resident_bytes(),
            free_bytes=computer.available,
            total_bytes=computer.total,
            fixed=cached,
            pending=pending,
            saved=min(cached, model.chat_cache.saved_tokens) if model else 0,
            capacity=model.target.n_ctx if model else 0,
            steps=counts.passes if counts else 0,
            tokens=len(counts.tokens) if counts else 0,
            decode_seconds=counts.decode_seconds if counts else 0.0,
            drafters=counts.drafts.drafters if counts else (),
            estimated_speedup=counts.drafts.estimated_speedup if counts else 1.0,
            prompt_rate=model.chat_cache.prefill_rate if model else 0.0,
            costs=cost_curve(model.cost_measurements.cost_model, cached) if model else (),
            batch=counts.batch if counts else 0,
            head_groups=model.target.head_groups if model else (),
            saving_power=self.saving_power,
            threads=threads.decode,
            prompt_threads=threads.prompt,
            kept_chats=model.chat_cache.kept.count if model else 0,
            kept_bytes=model.chat_cache.kept.bytes if model else 0,
        )
        return self._last


def cost_curve(cost_model: CostModel | None, depth: int) -> tuple[tuple[int, float], ...]:
    """Return (k, c) for each timed batch size k; empty without a cost model.

    c is the time of a k-token pass at `depth`, divided by the time of a 1-token pass.
    """
    return tuple((k, cost_model.c(k, depth)) for k in cost_model.timings.ks) if cost_model else ()
