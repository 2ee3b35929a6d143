"""Colours code with Pygments in slices of a few milliseconds, so that a long block never holds up the window."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

from PySide6.QtCore import QTimer
from PySide6.QtGui import QColor, QSyntaxHighlighter, QTextCharFormat, QTextDocument

from app.look.theme import theme
from app.services.frames import slices

SLICE_SECONDS = 0.001
PAUSE_MS = 150
LEXER_MS = 20
MAX_CHARACTERS = 200_000
COLUMNS = 200  # coloured columns of a line: Qt paints even invisible spans, which takes 3 µs each per frame
Span = tuple[int, int, str]
_requested: set[str] = set()  # languages whose lexers were requested; a thread loads them: the first takes 130 ms
_available: dict[str, bool] = {}  # by language: whether Pygments has a lexer


class CodeColours(QSyntaxHighlighter):
    """The spans (start, length, name of the colour) of each line; `refresh` starts to compute them."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._language = ""
        self._lines: list[list[Span]] = []
        self._formats: dict[str, QTextCharFormat] = {}
        self._code = self._wanted = ""
        self._steps: Iterator[None] | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._start)
        self.restyle()

    def set_language(self, language: str) -> None:
        self._language = language

    def refresh(self, code: str) -> None:
        self._wanted = code
        if self._language and self._steps is None and not self._timer.isActive() and len(code) <= MAX_CHARACTERS:
            self._timer.start(PAUSE_MS if self._lines else 0)

    def restyle(self) -> None:
        self._formats = {}
        for name in ("keyword", "string", "comment", "number", "name_"):
            self._formats[name] = QTextCharFormat()
            self._formats[name].setForeground(QColor(getattr(theme(), name)))
        if self._lines:
            self.rehighlight()

    def highlightBlock(self, _text: str) -> None:
        number = self.currentBlock().blockNumber()
        if number < len(self._lines):
            for start, length, name in self._lines[number]:
                self.setFormat(start, length, self._formats[name])

    def _start(self) -> None:
        if not _is_ready(self._language):
            self._timer.start(LEXER_MS)
        else:
            self._steps = self._compute_spans(self._wanted)
            slices().add(self, self._slice)

    def _slice(self) -> bool:
        assert self._steps
        until = time.perf_counter() + SLICE_SECONDS
        while time.perf_counter() < until:
            if next(self._steps, "done") == "done":
                self._steps = None
                if self._wanted != self._code:
                    self._timer.start(PAUSE_MS)
                return False
        return True

    def _compute_spans(self, code: str) -> Iterator[None]:
        """Compute the spans; each `next` does one step of work."""
        self._code = code
        lexer = _lexer_of(self._language)
        yield
        if lexer is None:
            return
        spans: list[list[Span]] = [[]]
        column = 0
        for _, kind, value in lexer.get_tokens_unprocessed(code):
            name = _colour_name(kind)
            for number, part in enumerate(value.split("\n")):
                if number:
                    self._show(spans)
                    spans.append([])
                    column = 0
                length = len(part) if part.isascii() else len(part.encode("utf-16-le")) // 2
                if name and length and column < COLUMNS:
                    spans[-1].append((column, length, name))
                column += length
            yield
        self._show(spans)

    def _show(self, spans: list[list[Span]]) -> None:
        number = len(spans) - 1
        if number < len(self._lines) and self._lines[number] == spans[number]:
            return
        self._lines[number : number + 1] = [spans[number]]
        block = self.document().findBlockByNumber(number)
        if block.isValid() and spans[number]:
            self.rehighlightBlock(block)


@cache
def _colour_name(token: object) -> str:
    kind = str(token).removeprefix("Token.")
    if kind.startswith("Comment"):
        return "comment"
    if kind.startswith("Keyword") or kind == "Operator.Word":
        return "keyword"
    if kind.startswith("Literal.String"):
        return "string"
    if kind.startswith("Literal.Number"):
        return "number"
    names = ("Name.Function", "Name.Class", "Name.Builtin", "Name.Decorator", "Name.Tag", "Name.Attribute")
    return "name_" if kind.startswith(names) else ""


def _is_ready(language: str) -> bool:
    """Return whether it is known if a lexer for the language exists; the first call starts loading it in a thread."""
    if language not in _requested:
        _requested.add(language)
        threading.Thread(target=_load_lexer, args=(language,), name="lexers", daemon=True).start()
    return language in _available


def _lexer_of(language: str) -> Any:
    """Return a new lexer, or None if Pygments has none; takes no time once `_is_ready`."""
    return _make_lexer(language) if _available.get(language) else None


def _load_lexer(language: str) -> None:
    available = False
    try:
        available = _make_lexer(language) is not None
    finally:
        _available[language] = available


def _make_lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None
