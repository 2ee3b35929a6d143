"""Chats that are read ahead or outgrow the context, and engines that hang: real widgets, scripted engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from app.foundation import Intervals
from app.wiring import Chickadee
from engine.protocol.requests import Generate, Load, Prepare
from models.default import default_model
from tests.app.conftest import SECONDS, Opener, Requests
from tests.app.test_window import Ask, done, label_text, last_text


def prepared(requests: Requests) -> list[list[str]]:
    return [[message.content for message in request.messages] for request in requests() if isinstance(request, Prepare)]


def choose(chickadee: Chickadee, qtbot: QtBot, words: str) -> None:
    buttons = chickadee.window.transcript.views[-1].remedy_buttons.buttons
    button = next(button for button in buttons if button.text() == words)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def ask_and_wait(chickadee: Chickadee, ask: Ask, qtbot: QtBot, text: str) -> None:
    count = len(chickadee.open_chats.current.messages)
    ask(chickadee, text)
    qtbot.waitUntil(
        lambda: not chickadee.open_chats.current.busy and len(chickadee.open_chats.current.messages) == count + 2,
        timeout=SECONDS,
    )


def test_an_opened_chat_is_read_once(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests, open_window: Opener
) -> None:
    ask_and_wait(chickadee, ask, qtbot, "one")
    qtbot.waitUntil(lambda: prepared(requests) == [["one", "echo: one"]], timeout=SECONDS)
    first = chickadee.open_chats.current.chat.id
    chickadee.chats.chat.open(first)
    chickadee.chats.chat.new()
    ask_and_wait(chickadee, ask, qtbot, "two")
    qtbot.waitUntil(lambda: len(prepared(requests)) == 2, timeout=SECONDS)
    second = chickadee.open_chats.current.chat.id
    for chat_id in (first, second, first):
        chickadee.chats.chat.open(chat_id)
    qtbot.waitUntil(lambda: len(prepared(requests)) == 3, timeout=SECONDS)
    assert prepared(requests)[1:] == [["two", "echo: two"], ["one", "echo: one"]]
    chickadee.window.close()
    again = open_window()
    again.chats.chat.open(second)
    qtbot.waitUntil(lambda: prepared(requests)[3:] == [["two", "echo: two"]], timeout=SECONDS)


def test_reading_ahead_is_shown_and_blocks_nothing(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests
) -> None:
    ask_and_wait(chickadee, ask, qtbot, "thread")
    progress = chickadee.window.composer.progress
    qtbot.waitUntil(lambda: progress.text() == "Reading this chat again…", timeout=SECONDS)
    assert chickadee.window.composer.button.accessibleName() == "Send"
    ask_and_wait(chickadee, ask, qtbot, "next")
    assert last_text(chickadee) == "echo: next"


def test_a_chat_that_is_too_long_forgets_turns_and_remembers_it(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests, open_window: Opener
) -> None:
    for text in ("one", "two", "three"):
        ask_and_wait(chickadee, ask, qtbot, text)
    ask_and_wait(chickadee, ask, qtbot, "long")
    view = chickadee.window.transcript.views[-1]
    assert label_text(view, "problem").startswith("This chat needs 5,000 tokens, the context holds 4,096. Leave out")
    assert [button.text() for button in view.remedy_buttons.buttons] == [
        "Sum up the oldest messages",
        "Leave out the oldest 2 turns",
        "Use a context of 8,192 tokens",
        "Use a context of 16,384 tokens, stored in less memory",
    ]
    assert all(button.isVisible() for button in view.remedy_buttons.buttons)
    assert "Try again" in [button.text() for button in view.findChildren(QPushButton) if button.isVisible()]
    choose(chickadee, qtbot, "Leave out the oldest 2 turns")
    qtbot.waitUntil(lambda: done(chickadee) and last_text(chickadee) == "echo: long", timeout=SECONDS)
    assert not chickadee.window.transcript.views[-1].remedy_buttons.buttons
    qtbot.waitUntil(lambda: ["three", "echo: three", "long", "echo: long"] in prepared(requests), timeout=SECONDS)
    chickadee.window.close()
    again = open_window()
    again.chats.chat.open(chickadee.open_chats.current.chat.id)
    ask_and_wait(again, ask, qtbot, "more")
    last = [request for request in requests() if isinstance(request, Generate)][-1]
    assert last.forget_turns == 2


@pytest.mark.parametrize(
    ("words", "n_ctx", "kv_type"),
    [
        ("Use a context of 8,192 tokens", 8192, None),
        ("Use a context of 16,384 tokens, stored in less memory", 16384, "q8_0"),
    ],
)
def test_a_chat_that_is_too_long_gets_a_larger_context(
    chickadee: Chickadee,
    ask: Ask,
    qtbot: QtBot,
    requests: Requests,
    words: str,
    n_ctx: int,
    kv_type: str | None,
) -> None:
    ask_and_wait(chickadee, ask, qtbot, "long")
    choose(chickadee, qtbot, words)
    qtbot.waitUntil(lambda: done(chickadee) and last_text(chickadee) == "echo: long", timeout=SECONDS)
    load = [request for request in requests() if isinstance(request, Load)][-1]
    assert (load.n_ctx, load.kv_type) == (n_ctx, kv_type)
    assert chickadee.window.status.context.text().endswith(f"/ {n_ctx:,}")


def test_a_full_context_is_told_and_the_next_message_forgets(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests
) -> None:
    ask_and_wait(chickadee, ask, qtbot, "one")
    ask_and_wait(chickadee, ask, qtbot, "full")
    view = chickadee.window.transcript.views[-1]
    assert view.text == "Half an answer"
    assert label_text(view, "aside").startswith("The context is full, so the answer ends here")
    choose(chickadee, qtbot, "Leave out the oldest turn")
    assert chickadee.window.notice.text.text() == "The oldest turn is left out starting with your next message."
    assert not view.remedy_buttons.buttons
    qtbot.waitUntil(lambda: prepared(requests)[-1:] == [["full", "Half an answer"]], timeout=SECONDS)
    ask_and_wait(chickadee, ask, qtbot, "next")
    last = requests()[-1]
    assert isinstance(last, Generate)
    assert last.forget_turns == 1


@pytest.mark.parametrize("intervals", [Intervals(patience=100)])
def test_an_engine_that_ignores_stop_is_ended(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "hang")
    qtbot.waitUntil(lambda: last_text(chickadee) == "The partial answer", timeout=SECONDS)
    qtbot.keyClick(chickadee.window, Qt.Key.Key_Escape)
    notice = chickadee.window.notice
    qtbot.waitUntil(lambda: done(chickadee) and notice.isVisible(), timeout=SECONDS)
    assert notice.text.text() == "The engine did not respond, so it was closed; your next message restarts it."
    assert chickadee.open_chats.current.messages[-1].content == "The partial answer"
    ask_and_wait(chickadee, ask, qtbot, "again")
    assert last_text(chickadee) == "echo: again"


@pytest.mark.parametrize("intervals", [Intervals(patience=100)])
def test_another_model_is_loaded_though_the_engine_hangs(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, tmp_path: Path
) -> None:
    ask(chickadee, "hang")
    qtbot.waitUntil(lambda: last_text(chickadee) == "The partial answer", timeout=SECONDS)
    chickadee.models.controller.use_model(str(tmp_path / "other.gguf"))
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready", timeout=SECONDS)
    assert chickadee.engine.state.path == tmp_path / "other.gguf"


def test_the_speed_is_shown_while_the_answer_streams(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    speed = chickadee.window.status.speed
    assert speed.isHidden()
    ask(chickadee, "slow")
    qtbot.waitUntil(speed.isVisible, timeout=SECONDS)
    assert chickadee.open_chats.current.busy
    assert speed.text().endswith(" tok/s")
    qtbot.keyClick(chickadee.window, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    statistics = chickadee.engine.state.statistics
    assert statistics
    rate = statistics.decode_tokens / statistics.decode_seconds
    assert speed.text() == f"{rate:,.{0 if rate >= 10 else 1}f} tok/s"


def test_an_answer_that_never_began_is_no_version(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, open_window: Opener
) -> None:
    """The refusal stays below the question until something else is done, and is never stored."""
    ask_and_wait(chickadee, ask, qtbot, "one")
    ask_and_wait(chickadee, ask, qtbot, "long")
    conversation = chickadee.open_chats.current
    refused = conversation.messages[-1]
    assert refused.problem
    chickadee.chats.messages.answer_again()
    qtbot.waitUntil(lambda: done(chickadee) and conversation.messages[-1].id != refused.id, timeout=SECONDS)
    assert refused.id not in conversation.tree
    assert len(conversation.tree.siblings(conversation.messages[-1].id)) == 1
    chat = conversation.chat.id
    chickadee.window.close()
    again = open_window()
    again.chats.chat.open(chat)
    assert [message.content for message in again.open_chats.current.messages] == ["one", "echo: one", "long"]


def test_a_new_message_takes_the_place_of_a_refusal(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask_and_wait(chickadee, ask, qtbot, "long")
    ask(chickadee, "next")  # the model reads both as one question, which is too long again
    conversation = chickadee.open_chats.current
    qtbot.waitUntil(lambda: not conversation.busy and len(conversation.messages) == 3, timeout=SECONDS)
    assert [message.content for message in conversation.messages] == ["long", "next", ""]


def test_a_model_on_this_computer_that_has_room_is_offered(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    """The built-in model, which the real planner judges, reads 8,192 tokens; the chat has 5,000."""
    ask_and_wait(chickadee, ask, qtbot, "long")
    view = chickadee.window.transcript.views[-1]
    words = "Use SmolLM2 135M Instruct, which has room"
    qtbot.waitUntil(lambda: words in [button.text() for button in view.remedy_buttons.buttons], timeout=SECONDS)
    choose(chickadee, qtbot, words)
    qtbot.waitUntil(lambda: done(chickadee) and last_text(chickadee) == "echo: long", timeout=SECONDS)
    assert chickadee.engine.state.path == default_model()


def test_the_gauge_counts_a_chat_when_it_is_opened(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    """Without waiting for the chat to be read: that takes a minute, and a chat that is too long is not read."""
    ask_and_wait(chickadee, ask, qtbot, "x" * 400 + " thread")  # the scripted engine reads threads without end
    chat = chickadee.open_chats.current.chat.id
    chickadee.chats.chat.new()
    ask_and_wait(chickadee, ask, qtbot, "other")
    chickadee.chats.chat.open(chat)
    qtbot.waitUntil(lambda: chickadee.window.status.used_tokens(chat) == 214, timeout=SECONDS)
    assert chickadee.window.status.context.text() == "214 / 4,096"


def test_a_new_file_that_is_read_is_named(chickadee: Chickadee, ask: Ask, qtbot: QtBot, tmp_path: Path) -> None:
    """The scripted engine reads texts with the word "read" until another request comes."""
    file = tmp_path / "birds.md"
    file.write_text("Something to read.")
    chickadee.chats.drafts.attach([file])
    progress = chickadee.window.composer.progress
    qtbot.waitUntil(lambda: progress.text() == "Reading birds.md…", timeout=SECONDS)
