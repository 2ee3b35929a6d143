"""One setting in the dialog: title, the sentence of help, control, and a way back to the default. Knows no file."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QPushButton, QWidget

from app.look.theme import SIZES
from app.settings.setting import Setting, Value
from app.settings_view.page import label
from app.settings_view.setting_controls import AUTO_SHOWN, Choice, Control, Line, Words, name_control
from app.words import tr


class SettingRow(QFrame):
    """`changed` carries the setting's name and its new value, `reset` the name."""

    changed = Signal(str, object)
    reset = Signal(str)

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
        self.control.edited.connect(self._edited)
        self._layout()
        self.retranslate()

    def show_value(self, value: Value, differs: bool) -> None:
        self.control.show_text(self.setting.shown(value))
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
        name_control(self.control, title, help)
        self.back.setText(tr("Reset"))
        self.back.setAccessibleName(tr("Reset {setting}", setting=title))
        self.back.setToolTip(tr("Restore the default: {setting}", setting=title))
        if isinstance(self.control, Choice):
            self.control.retranslate()
        self.suggest(self._suggested)

    def restyle(self) -> None:
        if isinstance(self.control, Words):
            self.control.setFixedHeight(SIZES.words)
        else:
            self.control.setFixedWidth(SIZES.input)

    def matches(self, words: str, section: str) -> bool:
        """Do all of `words` occur in what the row says?"""
        said = " ".join((section, self.title.text(), self.setting.name, self.help.text())).casefold()
        return all(word in said for word in words.casefold().split())

    def _go_back(self) -> None:
        self._settle()
        self.reset.emit(self.setting.name)
        self.control.setFocus()  # the button is gone, and the focus must not go astray

    def _edited(self, text: str) -> None:
        try:
            value = self.setting.parse(text)
        except ValueError:
            self._complain(tr("This must be {allowed}.", allowed=self.setting.allowed))
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
    if setting.kind == "choice":
        return Choice(setting.choices, parent)
    if setting.kind == "text":
        return Words(parent)
    return Line(parent)
