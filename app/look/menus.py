"""Menus that buttons and keys open."""

from __future__ import annotations

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QMenu, QWidget


def open_above(menu: QMenu, button: QWidget) -> None:
    """Open the menu above the button, with its first entry chosen, so that Enter works after a key has opened it."""
    menu.popup(button.mapToGlobal(QPoint(0, -menu.sizeHint().height())))
    first = next((action for action in menu.actions() if action.isEnabled() and not action.isSeparator()), None)
    if first is not None:
        menu.setActiveAction(first)
