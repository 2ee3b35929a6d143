"""Links below an answer: one for each passage or whole file of the user's collections that the model read for it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QPushButton, QWidget

from app.look.flow import Flow
from app.look.live import Live
from app.look.theme import SIZES, icon, theme
from app.state.answer_facts import Source, place_words
from app.words import escaped_html, tr

WHOLE = -1  # in place of a passage's number


class SourceLink(Live, QPushButton):
    """Link to passage `index` of a source, or to all of it (WHOLE)."""

    def __init__(self, source: Source, index: int, opened: Callable[[], object], parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("kind", "source")
        self.setAutoDefault(True)  # Return presses it, as Space does
        self._source, self._index = source, index
        self.clicked.connect(lambda: opened())
        self.apply_look()

    def retranslate(self) -> None:
        source = self._source
        where = place_words(source.places[self._index]) if source.places else tr("all of it")
        words = " · ".join(filter(None, (source.name, where)))
        shown = self.fontMetrics().elidedText(words, Qt.TextElideMode.ElideRight, SIZES.chip * 2)
        self.setText(shown.replace("&", "&&"))
        self.setToolTip(escaped_html(f"{words}\n{tr('Show it in the file')}"))
        self.setAccessibleName(tr("Source: {name}", name=words))

    def restyle(self) -> None:
        self.setIcon(icon("file", theme().soft))
        self.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self.retranslate()


class SourceLinks(Flow):
    """Links to all sources of an answer; `opened` gets the number of the attachment and of the passage in it."""

    def __init__(self, parent: QWidget, opened: Callable[[int, int], object]) -> None:
        super().__init__(parent)
        self._opened = opened
        self._shown: list[Source] = []

    def show_sources(self, sources: list[Source]) -> None:
        if sources != self._shown:
            self._shown = sources
            indices = [(source, index) for source in sources for index in source.used_places or (WHOLE,)]
            self.set_widgets([self._link(source, index) for source, index in indices])
        self.setVisible(bool(sources))

    def _link(self, source: Source, index: int) -> SourceLink:
        number = source.number or 0
        return SourceLink(source, index, lambda: self._opened(number, index), self)
