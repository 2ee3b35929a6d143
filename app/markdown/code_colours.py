"""Colours code by what a worker process found, in slices, so that a long block never holds up the window."""

from __future__ import annotations

from PySide6.QtGui import QColor, QSyntaxHighlighter, QTextCharFormat, QTextDocument

from app.look.theme import theme
from app.services.colour_worker import Code, Span
from app.services.frames import slices
from app.services.timers import Debounce
from app.services.worker_service import colour_service

PAUSE_MS = 150  # between two requests for code that is being written
LINES = 20  # that are coloured in one slice
NAMES = ("keyword", "string", "comment", "number", "name_")


class CodeColours(QSyntaxHighlighter):
    """The spans (start, length, name of the colour) of each line; `refresh` has them computed."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._language = ""
        self._lines: list[list[Span]] = []
        self._formats: dict[str, QTextCharFormat] = {}
        self._wanted = ""
        self._asked: Code | None = None  # what the worker is colouring
        self._failed = False  # whether it gave up: code that grows is not tried again
        self._pause = Debounce(self._ask, PAUSE_MS, self, restarts=False)
        colour_service().ready.connect(self._show)
        self.restyle()

    def set_language(self, language: str) -> None:
        self._language, self._failed = language, False

    def refresh(self, code: str) -> None:
        self._wanted = code
        if self._language and not self._failed:
            self._pause.request_in(PAUSE_MS if self._lines else 0)

    def restyle(self) -> None:
        self._formats = {}
        for name in NAMES:
            self._formats[name] = QTextCharFormat()
            self._formats[name].setForeground(QColor(getattr(theme(), name)))
        if self._lines:
            self.rehighlight()

    def highlightBlock(self, _text: str) -> None:
        number = self.currentBlock().blockNumber()
        if number < len(self._lines):
            for start, length, name in self._lines[number]:
                self.setFormat(start, length, self._formats[name])

    def _ask(self) -> None:
        if self._asked is None:
            self._asked = Code(self._language, self._wanted)
            self._show()

    def _show(self) -> None:
        """Show the spans if they are there, and ask again if the code has grown since."""
        colours = colour_service().result(self._asked) if self._asked is not None else None
        if self._asked is None or colours is None:
            return
        asked, self._asked = self._asked, None
        self._failed = bool(colours.problem)
        changed = [at for at, spans in enumerate(colours.lines) if self._lines[at : at + 1] != [spans]]
        self._lines = colours.lines
        if changed:
            slices().add(self, lambda: self._colour(changed))
        if asked.text != self._wanted:
            self.refresh(self._wanted)

    def _colour(self, changed: list[int]) -> bool:
        """Apply the colours of the next changed lines; return whether more are left."""
        for number in changed[:LINES]:
            block = self.document().findBlockByNumber(number)
            if block.isValid():
                self.rehighlightBlock(block)
        del changed[:LINES]
        return bool(changed)
