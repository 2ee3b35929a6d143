"""How long the window waits before it does something by itself. Its parts are given these when they are made."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Intervals:
    """In milliseconds. What a user sees is as it is by default; tests are in more of a hurry."""

    tick: int = 250  # between looks at whether the engine still reacts
    patience: int = 3_000  # with an engine that was asked to stop; an answer ends within 100
    opened: int = 300  # who leafs through the chats does not want each of them read
    typed: int = 500  # at most so much of what is typed is not stored yet
    settled: int = 800  # who changes several settings does not want the model loaded again for each
    placed: int = 1_000  # a window that is dragged, and an answer that is followed, change all the time
    tidied: int = 3_000  # after the last change that may ask for the store's upkeep
    tidied_again: int = 60_000  # after a failure
    stored_again: int = 5_000  # what could not be stored has failed before, and fails fast
