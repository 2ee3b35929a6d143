"""The quick window: asked for by a second start, answered in place, and continued in the main window."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QSystemTrayIcon
from pytestqt.qtbot import QtBot

from app.control.quick_controller import QuickController
from app.folders import Folders
from app.quick_window import QuickWindow
from app.services.running_program import MOST_TEXT, ask_running, start_request
from app.services.single_instance import SingleInstance
from app.wiring import Chickadee
from tests.app.conftest import Opener
from tests.app.test_start import CHECKOUT

Key = Qt.Key


@pytest.fixture
def quick(chickadee: Chickadee) -> QuickController:
    return chickadee.chats.quick


def opened(quick: QuickController, qtbot: QtBot, text: str = "") -> QuickWindow:
    quick.open(text)
    assert quick.quick
    qtbot.waitExposed(quick.quick)
    qtbot.waitUntil(quick.quick.isActiveWindow)
    return quick.quick


def icon_of(quick: QuickController) -> QSystemTrayIcon | None:
    return quick.tray


def answered(quick: QuickController) -> int:
    conversation = quick.conversation
    return len(conversation.messages) // 2 if conversation and not conversation.busy else 0


def test_a_question_is_answered_in_place_and_goes_on_in_the_main_window(
    chickadee: Chickadee, quick: QuickController, qtbot: QtBot
) -> None:
    before = chickadee.open_chats.current
    window = opened(quick, qtbot)
    assert window.windowFlags() & Qt.WindowType.WindowStaysOnTopHint
    assert window.text.hasFocus()
    qtbot.keyClicks(window.text, "hello quick")
    qtbot.keyClick(window.text, Key.Key_Return)
    qtbot.waitUntil(lambda: answered(quick) == 1)
    assert chickadee.open_chats.current is before
    assert window.transcript.isVisible()
    assert window.main_button.isVisible()
    conversation = quick.conversation
    assert conversation
    assert conversation.chat.unread_at is None
    assert chickadee.window.sidebar.titles() == ["hello quick"]
    qtbot.keyClicks(window.text, "more")
    qtbot.keyClick(window, Key.Key_O, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: chickadee.open_chats.current is conversation)
    assert not window.isVisible()
    assert chickadee.window.composer.text.toPlainText() == "more"
    assert quick.conversation is not conversation


def test_escape_stops_and_then_hides_and_the_next_question_begins_a_chat(
    chickadee: Chickadee, quick: QuickController, qtbot: QtBot
) -> None:
    window = opened(quick, qtbot, "slow please")
    first = quick.conversation
    assert first
    qtbot.waitUntil(lambda: first.phase == "answering")
    assert window.button.accessibleName() == "Stop"
    qtbot.keyClick(window.text, Key.Key_Escape)
    qtbot.waitUntil(lambda: not first.busy)
    assert window.isVisible()
    qtbot.keyClick(window.text, Key.Key_Escape)
    assert not window.isVisible()
    assert chickadee.window.isVisible()
    opened(quick, qtbot)
    assert quick.conversation is not first
    empty = quick.conversation
    window.close()
    opened(quick, qtbot)
    assert quick.conversation is empty, "an unused chat is used again"
    assert [chat.title for chat in chickadee.open_chats.chats()] == ["slow please"]


def test_snippets_attachments_and_actions_work_from_the_quick_window(
    chickadee: Chickadee, quick: QuickController, qtbot: QtBot, tmp_path: Path
) -> None:
    window = opened(quick, qtbot)
    qtbot.keyClicks(window.text, "/expl")
    qtbot.keyClick(window.text, Key.Key_Return)
    form = chickadee.chats.snippets.form
    assert form
    form.fields["what"].setPlainText("rain")
    form.insert_button.click()
    assert window.text.toPlainText().startswith("Explain rain in simple words")
    window.submit()
    qtbot.waitUntil(lambda: answered(quick) == 1)
    conversation = quick.conversation
    assert conversation
    answer = conversation.messages[-1]
    window.transcript.action_requested.emit(answer.id, "copy", None)
    assert QGuiApplication.clipboard().text() == answer.content
    window.transcript.action_requested.emit(answer.id, "again", None)
    assert chickadee.open_chats.current is conversation
    qtbot.waitUntil(
        lambda: not conversation.busy and len(conversation.tree.siblings(conversation.messages[-1].id)) == 2
    )
    file = tmp_path / "note.txt"
    file.write_text("a note")
    opened(quick, qtbot).text.take_files([file])
    qtbot.waitUntil(lambda: not chickadee.window.composer.tray.empty)
    assert chickadee.open_chats.current is not conversation


def test_the_quick_window_follows_language_and_theme_and_ends_with_the_main_window(
    chickadee: Chickadee, quick: QuickController, qtbot: QtBot
) -> None:
    window = opened(quick, qtbot)
    chickadee.settings.change({"window.language": "zh_CN", "window.theme": "dark"})
    assert window.windowTitle() != "Ask Chickadee"
    assert not window.grab().isNull()
    chickadee.window.close()
    assert quick.quick is None


@pytest.mark.parametrize("temporary", [False, True])
def test_a_question_that_was_not_sent_is_in_the_composer_after_the_next_start(
    chickadee: Chickadee, quick: QuickController, qtbot: QtBot, open_window: Opener, temporary: bool
) -> None:
    if temporary:
        chickadee.window.commands.run("new_temporary_chat")
    chickadee.window.composer.text.setPlainText("a draft")
    opened(quick, qtbot).text.setPlainText("a question")
    chickadee.window.close()
    text = open_window().window.composer.text.toPlainText()
    assert text == ("a question" if temporary else "a draft\n\na question")


def test_the_icon_is_there_only_where_the_desktop_has_a_tray(
    chickadee: Chickadee, quick: QuickController, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [quick.tray] == [None]
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: False)
    chickadee.settings.change({"window.tray": "on"})
    assert [quick.tray] == [None]
    chickadee.settings.change({"window.tray": "off"})
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: True)
    chickadee.settings.change({"window.tray": "on"})
    icon = icon_of(quick)
    assert icon
    assert [action.text() for action in icon.contextMenu().actions()] == ["Ask…", "Show the main window", "&Quit"]
    icon.activated.emit(QSystemTrayIcon.ActivationReason.Trigger)
    assert quick.quick
    assert quick.quick.isVisible()
    chickadee.settings.change({"window.tray": "off"})
    assert not icon.isVisible()


def test_closing_leaves_the_program_running_only_with_the_icon(
    chickadee: Chickadee, quick: QuickController, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    said: list[str] = []
    monkeypatch.setattr(QSystemTrayIcon, "showMessage", lambda _self, _title, text: said.append(text))
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: True)
    chickadee.settings.change({"window.tray": "on"})
    icon = icon_of(quick)
    assert icon
    ask, show, leave = icon.contextMenu().actions()
    for _ in range(2):
        chickadee.window.close()
        assert not chickadee.window.isVisible()
        assert (chickadee.engine.state.phase, QApplication.quitOnLastWindowClosed()) == ("ready", False)
        show.trigger()
        assert chickadee.window.isVisible()
    assert len(said) == 1
    chickadee.window.close()
    ask.trigger()
    assert quick.quick
    quick.quick.close()
    with qtbot.waitSignal(chickadee.window.closing):
        leave.trigger()
    assert QApplication.quitOnLastWindowClosed()
    qtbot.waitUntil(lambda: not chickadee.process.running)


def test_without_the_icon_closing_ends_the_program(chickadee: Chickadee, qtbot: QtBot) -> None:
    with qtbot.waitSignal(chickadee.window.closing):
        chickadee.window.close()
    qtbot.waitUntil(lambda: not chickadee.process.running)


@pytest.fixture
def instance(chickadee: Chickadee, folders: Folders) -> Iterator[SingleInstance]:
    instance = SingleInstance(folders.data)
    assert instance.claim()
    instance.raised.connect(chickadee.raise_window)
    instance.asked.connect(chickadee.ask)
    yield instance
    instance.release()


def run_app(folders: Folders, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "app", "--data-dir", str(folders.data), *arguments]
    return subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.parametrize("text", [[], ["Why", "does it rain?"]])
def test_a_second_start_with_ask_opens_the_quick_window(
    instance: SingleInstance, quick: QuickController, folders: Folders, qtbot: QtBot, text: list[str]
) -> None:
    second = run_app(folders, "--ask", *text)
    qtbot.waitUntil(lambda: second.poll() is not None)
    assert (second.communicate(), second.returncode) == ((b"", b""), 0)
    qtbot.waitUntil(lambda: quick.quick is not None and quick.quick.isVisible())
    if text:
        qtbot.waitUntil(lambda: answered(quick) == 1)
        assert quick.conversation
        assert quick.conversation.messages[0].content == "Why does it rain?"


def test_asking_needs_no_qt(folders: Folders) -> None:
    code = f"import sys; from app.__main__ import _asked_running as ask; from pathlib import Path; " \
           f"print(ask(Path({str(folders.data)!r}), ''), [m for m in sys.modules if 'PySide6' in m])"  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert done.stdout == "False []\n"


def test_what_is_no_program_is_not_asked(folders: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not ask_running(folders.data, "hello")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "chickadee-x").touch()
    monkeypatch.setattr("app.services.running_program.server_name", lambda _folder: "chickadee-x")
    assert not ask_running(folders.data, "hello")


def test_a_request_of_any_question_fits_and_names_the_activation(monkeypatch: pytest.MonkeyPatch) -> None:
    from app.services.single_instance import LONGEST_LINE

    monkeypatch.setenv("XDG_ACTIVATION_TOKEN", "t" * 999)
    line = start_request("", "\u4e2d" * (2 * MOST_TEXT))
    assert len(line) < LONGEST_LINE
    request = json.loads(line)
    assert (len(request["ask"]), len(request["token"])) == (MOST_TEXT, 500)
    assert "ask" not in json.loads(start_request("/m.gguf", None))


def test_what_is_typed_in_the_main_window_stays(chickadee: Chickadee, quick: QuickController, qtbot: QtBot) -> None:
    composer = chickadee.window.composer.text
    composer.setPlainText("half a prompt")
    window = opened(quick, qtbot)
    window.text.setPlainText("short")
    window.main_requested.emit()
    assert composer.toPlainText() == "half a prompt\n\nshort"
    composer.undo()
    assert composer.toPlainText() == "half a prompt"


def test_a_chat_that_was_deleted_is_not_written_to(chickadee: Chickadee, quick: QuickController, qtbot: QtBot) -> None:
    window = opened(quick, qtbot, "hello quick")
    qtbot.waitUntil(lambda: answered(quick) == 1)
    deleted = quick.conversation
    assert deleted
    chickadee.chats.list.delete([deleted.chat.id])
    window.sent.emit("another question")
    qtbot.waitUntil(lambda: answered(quick) == 1 and quick.conversation is not deleted)
    assert len(deleted.messages) == 2
    assert [chat.title for chat in chickadee.open_chats.chats()] == ["another question"]
    present = quick.conversation
    assert present
    chickadee.chats.list.delete([present.chat.id])
    window.main_requested.emit()
    assert chickadee.open_chats.current.messages == []
