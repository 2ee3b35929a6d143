"""The bar above the transcript that finds words in the open chat: field, count, next and previous."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLineEdit, QToolButton, QWidget

from app.commands.commands import ActionButton, CommandSet, with_keys
from app.look.live import Live
from app.look.sheet import Button, fill
from app.look.theme import SIZES, icon, theme
from app.words import mark, tr


class FindBar(Live, QFrame):
    """Bar with the words to find in the open chat; hidden while nothing is looked for.

    Signals: `words_changed` carries the words; `closed` comes when the user has had enough; `restyled` after a change
    of theme. The other buttons trigger commands.
    """

    words_changed = Signal(str)
    closed = Signal()
    restyled = Signal()

    def __init__(self, commands: CommandSet, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("findBar")
        self._commands = commands
        self._shown: tuple[int, int] | None = None
        self.field = QLineEdit(self)
        self.field.setObjectName("search")
        self.count = QLabel(self)
        self.count.setObjectName("aside")
        self.previous = ActionButton(commands.actions["find_previous"], self)
        self.next = ActionButton(commands.actions["find_next"], self)
        self.all_chats = Button(self, mark("Search all chats"), commands.actions["find"].trigger, kind="quiet")
        self.close_button = QToolButton(self)
        self._layout()
        self.field.textChanged.connect(self.words_changed)
        self.close_button.clicked.connect(self.closed)
        self.setFocusProxy(self.field)
        self.apply_look()
        self.hide()

    @property
    def words(self) -> str:
        return self.field.text()

    def open(self, words: str = "") -> None:
        """Show the bar, with `words` if there are any, and let the user type."""
        self.show()
        if words:
            self.field.setText(words)
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def leave(self) -> bool:
        """Emit `closed` if the bar is shown; return whether it was."""
        shown = not self.isHidden()
        if shown:
            self.closed.emit()
        return shown

    def show_count(self, at: int, of: int) -> None:
        """Show that the hit number `at` (from 1) of `of` is the current one; 0 of 0: nothing was found."""
        self._shown = at, of
        self._show_count()

    def hide_count(self) -> None:
        """Show no count, because there are no words or the search is not over."""
        self._shown = None
        self._show_count()

    def event(self, event: QEvent) -> bool:
        escape = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape
        if event.type() == QEvent.Type.ShortcutOverride and escape:
            event.accept()  # Esc closes the bar before it stops an answer
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Handle keys that the field ignores: Enter goes to the next hit, Shift+Enter to the previous one."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.field.hasFocus():
            back = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
            self._commands.run("find_previous" if back else "find_next")
        elif event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        else:
            super().keyPressEvent(event)

    def restyle(self) -> None:
        self.close_button.setIcon(icon("close", theme().soft))
        for button in (self.previous, self.next, self.close_button):
            button.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self._column.setMaximumWidth(SIZES.column)
        self.count.setMinimumWidth(SIZES.words)
        self.field.setMaximumWidth(2 * SIZES.input)
        self.restyled.emit()

    def retranslate(self) -> None:
        self.field.setPlaceholderText(tr("Find in this chat"))
        self.field.setAccessibleName(tr("Find in this chat"))
        self.all_chats.setToolTip(with_keys(tr("Search all chats"), "find"))
        self.close_button.setAccessibleName(tr("Close"))
        self.close_button.setToolTip(tr("{words} ({keys})", words=tr("Close"), keys="Esc"))
        self._show_count()

    def _show_count(self) -> None:
        if self._shown is None:
            text = ""
        elif not self._shown[1]:
            text = tr("No results")
        else:
            text = tr("{at:,} of {of:,}", at=self._shown[0], of=self._shown[1])
        self.count.setText(text)
        self.count.setAccessibleName(text)

    def _layout(self) -> None:
        self._column = QWidget(self)
        moving = (self.count, self.previous, self.next)
        fill(
            QHBoxLayout(self._column), (self.field, 4), *moving, None, self.all_chats, self.close_button, gap=SIZES.gap
        )
        margins = (SIZES.gap_xl, SIZES.gap_s, SIZES.gap_xl, SIZES.gap_s)
        fill(QHBoxLayout(self), (None, 0), (self._column, 1), (None, 0), margins=margins)
