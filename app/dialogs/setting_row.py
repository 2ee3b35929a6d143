"""One setting in a dialog: title, the sentence of help, a control to change it with, and a way back to the default."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QPainter, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QComboBox, QFrame, QGridLayout, QLineEdit, QPlainTextEdit, QPushButton, QStyle, QWidget

from app.dialogs.dialog import label
from app.look.live import Live
from app.look.theme import SIZES, icon, theme
from app.settings.values import allowed, parse, shown
from app.words import mark, tr
from engine.protocol.settings import Setting, Value

PAUSE_MS = 500  # who writes a text pauses before it is stored
AUTO_SHOWN = mark("Automatic")


class Line(Live, QLineEdit):
    """Its text is complete, as Qt says it (`editingFinished`), with Enter or when the focus leaves."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.complete = self.editingFinished
        self.apply_look()

    def commit(self) -> None:
        self.editingFinished.emit()

    def edited(self) -> str | None:
        """What was typed and neither taken nor given up yet."""
        return self.text() if self.isModified() else None

    def settle(self) -> None:
        """What was typed is taken, or not wanted."""
        self.setModified(False)

    def show_text(self, text: str) -> None:
        if not self.isModified():  # what is being typed, or wrong, is not taken away
            self.setText(text)

    def restyle(self) -> None:
        self.setFixedWidth(SIZES.input)


class Choice(Live, QComboBox):
    """Of values, which are not the words shown for them."""

    def __init__(self, choices: Sequence[tuple[str, str]], parent: QWidget) -> None:
        super().__init__(parent)
        self._choices = choices
        for value, words in choices:
            self.addItem(tr(words), value)
        self.complete = self.activated
        self.apply_look()

    def commit(self) -> None:
        self.activated.emit(self.currentIndex())

    def edited(self) -> str | None:
        """A choice is made at once; None where what holds is not one of the choices."""
        return str(self.currentData()) if self.currentIndex() >= 0 else None

    def settle(self) -> None:
        """Nothing is left to be taken or given up."""

    def show_text(self, text: str) -> None:
        self.setCurrentIndex(self.findData(text))

    def retranslate(self) -> None:
        for index, (_, words) in enumerate(self._choices):
            self.setItemText(index, tr(words))

    def restyle(self) -> None:
        self.setFixedWidth(SIZES.input)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        # A stylesheet cannot tint an image; icons are.
        arrow = icon("chevron", theme().soft).pixmap(SIZES.icon)
        place = QStyle.alignedRect(
            Qt.LayoutDirection.LeftToRight,
            Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter,
            arrow.deviceIndependentSize().toSize(),
            self.rect().adjusted(0, 0, -SIZES.gap, 0),
        )
        QPainter(self).drawPixmap(place, arrow)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # the wheel scrolls the page; a choice changed in passing would go unnoticed


class Words(Live, QPlainTextEdit):
    """Its text is complete after a pause, or when the focus leaves."""

    complete = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setTabChangesFocus(True)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE_MS)
        self._pause.timeout.connect(self.commit)
        self.textChanged.connect(self._pause.start)
        self.apply_look()

    def commit(self) -> None:
        self._pause.stop()
        self.complete.emit()

    def edited(self) -> str | None:
        """What was typed and neither taken nor given up yet."""
        return self.toPlainText() if self.document().isModified() else None

    def settle(self) -> None:
        """What was typed is taken, or not wanted."""
        self.document().setModified(False)

    def show_text(self, text: str) -> None:
        if text != self.toPlainText() and not self.document().isModified():
            self.setPlainText(text)

    def restyle(self) -> None:
        self.setFixedHeight(SIZES.words)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.commit()
        super().focusOutEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.verticalScrollBar().maximum() > 0 and self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


Control = Line | Choice | Words


class SettingRow(Live, QFrame):
    """`changed` carries the setting's name and its new value, None for the default."""

    changed = Signal(str, object)

    def __init__(self, setting: Setting, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("settingRow")
        self.setting = setting
        self._differs = self._below = False
        self._suggested = ""
        self.control = control_for(setting, self)
        self.title = label("settingTitle", self)
        self.title.setBuddy(self.control)
        self.help = label("settingHelp", self)
        self.effect, self.problem = label("settingHelp", self), label("problem", self)
        self.effect.hide()
        self.problem.hide()
        self.back = QPushButton(self)
        self.back.setProperty("kind", "quiet")
        self.back.setAutoDefault(False)
        self.back.clicked.connect(self._go_back)
        self.control.complete.connect(self._take)
        self._layout()
        self.apply_look()

    def show_value(self, value: Value, differs: bool) -> None:
        self.control.show_text(shown(self.setting, value))
        self._differs = differs
        self.back.setVisible(differs or not self.problem.isHidden())

    def suggest(self, words: str) -> None:
        """What automatic comes to at the moment."""
        self._suggested = words
        if isinstance(self.control, Line) and self.setting.auto:
            automatic = tr(AUTO_SHOWN)
            self.control.setPlaceholderText(f"{automatic} ({words})" if words else automatic)

    def show_effect(self, words: str) -> None:
        """What the value comes to in memory or speed."""
        self.effect.setText(words)
        self.effect.setVisible(bool(words))

    def retranslate(self) -> None:
        title, help = tr(self.setting.title), tr(self.setting.help)
        self.title.setText(title)
        self.help.setText(help)
        self.control.setAccessibleName(title)
        self.control.setAccessibleDescription(help)
        self.back.setText(tr("Reset"))
        self.back.setAccessibleName(tr("Reset {setting}", setting=title))
        self.back.setToolTip(tr("Restore the default: {setting}", setting=title))
        self.suggest(self._suggested)

    def matches(self, words: str, section: str) -> bool:
        """Do all of `words` occur in what the row says?"""
        said = " ".join((section, tr(self.setting.title), self.setting.name, tr(self.setting.help))).casefold()
        return all(word in said for word in words.casefold().split())

    def commit(self) -> None:
        """What was typed but not yet confirmed counts; a choice is made at once."""
        if not isinstance(self.control, Choice):
            self.control.commit()

    def _go_back(self) -> None:
        self._settle()
        self.changed.emit(self.setting.name, None)
        self.control.setFocus()  # the button is gone, and the focus must not go astray

    def _take(self) -> None:
        """What was typed or chosen, if it is allowed."""
        text = self.control.edited()
        if text is None:
            return
        try:
            value = parse(self.setting, text)
        except ValueError:
            self._complain(tr("This must be {allowed}.", allowed=allowed(self.setting)))
            return
        self._settle()
        self.changed.emit(self.setting.name, value)

    def _settle(self) -> None:
        self.control.settle()
        self._complain("")

    def _complain(self, sentence: str) -> None:
        self.problem.setText(sentence)
        self.problem.setVisible(bool(sentence))
        self.back.setVisible(bool(sentence) or self._differs)
        self.control.setProperty("wrong", bool(sentence))
        self.control.style().unpolish(self.control)
        self.control.style().polish(self.control)

    def _layout(self) -> None:
        keeps = self.back.sizePolicy()
        keeps.setRetainSizeWhenHidden(True)  # so that nothing jumps
        self.back.setSizePolicy(keeps)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, SIZES.gap_m, 0, SIZES.gap_m)
        self._grid.setHorizontalSpacing(SIZES.gap)
        self._grid.setVerticalSpacing(SIZES.gap_s)
        self._place()

    def _place(self) -> None:
        """The control beside the words, or below them where it would leave them too narrow a column."""
        top, middle = Qt.AlignmentFlag.AlignTop, Qt.AlignmentFlag.AlignVCenter
        long, grid = isinstance(self.control, Words), self._grid
        for number, line in enumerate((self.title, self.help)):
            grid.addWidget(line, number, 0, 1, 3 if self._below else 1, top)
        if long:
            grid.addWidget(self.back, 0, 1, 2, 2, top | Qt.AlignmentFlag.AlignRight)
            grid.addWidget(self.control, 2, 0, 1, 3)
        elif self._below:
            grid.addWidget(self.control, 2, 0, middle)
            grid.addWidget(self.back, 2, 1, middle)
        else:
            grid.addWidget(self.back, 0, 1, 2, 1, middle)
            grid.addWidget(self.control, 0, 2, 2, 1, middle)
        for number, line in enumerate((self.effect, self.problem), start=3):
            grid.addWidget(line, number, 0, 1, 3)
        grid.setColumnStretch(0, int(not self._below))
        grid.setColumnStretch(2, int(self._below))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        below = not isinstance(self.control, Words) and self._is_narrow(event.size().width())
        if below != self._below:
            self._below = below
            self._place()

    def _is_narrow(self, width: int) -> bool:
        """Is the column of words beside the control narrower than the control? Back only with a scroll bar's room more,
        as the height that this takes may bring or remove one."""
        words = width - SIZES.input - self.back.sizeHint().width() - 2 * SIZES.gap
        return words < SIZES.input + SIZES.scroll_bar * self._below


def control_for(setting: Setting, parent: QWidget) -> Control:
    made: Control
    if setting.kind in ("choice", "file"):
        made = Choice(setting.choices, parent)
    else:
        made = Words(parent) if setting.kind == "text" else Line(parent)
    made.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return made
