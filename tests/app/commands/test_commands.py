"""The table of commands: each is in a menu, has its keys and does something; palette and help sheet list all."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from app.commands.commands import BY_NAME, COMMANDS, FOCUS_AREAS, FOCUS_KEYS, OF_FOCUS
from app.commands.palette import PaletteEntry, command_entries, matching_entries, related_entries
from app.commands.related_words import RELATED
from app.look.live import without_mnemonic
from app.markdown.blocks import last_code
from app.settings.schema import for_all, offered
from app.store.message_search import Hit
from app.transcript.welcome import CODE, LARGE, SMALL, examples_for
from app.wiring import Chickadee

Ask = Callable[[Chickadee, str], None]
WITH_CODE = "Look:\n\n```python\nprint(1)\n```\n\nand\n\n~~~\nlast\n~~~\n\nDone."


def test_no_key_means_two_things() -> None:
    keys = [key for command in COMMANDS for key in command.keys]
    assert len(keys) == len(set(keys))
    names = [command.name for command in COMMANDS if command.name]
    assert len(names) == len(set(names))


def test_no_key_is_one_of_an_input_method() -> None:
    """IBus takes these for characters by their numbers, for emoji, and to switch between languages."""
    taken = {"Ctrl+Shift+U", "Ctrl+;", "Ctrl+.", "Ctrl+Space", "Ctrl+Shift+Space"}
    assert [command.name for command in COMMANDS if taken.intersection(command.keys)] == []


def test_no_key_means_two_things_in_one_place() -> None:
    assert {key.area for key in FOCUS_KEYS} == set(FOCUS_AREAS)
    for area in FOCUS_AREAS:
        keys = [key for one in FOCUS_KEYS if one.area == area for key in one.keys]
        assert len(keys) == len(set(keys)), area


def test_letters_of_a_menu_choose_one_entry_each() -> None:
    for menu in {command.menu for command in COMMANDS}:
        titles = [command.title for command in COMMANDS if command.menu == menu and command.name]
        letters = [title[title.index("&") + 1].lower() for title in titles]
        assert len(letters) == len(set(letters)), (menu, letters)


def test_a_title_outside_the_menus_has_no_marked_letter() -> None:
    assert without_mnemonic("&New chat") == "New chat"
    assert without_mnemonic("新对话(&N)") == "新对话"
    assert without_mnemonic("打开模型(&O)…") == "打开模型…"


def test_every_command_does_something(chickadee: Chickadee) -> None:
    actions = chickadee.window.commands.actions
    assert set(actions) == set(BY_NAME)
    assert [name for name, action in actions.items() if not action.isEnabled()] == []
    shown = [action for menu in chickadee.window.menuBar().findChildren(QMenu) for action in menu.actions()]
    assert set(actions.values()) <= set(shown)
    offered = [entry.id for entry in command_entries(chickadee.window.commands)]
    assert set(offered) <= set(BY_NAME) - {"palette", *OF_FOCUS}
    assert "delete_chat" not in offered  # there is no chat yet
    assert {"new_chat", "settings", "models"} <= set(offered)


def test_words_of_a_title_find_a_command_first_by_their_beginnings() -> None:
    entries = [
        PaletteEntry("chat", "1", "My renewal"),
        PaletteEntry("chat", "2", "New flat"),
        PaletteEntry("chat", "3", "Other"),
    ]
    assert [entry.id for entry in matching_entries("new", entries)] == ["2", "1"]
    assert [entry.id for entry in matching_entries("FLAT ne", entries)] == ["2"]
    assert matching_entries("none such", entries) == []


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("server", "server"), ("trash", "bin"), ("zoom", "larger"), ("rag", "collections"), ("chatgpt", "import"),
        ("incognito", "new_temporary_chat"), ("preferences", "settings"), ("retry", "again"), ("upload pdf", "attach"),
        ("dark mode", "window.theme"), ("summarize", "sum_up"), ("offline", "models.network"),
        ("system prompt", "chat_options"),
    ],
)  # fmt: skip
def test_other_words_find_a_command_or_setting(chickadee: Chickadee, qtbot: QtBot, words: str, found: str) -> None:
    for name in ("sum_up", "again"):
        chickadee.window.commands.allow(name, lambda: True)
    chickadee.window.commands.run("palette")
    palette = chickadee.chats.palette.palette
    qtbot.keyClicks(palette.line, words)
    assert found in [entry.id for entry in palette.shown_entries()]


def test_other_words_are_those_of_commands_and_settings() -> None:
    assert set(RELATED) <= set(BY_NAME) | {setting.name for setting in offered(for_all())}


def test_titles_come_before_other_words() -> None:
    entries = [
        PaletteEntry("command", "1", "Models…", related="server download"),
        PaletteEntry("command", "2", "Server…", related="network"),
    ]
    assert [entry.id for entry in matching_entries("server", entries)] == ["2"]
    assert [entry.id for entry in related_entries("server", entries)] == ["1"]
    assert [entry.id for entry in related_entries("models down", entries)] == ["1"]
    assert related_entries("load", entries) == []  # in the middle of a word it would find too much


def test_the_palette_connects_to_a_server(chickadee: Chickadee) -> None:
    chickadee.window.commands.run("server")
    assert chickadee.models.controller.dialog is not None
    assert chickadee.models.controller.servers.dialog is not None


def test_the_palette_opens_chats_and_runs_commands(chickadee: Chickadee, qtbot: QtBot, ask: Ask) -> None:
    ask(chickadee, "A question about whales")
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    first = chickadee.open_chats.current.chat.id
    chickadee.window.commands.run("new_chat")
    palette = chickadee.chats.palette.palette
    chickadee.window.commands.run("palette")
    assert palette.shown_entries()[0].title == "A question about whales"
    qtbot.keyClicks(palette.line, "whal")
    qtbot.keyClick(palette.line, Qt.Key.Key_Return)
    assert palette.isHidden()
    assert chickadee.open_chats.current.chat.id == first
    chickadee.window.commands.run("palette")
    qtbot.keyClicks(palette.line, "show no such thing")
    qtbot.keyClick(palette.line, Qt.Key.Key_Return)
    assert not palette.isHidden()
    chickadee.window.commands.run("stop")
    assert palette.isHidden()
    chickadee.window.commands.run("palette")
    qtbot.keyClicks(palette.line, "new cha")
    qtbot.keyClick(palette.line, Qt.Key.Key_Down)
    qtbot.keyClick(palette.line, Qt.Key.Key_Up)
    qtbot.keyClick(palette.line, Qt.Key.Key_Return)
    assert chickadee.open_chats.current.chat.id != first
    assert not chickadee.open_chats.current.messages


def test_the_palette_finds_what_was_written(chickadee: Chickadee, qtbot: QtBot, ask: Ask) -> None:
    for text in ("First words", "somewhere a walrus sleeps"):
        ask(chickadee, text)
        qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    chat = chickadee.open_chats.current
    chickadee.window.commands.run("new_chat")
    palette = chickadee.chats.palette.palette
    chickadee.window.commands.run("palette")
    qtbot.keyClicks(palette.line, "walrus")
    qtbot.waitUntil(lambda: len(palette.shown_entries()) == 2)  # the question, and its echo
    entry = palette.shown_entries()[0]
    assert (entry.id, entry.title) == (chat.chat.id, "First words")
    assert "walrus" in entry.note
    qtbot.keyClick(palette.line, Qt.Key.Key_Return)
    assert chickadee.open_chats.current.chat.id == chat.chat.id
    assert chickadee.window.transcript.view_of(entry.message_id)


def test_esc_stops_the_answer(chickadee: Chickadee, qtbot: QtBot, ask: Ask) -> None:
    ask(chickadee, "slow")
    qtbot.waitUntil(lambda: chickadee.open_chats.current.phase == "answering")
    chickadee.window.commands.run("stop")
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    assert chickadee.open_chats.current.messages[-1].stop_reason == "cancelled"


def test_the_next_chat_is_the_one_below(chickadee: Chickadee, qtbot: QtBot, ask: Ask) -> None:
    for text in ("one", "two", "three"):
        chickadee.window.commands.run("new_chat")
        ask(chickadee, text)
        qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    run, title = chickadee.window.commands.run, lambda: chickadee.open_chats.current.chat.title
    run("next_chat")
    assert title() == "two"
    run("next_chat")
    run("next_chat")
    assert title() == "three"
    run("previous_chat")
    assert title() == "one"
    run("new_chat")
    run("next_chat")
    assert title() == "three"


def test_the_next_chat_is_the_one_below_in_the_list_whatever_its_time(
    chickadee: Chickadee, qtbot: QtBot, ask: Ask
) -> None:
    for text in ("one", "two", "three"):
        chickadee.window.commands.run("new_chat")
        ask(chickadee, text)
        qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    chickadee.chats.chat.open(next(chat.id for chat in chickadee.open_chats.chats() if chat.title == "one"))
    chickadee.window.commands.run("pin_chat")
    qtbot.waitUntil(lambda: chickadee.window.sidebar.titles() == ["one", "three", "two"])
    seen = []
    for _ in range(3):
        chickadee.window.commands.run("next_chat")
        seen.append(chickadee.open_chats.current.chat.title)
    assert seen == ["three", "two", "one"]


def test_the_last_code_of_an_answer() -> None:
    assert last_code(WITH_CODE) == "last"
    assert last_code("No code, `but` this") is None
    assert last_code("```\nunfinished\nlines") == "unfinished\nlines"


def test_copying_the_last_answer_and_its_code(chickadee: Chickadee, qtbot: QtBot, ask: Ask) -> None:
    clipboard = QGuiApplication.clipboard()
    clipboard.setText("before")
    chickadee.window.commands.run("copy_code")
    assert clipboard.text() == "before"
    assert chickadee.window.notice.text.text() == "There is no code in this chat yet."
    ask(chickadee, "Hello")
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    chickadee.window.commands.run("copy_answer")
    assert clipboard.text() == chickadee.open_chats.current.messages[-1].content


def test_examples_suit_the_model() -> None:
    assert examples_for("SmolLM2-135M-Instruct", 135_000_000) == SMALL
    assert examples_for("qwen2.5-coder-1.5b-instruct-q4_k_m", 1_500_000_000) == CODE
    assert examples_for("Qwen3-8B", 8_000_000_000) == LARGE


def test_late_hits_of_other_words_are_not_shown(chickadee: Chickadee, qtbot: QtBot, ask: Ask) -> None:
    """Nor do they move the selection when the palette has been opened again."""
    ask(chickadee, "somewhere a walrus sleeps")
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    palette, chat = chickadee.chats.palette.palette, chickadee.open_chats.current
    late = [Hit(chat.chat.id, chat.messages[0].id, "late", "late", (), "user", 1.0)]
    runner = chickadee.chats.palette._search_runner
    chickadee.window.commands.run("palette")
    qtbot.keyClicks(palette.line, "zzzz")
    qtbot.keyClick(palette.line, Qt.Key.Key_Backspace)
    palette.line.setText("z")  # one letter is not searched for
    shown, selected = palette.shown_entries(), palette.list.currentRow()
    runner.found.emit(late)
    assert (palette.shown_entries(), palette.list.currentRow()) == (shown, selected)
    palette.dismiss()
    chickadee.window.commands.run("palette")
    qtbot.keyClick(palette.line, Qt.Key.Key_Down)
    shown = palette.shown_entries()
    runner.found.emit(late)
    assert (palette.shown_entries(), palette.list.currentRow()) == (shown, 1)
