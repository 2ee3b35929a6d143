"""What a pressed key means where the focus is, by the one table of keys."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QKeySequence

from app.commands.commands import IN_PLACE

KEYPAD = Qt.KeyboardModifier.KeypadModifier
ENTER = Qt.Key.Key_Enter  # the keypad's


def meant(event: QKeyEvent, place: str) -> str:
    """The name of what the key does in `place`, one of app.commands.commands.PLACES; "" if it is none of its keys."""
    modifiers = event.modifiers() & ~KEYPAD
    key = Qt.Key.Key_Return if event.key() == ENTER else Qt.Key(event.key())
    pressed = QKeySequence(modifiers.value | key.value)
    return next((one.name for one in IN_PLACE if one.place == place and pressed in map(QKeySequence, one.keys)), "")
