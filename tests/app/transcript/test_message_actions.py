"""The row of buttons below a message, by itself."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.transcript.message_actions import Action, ActionRow, MessageActions, MessagePosition

GO_ON = Action("continue", "continue", "Continue", main=True)
COPY = Action("copy", "copy", "Copy", while_busy=True)
DELETE = Action("delete", "delete", "Delete")


def test_a_row_that_closes_while_its_focused_button_goes(qtbot: QtBot) -> None:
    """Hiding the button moves the focus, which closes the row while the row is being built."""
    page = QWidget()
    qtbot.addWidget(page)
    row = ActionRow(MessageActions(page), page, right=False)
    layout = QVBoxLayout(page)
    layout.addWidget(QPushButton(page))
    layout.addWidget(row)
    page.show()
    qtbot.waitExposed(page)
    page.activateWindow()
    row.offer((GO_ON, COPY, DELETE), MessagePosition())
    row.open(True)
    row.buttons["continue"].setFocus()
    qtbot.waitUntil(row.buttons["continue"].hasFocus)
    closed: list[object] = []

    def close(_old: object, _new: object) -> None:
        closed.append(_new)
        row.open(False)

    application = QApplication.instance()
    assert isinstance(application, QApplication)
    application.focusChanged.connect(close)
    row.offer((), MessagePosition(busy=True))
    application.focusChanged.disconnect(close)
    assert closed
    assert row.buttons == {}
    row.offer((COPY,), MessagePosition())
    row.open(True)
    assert list(row.buttons) == ["copy", "more"]
