"""Speeds and durations as people read them, in one form for the window and the terminal; sizes: `byte_sizes.py`."""

from __future__ import annotations

from common.sentences import Sentence


def speed(tokens_per_second: float) -> Sentence:
    """Return '31 tok/s', '7.4 tok/s' or '0.04 tok/s'; the fraction matters only to slow models."""
    digits = 0 if tokens_per_second >= 9.95 else 1 if tokens_per_second >= 0.095 else 2
    return Sentence.of("unit.speed", rate=f"{tokens_per_second:,.{digits}f}")


def duration(seconds: float) -> Sentence:
    """Return a duration, rounded: '18 s', '2 min', '3 h'; at least a second."""
    if seconds < 90:
        return Sentence.of("unit.seconds", time=max(1, round(seconds)))
    minutes = round(seconds / 60)
    return Sentence.of("unit.minutes", time=minutes) if minutes < 120 else Sentence.of("unit.hours", time=minutes // 60)


def exact_seconds(seconds: float) -> Sentence:
    """Return a measured time with tenths: '0.5 s', '1,204.0 s'."""
    return Sentence.of("unit.seconds", time=f"{seconds:,.1f}")


def exact_duration(seconds: float) -> Sentence:
    """Return a duration to the second, for one that is watched while it grows: '42 s', '3 min 20 s'."""
    minutes, rest = divmod(max(1, round(seconds)), 60)
    if minutes and rest:
        return Sentence.of("unit.minutes_seconds", minutes=minutes, seconds=rest)
    return Sentence.of("unit.minutes", time=minutes) if minutes else Sentence.of("unit.seconds", time=rest)
