"""The switches beside the message: which collections and which tools the open chat uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QPushButton, QWidget

from app.commands.commands import with_keys
from app.look.live import Live, LiveAction
from app.look.theme import SIZES, icon, theme
from app.words import escaped_html, mark, tr, tr_n

LONGEST_NAME = 24  # characters


@dataclass(frozen=True, slots=True)
class Switch:
    """Command with a menu of switches. `icon`: its name; `used`, `unused`: the button's tip, marked for translation.

    `count` words the number of what is switched on.
    """

    command: str
    icon: str
    count: Callable[[int], str]
    used: str
    unused: str


COLLECTIONS = Switch(
    "use_collections", "collections", lambda n: tr_n("{n} collection", "{n} collections", n),
    mark("Answers use your documents in {names}"), mark("Answer from your documents"),
)  # fmt: skip
TOOLS = Switch(
    "use_tools", "tools", lambda n: tr_n("{n} tool", "{n} tools", n),
    mark("The model may use: {names}"), mark("Let the model use tools"),
)  # fmt: skip


class SwitchButton(Live, QPushButton):
    """Button of a command that opens a menu of switches; it names what is switched on."""

    def __init__(self, action: LiveAction, switch: Switch, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName(switch.icon)
        self._switch = switch
        self.setCheckable(True)
        self.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self._names: tuple[str, ...] = ()
        self.clicked.connect(lambda: action.trigger())
        self.apply_look()

    def show_used(self, names: Sequence[str]) -> None:
        """Show the names of what is switched on in the open chat."""
        self._names = tuple(names)
        self.retranslate()
        self.restyle()

    def nextCheckState(self) -> None:
        """Stay as the chat is: a click opens a menu, and only a choice in it changes something."""

    def restyle(self) -> None:
        self.setChecked(bool(self._names))
        self.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self.setIcon(icon(self._switch.icon, theme().accent if self._names else theme().soft))

    def retranslate(self) -> None:
        names = self._names
        shown = names[0] if len(names) == 1 else self._switch.count(len(names)) if names else ""
        shown = shown if len(shown) <= LONGEST_NAME else shown[: LONGEST_NAME - 1] + "…"
        self.setText(shown.replace("&", "&&"))
        listed = ", ".join(names)
        words = tr(self._switch.used, names=listed) if names else tr(self._switch.unused)
        self.setToolTip(escaped_html(with_keys(words, self._switch.command)))
        self.setAccessibleName(words)
