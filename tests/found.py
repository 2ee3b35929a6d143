"""Sequences that random tests once failed with: each run of the tests repeats them first.

A failure prints its sequence of rules. Copy it into a function that the test module's FOUND lists, and leave out what
it does not need. Unlike a seed, a sequence stays what it is when the rules of the test change.
"""

from __future__ import annotations

import collections.abc
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

Sequence = Callable[[Any], None]
WHICH = st.integers(0, 9)
T = TypeVar("T")


def chosen(things: collections.abc.Sequence[T], which: int) -> T:
    """Return one of the things that exist now, by a number that a printed sequence can have, unlike `st.data()`."""
    return things[which % len(things)]


class Checked:
    """A state machine of which each rule that is called is followed by the invariants, as hypothesis does it."""

    def __init__(self, state: RuleBasedStateMachine) -> None:
        self._state = state

    def __getattr__(self, name: str) -> Callable[..., None]:
        def call(**arguments: Any) -> None:
            getattr(self._state, name)(**arguments)
            for invariant in self._state.invariants:
                invariant.function(self._state)

        return call


def repeat(state: RuleBasedStateMachine, sequence: Sequence) -> None:
    """Run a sequence of rules on a new state machine."""
    try:
        sequence(Checked(state))
    finally:
        state.teardown()
