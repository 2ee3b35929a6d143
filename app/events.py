"""Events of plain objects: whoever wants to know of a change connects to the event that tells of it. Knows no Qt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVarTuple

from app.bugs import report

Values = TypeVarTuple("Values")


class Event(Generic[*Values]):
    """Calls what was connected, in that order, as Qt's signals do.

    An error in a listener is reported (app.bugs), and neither the others nor whoever emits suffer from it: no chat
    waits for ever because a view has a bug."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[*Values], object]] = []

    def connect(self, listener: Callable[[*Values], object]) -> None:
        self._listeners.append(listener)

    def disconnect(self, listener: Callable[[*Values], object]) -> None:
        """From now on it is not called; nothing happens where it was not connected."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def emit(self, *values: *Values) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(*values)
            except Exception as error:  # noqa: BLE001 - it is reported
                report(error)
