"""Marks found words in the messages that have a view, and brings one of them into view, however deep it is folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from app.look.theme import SIZES, theme
from app.markdown.block_stack import BlockStack, BlockView
from app.markdown.code_view import CodeView, display_rows
from app.markdown.find import comparable, places
from app.markdown.selection import SelectableText, coloured, cursor_over
from app.markdown.table_view import TableView
from app.services.frames import slices
from app.services.timers import Throttle
from app.transcript.answer_view import ThoughtView
from app.transcript.message_view import MessageView
from app.transcript.transcript import Transcript

EVERY_MS = 50


@dataclass(frozen=True, slots=True)
class Hit:
    """One place of the words: the `number`-th (from 0) in a section of a message; a question has one section."""

    message_id: str
    section: int
    number: int


class Highlights:
    """The marks of `words` (made by `comparable`) in a transcript; the hit `current` has a stronger colour.

    Views come and go while the user scrolls, so marks are set again, a few times a second, whenever something changes.
    """

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._words = ""
        self._current: Hit | None = None
        self._seeking: Hit | None = None
        # For each text: the revision of its document and the words, when it was searched, and the places found.
        self._searched: WeakKeyDictionary[SelectableText, tuple[int, str, list[int]]] = WeakKeyDictionary()
        self._marked: WeakKeyDictionary[SelectableText, object] = WeakKeyDictionary()  # what each text shows
        self._updates = Throttle(self._update, EVERY_MS, transcript)
        transcript.column.height_changed.connect(self._changed)
        transcript.verticalScrollBar().valueChanged.connect(self._changed)

    def show(self, words: str) -> None:
        """Mark these words from now on; "" removes all marks."""
        self._words = words
        self._current = self._seeking = None
        if words:
            self._updates.request()
        else:
            self._updates.cancel()
            for text in list(self._marked):
                text.setExtraSelections([])
            self._marked.clear()
            self._searched.clear()

    def restyle(self) -> None:
        """Mark again in the present theme's colours."""
        self._marked.clear()
        self._changed()

    def go_to(self, hit: Hit | None, scroll: bool = True) -> None:
        """Make `hit` the current one, and scroll to it: unfold and lay out what is needed, in slices."""
        self._current = hit
        self._updates.request()
        row = self._transcript.column.row_of(hit.message_id) if hit is not None and scroll else None
        if row is not None:
            self._seeking = hit
            slices().add(self._transcript, self._seek)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _changed(self, _: object = None) -> None:
        if self._words:
            self._updates.request()

    def _update(self) -> None:
        place = self._place_of(self._current) if self._current is not None else None
        current = place if isinstance(place, tuple) else None
        for view in self._transcript.views_nearby():
            for text in _texts(view):
                self._mark(text, current[1] if current is not None and current[0] is text else -1)

    def _mark(self, text: SelectableText, current: int) -> None:
        positions = self._places_in(text)
        marks = (text.document().revision(), self._words, current)
        if self._marked.get(text) == marks:
            return
        if text not in self._marked:
            text.textChanged.connect(self._changed)
        self._marked[text] = marks
        plain, strong = (theme().selection, theme().ink), (theme().accent, theme().on_accent)
        document, length = text.document(), len(self._words)
        text.setExtraSelections(
            [coloured(document, at, at + length, *(strong if at == current else plain)) for at in positions]
        )

    def _places_in(self, text: SelectableText) -> list[int]:
        key = text.document().revision(), self._words
        known = self._searched.get(text)
        if known is None or known[:2] != key:
            known = self._searched[text] = (*key, places(comparable(text.toPlainText()), self._words))
        return known[2]

    def _place_of(self, hit: Hit) -> tuple[SelectableText, int] | CodeView | None:
        """Return the text that shows the hit, and its position there; or the folded code that hides the hit.

        None while the text is not laid out so far.
        """
        row = self._transcript.column.row_of(hit.message_id)
        view = None if row is None else self._transcript.column.view(row)
        left = hit.number
        for block in _blocks(None if view is None else _section(view, hit.section)):
            for text in _texts_of(block):
                positions = self._places_in(text)
                if left < len(positions):
                    return text, positions[left]
                left -= len(positions)
            if isinstance(block, CodeView):
                hidden = self._hidden_places(block)
                if left < hidden:
                    return block
                left -= hidden
        return None

    def _hidden_places(self, code: CodeView) -> int:
        """Return how many places are in the lines that folded code does not show."""
        if not code.folded:
            return 0
        everything = comparable("\n".join(display_rows(code.code)))
        return len(places(everything, self._words)) - len(self._places_in(code.text))

    def _seek(self) -> bool:
        """Do the next step towards the hit; return whether another one is needed."""
        hit, transcript = self._seeking, self._transcript
        row = None if hit is None else transcript.column.row_of(hit.message_id)
        if hit is None or row is None or not self._words:
            return False
        transcript.bring_into_view(row)  # again, because unfolding moves it
        whole = transcript.lay_out_row(row)
        view = transcript.column.view(row)
        assert view is not None
        thought = _thought(view, hit.section)
        if thought is not None and not thought.open:
            thought.line.setChecked(True)
            return True
        section = _section(view, hit.section)
        if isinstance(section, BlockStack) and not section.placed:
            return True
        place = self._place_of(hit)
        if isinstance(place, CodeView):
            place.unfold()
            return True
        if place is not None:
            self._seeking = None
            self._reveal(row, view, *place)
            self._updates.request()
            return False
        return not whole or any(isinstance(block, CodeView) and not block.complete for block in _blocks(section))

    def _reveal(self, row: int, view: MessageView, text: SelectableText, at: int) -> None:
        first, last = (cursor_over(text.document(), each, each) for each in (at, at + len(self._words)))
        area = text.cursorRect(first).united(text.cursorRect(last))
        top = text.viewport().mapTo(view, QPoint(0, area.top())).y()
        self._transcript.show_place(row, top, area.height())
        _scroll_sideways(text, area)


def _scroll_sideways(text: SelectableText, area: QRect) -> None:
    """Scroll code or a table that is wider than the column."""
    if isinstance(text, QPlainTextEdit):
        bar, width = text.horizontalScrollBar(), text.viewport().width()
        if area.left() < 0 or area.right() > width:
            bar.setValue(bar.value() + area.left() - SIZES.indent)
        return
    table: QWidget | None = text
    while table is not None and not isinstance(table, TableView | MessageView):
        table = table.parentWidget()
    if isinstance(table, TableView):
        table.ensureVisible(text.x() + area.right(), 0, SIZES.gap, 0)
        table.ensureVisible(text.x() + area.left(), 0, SIZES.gap, 0)


# --- the texts of a message -------------------------------------------------------------------------------------------


def _section(view: MessageView, number: int) -> BlockStack | SelectableText | None:
    """Return what shows a section of the message; None for a folded thought."""
    body = view.body
    if isinstance(body, QTextEdit | BlockStack):
        return body
    section = body.sections[number] if number < len(body.sections) else None
    return section.body if isinstance(section, ThoughtView) else section


def _thought(view: MessageView, number: int) -> ThoughtView | None:
    sections = [] if isinstance(view.body, QTextEdit | BlockStack) else view.body.sections
    section = sections[number] if number < len(sections) else None
    return section if isinstance(section, ThoughtView) else None


def _blocks(section: BlockStack | SelectableText | None) -> list[BlockView | SelectableText]:
    if section is None:
        return []
    return [*section.block_views] if isinstance(section, BlockStack) else [section]


def _texts_of(block: BlockView | SelectableText) -> list[SelectableText]:
    if isinstance(block, CodeView):
        return [block.text]
    if isinstance(block, TableView):
        return [*block.pieces]
    return [block]


def _texts(view: MessageView) -> Iterator[SelectableText]:
    parts: Sequence[BlockStack | SelectableText] = [view.body] if isinstance(view.body, QTextEdit) else view.stacks
    for part in parts:
        for block in _blocks(part):
            yield from _texts_of(block)
