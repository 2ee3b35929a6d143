"""One model in the dialog: its name, what it is, whether it fits, and buttons. Thin over `model_rows.ModelRow`."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from app.look.theme import SIZES
from app.model_library.model_rows import ACTIONS, Action, ModelRow
from app.settings_view.page import button, label
from app.words import tr

PERMILLE = 1000


class ModelRowView(QFrame):
    """`asked` carries the row's key and an action."""

    asked = Signal(object, str)

    def __init__(self, row: ModelRow, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("settingRow")
        self.row = row
        self.title = label("settingTitle", self)
        self.facts = label("settingHelp", self)
        self.verdict = label("verdict", self)
        self.problem = label("problem", self)
        self.bar = QProgressBar(self)
        self.bar.setRange(0, PERMILLE)
        self.bar.setTextVisible(False)
        self.bar.setFixedHeight(SIZES.bar)
        self.buttons: dict[Action, QPushButton] = {}
        self._layout()
        self.show_row(row)

    def show_row(self, row: ModelRow) -> None:
        self.row = row
        for line, text in ((self.title, row.title), (self.facts, row.facts), (self.verdict, row.verdict)):
            line.setText(text)
            line.setVisible(bool(text))
        self.problem.setText(row.problem)
        self.problem.setVisible(bool(row.problem))
        if self.verdict.property("tone") != row.tone:
            self.verdict.setProperty("tone", row.tone)
            self.verdict.style().unpolish(self.verdict)
            self.verdict.style().polish(self.verdict)
        self.bar.setVisible(row.fraction is not None)
        self.bar.setValue(round((row.fraction or 0) * PERMILLE))
        self.bar.setAccessibleName(tr("Download progress of {model}", model=row.title))
        if tuple(self.buttons) != row.actions:
            self._make_buttons()
        self.retranslate()

    def retranslate(self) -> None:
        for action, made in self.buttons.items():
            made.setText(tr(ACTIONS[action]))
            made.setAccessibleName(tr("{action}: {model}", action=tr(ACTIONS[action]), model=self.row.title))

    def _make_buttons(self) -> None:
        had_focus = any(old.hasFocus() for old in self.buttons.values())
        for old in self.buttons.values():
            self._row.removeWidget(old)
            old.deleteLater()
        self.buttons = {}
        for action in self.row.actions:
            made = self.buttons[action] = button(self, partial(self._ask, action))
            self._row.addWidget(made, 0, Qt.AlignmentFlag.AlignVCenter)
        if had_focus and self.buttons:
            next(iter(self.buttons.values())).setFocus()

    def _ask(self, action: Action) -> None:
        self.asked.emit(self.row.key, action)

    def _layout(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(SIZES.gap_s)
        for widget in (self.title, self.facts, self.verdict, self.problem, self.bar):
            words.addWidget(widget)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, SIZES.gap_m, 0, SIZES.gap_m)
        self._row.setSpacing(SIZES.gap)
        self._row.addLayout(words, 1)
