"""Titles by the model: only if the user wants them, in idle time, never over a title of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.foundation import Intervals
from app.sidebar.chat_list import chat_menu
from app.sidebar.chat_rows import Row
from app.state.titles import MOST_TOKENS, OTHER
from app.store.chat import Chat, ChatMessage
from app.store.chat_store import ChatStore
from app.wiring import Chickadee
from engine.protocol.events import Titled
from engine.protocol.requests import Generate, Title
from tests.app.conftest import SECONDS, Opener, Requests
from tests.app.test_window import done

Ask = Callable[[Chickadee, str], None]


@pytest.fixture
def titling(open_window: Opener, qtbot: QtBot, tmp_path: Path) -> Chickadee:
    """Open the window with a large model, and titles switched on."""
    chickadee = open_window(tmp_path / "grown.gguf")
    chickadee.settings.change({"window.titles": "on"})
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    return chickadee


def title(chickadee: Chickadee) -> str:
    return chickadee.open_chats.current.chat.title


def answered(chickadee: Chickadee, ask: Ask, qtbot: QtBot, text: str) -> None:
    """Ask, and wait until a title was asked for, if one is wanted."""
    ask(chickadee, text)
    qtbot.waitUntil(lambda: done(chickadee))
    qtbot.waitUntil(lambda: chickadee.chats.titles._next is None)


def test_a_chat_gets_a_title_after_its_answer(titling: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests) -> None:
    answered(titling, ask, qtbot, "small birds in winter")
    qtbot.waitUntil(lambda: title(titling) == "About small birds in winter")
    asked = [request for request in requests() if isinstance(request, Title)]
    assert [message.role for message in asked[0].messages] == ["user", "assistant", "user"]
    assert asked[0].messages[-1].content == OTHER
    assert (asked[0].max_tokens, asked[0].thinking.mode) == (MOST_TOKENS, "off")
    assert asked[0].chat == titling.open_chats.current.chat.id
    assert titling.window.header.title.text() == "About small birds in winter"
    answered(titling, ask, qtbot, "and large ones?")  # one title is enough
    titling.window.close()
    assert len([request for request in requests() if isinstance(request, Title)]) == 1
    store = ChatStore(titling.folders.store)
    assert [(chat.title, chat.title_from) for chat in store.chats()] == [("About small birds in winter", "model")]
    store.close()


def test_it_is_off_unless_the_user_wants_it(
    open_window: Opener, ask: Ask, qtbot: QtBot, tmp_path: Path, requests: Requests
) -> None:
    chickadee = open_window(tmp_path / "grown.gguf")
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    answered(chickadee, ask, qtbot, "birds")
    assert title(chickadee) == "birds"
    assert not [request for request in requests() if isinstance(request, Title)]


@pytest.mark.parametrize("reason", ["own title", "stopped", "small model", "saving power", "no title"])
def test_when_no_title_is_made(titling: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests, reason: str) -> None:
    state = titling.engine.state
    if reason == "small model":
        assert state.model
        state.change(model=replace(state.model, parameters=135_000_000))
    elif reason == "saving power":
        titling.settings.change({"engine.power": "save"})
        qtbot.waitUntil(lambda: state.power.reason == "always")
    if reason == "stopped":
        ask(titling, "slow birds")
        qtbot.waitUntil(lambda: titling.open_chats.current.phase == "answering")
        titling.engine.stop(titling.open_chats.current)
        qtbot.waitUntil(lambda: done(titling))
    elif reason == "own title":
        ask(titling, "birds")
        titling.chats.list.rename(titling.open_chats.current.chat.id, "birds, by me")
        qtbot.waitUntil(lambda: done(titling))
    else:
        answered(titling, ask, qtbot, "untitled birds")
    qtbot.waitUntil(lambda: not titling.chats.titles._pause.waiting)
    qtbot.waitUntil(lambda: bool(titling.chats.titles._tried) == (reason == "no title"))
    asked = [request for request in requests() if isinstance(request, Title)]
    assert len(asked) == (1 if reason == "no title" else 0)
    if reason == "no title":
        answered(titling, ask, qtbot, "more")
        assert len([request for request in requests() if isinstance(request, Title)]) == 1
    assert title(titling) == {"own title": "birds, by me", "stopped": "slow birds"}.get(reason, "untitled birds")


def test_a_question_comes_first_and_the_title_later(
    titling: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests
) -> None:
    answered(titling, ask, qtbot, "dawdle birds")
    qtbot.waitUntil(lambda: any(isinstance(request, Title) for request in requests()))
    ask(titling, "next question")
    qtbot.waitUntil(lambda: done(titling) and len(titling.open_chats.current.messages) == 4)
    assert title(titling) == "dawdle birds"
    expected = [Generate, Title, Generate, Title]
    qtbot.waitUntil(lambda: [type(r) for r in requests() if isinstance(r, Generate | Title)] == expected)


class TestPatient:
    """The program's own pause: a user who goes on within it is asked nothing of the engine."""

    @pytest.fixture
    def intervals(self) -> Intervals:
        return Intervals(patience=SECONDS)

    def test_a_user_who_goes_on_at_once_is_not_disturbed(
        self, titling: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests
    ) -> None:
        for text in ("first", "second"):
            ask(titling, text)
            qtbot.waitUntil(lambda: done(titling))
        assert not [request for request in requests() if isinstance(request, Title)]


def test_a_title_that_comes_late_changes_nothing(
    titling: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests
) -> None:
    """The user has renamed the chat while the model wrote."""
    answered(titling, ask, qtbot, "dawdle birds")
    qtbot.waitUntil(lambda: any(isinstance(request, Title) for request in requests()))
    titling.chats.list.rename(titling.open_chats.current.chat.id, "mine")
    asked = next(request for request in requests() if isinstance(request, Title))
    titling.process.client.received(Titled(asked.id, "About birds"))
    assert title(titling) == "mine"


def test_the_first_line_comes_back_and_stays(titling: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests) -> None:
    answered(titling, ask, qtbot, "small birds")
    qtbot.waitUntil(lambda: title(titling) == "About small birds")
    titling.window.commands.run("first_line")
    assert title(titling) == "small birds"
    answered(titling, ask, qtbot, "more")
    assert title(titling) == "small birds"
    assert len([request for request in requests() if isinstance(request, Title)]) == 1
    titling.window.notice.button.click()
    assert title(titling) == "About small birds"


def test_the_menu_of_a_chat_that_is_not_open_has_it_too(titling: Chickadee) -> None:
    chat = Chat("About small birds")
    titling.store.save(chat, [ChatMessage(chat.id, None, "user", "small birds")])
    titling.open_chats.reload()
    row = Row("chat", chat.title, chat.id)
    menu = chat_menu(titling.window, row, [row], [])
    action = next(action for action in menu.actions() if action.text() == "Use first line as title")
    titling.window.sidebar.list.action_requested.emit(action.data().name, action.data().ids, None)
    assert next(each.title for each in titling.open_chats.chats() if each.id == chat.id) == "small birds"
    titling.window.commands.run("first_line")  # an empty chat has no line
    menu.deleteLater()
