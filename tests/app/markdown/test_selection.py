"""A selection over paragraphs, code, tables and messages, as it is copied: real widgets, real mouse."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QCursor, QGuiApplication, QMouseEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.folders import Folders
from app.markdown.selection import SelectableText
from app.store.chat import Chat, ChatMessage
from app.store.chat_store import ChatStore
from app.wiring import Chickadee
from tests.app.conftest import SECONDS, Opener

LEFT = Qt.MouseButton.LeftButton
CODE = "\n".join(f"line {number}" for number in range(60))
TABLE = "| a | b |\n|---|---|\n| one | two |\n| three | $x$ |"
ANSWER = f"First [words](https://a.example/).\n\n```text\n{CODE}\n```\n\nBetween.\n\n{TABLE}\n\nThe end."
COPIED = f"First words.\n\n{CODE}\n\nBetween.\n\na\tb\none\ttwo\nthree\t$x$\n\nThe end."


@pytest.fixture
def chickadee(folders: Folders, open_window: Opener) -> Chickadee:
    store = ChatStore(folders.store)
    chat = Chat("Birds")
    question = ChatMessage(chat.id, None, "user", "A question", stop_reason="end")
    answer = ChatMessage(chat.id, question.id, "assistant", ANSWER, stop_reason="end", model="m")
    store.save(chat, [question, answer])
    store.close()
    window = open_window(command=None)
    window.chats.chat.open(chat.id)
    return window


def texts(chickadee: Chickadee) -> list[SelectableText]:
    return chickadee.window.transcript.column.texts()


def drag(qtbot: QtBot, text: SelectableText, start: QPoint, to: QWidget, end: QPoint) -> None:
    port = text.viewport()
    qtbot.mousePress(port, LEFT, pos=start)
    qtbot.mouseMove(port, start + QPoint(9, 0))
    for point in (QPoint(start.x(), port.height() // 2), port.mapFromGlobal(to.mapToGlobal(end))):
        event_at(port, point)
    qtbot.mouseRelease(port, LEFT, pos=port.mapFromGlobal(to.mapToGlobal(end)))


def event_at(port: QWidget, point: QPoint) -> None:
    """Send a mouse move with the left button down; offscreen, QTest's own moves carry no buttons."""
    where = QPointF(point), QPointF(port.mapToGlobal(point))
    event = QMouseEvent(QEvent.Type.MouseMove, *where, Qt.MouseButton.NoButton, LEFT, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(port, event)


def copied(qtbot: QtBot, text: SelectableText) -> str:
    QGuiApplication.clipboard().setText("")
    qtbot.keyClick(text, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    return QGuiApplication.clipboard().text()


def test_all_of_an_answer_is_selected_and_copied(chickadee: Chickadee, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: len(texts(chickadee)) == 6, timeout=SECONDS)
    text = texts(chickadee)[1]
    text.setFocus()
    qtbot.keyClick(text, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert copied(qtbot, text) == COPIED
    menu = chickadee.window.transcript.views[1].menu()
    menu.actions()[0].trigger()
    assert menu.actions()[0].text() == "Copy selection"
    assert QGuiApplication.clipboard().text() == COPIED
    assert chickadee.window.transcript.views[1].pinned()


def test_a_drag_selects_over_blocks_and_messages_and_back(chickadee: Chickadee, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: len(texts(chickadee)) == 6, timeout=SECONDS)
    question, first, code, between = texts(chickadee)[:4]
    drag(qtbot, first, QPoint(0, 5), between, QPoint(between.width() - 1, 5))
    assert copied(qtbot, first) == f"First words.\n\n{CODE}\n\nBetween."
    drag(qtbot, between, QPoint(between.width() - 1, 5), question, QPoint(0, 5))
    assert copied(qtbot, between) == f"A question\n\nFirst words.\n\n{CODE}\n\nBetween."
    qtbot.mouseClick(code.viewport(), LEFT, pos=QPoint(5, 5))
    assert not chickadee.window.transcript.column.selected()


def test_a_drag_over_the_edge_scrolls(chickadee: Chickadee, qtbot: QtBot) -> None:
    transcript = chickadee.window.transcript
    chickadee.window.resize(700, 400)
    transcript.to_start()
    qtbot.waitUntil(lambda: transcript.verticalScrollBar().maximum() > 0, timeout=SECONDS)
    port = texts(chickadee)[0].viewport()
    qtbot.mousePress(port, LEFT, pos=QPoint(1, 5))
    below = transcript.mapToGlobal(QPoint(300, transcript.height() + 200))
    QCursor.setPos(below)  # Qt polls the pointer while it is dragged out of a text
    event_at(port, port.mapFromGlobal(below))
    qtbot.waitUntil(lambda: bool(texts(chickadee)[-1].textCursor().hasSelection()), timeout=SECONDS)
    qtbot.waitUntil(lambda: transcript.verticalScrollBar().value() > 0, timeout=SECONDS)
    qtbot.mouseRelease(port, LEFT, pos=QPoint(1, 5))


def test_a_link_clicked_in_an_answer_is_asked_about(chickadee: Chickadee, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: len(texts(chickadee)) == 6, timeout=SECONDS)
    text = texts(chickadee)[1]
    cursor = text.document().find("words")
    cursor.setPosition(cursor.selectionStart() + 2)
    qtbot.mouseClick(text.viewport(), LEFT, pos=text.cursorRect(cursor).center())
    assert "https://a.example/" in chickadee.window.notice.text.text()
