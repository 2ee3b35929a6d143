"""Notices above the composer: each is dismissed by its poster alone, and an undo stays for its time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.notice import UNDO_MS, NoticeArea
from app.wiring import Chickadee
from tests.app.conftest import Opener
from tests.app.test_window import done

Ask = Callable[[Chickadee, str], None]


def sentences(notice: NoticeArea) -> list[str]:
    """Return the sentences that are shown, from top to bottom."""
    return [each.text.text() for each in notice.rows if not each.isHidden()]


def test_an_undo_stays_while_problems_come_and_go(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    """When the engine dies, a chat is deleted and the engine runs again, the chat can still be brought back."""
    ask(chickadee, "one")
    qtbot.waitUntil(lambda: done(chickadee))
    chat = chickadee.open_chats.current.chat.id
    chickadee.window.commands.run("new_chat")
    ask(chickadee, "die")
    notice = chickadee.window.notice
    qtbot.waitUntil(lambda: not notice.isHidden())
    assert notice.button.text() == "Restart engine"
    chickadee.chats.list.delete([chat])
    assert notice.button.text() == "Undo"
    assert len(sentences(notice)) == 2  # the problem is still shown
    qtbot.mouseClick(notice.rows[0].button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    chickadee.window.commands.run("copy_code")  # posts "There is no code", which disappears by itself
    assert len(sentences(notice)) == 2
    undo = next(each for each in notice.rows if each.kind == "undo")
    qtbot.mouseClick(undo.button, Qt.MouseButton.LeftButton)
    assert chat in [each.id for each in chickadee.open_chats.chats()]
    assert len(sentences(notice)) == 1


def test_several_undos_each_bring_back_their_own(qtbot: QtBot) -> None:
    notice, did = NoticeArea(), list[int]()
    qtbot.addWidget(notice)
    for number in range(5):
        notice.post(f"{number} is gone.", "Undo", lambda number=number: did.append(number), milliseconds=UNDO_MS)  # type: ignore[misc]
    assert sentences(notice) == ["1 is gone.", "2 is gone.", "3 is gone.", "4 is gone."]
    qtbot.mouseClick(notice.rows[3].button, Qt.MouseButton.LeftButton)
    assert did == [3]
    assert sentences(notice) == ["0 is gone.", "1 is gone.", "2 is gone.", "4 is gone."]  # an earlier one again
    notice.dismiss()
    assert sentences(notice) == ["0 is gone.", "1 is gone.", "2 is gone."]


def test_what_was_told_is_taken_away_and_nothing_else(qtbot: QtBot) -> None:
    notice = NoticeArea()
    qtbot.addWidget(notice)
    first = notice.post("The engine stopped.", kind="problem")
    second = notice.post("The file cannot be read.", kind="problem")
    notice.dismiss(first)
    assert sentences(notice) == ["The file cannot be read."]
    notice.dismiss(second)
    notice.dismiss(second)
    assert notice.isHidden()
    brief = notice.post("Copied.", milliseconds=1)
    qtbot.waitUntil(lambda: brief not in notice.rows)
    assert notice.isHidden()
    notice.post("The next one.")
    notice.dismiss(second)
    assert sentences(notice) == ["The next one."]


def test_settings_that_are_right_again_leave_the_undo(open_window: Opener, chickadee: Chickadee) -> None:
    path = chickadee.settings.path
    path.write_text("[engine]\nthreads = 'many'\n", encoding="utf-8")
    chickadee.settings.refresh()
    notice = chickadee.window.notice
    assert notice.button.text() == "Open settings"
    notice.post("Gone.", "Undo", lambda: None, milliseconds=UNDO_MS)
    path.write_text("", encoding="utf-8")
    chickadee.settings.refresh()
    assert sentences(notice) == ["Gone."]


def test_a_problem_stays_until_it_is_solved_or_closed(qtbot: QtBot) -> None:
    notice = NoticeArea()
    qtbot.addWidget(notice)
    closed = notice.post("The engine stopped.", kind="problem")
    notice.post("The chats cannot be saved.", kind="problem", topic="save")
    notice.post("A note without an end.")
    brief = notice.post("Copied.", milliseconds=1)
    assert sentences(notice) == ["The engine stopped.", "The chats cannot be saved.", "Copied."]
    qtbot.waitUntil(lambda: brief not in notice.rows)
    assert sentences(notice) == ["The engine stopped.", "The chats cannot be saved."]
    for number in range(3):
        notice.post(f"{number} is gone.", "Undo", lambda: None, milliseconds=UNDO_MS)
    assert sentences(notice) == ["The engine stopped.", "The chats cannot be saved.", "1 is gone.", "2 is gone."]
    notice.post("Copied.", milliseconds=60_000)
    assert sentences(notice) == ["The engine stopped.", "The chats cannot be saved.", "2 is gone.", "Copied."]
    notice.dismiss()
    notice.dismiss_undos()
    assert sentences(notice) == ["The engine stopped.", "The chats cannot be saved."]
    qtbot.mouseClick(closed.close_button, Qt.MouseButton.LeftButton)
    assert sentences(notice) == ["The chats cannot be saved."]
    notice.post("The chats still cannot be saved.", kind="problem", topic="save")
    assert sentences(notice) == ["The chats still cannot be saved."]
    notice.solve("save")
    assert notice.isHidden()


def test_a_notice_stays_until_its_work_can_be_done(qtbot: QtBot) -> None:
    """A later note does not take it away either: the user is still asked."""
    notice, may = NoticeArea(), False
    qtbot.addWidget(notice)

    def work() -> bool:
        if not may:
            notice.post("Not now.", milliseconds=1)
        return may

    for milliseconds in (0, 1_000):
        may = False
        row = notice.post("Replace the file?", "Replace", work, milliseconds=milliseconds)
        qtbot.mouseClick(row.button, Qt.MouseButton.LeftButton)
        assert sentences(notice) == ["Replace the file?", "Not now."]
        qtbot.waitUntil(lambda: sentences(notice) == ["Replace the file?"])
        assert not row._timer.isActive()
        may = True
        qtbot.mouseClick(row.button, Qt.MouseButton.LeftButton)
        assert sentences(notice) == []


def test_a_question_waits_for_the_user(qtbot: QtBot) -> None:
    notice, did = NoticeArea(), list[str]()
    qtbot.addWidget(notice)
    notice.post("b.md is there already.", "Replace", lambda: did.append("replaced"))
    notice.post("Open a.org?", "Open", lambda: did.append("a"), topic="link")
    notice.post("Copied.", milliseconds=60_000)
    notice.post("This model cannot see pictures.", kind="problem")
    assert sentences(notice)[:2] == ["b.md is there already.", "Open a.org?"]
    notice.post("Open b.org?", "Open", lambda: did.append("b"), topic="link")
    questions = [each for each in notice.rows if each.kind == "question"]
    assert [each.text.text() for each in questions] == ["b.md is there already.", "Open b.org?"]
    for each in questions:
        assert not each.isHidden()
        qtbot.mouseClick(each.button, Qt.MouseButton.LeftButton)
    assert did == ["replaced", "b"]
    assert sentences(notice) == ["This model cannot see pictures."]


def test_a_notice_goes_when_its_cause_has_gone(qtbot: QtBot) -> None:
    notice, offline = NoticeArea(), True
    qtbot.addWidget(notice)
    notice.post("Connections are turned off.", kind="problem", holds=lambda: offline)
    notice.post("The file cannot be read.", kind="problem")
    notice.check()
    assert sentences(notice) == ["Connections are turned off.", "The file cannot be read."]
    offline = False
    notice.check()
    assert sentences(notice) == ["The file cannot be read."]


def test_only_a_note_about_something_that_is_over_goes_by_itself(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.notice.NOTE_MS", 1)
    lasting, passing = NoticeArea(), NoticeArea()
    for notice in (lasting, passing):
        qtbot.addWidget(notice)
    row = lasting.post("The model is larger than the memory.", topic="slow model")
    passing.post("No program could open it.")  # its timer ends later than one of the first would
    qtbot.waitUntil(lambda: passing.rows == [])
    assert lasting.rows == [row]


def test_a_problem_that_comes_again_is_shown_once(qtbot: QtBot) -> None:
    notice = NoticeArea()
    qtbot.addWidget(notice)
    for _ in range(3):
        notice.post("The file cannot be read.", kind="problem")
    assert sentences(notice) == ["The file cannot be read."]
