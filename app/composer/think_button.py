"""The switch beside the message: whether, or how much, the model thinks before it answers."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QPushButton, QWidget

from app.commands.commands import with_keys
from app.look.live import Live, LiveAction
from app.look.theme import SIZES, icon, theme
from app.words import mark, tr
from engine.protocol.requests import ThinkingEffort

EFFORTS: dict[ThinkingEffort, str] = {
    "auto": mark("Think"), "low": mark("Think a little"), "medium": mark("Think"), "high": mark("Think hard")
}  # fmt: skip


class ThinkButton(Live, QPushButton):
    """Button of the command `think`; hidden unless the loaded model lets the user choose.

    A model either thinks or not, so the button is on or off; or it thinks with an effort, which the button names.
    """

    def __init__(self, action: LiveAction, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("think")
        self.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self._effort: ThinkingEffort = "auto"
        self.clicked.connect(lambda: action.trigger())
        self.hide()
        self.apply_look()

    def show_choice(self, on: bool | None, effort: ThinkingEffort = "auto") -> None:
        """Show whether the model thinks or, if `on` is None, how much."""
        self.setCheckable(on is not None)
        self.setChecked(bool(on))
        self._effort = effort
        self.restyle()
        self.retranslate()
        self.show()

    def restyle(self) -> None:
        self.setIcon(icon("think", theme().accent if self._is_lit else theme().soft))

    def retranslate(self) -> None:
        self.setText(tr(EFFORTS[self._effort]))
        self.setToolTip(with_keys(self._help(), "think"))
        self.setAccessibleName(self.text())
        self.setAccessibleDescription(self._help())

    @property
    def _is_lit(self) -> bool:
        return self.isChecked() or self._effort != "auto"

    def _help(self) -> str:
        if self._effort != "auto":
            return tr("How much the model thinks before it answers")
        if self.isChecked():
            return tr("On: the model thinks before it answers")
        return tr("Off: the model answers without thinking first")
