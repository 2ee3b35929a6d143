"""The first start shows the introduction once; later starts restore what was open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.folders import Folders, open_folders
from app.foundation import Foundation
from app.transcript.welcome import CODE, LARGE, SMALL
from app.window_state import WindowState
from app.wiring import Chickadee
from tests.app.conftest import FAKE, Opener

Ask = Callable[[Chickadee, str], None]


def test_the_first_page_is_three_sentences_and_seen_once(open_window: Opener, qtbot: QtBot) -> None:
    first = open_window()
    welcome = first.window.welcome
    assert [label.isVisible() for label in welcome.sentences] == [True] * 3
    assert "SmolLM2" in welcome.sentences[2].text()
    assert not welcome.examples[0].isVisible()
    qtbot.mouseClick(welcome.begin, Qt.MouseButton.LeftButton)
    assert not welcome.sentences[0].isVisible()
    assert welcome.examples[0].isVisible()
    assert first.window.composer.text.hasFocus()
    first.window.close()
    assert not open_window().window.welcome.sentences[0].isVisible()


def test_enter_ends_the_introduction_and_escape_does_not(open_window: Opener, qtbot: QtBot) -> None:
    window = open_window().window
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Escape)
    assert window.welcome.begin.isVisible()
    assert window.composer.text.hasFocus()
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Return)
    assert not window.welcome.begin.isVisible()
    assert window.welcome.examples[0].isVisible()
    assert window.composer.text.hasFocus()
    assert window.state.introduced


def test_tab_reaches_the_button_of_the_introduction(open_window: Opener, qtbot: QtBot) -> None:
    window = open_window().window
    passed = []
    while not window.welcome.begin.hasFocus():
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        assert QApplication.focusWidget() not in passed, "Tab goes round without the button"
        passed.append(QApplication.focusWidget())
    qtbot.keyClick(window.welcome.begin, Qt.Key.Key_Return)
    assert not window.welcome.begin.isVisible()
    assert window.composer.text.hasFocus()


def test_who_writes_at_once_has_read_enough(chickadee: Chickadee, qtbot: QtBot, ask: Ask) -> None:
    ask(chickadee, "Hello")
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    chickadee.window.commands.run("new_chat")
    assert chickadee.window.welcome.examples[0].isVisible()
    assert chickadee.window.state.introduced


def test_the_next_start_shows_what_was_open(open_window: Opener, qtbot: QtBot, ask: Ask) -> None:
    first = open_window()
    for text in ("older", "newer"):
        first.window.commands.run("new_chat")
        ask(first, text)
        qtbot.waitUntil(lambda: not first.open_chats.current.busy)
    first.window.commands.run("next_chat")
    first.window.commands.run("sidebar")
    first.window.commands.run("larger")
    first.window.resize(905, 655)
    first.window.close()
    second = open_window()
    assert second.open_chats.current.chat.title == "older"
    assert second.window.sidebar.isHidden()
    assert second.settings.values["window.text_size"] == 110


def test_a_chat_that_is_gone_is_no_reason_to_stumble(open_window: Opener, folders: Folders) -> None:
    folders.geometry.write_text("[General]\nchat=nosuchchat\nsidebar=perhaps\ngeometry=17\n")
    chickadee = open_window()
    assert not chickadee.open_chats.current.messages
    assert chickadee.window.sidebar.isVisible()


def test_the_next_start_shows_the_place_in_the_chat(open_window: Opener, qtbot: QtBot, ask: Ask) -> None:
    first = open_window()
    for text in ("one", "many", "two", "many more"):
        ask(first, text)
        qtbot.waitUntil(lambda: not first.open_chats.current.busy)
    first.window.transcript.scroll_to(2)
    place = first.window.transcript.top_message_id
    assert place == first.open_chats.current.messages[2].id
    first.window.close()
    second = open_window()
    qtbot.waitUntil(lambda: second.window.transcript.top_message_id == place)
    assert second.window.transcript.view_of(place)
    second.window.transcript.to_end()
    assert second.window.transcript.top_message_id == ""


def test_what_was_open_is_there_after_an_end_without_a_closing(
    open_window: Opener, qtbot: QtBot, ask: Ask, folders: Folders, tmp_path: Path
) -> None:
    killed = open_window()
    for text in ("older", "newer"):
        killed.window.commands.run("new_chat")
        ask(killed, text)
        qtbot.waitUntil(lambda: not killed.open_chats.current.busy)
    killed.window.commands.run("next_chat")
    killed.window.commands.run("sidebar")
    killed.window.resize(790, 655)
    chat = killed.open_chats.current.chat.id

    def kept() -> bool:
        state = WindowState(folders.geometry)
        return (state.chat, state.sidebar, state.geometry) == (chat, False, killed.window.saveGeometry())

    qtbot.waitUntil(kept)
    left = tmp_path / "as a kill leaves it"
    copytree(folders.data, left)
    restarted = Chickadee(Foundation(open_folders(left), tmp_path / "fake.gguf", FAKE))
    with qtbot.waitExposed(restarted.window):
        restarted.window.show()
    assert restarted.open_chats.current.chat.title == "older"
    assert (restarted.window.width(), restarted.window.height()) == (790, 655)
    assert restarted.window.sidebar.isHidden()
    restarted.window.close()


def test_nothing_is_written_where_nothing_changes(chickadee: Chickadee, qtbot: QtBot, folders: Folders) -> None:
    chickadee.chats.window_state._save()
    qtbot.waitUntil(lambda: WindowState(folders.geometry).geometry == chickadee.window.saveGeometry())
    qtbot.waitUntil(lambda: not chickadee.chats.window_state._background.running)
    before = folders.geometry.stat().st_mtime_ns
    chickadee.chats.window_state._save()
    assert not chickadee.chats.window_state._background.running
    assert folders.geometry.stat().st_mtime_ns == before


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize("texts", [SMALL, CODE, LARGE], ids=["small", "code", "large"])
def test_no_example_is_cut_off(chickadee: Chickadee, texts: tuple[str, str, str], language: str) -> None:
    chickadee.settings.change({"window.language": language})
    chickadee.window.resize(1280, 800)
    welcome = chickadee.window.welcome
    welcome.finish_introduction()
    welcome.set_examples(texts)
    QApplication.processEvents()
    for button in welcome.examples:
        assert button.width() >= button.sizeHint().width(), button.text()
