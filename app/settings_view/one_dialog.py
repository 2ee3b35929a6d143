"""The one open dialog of a kind, or none: opened, brought to the front, kept in step with languages and looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtCore import Qt

from app.settings_view.page import Sheet

S = TypeVar("S", bound=Sheet)


class OneDialog(Generic[S]):
    """`open` is the dialog that is open; one that is closed is deleted, and `closed` called."""

    def __init__(self, closed: Callable[[], object] = lambda: None) -> None:
        self.open: S | None = None
        self._closed = closed

    def show(self, make: Callable[[], S]) -> S:
        """To the front; made first if there is none."""
        if self.open is None:
            self.open = make()
            self.open.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            self.open.finished.connect(self._ended)
        self.open.show()
        self.open.raise_()
        self.open.activateWindow()
        return self.open

    def close(self) -> None:
        if self.open is not None:
            self.open.close()

    def retranslate(self) -> None:
        if self.open is not None:
            self.open.retranslate()

    def restyle(self) -> None:
        if self.open is not None:
            self.open.restyle()

    def _ended(self) -> None:
        self.open = None
        self._closed()
