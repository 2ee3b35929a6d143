"""Desktop notifications of long answers, with the window's own tray icon."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QApplication, QSystemTrayIcon
from pytestqt.qtbot import QtBot

from app.wiring import Chickadee
from tests.app.conftest import Opener

Ask = Callable[[Chickadee, str], None]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Return the list of messages that are handed to the desktop; the test's platform has none."""
    messages: list[tuple[str, str]] = []
    monkeypatch.setattr(
        QSystemTrayIcon, "showMessage", lambda _self, title, text, _icon: messages.append((title, text))
    )
    return messages


@pytest.fixture
def impatient(open_window: Opener, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot) -> Chickadee:
    """Return the window for which each answer is a long one."""
    chickadee = open_window()
    monkeypatch.setattr(chickadee.chats.notifications, "_least_seconds", 0.0)
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    return chickadee


def leave(chickadee: Chickadee, qtbot: QtBot) -> None:
    """Let another program have the keyboard, as far as the window can tell."""
    chickadee.window.showMinimized()
    qtbot.waitUntil(chickadee.window.isMinimized)


def ended(chickadee: Chickadee) -> bool:
    conversation = chickadee.open_chats.current
    return len(conversation.messages) == 2 and not conversation.busy


def test_an_answer_in_the_background_is_announced(
    impatient: Chickadee, ask: Ask, qtbot: QtBot, shown: list[tuple[str, str]]
) -> None:
    ask(impatient, "hello")
    leave(impatient, qtbot)
    qtbot.waitUntil(lambda: ended(impatient))
    chat = impatient.open_chats.current
    assert shown == [("Your answer is ready", "hello")]
    impatient.window.commands.run("new_chat")
    impatient.chats.notifications.tray.messageClicked.emit()
    assert impatient.open_chats.current is chat
    assert not impatient.window.isMinimized()


def test_nothing_is_announced_while_the_user_looks_or_has_switched_it_off(
    impatient: Chickadee, ask: Ask, qtbot: QtBot, shown: list[tuple[str, str]]
) -> None:
    qtbot.waitUntil(lambda: QApplication.activeWindow() is impatient.window)
    ask(impatient, "hello")
    qtbot.waitUntil(lambda: ended(impatient))
    impatient.settings.change({"window.notify": "off"})
    impatient.window.commands.run("new_chat")
    ask(impatient, "hello")
    leave(impatient, qtbot)
    qtbot.waitUntil(lambda: ended(impatient))
    assert shown == []


def test_a_short_answer_is_not_announced(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, shown: list[tuple[str, str]]
) -> None:
    ask(chickadee, "hello")
    leave(chickadee, qtbot)
    qtbot.waitUntil(lambda: ended(chickadee))
    assert shown == []


def test_nothing_of_a_temporary_chat_is_told(
    impatient: Chickadee, ask: Ask, qtbot: QtBot, shown: list[tuple[str, str]]
) -> None:
    impatient.window.commands.run("new_temporary_chat")
    ask(impatient, "a secret")
    leave(impatient, qtbot)
    qtbot.waitUntil(lambda: ended(impatient))
    assert shown == [("Your answer is ready", "Temporary chat")]
