"""The messages that nobody sees: of every kind, and gone before anybody could come upon them."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.chats.chat import ChatMessage
from app.markdown.code_view import CodeView
from app.markdown.prose_view import ProseView
from app.markdown.table_view import TableView
from app.transcript import message_view
from app.transcript.message_view import MessageView
from app.transcript.warming import TEXTS, Warming
from app.wiring import Chickadee


def test_a_message_of_each_kind_is_made_and_goes(
    chickadee: Chickadee, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[ChatMessage] = []
    kinds: set[type[QWidget]] = set()
    drawn = MessageView.render

    def noted(view: MessageView, image: QImage, at: QPoint) -> None:
        made.append(view.message)
        kinds.update(type(part) for stack in view.stacks for part in stack.parts)
        drawn(view, image, at)

    monkeypatch.setattr(message_view.MessageView, "render", noted)
    transcript, focused = chickadee.window.transcript, QApplication.focusWidget()
    Warming(transcript)
    qtbot.waitUntil(lambda: len(made) >= len(TEXTS))
    assert {message.role for message in made} == {"user", "assistant"}
    assert kinds == {ProseView, CodeView, TableView}
    assert transcript.findChildren(MessageView) == []
    assert QApplication.focusWidget() is focused
