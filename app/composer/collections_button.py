"""The switch beside the message: which collections are searched for the open chat."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QPushButton, QWidget

from app.commands.commands import with_keys
from app.look.live import Live, LiveAction
from app.look.theme import SIZES, icon, theme
from app.words import escaped_html, tr, tr_n

LONGEST_NAME = 24  # characters


class CollectionsButton(Live, QPushButton):
    """Button of the command `use_collections`; it names the collections that are switched on."""

    def __init__(self, action: LiveAction, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("collections")
        self.setCheckable(True)
        self.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self._names: tuple[str, ...] = ()
        self.clicked.connect(lambda: action.trigger())
        self.apply_look()

    def show_used(self, names: Sequence[str]) -> None:
        """Show the names of the collections that are searched for the open chat."""
        self._names = tuple(names)
        self.retranslate()
        self.restyle()

    def nextCheckState(self) -> None:
        """Stay as the chat is: a click opens a menu, and only a choice in it changes something."""

    def restyle(self) -> None:
        self.setChecked(bool(self._names))
        self.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self.setIcon(icon("collections", theme().accent if self._names else theme().soft))

    def retranslate(self) -> None:
        names = self._names
        shown = names[0] if len(names) == 1 else tr_n("{n} collection", "{n} collections", len(names)) if names else ""
        shown = shown if len(shown) <= LONGEST_NAME else shown[: LONGEST_NAME - 1] + "…"
        self.setText(shown.replace("&", "&&"))
        listed = ", ".join(names)
        words = tr("Answers use your documents in {names}", names=listed) if names else tr("Answer from your documents")
        self.setToolTip(escaped_html(with_keys(words, "use_collections")))
        self.setAccessibleName(words)
