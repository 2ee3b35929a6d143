"""Runs searches off the window's thread while the user types: the latest words win."""

from __future__ import annotations

import logging

from PySide6.QtCore import QObject, Signal

from app.services.background import Background
from app.store.search import Hit, Search
from common.failures import Failure

log = logging.getLogger(__name__)


class Finding(QObject):
    """`found` carries the hits for the words that were asked for last, `failed` why there are none."""

    found = Signal(list)
    failed = Signal(object)

    def __init__(self, search: Search, parent: QObject) -> None:
        super().__init__(parent)
        self._search = search
        self._background = Background(self)
        self._wanted: str | None = None

    def look(self, text: str) -> None:
        """Search for `text`; what is still searched for is given up."""
        self._wanted = text
        if self._background.running:
            self._search.interrupt()
        else:
            self._begin()

    def close(self) -> None:
        self._search.interrupt()
        self._background.wait()
        self._search.close()

    def _begin(self) -> None:
        text, self._wanted = self._wanted or "", None
        self._background.run(lambda: self._search.search(text), self._tell, self._fail)

    def _tell(self, hits: list[Hit]) -> None:
        if self._wanted is None:
            self.found.emit(hits)
        else:
            self._begin()

    def _fail(self, failure: Failure) -> None:
        if self._wanted is not None:  # it was interrupted
            self._begin()
        else:
            log.warning("%s (%s)", failure, failure.detail)
            self.failed.emit(failure)
