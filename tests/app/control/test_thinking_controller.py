"""The think button and “Answer now”: where they are shown, what each chat keeps, and what the engine is sent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.settings.schema import for_model
from app.state.conversation import Conversation
from app.transcript.answer_view import AnswerView, ThoughtView
from app.wiring import Chickadee
from engine.protocol.requests import Generate, Prepare, ThinkingOptions
from tests.app.conftest import Opener, Requests
from tests.models.make_gguf import make_gguf


@pytest.fixture
def load(chickadee: Chickadee, qtbot: QtBot, tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that loads a model with this name."""

    def load(name: str) -> Path:
        path = make_gguf(tmp_path / name)
        chickadee.models.controller.use_model(str(path))
        qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready" and chickadee.engine.state.path == path)
        return path

    return load


def sent(chickadee: Chickadee, qtbot: QtBot, requests: Requests) -> ThinkingOptions:
    """Send a message; return whether and how the engine was told to think."""
    chickadee.chats.drafts.send("hello")
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    return [request for request in requests() if isinstance(request, Generate)][-1].thinking


def test_a_model_without_a_choice_shows_no_button(chickadee: Chickadee, load: Callable[[str], Path]) -> None:
    button = chickadee.window.composer.think_button
    assert button.isHidden()
    chickadee.window.commands.run("think")
    assert "cannot be turned on or off" in chickadee.window.notice.text.text()
    load("thinker.gguf")
    assert not button.isHidden()
    load("wren.gguf")
    assert button.isHidden()


def test_each_chat_thinks_or_not(
    chickadee: Chickadee, qtbot: QtBot, requests: Requests, load: Callable[[str], Path]
) -> None:
    load("thinker.gguf")
    button = chickadee.window.composer.think_button
    assert button.isChecked()
    assert button.accessibleName() == "Think"
    assert sent(chickadee, qtbot, requests) == ThinkingOptions()
    qtbot.keyClick(button, Qt.Key.Key_Space)
    assert not button.isChecked()
    assert "without thinking" in button.accessibleDescription()
    assert sent(chickadee, qtbot, requests) == ThinkingOptions(mode="off")
    qtbot.waitUntil(lambda: any(isinstance(r, Prepare) and r.thinking.mode == "off" for r in requests()))
    thoughtless = chickadee.open_chats.current.chat.id
    chickadee.chats.chat.new()
    assert button.isChecked()
    assert sent(chickadee, qtbot, requests) == ThinkingOptions()
    chickadee.chats.chat.open(thoughtless)
    assert not button.isChecked()
    chickadee.window.commands.run("think")
    assert button.isChecked()
    assert chickadee.open_chats.current.chat.options == ""  # as the settings say, so the chat has no value of its own


def test_a_model_may_be_told_for_all_chats(
    chickadee: Chickadee, qtbot: QtBot, requests: Requests, load: Callable[[str], Path]
) -> None:
    path = load("thinker.gguf")
    setting = next(setting for setting in for_model() if setting.key == "thinking")
    chickadee.settings.change_model(path, setting, "off")
    button = chickadee.window.composer.think_button
    assert not button.isChecked()
    assert sent(chickadee, qtbot, requests) == ThinkingOptions(mode="off")
    button.click()
    assert sent(chickadee, qtbot, requests) == ThinkingOptions(mode="on")


def test_efforts_come_one_after_the_other(
    chickadee: Chickadee, qtbot: QtBot, requests: Requests, load: Callable[[str], Path]
) -> None:
    load("effortful.gguf")
    button = chickadee.window.composer.think_button
    assert (button.text(), button.isCheckable()) == ("Think", False)
    assert sent(chickadee, qtbot, requests) == ThinkingOptions()
    button.click()
    assert button.text() == "Think hard"
    assert sent(chickadee, qtbot, requests) == ThinkingOptions(effort="high")
    button.click()
    assert button.text() == "Think a little"
    button.click()
    assert chickadee.open_chats.current.chat.options == ""


def test_the_panel_has_the_options_of_the_loaded_model(chickadee: Chickadee, load: Callable[[str], Path]) -> None:
    chickadee.window.commands.run("chat_options")
    panel = chickadee.chats.options.panel
    assert panel
    rows = {name.removeprefix("answer."): row for name, row in panel.rows.items()}
    assert rows["thinking"].isHidden()
    assert rows["thinking_effort"].isHidden()
    assert not rows["thinking_budget"].isHidden()
    load("thinker.gguf")
    assert not rows["thinking"].isHidden()
    assert rows["thinking_effort"].isHidden()


def thought_of(chickadee: Chickadee) -> ThoughtView:
    body = chickadee.window.transcript.views[-1].body
    assert isinstance(body, AnswerView)
    return body.thoughts[0]


def thinks(conversation: Conversation) -> bool:
    return conversation.answer is not None and conversation.answer.thinking


@pytest.mark.parametrize("way", ["button", "command"])
def test_a_thought_ends_when_the_answer_is_wanted(chickadee: Chickadee, qtbot: QtBot, way: str) -> None:
    chickadee.window.commands.run("answer_now")
    assert "not thinking" in chickadee.window.notice.text.text()
    conversation = chickadee.open_chats.current
    chickadee.chats.drafts.send("ponder this")
    qtbot.waitUntil(lambda: thinks(conversation) and "hm3" in conversation.answer_text)
    thought = thought_of(chickadee)
    assert thought.answer_now.isVisible()
    if way == "button":
        thought.answer_now.setFocus()
        qtbot.keyClick(thought.answer_now, Qt.Key.Key_Return)
        assert not thought.answer_now.isEnabled()
    else:
        chickadee.window.commands.run("answer_now")
    qtbot.waitUntil(lambda: not conversation.busy)
    assert conversation.messages[-1].content.endswith("</think>The answer.")
    assert thought.answer_now.isHidden()
    assert not thought.open
    assert thought.line.text().endswith(" s · 340 tokens")


def test_tokens_of_a_thought_are_there_after_a_restart(chickadee: Chickadee, open_window: Opener, qtbot: QtBot) -> None:
    conversation = chickadee.open_chats.current
    chickadee.chats.drafts.send("ponder this")
    qtbot.waitUntil(lambda: thinks(conversation) and "hm3" in conversation.answer_text)
    chickadee.chats.messages.answer_now()
    qtbot.waitUntil(lambda: not conversation.busy)
    chickadee.window.close()
    again = open_window()
    again.chats.chat.open(conversation.chat.id)
    assert thought_of(again).line.text().endswith(" s · 340 tokens")


def test_a_stopped_thought_keeps_its_line(chickadee: Chickadee, qtbot: QtBot) -> None:
    conversation = chickadee.open_chats.current
    chickadee.chats.drafts.send("ponder this")
    qtbot.waitUntil(lambda: thinks(conversation))
    chickadee.chats.chat.stop()
    qtbot.waitUntil(lambda: not conversation.busy)
    thought = thought_of(chickadee)
    assert thought.answer_now.isHidden()
    assert not thinks(conversation)
    assert "340 tokens" in thought.line.text()
