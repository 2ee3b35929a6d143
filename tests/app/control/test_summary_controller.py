"""Summing up long chats: real widgets and a scripted engine, which counts four characters as a token."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from app.state.prompt import SUMMED_UP
from app.state.summary import OTHER, most_written
from app.store.chat_store import ChatStore
from app.transcript.summary_box import SummaryBox
from app.wiring import Chickadee
from engine.protocol.requests import Generate
from models.default import default_model
from tests.app.conftest import SECONDS, Opener, Requests
from tests.app.test_window import Ask, done
from tests.app.transcript.test_long_chats import ask_and_wait, choose, prepared

LONG = "word " * 599 + "word"  # with its echo a turn of 1,500 tokens, of which one may stay
SUMMARY = f"echo: {OTHER}\nUser: one word"  # and more of the question


def click(qtbot: QtBot, button: QPushButton) -> None:
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def summaries(chickadee: Chickadee) -> list[str]:
    return [message.summary for message in chickadee.open_chats.current.messages]


def box(chickadee: Chickadee) -> SummaryBox:
    """Return the box below the second message."""
    summary = chickadee.window.transcript.column.build(1).summary
    assert summary is not None
    return summary


def generated(requests: Requests) -> list[Generate]:
    return [request for request in requests() if isinstance(request, Generate)]


@pytest.fixture
def ask(ask: Ask) -> Ask:
    """Return a function that puts a text into the composer and presses Enter: typing a long one takes seconds."""

    def paste(chickadee: Chickadee, text: str) -> None:
        chickadee.window.composer.text.setPlainText(text)
        ask(chickadee, "")

    return paste


@pytest.fixture
def full(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> Chickadee:
    """Fill the context with two turns, whose oldest can be summed up."""
    for name in ("one", "two"):
        ask_and_wait(chickadee, ask, qtbot, f"{name} {LONG}")
    return chickadee


def sum_up(chickadee: Chickadee, qtbot: QtBot) -> None:
    chickadee.window.commands.actions["sum_up"].trigger()
    qtbot.waitUntil(lambda: any(summaries(chickadee)), timeout=SECONDS)


def test_a_summary_stands_for_the_oldest_turns_and_is_stored(
    full: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests, open_window: Opener
) -> None:
    sum_up(full, qtbot)
    request = generated(requests)[-1]
    assert [message.role for message in request.messages] == ["user", "assistant", "user"]
    assert (request.max_tokens, request.background, request.thinking.mode) == (most_written(4096), True, "off")
    summary = summaries(full)[1]
    assert summary.startswith(SUMMARY)
    assert summaries(full) == ["", summary, "", ""]
    qtbot.waitUntil(lambda: full.window.notice.text.text() == "The oldest turn was summed up.", timeout=SECONDS)
    # The next question does not wait: the chat is read in idle time as it is from now on.
    beginning = f"{SUMMED_UP}{summary}"
    qtbot.waitUntil(lambda: prepared(requests)[-1][:2] == [beginning, f"two {LONG}"], timeout=SECONDS)
    chat = full.open_chats.current.chat.id
    full.window.close()
    again = open_window()
    again.chats.chat.open(chat)
    assert summaries(again) == ["", summary, "", ""]
    ask_and_wait(again, ask, qtbot, "three")
    assert [message.content for message in generated(requests)[-1].messages][:2] == [beginning, f"two {LONG}"]
    assert box(again).text.text() == summary


def test_undo_brings_the_messages_back(full: Chickadee, qtbot: QtBot) -> None:
    full.open_chats.current.forget_oldest(1)
    sum_up(full, qtbot)
    qtbot.waitUntil(lambda: full.window.notice.button.text() == "Undo", timeout=SECONDS)
    assert full.open_chats.current.chat.forget_turns == 0  # the summary stands for that turn
    click(qtbot, full.window.notice.button)
    assert not any(summaries(full))
    assert full.open_chats.current.chat.forget_turns == 1
    assert full.window.transcript.column.build(1).summary is None


def test_the_user_changes_and_removes_a_summary(full: Chickadee, qtbot: QtBot) -> None:
    sum_up(full, qtbot)
    view, summary = full.window.transcript.column.build(1), box(full)
    assert summary.text.text() == summaries(full)[1]
    click(qtbot, summary.edit_button)
    assert summary.editor is not None
    assert view.pinned()
    assert summary.height() > summary.editor.height() >= summary.editor.sizeHint().height()
    summary.editor.text.setPlainText("They talked about x.")
    qtbot.keyClick(summary.editor.text, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert summaries(full)[1] == summary.text.text() == "They talked about x."
    click(qtbot, summary.edit_button)
    summary.editor.text.setPlainText("no")
    qtbot.keyClick(summary.editor.text, Qt.Key.Key_Escape)
    assert summaries(full)[1] == "They talked about x."
    click(qtbot, summary.remove_button)
    assert not any(summaries(full))
    click(qtbot, full.window.notice.button)
    assert summaries(full)[1] == box(full).text.text() == "They talked about x."
    store = ChatStore(full.folders.store)
    qtbot.waitUntil(
        lambda: [m.summary for m in store.messages(full.open_chats.current.chat)][1] == "They talked about x.",
        timeout=SECONDS,
    )
    store.close()


def test_a_chat_that_is_too_long_is_summed_up_and_answered(
    full: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests
) -> None:
    ask_and_wait(full, ask, qtbot, "long")
    choose(full, qtbot, "Sum up the oldest messages")
    qtbot.waitUntil(lambda: any(summaries(full)), timeout=SECONDS)
    qtbot.waitUntil(lambda: len(generated(requests)) >= 5 and done(full), timeout=SECONDS)
    last = generated(requests)[-1]
    assert last.messages[0].content.startswith(SUMMED_UP)
    assert last.messages[-1].content == "long"
    assert not last.background


def test_a_short_chat_says_so(chickadee: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests) -> None:
    ask_and_wait(chickadee, ask, qtbot, "one")
    ask_and_wait(chickadee, ask, qtbot, "two")
    chickadee.window.commands.actions["sum_up"].trigger()
    words = "This chat is short: there is nothing to sum up yet."
    qtbot.waitUntil(lambda: chickadee.window.notice.text.text() == words, timeout=SECONDS)
    assert len(generated(requests)) == 2


@pytest.mark.parametrize("wanted", ["ask", "on", "off"])
def test_a_chat_that_has_become_long(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests, wanted: str
) -> None:
    chickadee.settings.change({"window.summaries": wanted})
    ask_and_wait(chickadee, ask, qtbot, f"one {LONG}")
    ask_and_wait(chickadee, ask, qtbot, f"brim {LONG}")
    notice = chickadee.window.notice
    if wanted == "ask":
        qtbot.waitUntil(lambda: notice.button.text() == "Sum up", timeout=SECONDS)
        assert not any(summaries(chickadee))
        notice.dismiss()
        ask_and_wait(chickadee, ask, qtbot, f"brim {LONG}")
        assert notice.isHidden()  # the user was asked once
        chickadee.window.commands.actions["sum_up"].trigger()
    if wanted == "off":
        assert notice.isHidden()
        assert len(generated(requests)) == 2
    else:
        qtbot.waitUntil(lambda: any(summaries(chickadee)), timeout=SECONDS)


def test_a_question_comes_first_and_the_summary_later(
    full: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests
) -> None:
    full.engine.submit(full.open_chats.current) if full.open_chats.current.answer_again() else None
    full.window.commands.actions["sum_up"].trigger()  # while the chat is answered
    qtbot.waitUntil(lambda: any(summaries(full)), timeout=SECONDS)
    background = [request.background for request in generated(requests)]
    assert background == [False, False, False, True]


def test_stop_keeps_the_chat_as_it_was(full: Chickadee, qtbot: QtBot) -> None:
    full.window.commands.actions["sum_up"].trigger()
    assert full.window.notice.button.text() == "Stop"
    click(qtbot, full.window.notice.button)
    assert full.window.notice.isHidden()
    qtbot.waitUntil(lambda: done(full), timeout=SECONDS)
    assert not any(summaries(full))


def test_no_model_is_told(full: Chickadee) -> None:
    full.engine.state.change(path=None)
    full.window.commands.actions["sum_up"].trigger()
    assert "model" in full.window.notice.text.text()
    assert not any(summaries(full))


@pytest.mark.slow
def test_a_real_chat_goes_on_behind_a_full_context(open_window: Opener, ask: Ask, qtbot: QtBot) -> None:
    """The built-in model fills a small context, is summed up twice by the remedy or the command, and answers."""
    chickadee = open_window(model=default_model(), command=None, max_tokens=60)
    state = chickadee.engine.state
    qtbot.waitUntil(lambda: state.phase == "ready")
    chickadee.engine.model.use(default_model(), 1024)
    qtbot.waitUntil(lambda: state.phase == "ready" and state.model is not None and state.model.n_ctx == 1024)
    conversation, refused = chickadee.open_chats.current, 0
    for number in range(14):
        ask(chickadee, f"Question {number}: " + "tell me something about cats and houses. " * 10)
        qtbot.waitUntil(lambda: conversation.busy)
        qtbot.waitUntil(lambda: not conversation.busy)
        if conversation.remedies:
            refused += 1
            choose(chickadee, qtbot, "Sum up the oldest messages")
            qtbot.waitUntil(lambda: not (conversation.remedies or conversation.busy))
            qtbot.waitUntil(lambda: conversation.messages[-1].stop_reason in ("end", "length", "context"))
    assert refused >= 2
    assert sum(map(bool, summaries(chickadee))) >= 2
    assert (state.context_tokens or 0) < 1024
