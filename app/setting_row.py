"""One setting in the dialog: title, the sentence of help, control, and a way back to the default. Knows no file."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QPushButton, QWidget

from app.setting import Setting, Value
from app.setting_controls import AUTO_SHOWN, Choice, Control, Line, Words, name_control
from app.theme import SIZES


class SettingRow(QFrame):
    """`changed` carries the setting's name and its new value, `reset` the name."""

    changed = Signal(str, object)
    reset = Signal(str)

    def __init__(self, setting: Setting, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("settingRow")
        self.setting = setting
        self._differs = False
        self.control = control_for(setting, self)
        name_control(self.control, setting.title, setting.help)
        self.title = self._label(setting.title, "settingTitle")
        self.title.setBuddy(self.control)
        self.help = self._label(setting.help, "settingHelp")
        self.problem = self._label("", "problem")
        self.problem.hide()
        self.back = QPushButton("Reset", self)
        self.back.setProperty("kind", "quiet")
        self.back.setAutoDefault(False)
        self.back.setAccessibleName(f"Reset {setting.title}")
        self.back.setToolTip(f"{setting.title}: back to what the machine suggests")
        self.back.clicked.connect(self._go_back)
        self.control.edited.connect(self._edited)
        self._layout()

    def show_value(self, value: Value, differs: bool) -> None:
        self.control.show_text(self.setting.shown(value))
        self._differs = differs
        self.back.setVisible(differs or not self.problem.isHidden())

    def suggest(self, words: str) -> None:
        """What automatic comes to at the moment."""
        if isinstance(self.control, Line) and self.setting.auto:
            self.control.setPlaceholderText(f"{AUTO_SHOWN} ({words})" if words else AUTO_SHOWN)

    def matches(self, words: str, section: str) -> bool:
        """Do all of `words` occur in what the row says?"""
        said = " ".join((section, self.setting.title, self.setting.name, self.setting.help)).casefold()
        return all(word in said for word in words.casefold().split())

    def _go_back(self) -> None:
        self._settle()
        self.reset.emit(self.setting.name)
        self.control.setFocus()  # the button is gone, and the focus must not go astray

    def _edited(self, text: str) -> None:
        try:
            value = self.setting.parse(text)
        except ValueError:
            self._complain(f"This must be {self.setting.allowed}.")
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

    def _label(self, text: str, name: str) -> QLabel:
        label = QLabel(text, self)
        label.setObjectName(name)
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        return label

    def _layout(self) -> None:
        keeps = self.back.sizePolicy()
        keeps.setRetainSizeWhenHidden(True)  # so that nothing jumps
        self.back.setSizePolicy(keeps)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, SIZES.gap_m, 0, SIZES.gap_m)
        grid.setHorizontalSpacing(SIZES.gap)
        grid.setVerticalSpacing(SIZES.gap_s)
        grid.setColumnStretch(0, 1)
        top = Qt.AlignmentFlag.AlignTop
        grid.addWidget(self.title, 0, 0, top)
        grid.addWidget(self.help, 1, 0, top)
        if isinstance(self.control, Words):
            grid.addWidget(self.back, 0, 1, 2, 2, top | Qt.AlignmentFlag.AlignRight)
            grid.addWidget(self.control, 2, 0, 1, 3)
        else:
            grid.addWidget(self.back, 0, 1, 2, 1, Qt.AlignmentFlag.AlignVCenter)
            grid.addWidget(self.control, 0, 2, 2, 1, Qt.AlignmentFlag.AlignVCenter)
        grid.addWidget(self.problem, 3, 0, 1, 3)


def control_for(setting: Setting, parent: QWidget) -> Control:
    if setting.kind == "choice":
        return Choice(setting.choices, parent)
    if setting.kind == "text":
        return Words(parent)
    line = Line(parent)
    line.setPlaceholderText(AUTO_SHOWN if setting.auto else "")
    return line
