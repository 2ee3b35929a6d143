"""The commands as Qt's actions: in the menus, under their keys, each bound to what it does."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu

from app.commands.commands import BY_NAME, COMMANDS, MENUS, plain
from app.words import tr


class CommandSet:
    """`actions` by the commands' names. The menu bar of `window` is filled at once; `bind` gives them their work."""

    def __init__(self, window: QMainWindow) -> None:
        self.actions: dict[str, QAction] = {}
        self._bound: set[str] = set()
        self._menus: dict[str, QMenu] = {name: window.menuBar().addMenu("") for name in MENUS}
        for command in COMMANDS:
            menu = self._menus[command.menu]
            if not command.name:
                menu.addSeparator()
                continue
            action = self.actions[command.name] = QAction(window)
            action.setShortcuts([QKeySequence(keys) for keys in command.keys])
            action.setEnabled(False)  # until there is work for it
            menu.addAction(action)
        self.retranslate()

    def bind(self, name: str, work: Callable[[], object]) -> None:
        """From now on `name` does `work`, once: a command has one meaning."""
        assert name not in self._bound, name
        self._bound.add(name)
        self.actions[name].triggered.connect(lambda: work())
        self.actions[name].setEnabled(True)

    def run(self, name: str) -> None:
        self.actions[name].trigger()

    def retranslate(self) -> None:
        for name, menu in self._menus.items():
            menu.setTitle(tr(MENUS[name]))
        for name, action in self.actions.items():
            action.setText(tr(BY_NAME[name].title))


def keys_of(name: str) -> list[str]:
    """The command's keys as the system writes them."""
    native = QKeySequence.SequenceFormat.NativeText
    return [QKeySequence(keys).toString(native) for keys in BY_NAME[name].keys]


def with_keys(words: str, name: str) -> str:
    """A tool tip: what a button does, and the keys that do it too."""
    keys = keys_of(name)
    return tr("{words} ({keys})", words=words, keys=keys[0]) if keys else words


def title_of(name: str) -> str:
    """What a command is called outside of the menus."""
    return plain(tr(BY_NAME[name].title))
