"""A disk that is really full: nothing typed is lost while the window is open, and what is lost at its end is listed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.folders import Folders, open_folders
from app.foundation import Intervals
from app.state.draft_keeper import DraftStore
from app.wiring import Chickadee
from tests.app.conftest import SECONDS, Opener
from tests.app.small_disk import fill_up, small_disk
from tests.app.test_window import Ask, done, stored

FULL = "The disk is full, so this chat cannot be saved. Free some space."
SECOND = "second" + "x" * 7000  # larger than the free space in the store's pages
ROOT = Path(__file__).parents[3]
# The real program, with a scripted user who types, fills the disk and closes the window before the first paint.
USER = """
import logging, sys
from pathlib import Path
import app.wiring
from app.__main__ import main
from tests.app.small_disk import fill_up

class Used(app.wiring.Chickadee):
    def start(self):
        self.window.composer.text.setPlainText("my words")
        fill_up(Path(sys.argv[1]))
        logging.warning("x" * 5_000)
        self.window.close()

app.wiring.Chickadee = Used
sys.exit(main(["--data-dir", sys.argv[1]]))
"""


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Folders]:
    with small_disk(tmp_path / "data", 2 << 20) as disk:
        yield open_folders(disk)


@pytest.fixture
def intervals() -> Intervals:
    """Return the program's own intervals, because the tests' more frequent writes may free a page of the full disk."""
    return Intervals(patience=SECONDS)


def say(chickadee: Chickadee, text: str) -> None:
    """Send the text without typing it letter by letter, which takes long for a text of this size."""
    chickadee.window.composer.text.setPlainText(text)
    chickadee.window.composer.submit()


def test_the_program_ends_clean_and_says_what_is_lost(folders: Folders) -> None:
    command = [sys.executable, "-c", USER, str(folders.data)]
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen"}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert ended.stderr == f"Your draft could not be saved. {FULL}\n"
    assert (ended.returncode, ended.stdout) == (0, "")


def test_what_could_not_be_stored_is_when_there_is_room(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "first")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    assert not chickadee.chats.unsaved.is_retrying()
    conversation = chickadee.open_chats.current
    filler = fill_up(chickadee.folders.data)
    say(chickadee, SECOND)
    qtbot.waitUntil(lambda: done(chickadee) and len(conversation.messages) == 4, timeout=SECONDS)
    chickadee.chats.messages._keep_edit(conversation.messages[0].id, "first, edited " * 100)
    chickadee.chats.messages._store_edits()
    chickadee.window.composer.text.setPlainText("third " * 1000)
    assert chickadee.chats.drafts.keeper.retry_unstored() is None
    chickadee.chats.drafts.keeper.store_draft(conversation, files=False)
    assert chickadee.chats.unsaved.is_retrying()
    chickadee.chats.unsaved.retry()
    assert len(chickadee.chats.unsaved.retry_all()) == 2
    assert all(sentence.endswith(FULL) for sentence in chickadee.chats.unsaved.retry_all())
    assert chickadee.chats.unsaved.is_retrying()
    filler.unlink()
    chickadee.chats.unsaved.retry()
    assert chickadee.window.notice.text.text() == "Everything is saved now."
    assert not chickadee.chats.unsaved.is_retrying()
    chickadee.window.close()
    assert chickadee.unsaved_sentences == []
    assert [content for _, content, _ in stored(chickadee.folders)][:3:2] == ["first", SECOND]
    assert chickadee.open_chats.current.edits == {conversation.messages[0].id: "first, edited " * 100}


def test_the_next_start_has_what_the_last_try_stored(open_window: Opener, ask: Ask, qtbot: QtBot) -> None:
    chickadee = open_window()
    ask(chickadee, "first")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    filler = fill_up(chickadee.folders.data)
    say(chickadee, SECOND)
    qtbot.waitUntil(lambda: done(chickadee) and len(chickadee.open_chats.current.messages) == 4, timeout=SECONDS)
    filler.unlink()
    chickadee.window.close()
    assert chickadee.unsaved_sentences == []
    assert len(stored(chickadee.folders)) == 4


def test_who_closes_the_window_hears_what_is_lost(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    fill_up(chickadee.folders.data)
    ask(chickadee, "slow question")
    qtbot.waitUntil(lambda: chickadee.open_chats.current.phase == "answering", timeout=SECONDS)
    chickadee.window.close()
    assert chickadee.unsaved_sentences == [f"The latest changes in “slow question” could not be saved. {FULL}"]


def test_who_types_without_a_pause_is_stored_too(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    """The time until the next write is counted from the first letter, not from the last."""
    ask(chickadee, "first")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    chat, typed = chickadee.open_chats.current, [""]
    chickadee.chats.unsaved._retry_timer.stop()  # else the timer would store the texts too
    for pause in (chickadee.chats.drafts._pause, chickadee.chats.messages._pause):
        pause.cancel()
        pause._pause = 1_000  # longer than this test pauses, unless the computer is busy

    def both_are_stored() -> bool:
        typed[0] += "a"
        chickadee.window.composer.text.setPlainText(typed[0])
        chickadee.chats.messages._keep_edit(chat.messages[0].id, typed[0])
        draft = DraftStore(chickadee.store).load(chat.chat.id)
        return bool(draft.text) and bool(chickadee.store.edits(chat.chat.id))

    qtbot.waitUntil(both_are_stored, timeout=SECONDS)
