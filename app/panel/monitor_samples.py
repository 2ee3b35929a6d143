"""What the engine told of its work: the latest, and how it went over the last minutes. Knows no Qt."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from app.events import Event
from app.state.answer_facts import unpacked
from engine.protocol import ModelInfo, Pulse, Statistics

KEPT_SECONDS = 180.0
MOST_MOMENTS = 1000  # four a second for a little longer than that
# The plan's parts, by what a person tells apart.
WEIGHTS = ("weights_mapped", "weights_read", "weights_repacked", "vocabulary")
KV = ("kv", "kv_compressed")


@dataclass(frozen=True, slots=True)
class Moment:
    """Between two pulses of one answer, the later one at monotonic second `at`: tokens for each pass, tokens per
    second, and accepted tokens for each pass by drafter."""

    at: float
    tokens_per_step: float
    speed: float
    accepted: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MemoryParts:
    """Bytes. Planned for a full context: `weights`, `kv`, `buffers`. As it is: the `engine`, `others`, `free`."""

    weights: int
    kv: int
    buffers: int
    engine: int
    others: int
    free: int


@dataclass(frozen=True, slots=True)
class CacheMap:
    """Tokens, in the order of the cache: `dropped` ones of the chat are left out before all, `saved` and `unsaved` are
    cached, `pending` are not yet; `room` is what the cache holds beyond, `growth` what it may still grow by."""

    saved: int
    unsaved: int
    pending: int
    room: int
    growth: int
    dropped: int = 0


class EngineReadings:
    """`changed` tells of every pulse. `clock` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.pulse: Pulse | None = None
        self.model: ModelInfo | None = None
        self.moments: deque[Moment] = deque(maxlen=MOST_MOMENTS)
        self.changed: Event[()] = Event()
        self._clock = clock

    def take(self, pulse: Pulse) -> None:
        before, self.pulse = self.pulse, pulse
        if before is not None:
            self._add(before, pulse)
        while self.moments and self.moments[0].at < self._clock() - KEPT_SECONDS:
            self.moments.popleft()
        self._tell()

    def use_model(self, model: ModelInfo | None) -> None:
        """What was told of another model says nothing of this one."""
        if model != self.model:
            self.model, self.pulse = model, None
            self.moments.clear()
            self._tell()

    def _add(self, before: Pulse, now: Pulse) -> None:
        steps, seconds = now.steps - before.steps, now.decode_seconds - before.decode_seconds
        tokens = now.tokens - before.tokens
        if steps <= 0 or seconds <= 0 or tokens < 0:
            return  # nothing new, or another answer
        old = {each.name: each.accepted for each in before.drafters}
        accepted = {each.name: (each.accepted - old.get(each.name, 0)) / steps for each in now.drafters}
        self.moments.append(Moment(self._clock(), tokens / steps, tokens / seconds, accepted))

    def memory(self) -> MemoryParts | None:
        if self.pulse is None:
            return None
        plan = self.model.plan if self.model else {}
        weights = sum(size for name, size in plan.items() if name.removeprefix("draft_") in WEIGHTS)
        kv = sum(size for name, size in plan.items() if name.removeprefix("draft_") in KV)
        engine, free = self.pulse.rss_bytes, self.pulse.free_bytes
        # Mapped weights are resident in the engine and free for others at once: counted as the engine's.
        others = max(0, self.pulse.total_bytes - free - engine)
        free = self.pulse.total_bytes - engine - others
        return MemoryParts(weights, kv, sum(plan.values()) - weights - kv, engine, others, max(0, free))

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

    def _tell(self) -> None:
        self.changed.emit()


def seconds_saved(stored: Iterable[str]) -> float:
    """By answers' stored statistics: reading that the cache spared, and what drafting won by the cost model."""
    return sum(map(_saved, filter(None, map(unpacked, stored))))


def _saved(numbers: Statistics) -> float:
    read = numbers.prompt_tokens - numbers.reused_tokens
    spared = numbers.reused_tokens * numbers.prompt_seconds / read if read > 0 else 0.0
    return spared + numbers.decode_seconds * (numbers.estimated_speedup - 1)
