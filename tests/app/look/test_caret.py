"""The text cursor rests when nobody types, and blinks again with the next letter."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from app.look.caret import CaretRest


def test_the_text_cursor_rests_when_nobody_types(qtbot: QtBot, qapp: QApplication) -> None:
    hints = QGuiApplication.styleHints()
    line = QLineEdit()
    qtbot.addWidget(line)
    with qtbot.waitExposed(line):
        line.show()
    blinking = hints.cursorFlashTime()
    caret = CaretRest(qapp, rest_ms=20)
    try:
        line.setFocus()
        qtbot.waitUntil(lambda: hints.cursorFlashTime() == 0)
        qtbot.keyClick(line, "a")
        assert hints.cursorFlashTime() == blinking
        qtbot.waitUntil(lambda: hints.cursorFlashTime() == 0)
    finally:
        caret.close()
    assert hints.cursorFlashTime() == blinking
