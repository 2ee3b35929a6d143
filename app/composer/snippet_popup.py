"""The list of prompt snippets above the composer: typing `/` opens it, further letters search, Enter chooses."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QFrame, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from app.commands.palette import ENTRY, EntryPainter, PaletteEntry
from app.composer.prompt_editor import PromptEditor
from app.look.live import Live
from app.look.sheet import fill
from app.look.speech import announce
from app.look.theme import SIZES
from app.words import tr, tr_n

OPENERS = ("/", "／", "、")  # the last is what the key gives in Chinese
MOST_LINES = 8  # lines that are visible without scrolling
LONGEST_SEARCH = 60  # characters; a longer text is a message
LIST_KEYS = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)
TAKE_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Tab)
Search = Callable[[str], list[PaletteEntry]]


class SnippetPopup(Live, QFrame):
    """List over `host`, above the widget `anchor`, of the snippets that match what is typed after `/` in `editor`.

    The editor keeps the focus. `chosen` carries the chosen PaletteEntry. Without a match the popup is hidden, so that
    Enter sends a message like "/etc is full" as it is; so it does after Esc.
    """

    chosen = Signal(object)

    def __init__(self, editor: PromptEditor, anchor: QWidget, host: QWidget, search: Search) -> None:
        super().__init__(host)
        self.setObjectName("palette")
        self._editor, self._anchor, self._host, self._search = editor, anchor, host, search
        self._open = False  # whether `/` was typed, and neither Esc pressed nor the text changed to another beginning
        self.list = QListWidget(self)
        self.list.setObjectName("paletteList")
        self.list.setItemDelegate(EntryPainter(self.list))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.itemClicked.connect(self._choose)
        self.list.currentItemChanged.connect(self._say_current)
        fill(QVBoxLayout(self), self.list, margins=(SIZES.gap_s, SIZES.gap_s, SIZES.gap_s, SIZES.gap_s))
        editor.textChanged.connect(self._text_changed)
        editor.installEventFilter(self)
        host.installEventFilter(self)
        anchor.installEventFilter(self)
        self.apply_look()
        self.hide()

    def shown_entries(self) -> list[PaletteEntry]:
        """Return the entries that are listed."""
        return [self.list.item(row).data(ENTRY) for row in range(self.list.count())]

    def dismiss(self) -> None:
        """Hide the list until `/` is typed again."""
        self._open = False
        self.hide()

    def retranslate(self) -> None:
        self.list.setAccessibleName(tr("Prompt snippets"))
        if not self.isHidden():
            self._fill()

    def restyle(self) -> None:
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Move) and watched in (self._host, self._anchor):
            self._place()
        if watched is not self._editor or self.isHidden():
            return False
        if event.type() == QEvent.Type.FocusOut and self._editor.window().isActiveWindow():
            self.dismiss()
        if isinstance(event, QKeyEvent) and not self._editor.composing:
            if event.type() == QEvent.Type.ShortcutOverride and event.key() == Qt.Key.Key_Escape:
                event.accept()  # so that Esc closes this list and does not stop an answer
                return True
            return event.type() == QEvent.Type.KeyPress and self._handle_key(event)
        return False

    def _handle_key(self, event: QKeyEvent) -> bool:
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            return False
        if event.key() == Qt.Key.Key_Escape:
            self.dismiss()
        elif event.key() in LIST_KEYS:
            QApplication.sendEvent(self.list, event)
        elif event.key() in TAKE_KEYS:
            self._choose(self.list.currentItem())
        else:
            return False
        return True

    def _text_changed(self) -> None:
        text = self._editor.toPlainText()
        if text in OPENERS and self._editor.hasFocus():
            self._open = True
        elif not text.startswith(OPENERS) or "\n" in text or len(text) > LONGEST_SEARCH:
            self._open = False
        if self._open:
            self._fill()
        else:
            self.hide()

    def _fill(self) -> None:
        self.list.clear()
        entries = self._search(self._editor.toPlainText()[1:])
        for entry in entries:
            item = QListWidgetItem(entry.title, self.list)
            item.setData(ENTRY, entry)
        was_hidden = self.isHidden()
        self.setVisible(bool(entries))
        if entries:
            self._place()
            if was_hidden:
                announce(self._editor, tr_n("{n} prompt snippet", "{n} prompt snippets", len(entries)))
            self.list.setCurrentRow(0)
            self.raise_()

    def _say_current(self, item: QListWidgetItem | None) -> None:
        """Have a screen reader say the current snippet, because the focus stays in the editor."""
        if item is not None:
            announce(self._editor, item.text())

    def _choose(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            self.dismiss()
            self.chosen.emit(item.data(ENTRY))

    def _place(self) -> None:
        if self.isHidden():
            return
        above = self._anchor.mapTo(self._host, QPoint())
        lines = min(self.list.count(), MOST_LINES)
        room = above.y() - 2 * SIZES.gap - 2 * SIZES.gap_s
        self.list.setFixedHeight(max(SIZES.row, min(lines * SIZES.row + SIZES.gap_s, room)))
        self.resize(self._anchor.width(), self.sizeHint().height())
        self.move(above.x(), max(SIZES.gap, above.y() - self.height() - SIZES.gap))
