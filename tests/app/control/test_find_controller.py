"""Find in the open chat, in the real window: counts, marks, and the way to a hit wherever it is."""

from __future__ import annotations

from functools import partial

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from app.folders import Folders
from app.look.theme import theme
from app.store.chat import Chat, ChatMessage
from app.store.chat_store import ChatStore
from app.wiring import Chickadee
from tests.app.conftest import Opener

SHIFT = Qt.KeyboardModifier.ShiftModifier
CODE = "```python\n" + "\n".join(f"line_{n} = {n}" for n in range(120)) + "\n```"
TABLE = "| city | ferry |\n|---|---|\n" + "\n".join(f"| town {n} | boat **{n}** |" for n in range(60))
ANSWERS = (
    "Nothing here.",
    f"<think>A quiet thought about the **need**le.</think>\n\nThe first needle, and a NEEDLE.\n\n{CODE}",
    f"{TABLE}\n\nThe Nèedle 🧵 again: `needle`.",
    *["Some words.\n\n" * 30] * 8,
    "The last needle.",
)


@pytest.fixture
def filled(open_window: Opener, folders: Folders) -> Chickadee:
    """Return the window on one long chat."""
    store = ChatStore(folders.store)
    chat, messages, parent = Chat("Needles", id="chat"), [], None
    for number, answer in enumerate(ANSWERS):
        question = ChatMessage(chat.id, parent, "user", f"question {number}", id=f"q{number}", stop_reason="end")
        reply = ChatMessage(chat.id, question.id, "assistant", answer, id=f"a{number}", stop_reason="end")
        messages += [question, reply]
        parent = reply.id
    store.save(chat, messages)
    store.close()
    chickadee = open_window()
    chickadee.chats.chat.open("chat")
    return chickadee


def find(chickadee: Chickadee, qtbot: QtBot, words: str) -> None:
    chickadee.window.commands.run("find_in_chat")
    bar = chickadee.window.find_bar
    qtbot.waitUntil(bar.field.hasFocus)
    bar.field.setText(words)
    qtbot.waitUntil(lambda: counted(chickadee) != "")


def counted(chickadee: Chickadee) -> str:
    label: QLabel = chickadee.window.find_bar.count
    return label.text()


def current(chickadee: Chickadee) -> tuple[str, str] | None:
    """Return the message and the words of the current hit, if it is on the screen."""
    place = place_of_current(chickadee)
    return None if place is None else place[:2]


def place_of_current(chickadee: Chickadee) -> tuple[str, str, int, int] | None:
    """Return the message, the words, the text and the position in it of the current hit, if it is on the screen."""
    transcript = chickadee.window.transcript
    for view in transcript.views:
        for text in view.texts():
            for mark in text.extraSelections():
                place = text.cursorRect(mark.cursor).center()
                seen = text.isVisible() and transcript.viewport().rect().contains(
                    text.viewport().mapTo(transcript.viewport(), place)
                )
                strong = mark.format.background().color().name() == theme().accent
                if strong and seen:
                    return view.message.id, mark.cursor.selectedText(), id(text), mark.cursor.selectionStart()
    return None


def moved(chickadee: Chickadee, before: object) -> bool:
    return place_of_current(chickadee) not in (None, before)


def test_all_hits_of_the_chat_are_counted_and_visited(filled: Chickadee, qtbot: QtBot) -> None:
    find(filled, qtbot, "needle")
    qtbot.waitUntil(lambda: counted(filled) == "6 of 6")  # the chat is at its end
    qtbot.waitUntil(lambda: current(filled) == ("a11", "needle"))
    field = filled.window.find_bar.field
    seen = []
    for number in range(1, 6):
        before = place_of_current(filled)
        qtbot.keyClick(field, Qt.Key.Key_Return)
        assert counted(filled) == f"{number} of 6"
        qtbot.waitUntil(partial(moved, filled, before))
        seen.append(current(filled))
    assert seen == [("a1", "needle"), ("a1", "needle"), ("a1", "NEEDLE"), ("a2", "Nèedle"), ("a2", "needle")]
    assert filled.open_chats.current.unfolded == {("a1", 0)}  # the thought was folded
    qtbot.keyClick(field, Qt.Key.Key_Return, SHIFT)
    assert counted(filled) == "4 of 6"


@pytest.mark.parametrize(
    ("words", "message"), [("line_113", "a1"), ("boat 57", "a2"), ("🧵", "a2"), ("QUESTION 3", "q3")]
)
def test_hits_are_found_in_folded_code_tables_and_questions(
    filled: Chickadee, qtbot: QtBot, words: str, message: str
) -> None:
    find(filled, qtbot, words)
    assert counted(filled) == "1 of 1"
    qtbot.waitUntil(lambda: (found := current(filled)) is not None and found[0] == message)


def test_marks_go_with_the_bar_and_escape_gives_the_keys_back(filled: Chickadee, qtbot: QtBot) -> None:
    find(filled, qtbot, "last needle")
    qtbot.waitUntil(lambda: current(filled) == ("a11", "last needle"))
    qtbot.keyClick(filled.window.find_bar.field, Qt.Key.Key_Escape)
    assert filled.window.find_bar.isHidden()
    assert current(filled) is None
    assert filled.window.composer.text.hasFocus()
    assert filled.chats.find._read == {}


def test_what_is_not_there_says_so_and_all_chats_can_be_searched(filled: Chickadee, qtbot: QtBot) -> None:
    find(filled, qtbot, "haystack")
    assert counted(filled) == "No results"
    filled.window.find_bar.all_chats.click()
    qtbot.waitUntil(filled.window.sidebar.field.hasFocus)


def test_a_new_answer_is_counted_too(filled: Chickadee, qtbot: QtBot) -> None:
    find(filled, qtbot, "last needle")
    qtbot.keyClicks(filled.window.composer.text, "my last needle")
    qtbot.keyClick(filled.window.composer.text, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: counted(filled) == "1 of 3")  # with the question and its echo
    qtbot.keyClick(filled.window.composer.text, Qt.Key.Key_F3)
    assert counted(filled) == "2 of 3"
