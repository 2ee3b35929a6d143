"""A chat's own instructions and sampling: how they are sent and stored, and personas through the real panel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.dialogs.chat_panel import NO_PERSONA, ChatPanel
from app.settings.resolve import PROMPT, ChatOptions, chat_options_from_json, resolve
from app.state.persona import SHIPPED, Personas
from app.store.chat_store import ChatStore
from app.wiring import Chickadee
from engine.protocol.requests import Generate, Message, Prepare
from tests.app.conftest import SECONDS, Opener, Requests

Ask = Callable[[Chickadee, str], None]


def test_options_come_back_as_they_were_and_bad_ones_are_left_out() -> None:
    options = ChatOptions("P", {PROMPT: "Be kind.", "answer.top_k": 5})
    assert chat_options_from_json(options.to_json()) == options
    assert ChatOptions().to_json() == ""
    for damaged in ("{", "[]", '{"values": 3}', '{"persona": {}}'):
        assert chat_options_from_json(damaged) == ChatOptions()
    assert chat_options_from_json('{"values": {"answer.top_k": -1, "answer.min_p": 0.5, "no": 1}}').values == {
        "answer.min_p": 0.5
    }


def test_a_chats_options_go_above_the_settings() -> None:
    settings: dict[str, int | float | str] = {PROMPT: "From the settings.", "answer.top_k": 7, "answer.max_tokens": 9}
    assert resolve(settings).system_prompt == "From the settings."
    values: dict[str, int | float | str] = {PROMPT: "", "answer.temperature": 0.0, "answer.max_tokens": 7}
    found = resolve(settings, chat=chat_options_from_json(ChatOptions("", values).to_json()).values)
    assert found.system_prompt == ""
    assert (found.generate.sampling.temperature, found.generate.max_tokens) == (0.0, 7)
    assert found.generate.sampling.top_k == 7
    own = chat_options_from_json(ChatOptions("", {"answer.max_tokens": "auto"}).to_json()).values
    assert resolve(settings, chat=own).generate.max_tokens is None


def test_personas_are_saved_renamed_and_deleted(tmp_path: Path) -> None:
    store = ChatStore(tmp_path / "library.sqlite3")
    personas = Personas(store)
    assert [persona.name for persona in personas.all()] == [persona.name for persona in SHIPPED]
    assert personas.save("  My \n own ", ChatOptions("x", {"answer.top_k": 1})) == "My own"
    personas.save("My own", ChatOptions("", {"answer.top_k": 2}))
    personas.save("Other", ChatOptions())
    first, _ = personas.own()
    assert (first.name, first.options, first.own) == ("My own", ChatOptions("", {"answer.top_k": 2}), True)
    for bad in ("", " ", "Editor"):
        with pytest.raises(ValueError, match="name"):
            personas.save(bad, ChatOptions())
    with pytest.raises(ValueError, match="already"):
        personas.rename("Other", "My own")
    personas.rename("Other", "Another")
    personas.delete("My own")
    assert [persona.name for persona in personas.own()] == ["Another"]
    store.close()


def panel(chickadee: Chickadee) -> ChatPanel:
    chickadee.window.commands.run("chat_options")
    assert chickadee.chats.options.panel
    return chickadee.chats.options.panel


def answer(chickadee: Chickadee, ask: Ask, qtbot: QtBot, text: str, requests: Requests) -> Generate:
    ask(chickadee, text)
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy, timeout=SECONDS)
    return [request for request in requests() if isinstance(request, Generate)][-1]


def test_a_persona_is_chosen_for_one_chat(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests, open_window: Opener
) -> None:
    answer(chickadee, ask, qtbot, "hello", requests)
    shown = panel(chickadee)
    shown.personas.setCurrentIndex(shown.personas.findData("built-in:translator"))
    shown.personas.activated.emit(shown.personas.currentIndex())
    assert chickadee.window.header.options.text() == "Translator"
    qtbot.waitUntil(
        lambda: any(isinstance(request, Prepare) and request.messages[0].role == "system" for request in requests()),
        timeout=SECONDS,
    )
    sent = answer(chickadee, ask, qtbot, "hallo", requests)
    assert sent.messages[0] == Message("system", SHIPPED[0].prompt)
    assert sent.sampling.temperature == SHIPPED[0].temperature
    first = chickadee.open_chats.current.chat.id
    chickadee.chats.chat.new()
    assert chickadee.window.header.options.text() == ""
    assert shown.personas.currentData() == NO_PERSONA
    assert answer(chickadee, ask, qtbot, "hello", requests).messages[0].role == "user"
    chickadee.window.close()
    again = open_window()
    again.chats.chat.open(first)
    assert again.window.header.options.text() == "Translator"


def test_values_are_changed_saved_and_reset_in_the_panel(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests
) -> None:
    shown = panel(chickadee)
    temperature = shown.rows["answer.temperature"].control
    temperature.setFocus()
    temperature.selectAll()  # type: ignore[union-attr]
    qtbot.keyClicks(temperature, "0.25")
    qtbot.keyClick(temperature, Qt.Key.Key_Return)
    assert chickadee.window.header.options.text() == "Changed"
    chickadee.settings.change({"window.language": "zh_CN"})
    assert (chickadee.window.header.options.text(), shown.windowTitle()) == ("已更改", "此对话")
    chickadee.settings.change({"window.language": "en"})
    qtbot.mouseClick(shown.save, Qt.MouseButton.LeftButton)
    shown.name.setText("Editor")
    qtbot.mouseClick(shown.accept_name, Qt.MouseButton.LeftButton)
    assert shown.problem.text() == "“Editor” is built in. Choose another name."
    shown.name.setText("Cool")
    qtbot.keyClick(shown.name, Qt.Key.Key_Return)
    assert shown.personas.currentData() == "Cool"
    assert chickadee.window.header.options.text() == "Cool"
    qtbot.mouseClick(shown.rename, Qt.MouseButton.LeftButton)
    shown.name.setText("Cooler")
    qtbot.keyClick(shown.name, Qt.Key.Key_Return)
    assert chickadee.window.header.options.text() == "Cooler"
    assert answer(chickadee, ask, qtbot, "hello", requests).sampling.temperature == 0.25
    qtbot.mouseClick(shown.remove, Qt.MouseButton.LeftButton)
    assert chickadee.window.header.options.text() == "Changed"
    qtbot.mouseClick(shown.rows["answer.temperature"].reset_button, Qt.MouseButton.LeftButton)
    assert chickadee.window.header.options.text() == ""
    assert chickadee.open_chats.current.chat.options == ""


def test_a_persona_chosen_before_the_first_message_is_kept(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests, open_window: Opener
) -> None:
    """Another chat, another language and a restart change nothing about it."""
    answer(chickadee, ask, qtbot, "hello", requests)
    first = chickadee.open_chats.current.chat.id
    chickadee.chats.chat.new()
    shown = panel(chickadee)
    shown.personas.setCurrentIndex(shown.personas.findText("Translator"))
    shown.personas.activated.emit(shown.personas.currentIndex())
    chickadee.chats.chat.open(first)
    assert chickadee.window.header.options.text() == ""
    chickadee.chats.chat.new()
    assert chickadee.window.header.options.text() == "Translator"
    chickadee.settings.change({"window.language": "zh_CN"})
    assert chickadee.window.header.options.text() == "翻译"
    assert shown.personas.currentText() == "翻译"
    chickadee.settings.change({"window.language": "en"})
    chickadee.window.close()
    again = open_window()
    qtbot.waitUntil(lambda: again.engine.state.phase == "ready")
    assert again.window.header.options.text() == "Translator"
    assert [chat.id for chat in again.open_chats.chats()] == [first]
    sent = answer(again, ask, qtbot, "hallo", requests)
    assert sent.messages[0] == Message("system", SHIPPED[0].prompt)
    again.chats.chat.new()
    assert again.window.header.options.text() == ""
