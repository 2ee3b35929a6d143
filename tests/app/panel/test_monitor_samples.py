"""Samples made from the engine's pulses, without a window and without an engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.panel.monitor_samples import KEPT_SECONDS, CacheMap, MemoryParts, MonitorSamples, seconds_saved
from app.state.answer_facts import statistics_to_json
from engine.protocol.events import DrafterStatistics, ModelInfo, Pulse, Statistics

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
def samples(clock: Clock) -> MonitorSamples:
    samples = MonitorSamples(clock)
    samples.use_model(MODEL)
    return samples


def drafted(accepted: int) -> tuple[DrafterStatistics, ...]:
    return (DrafterStatistics("history", 40, 30, accepted, 0.1),)


def test_nothing_is_known_before_the_first_pulse(samples: MonitorSamples) -> None:
    assert samples.memory() is None
    assert samples.cache() is None


def test_memory_adds_up_to_all_that_the_computer_has(samples: MonitorSamples) -> None:
    samples.add_pulse(PULSE)
    now = {"engine": 160, "kept_now": 0, "front": 0, "others": 140, "free": 700}
    assert samples.memory() == MemoryParts(weights=155, kv=42, kept=0, api=0, buffers=10, **now)


def test_the_local_api_counts_apart_from_the_engine_and_other_programs(samples: MonitorSamples) -> None:
    samples.use_model(replace(MODEL, plan=PLAN | {"api": 30, "grammars": 5}))
    samples.front_bytes = lambda: 25
    samples.add_pulse(PULSE)
    now = {"engine": 160, "kept_now": 0, "front": 25, "others": 115, "free": 700}
    assert samples.memory() == MemoryParts(weights=155, kv=42, kept=0, api=35, buffers=10, **now)


def test_kept_chats_count_apart_from_the_rest_of_the_engine(samples: MonitorSamples) -> None:
    samples.use_model(replace(MODEL, plan=PLAN | {"kept_chats": 90}))
    samples.add_pulse(replace(PULSE, kept_chats=2, kept_bytes=60))
    now = {"engine": 100, "kept_now": 60, "front": 0, "others": 140, "free": 700}
    assert samples.memory() == MemoryParts(weights=155, kv=42, kept=90, api=0, buffers=10, **now)


def test_mapped_weights_count_as_the_engines_not_twice(samples: MonitorSamples) -> None:
    samples.add_pulse(replace(PULSE, rss_bytes=500, free_bytes=700))
    parts = samples.memory()
    assert parts
    assert parts.engine + parts.others + parts.free == 1000


def test_the_cache_map_has_every_token_once(samples: MonitorSamples) -> None:
    samples.add_pulse(PULSE)
    assert samples.cache(dropped=2) == CacheMap(saved=256, unsaved=44, pending=4, room=208, growth=3584, dropped=2)


def test_samples_are_what_came_between_two_pulses(samples: MonitorSamples) -> None:
    samples.add_pulse(replace(PULSE, steps=10, tokens=10, decode_seconds=1.0, drafters=drafted(0)))
    samples.add_pulse(replace(PULSE, steps=20, tokens=35, decode_seconds=2.0, drafters=drafted(15)))
    (sample,) = samples.history
    assert sample.tokens_per_step == 2.5
    assert sample.accepted == {"history": 1.5}


def test_another_answer_begins_from_nothing(samples: MonitorSamples) -> None:
    samples.add_pulse(replace(PULSE, steps=20, tokens=35, decode_seconds=2.0))
    samples.add_pulse(replace(PULSE, steps=3, tokens=3, decode_seconds=0.2))
    assert not samples.history


def test_old_samples_and_those_of_another_model_go(samples: MonitorSamples, clock: Clock) -> None:
    for n in range(3):
        samples.add_pulse(replace(PULSE, steps=n, tokens=n, decode_seconds=float(n)))
    assert len(samples.history) == 2
    clock.now += KEPT_SECONDS + 1
    samples.add_pulse(replace(PULSE, steps=2, tokens=2, decode_seconds=2.0))
    assert not samples.history
    samples.add_pulse(replace(PULSE, steps=9, tokens=9, decode_seconds=9.0))
    samples.use_model(replace(MODEL, path="/other.gguf"))
    assert not samples.history
    assert samples.pulse is None


def test_seconds_saved_are_those_of_reading_and_of_drafting() -> None:
    numbers = Statistics(100, 60, 4.0, 50, 10.0, 30, "end", 150, 4096, estimated_speedup=1.5)
    assert seconds_saved([statistics_to_json(numbers), "", "nonsense"]) == pytest.approx(60 * 0.1 + 10.0 * 0.5)
