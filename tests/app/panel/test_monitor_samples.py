"""What is made of the engine's pulses, without a window and without an engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.panel.readings import KEPT_SECONDS, CacheMap, EngineReadings, MemoryParts, seconds_saved
from app.state.answer_facts import packed
from engine.protocol import DrafterStatistics, ModelInfo, Pulse, Statistics

PLAN = {
    "weights_mapped": 100,
    "weights_repacked": 50,
    "vocabulary": 5,
    "kv": 40,
    "compute": 7,
    "runtime": 3,
    "draft_kv": 2,
}
MODEL = ModelInfo("/m.gguf", "m", "llama", 1, 1, 4096, 8192, 2, "model", plan=PLAN)
PULSE = Pulse(0, rss_bytes=160, free_bytes=700, total_bytes=1000, fixed=300, pending=4, saved=256, capacity=512)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def readings(clock: Clock) -> EngineReadings:
    readings = EngineReadings(clock)
    readings.use_model(MODEL)
    return readings


def drafted(accepted: int) -> tuple[DrafterStatistics, ...]:
    return (DrafterStatistics("history", 40, 30, accepted, 0.1),)


def test_nothing_is_known_before_the_first_pulse(readings: EngineReadings) -> None:
    assert readings.memory() is None
    assert readings.cache() is None


def test_memory_adds_up_to_all_that_the_computer_has(readings: EngineReadings) -> None:
    readings.take(PULSE)
    assert readings.memory() == MemoryParts(weights=155, kv=42, buffers=10, engine=160, others=140, free=700)


def test_mapped_weights_count_as_the_engines_not_twice(readings: EngineReadings) -> None:
    readings.take(replace(PULSE, rss_bytes=500, free_bytes=700))
    parts = readings.memory()
    assert parts
    assert parts.engine + parts.others + parts.free == 1000


def test_the_cache_map_has_every_token_once(readings: EngineReadings) -> None:
    readings.take(PULSE)
    assert readings.cache(dropped=2) == CacheMap(saved=256, unsaved=44, pending=4, room=208, growth=3584, dropped=2)


def test_moments_are_what_came_between_two_pulses(readings: EngineReadings) -> None:
    readings.take(replace(PULSE, steps=10, tokens=10, decode_seconds=1.0, drafters=drafted(0)))
    readings.take(replace(PULSE, steps=20, tokens=35, decode_seconds=2.0, drafters=drafted(15)))
    (moment,) = readings.moments
    assert moment.tokens_per_step == 2.5
    assert moment.speed == 25
    assert moment.accepted == {"history": 1.5}


def test_another_answer_begins_from_nothing(readings: EngineReadings) -> None:
    readings.take(replace(PULSE, steps=20, tokens=35, decode_seconds=2.0))
    readings.take(replace(PULSE, steps=3, tokens=3, decode_seconds=0.2))
    assert not readings.moments


def test_old_moments_and_those_of_another_model_go(readings: EngineReadings, clock: Clock) -> None:
    for n in range(3):
        readings.take(replace(PULSE, steps=n, tokens=n, decode_seconds=float(n)))
    assert len(readings.moments) == 2
    clock.now += KEPT_SECONDS + 1
    readings.take(replace(PULSE, steps=2, tokens=2, decode_seconds=2.0))
    assert not readings.moments
    readings.take(replace(PULSE, steps=9, tokens=9, decode_seconds=9.0))
    readings.use_model(replace(MODEL, path="/other.gguf"))
    assert not readings.moments
    assert readings.pulse is None


def test_seconds_saved_are_those_of_reading_and_of_drafting() -> None:
    numbers = Statistics(100, 60, 4.0, 50, 10.0, 30, "end", 150, 4096, estimated_speedup=1.5)
    assert seconds_saved([packed(numbers), "", "nonsense"]) == pytest.approx(60 * 0.1 + 10.0 * 0.5)
