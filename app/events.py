"""Events of plain objects: an observer connects to the event of the one kind of change that it follows. Knows no Qt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVarTuple

from app.bugs import report

Values = TypeVarTuple("Values")


class Event(Generic[*Values]):
    """A list of listeners, called in the order in which they were connected, as Qt's signals do.

    An error in a listener is reported by `app.bugs` and reaches neither the other listeners nor the emitter, so that a
    bug in a view never leaves a chat waiting.
    """

    def __init__(self) -> None:
        self._listeners: list[Callable[[*Values], object]] = []

    def connect(self, listener: Callable[[*Values], object]) -> None:
        self._listeners.append(listener)

    def disconnect(self, listener: Callable[[*Values], object]) -> None:
        """Stop calling `listener`; do nothing if it was not connected."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def emit(self, *values: *Values) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(*values)
            except Exception as error:  # noqa: BLE001 - it is reported
                report(error)
