"""The menu of the context gauge: what fills the context, what is left out, what would be left out next."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from app.state.prompt import context_lines, context_parts
from app.wiring import Chickadee
from engine.protocol.events import Counted
from engine.protocol.requests import Generate, Message
from tests.app.conftest import SECONDS, Requests
from tests.app.test_window import Ask
from tests.app.transcript.test_message_view import ask_and_wait

CHAT = tuple(
    Message(role, f"{role} {number}")
    for number in range(3) for role in ("user", "assistant")
)  # fmt: skip


def test_what_is_pinned_left_out_and_next() -> None:
    parts = context_parts("Be kind.", CHAT, 1)
    assert parts.texts() == ("Be kind.", "user 0\n\nassistant 0", "user 1\n\nassistant 1")
    assert context_lines(parts, 1200, 4096, Counted(1, (3, 8, 9), 50)) == [
        "1,200 of 4,096 tokens of context used",
        "Always kept: what the chat begins with, 3 tokens",
        "Left out, as you chose: the oldest turn, 8 tokens",
        "Left out next, if you agree: “user 1”, 9 tokens",
    ]


def test_the_last_turn_is_never_left_out() -> None:
    assert context_parts("", CHAT, 9) == context_parts("", CHAT, 2)
    assert context_parts("", CHAT, 9).next_title == ""
    assert context_parts("", CHAT[:2], 0).next_title == ""
    assert context_lines(context_parts("", (), 0), 0, 4096, None) == ["0 of 4,096 tokens of context used"]


def texts(chickadee: Chickadee) -> list[str]:
    menu = chickadee.chats.context_menu.menu
    return [action.text() for action in menu.actions() if action.text()] if menu else []


def step(chickadee: Chickadee, words: str) -> None:
    menu = chickadee.chats.context_menu.menu
    assert menu
    next(action for action in menu.actions() if action.text() == words).trigger()
    menu.close()


def test_the_menu_tells_and_turns_are_left_out_and_read_again(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests
) -> None:
    ask_and_wait(chickadee, ask, qtbot, "one", "two", "three")
    gauge = chickadee.window.status.context
    assert gauge.text() == "30 / 4,096"
    gauge.click()
    assert texts(chickadee)[0] == "30 of 4,096 tokens of context used"
    qtbot.waitUntil(lambda: "Left out next, if you agree: “one”, 3 tokens" in texts(chickadee), timeout=SECONDS)
    step(chickadee, "Leave out the oldest turn")
    assert chickadee.open_chats.current.chat.forget_turns == 1
    ask_and_wait(chickadee, ask, qtbot, "four")
    assert [request for request in requests() if isinstance(request, Generate)][-1].forget_turns == 1
    gauge.click()
    qtbot.waitUntil(lambda: "Left out, as you chose: the oldest turn, 3 tokens" in texts(chickadee), timeout=SECONDS)
    step(chickadee, "Include all turns again")
    assert chickadee.open_chats.current.chat.forget_turns == 0


def test_another_chat_has_another_number(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask_and_wait(chickadee, ask, qtbot, "one")
    chickadee.chats.chat.new()
    assert chickadee.window.status.context.text() == "0 / 4,096"
