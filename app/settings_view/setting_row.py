"""One setting in the dialog: title, the sentence of help, control, and a way back to the default. Knows no file."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
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
        self._differs = False
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
        self.back.setToolTip(tr("{setting}: back to what the machine suggests", setting=title))
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
        grid.addWidget(self.effect, 3, 0, 1, 3)
        grid.addWidget(self.problem, 4, 0, 1, 3)


def control_for(setting: Setting, parent: QWidget) -> Control:
    if setting.kind == "choice":
        return Choice(setting.choices, parent)
    if setting.kind == "text":
        return Words(parent)
    return Line(parent)
