"""Hears signals at once, also while the window is idle."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterable

from PySide6.QtCore import QObject, QSocketNotifier


class Signals(QObject):
    """A listener that has the event loop call `work` after one of the signals `numbers`, until it is closed.

    A handler of Python's alone runs before Python's next instruction, and an idle window executes none: the window
    would not end until something happens, and would still answer a second start.
    """

    def __init__(self, parent: QObject, numbers: Iterable[int], work: Callable[[], object]) -> None:
        super().__init__(parent)
        self._numbers, self._work = tuple(numbers), work
        self._reading, self._writing = socket.socketpair()
        for end in (self._reading, self._writing):
            end.setblocking(False)
        self._notifier = QSocketNotifier(self._reading.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._woken)
        signal.set_wakeup_fd(self._writing.fileno(), warn_on_full_buffer=False)
        for number in self._numbers:
            signal.signal(number, lambda *_: None)  # Python writes the signal's number into the socket

    def close(self) -> None:
        """Leave the signals to the system: no handler of ours would run while a dialog is open."""
        for number in self._numbers:
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        self._notifier.setEnabled(False)
        self._reading.close()
        self._writing.close()

    def _woken(self) -> None:
        if set(self._reading.recv(4096)) & set(self._numbers):
            self._work()
