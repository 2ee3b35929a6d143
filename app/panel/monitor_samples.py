"""The engine's latest pulse and samples of the last minutes, for the engine monitor. Knows no Qt."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from app.events import Event
from app.state.answer_facts import statistics_from_json
from common.planning import API, KEPT_CHATS, KV, OWN_DRAFTER, WEIGHTS
from engine.protocol.events import ModelInfo, Pulse, Statistics

KEPT_SECONDS = 180.0
MAX_SAMPLES = 1000  # four a second for KEPT_SECONDS, and some more
# Parts of the engine's memory plan that the panel adds up under one name.
IN_WEIGHTS, IN_KV = (*WEIGHTS, "vocabulary", OWN_DRAFTER[0]), (*KV, OWN_DRAFTER[1])


@dataclass(frozen=True, slots=True)
class Sample:
    """Tokens per step between two pulses of one answer, and accepted tokens per step by drafter.

    `at` is the later pulse's time in monotonic seconds.
    """

    at: float
    tokens_per_step: float
    accepted: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MemoryParts:
    """Memory in bytes: `weights`, `kv`, `kept`, `api` and `buffers` are planned, the rest is in use now.

    `kept`, `kept_now`: of chats that are kept beside the one in the KV cache. `api`: planned for other programs that
    use the engine, with answers in a form; `front`: the local API's process.
    """

    weights: int
    kv: int
    kept: int
    api: int
    buffers: int
    engine: int
    kept_now: int
    front: int
    others: int
    free: int


@dataclass(frozen=True, slots=True)
class CacheMap:
    """Numbers of tokens in the KV cache, for the chat that is open.

    `dropped` tokens of the chat are left out of the context. `saved` and `unsaved` ones are cached, with and without a
    copy on disk; `pending` ones are not cached yet. `room` is the free part of the cache, `growth` what the cache may
    still grow by.
    """

    saved: int
    unsaved: int
    pending: int
    room: int
    growth: int
    dropped: int = 0


class MonitorSamples:
    """The engine's latest pulse and the samples of the last KEPT_SECONDS.

    The event `changed` follows every pulse. `clock` returns monotonic seconds, `front_bytes` the memory of the local
    API's process, 0 without one.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.pulse: Pulse | None = None
        self.model: ModelInfo | None = None
        self.history: deque[Sample] = deque(maxlen=MAX_SAMPLES)
        self.changed: Event[()] = Event()
        self.front_bytes: Callable[[], int] = lambda: 0
        self._clock = clock

    def add_pulse(self, pulse: Pulse) -> None:
        before, self.pulse = self.pulse, pulse
        if before is not None:
            self._append_sample(before, pulse)
        while self.history and self.history[0].at < self._clock() - KEPT_SECONDS:
            self.history.popleft()
        self.changed.emit()

    def use_model(self, model: ModelInfo | None) -> None:
        """Discard what is known of another model."""
        if model != self.model:
            self.model, self.pulse = model, None
            self.history.clear()
            self.changed.emit()

    def _append_sample(self, before: Pulse, now: Pulse) -> None:
        steps, seconds = now.steps - before.steps, now.decode_seconds - before.decode_seconds
        tokens = now.tokens - before.tokens
        if steps <= 0 or seconds <= 0 or tokens < 0:
            return  # no new step, or the first pulse of another answer
        old = {each.name: each.accepted for each in before.drafters}
        accepted = {each.name: (each.accepted - old.get(each.name, 0)) / steps for each in now.drafters}
        self.history.append(Sample(self._clock(), tokens / steps, accepted))

    def memory(self) -> MemoryParts | None:
        if self.pulse is None:
            return None
        plan = self.model.plan if self.model else {}
        weights = sum(size for name, size in plan.items() if name.removeprefix("draft_") in IN_WEIGHTS)
        kv = sum(size for name, size in plan.items() if name.removeprefix("draft_") in IN_KV)
        api = sum(plan.get(name, 0) for name in API)
        engine, free = self.pulse.rss_bytes, self.pulse.free_bytes
        # The system counts mapped weights both as the engine's and as free; here they are the engine's only.
        others = max(0, self.pulse.total_bytes - free - engine)
        free = self.pulse.total_bytes - engine - others
        front = min(others, self.front_bytes())
        kept, kept_now = plan.get(KEPT_CHATS, 0), self.pulse.kept_bytes
        buffers = sum(plan.values()) - weights - kv - kept - api
        free = max(0, free)
        return MemoryParts(weights, kv, kept, api, buffers, engine - kept_now, kept_now, front, others - front, free)

    def cache(self, dropped: int = 0) -> CacheMap | None:
        pulse = self.pulse
        if pulse is None or self.model is None:
            return None
        used = pulse.fixed + pulse.pending
        return CacheMap(
            saved=pulse.saved,
            unsaved=pulse.fixed - pulse.saved,
            pending=pulse.pending,
            room=max(0, pulse.capacity - used),
            growth=max(0, self.model.n_ctx - max(pulse.capacity, used)),
            dropped=dropped,
        )


def seconds_saved(stored: Iterable[str]) -> float:
    """Return the seconds saved in all answers whose stored statistics are given.

    They are the time that the cache spared in reading, and what drafting won according to the cost model.
    """
    return sum(map(_seconds_saved_in, filter(None, map(statistics_from_json, stored))))


def _seconds_saved_in(numbers: Statistics) -> float:
    read = numbers.read_tokens
    spared = numbers.reused_tokens * numbers.prompt_seconds / read if read > 0 else 0.0
    return spared + numbers.decode_seconds * (numbers.estimated_speedup - 1)
