"""Projects through the window: real widgets, the real store, real files, and a scripted engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QFileDialog, QMenu, QPushButton
from pytestqt.qtbot import QtBot

from app.dialogs.project_dialog import ProjectDialog
from app.settings.resolve import PROMPT
from app.sidebar.chat_list import folder_menu
from app.sidebar.chat_rows import Row
from app.store.project_store import MOST_FILES
from app.wiring import Chickadee
from engine.protocol.requests import Generate, Prepare
from tests.app.conftest import Opener, Requests
from tests.app.small_disk import write_protect
from tests.app.test_window import Ask
from tests.app.transcript.test_long_chats import ask_and_wait


def click(qtbot: QtBot, button: QPushButton) -> None:
    assert button.isEnabled()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    files = [tmp_path / "harbour.txt", tmp_path / "tides.md"]
    for path in files:
        path.write_text(f"All about the {path.stem}.")
    return files


@pytest.fixture
def folder(chickadee: Chickadee, paths: list[Path], qtbot: QtBot) -> str:
    """Make a project with two files; return its id."""
    folder_id = chickadee.open_chats.add_folder("Boats").id
    chickadee.chats.list.list_now()
    add(chickadee, qtbot, folder_id, paths)
    return folder_id


def add(chickadee: Chickadee, qtbot: QtBot, folder_id: str, paths: list[Path]) -> None:
    chickadee.chats.projects.add_files(folder_id, paths)
    qtbot.waitUntil(lambda: names(chickadee, folder_id)[-1:] == [paths[-1].name])


def names(chickadee: Chickadee, folder_id: str) -> list[str]:
    return [file.attachment.name for file in chickadee.open_chats.projects.of_folder(folder_id).files]


def texts(chickadee: Chickadee, folder_id: str) -> list[str]:
    return [file.attachment.text for file in chickadee.open_chats.projects.of_folder(folder_id).files]


def dialog(chickadee: Chickadee) -> ProjectDialog:
    shown = chickadee.chats.projects.dialog
    assert shown is not None
    return shown


def last(requests: Requests) -> Generate:
    return [request for request in requests() if isinstance(request, Generate)][-1]


def notice(chickadee: Chickadee) -> str:
    return chickadee.window.notice.text.text()


def test_new_chats_begin_with_the_files_which_are_read_ahead_once(
    chickadee: Chickadee, folder: str, ask: Ask, qtbot: QtBot, requests: Requests
) -> None:
    def read_ahead() -> list[Prepare]:
        return [request for request in requests() if isinstance(request, Prepare) and request.chat == folder]

    beginning = chickadee.open_chats.projects.of_folder(folder).beginning
    chickadee.window.sidebar.list.action_requested.emit("new_chat_in", [folder], None)
    assert chickadee.open_chats.current.chat.folder_id == folder
    qtbot.waitUntil(lambda: bool(read_ahead()))
    assert [message.content for message in read_ahead()[0].messages] == [beginning]
    ask_and_wait(chickadee, ask, qtbot, "When is high water?")
    first = last(requests)
    assert (first.messages[0].role, first.messages[0].content, first.beginning) == ("system", beginning, folder)
    assert first.chat == chickadee.open_chats.current.chat.id
    chickadee.window.commands.run("new_project_chat")
    ask_and_wait(chickadee, ask, qtbot, "And low water?")
    second = last(requests)
    assert second.messages[0] == first.messages[0]
    assert second.chat != first.chat
    assert len(chickadee.open_chats.chats()) == 2


def test_instructions_of_the_project_replace_those_of_the_settings_and_a_chat_adds_its_own(
    chickadee: Chickadee, folder: str, ask: Ask, qtbot: QtBot, requests: Requests
) -> None:
    chickadee.settings.change({PROMPT: "Be kind."})
    chickadee.chats.projects.new_chat(folder)
    chickadee.chats.projects.open_current()
    row = dialog(chickadee).rows[PROMPT]
    row.control.setFocus()
    qtbot.keyClicks(row.control, "Speak of boats.")
    dialog(chickadee).close()
    chickadee.chats.options.change_option(PROMPT, "Be short.")
    ask_and_wait(chickadee, ask, qtbot, "When is high water?")
    system = last(requests).messages[0].content
    assert system.startswith("Speak of boats.\n\nFile ")
    assert system.endswith("\n\nBe short.")
    assert "Be kind." not in system


def test_changed_files_are_noticed_and_read_again_only_when_the_user_wants(
    chickadee: Chickadee, folder: str, paths: list[Path], qtbot: QtBot
) -> None:
    paths[0].write_text("The harbour has moved.")
    paths[1].touch()  # its content is the same
    chickadee.chats.projects.new_chat(folder)
    expected = "1 file of “Boats” has changed since it was read."
    qtbot.waitUntil(lambda: notice(chickadee) == expected)
    assert texts(chickadee, folder) == ["All about the harbour.", "All about the tides."]
    click(qtbot, chickadee.window.notice.button)
    qtbot.waitUntil(lambda: texts(chickadee, folder)[0] == "The harbour has moved.")
    assert names(chickadee, folder) == ["harbour.txt", "tides.md"]
    qtbot.waitUntil(lambda: not any(row.text.text() == expected for row in chickadee.window.notice.rows))


def test_a_file_that_is_gone_stays_as_it_was_read(
    chickadee: Chickadee, folder: str, paths: list[Path], qtbot: QtBot
) -> None:
    paths[0].unlink()
    paths[1].write_text("Other tides.")
    chickadee.chats.projects.open(folder)
    shown = dialog(chickadee)
    qtbot.waitUntil(lambda: not shown.again_button.isHidden())
    click(qtbot, shown.again_button)
    qtbot.waitUntil(lambda: texts(chickadee, folder) == ["All about the harbour.", "Other tides."])
    qtbot.waitUntil(shown.again_button.isHidden)


def test_removed_files_come_back_to_their_places(chickadee: Chickadee, folder: str, qtbot: QtBot) -> None:
    chickadee.chats.projects.open(folder)
    shown = dialog(chickadee)
    assert not shown.remove_button.isEnabled()
    shown.files.list.item(0).setSelected(True)
    shown.files.list.setFocus()
    qtbot.keyClick(shown.files.list, Qt.Key.Key_Delete)
    assert names(chickadee, folder) == ["tides.md"]
    assert shown.files.note.text() == "1 file was removed."
    write_protect(chickadee, True)
    click(qtbot, shown.undo_button)
    assert shown.files.problem.text()
    assert not shown.undo_button.isHidden()  # nothing is lost: the same press brings the file back later
    write_protect(chickadee, False)
    click(qtbot, shown.undo_button)
    assert not shown.files.problem.text()
    assert names(chickadee, folder) == ["harbour.txt", "tides.md"]
    assert shown.undo_button.isHidden()


def test_files_that_cannot_be_read_are_named(chickadee: Chickadee, folder: str, tmp_path: Path, qtbot: QtBot) -> None:
    picture = tmp_path / "boat.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n nothing")
    chickadee.chats.projects.open(folder)
    chickadee.chats.projects.add_files(folder, [picture, tmp_path / "nowhere.txt"])
    problem = dialog(chickadee).files.problem
    qtbot.waitUntil(lambda: "“nowhere.txt” no longer exists" in problem.text())
    assert "“boat.png”" in problem.text()
    assert names(chickadee, folder) == ["harbour.txt", "tides.md"]


def test_a_project_has_at_most_fifty_files(chickadee: Chickadee, folder: str, tmp_path: Path, qtbot: QtBot) -> None:
    many = [tmp_path / f"{number}.txt" for number in range(MOST_FILES)]
    for path in many:
        path.write_text("Words.")
    chickadee.chats.projects.open(folder)
    chickadee.chats.projects.add_files(folder, many)
    qtbot.waitUntil(lambda: len(names(chickadee, folder)) == MOST_FILES)
    assert dialog(chickadee).files.problem.text() == "A project can have 50 files; the others were not added."


def test_the_dialog_says_how_much_of_the_context_the_files_take(
    chickadee: Chickadee, folder: str, tmp_path: Path, qtbot: QtBot
) -> None:
    chickadee.chats.projects.open(folder)
    shown = dialog(chickadee)
    qtbot.waitUntil(lambda: shown.fit.text().startswith("Each chat begins with "))
    long = tmp_path / "long.txt"
    long.write_text("word " * 20_000)
    add(chickadee, qtbot, folder, [long])
    qtbot.waitUntil(lambda: shown.full.text().startswith("Each chat would begin with 25,"))
    assert shown.fit.isHidden()


def test_moving_a_chat_says_what_changes_and_undo_moves_it_back(
    chickadee: Chickadee, folder: str, ask: Ask, qtbot: QtBot
) -> None:
    ask_and_wait(chickadee, ask, qtbot, "Hello")
    chat = chickadee.open_chats.current
    chickadee.window.sidebar.list.action_requested.emit("move", [chat.chat.id], folder)
    assert notice(chickadee) == "The chat now has what “Boats” gives its chats: 2 files."
    assert chat.beginning_id == folder
    click(qtbot, chickadee.window.notice.button)
    assert chat.chat.folder_id is None
    assert chat.beginning_id == ""
    chickadee.window.sidebar.list.action_requested.emit("move", [chat.chat.id], folder)
    chickadee.window.sidebar.list.action_requested.emit("move", [chat.chat.id], None)
    assert notice(chickadee) == "The chat no longer has what “Boats” gives its chats: 2 files."


def test_a_deleted_project_says_what_its_chats_lose_and_comes_back(
    chickadee: Chickadee, folder: str, ask: Ask, qtbot: QtBot
) -> None:
    chickadee.chats.projects.new_chat(folder)
    ask_and_wait(chickadee, ask, qtbot, "Hello")
    chickadee.chats.projects.open(folder)
    chickadee.window.sidebar.list.action_requested.emit("delete_folder", [folder], None)
    assert notice(chickadee).endswith("The chat no longer has what “Boats” gives its chats: 2 files.")
    assert chickadee.open_chats.current.beginning_id == ""
    click(qtbot, chickadee.window.notice.button)
    assert chickadee.open_chats.current.beginning_id == folder
    assert names(chickadee, folder) == ["harbour.txt", "tides.md"]


def test_an_unsent_chat_of_a_project_is_there_after_a_restart(
    chickadee: Chickadee, folder: str, qtbot: QtBot, open_window: Opener
) -> None:
    chickadee.chats.projects.new_chat(folder)
    qtbot.keyClicks(chickadee.window.composer.text, "When is")
    chickadee.window.close()
    again = open_window()
    assert again.window.composer.text.toPlainText() == "When is"
    assert again.open_chats.current.chat.folder_id == folder
    assert again.open_chats.current.beginning_id == folder


def test_the_menu_of_a_folder_leads_to_its_project(chickadee: Chickadee, folder: str, qtbot: QtBot) -> None:
    menu: QMenu = folder_menu(chickadee.window, Row("folder", "Boats", folder, folder))
    menu.triggered.connect(chickadee.window.sidebar.list._menu_triggered)
    menu.popup(QPoint(0, 0))
    next(action for action in menu.actions() if action.text() == "Project…").trigger()
    assert dialog(chickadee).windowTitle() == "Project “Boats”"
    assert dialog(chickadee).files.list.accessibleName() == "Files"


def test_collections_of_a_project_are_searched_in_its_chats_and_stay_switched_on(
    chickadee: Chickadee, folder: str, tmp_path: Path
) -> None:
    known = chickadee.chats.known_collections
    collection = known.add(tmp_path)
    chickadee.chats.projects.open(folder)
    dialog(chickadee).collections.list.item(0).setCheckState(Qt.CheckState.Checked)
    chickadee.chats.projects.new_chat(folder)
    assert known.used_by(chickadee.open_chats.current) == [collection]
    (switch, *_) = chickadee.chats.collections.menu().actions()
    assert (switch.isChecked(), switch.isEnabled()) == (True, False)
    assert chickadee.open_chats.current.chat.collections == ""


def test_a_project_is_exported_as_one_file_and_imported_on_another_computer(
    chickadee: Chickadee, folder: str, tmp_path: Path, qtbot: QtBot
) -> None:
    file, chats = tmp_path / "boats.json", chickadee.chats
    chickadee.window.sidebar.list.action_requested.emit("export_folder", [folder], None)
    chosen = chickadee.window.findChild(QFileDialog)
    assert isinstance(chosen, QFileDialog)
    chosen.selectFile(str(file))
    chosen.accept()
    qtbot.waitUntil(file.exists)
    chickadee.open_chats.delete_folder(folder)
    chats.importing.open()
    chats.importing.look_at_file(str(file))
    qtbot.waitUntil(lambda: notice(chickadee) == "1 folder was imported.")
    assert names(chickadee, folder) == ["harbour.txt", "tides.md"]
    assert [file.path for file in chickadee.open_chats.projects.of_folder(folder).files] == ["", ""]
    click(qtbot, chickadee.window.notice.button)
    qtbot.waitUntil(lambda: chickadee.open_chats.folders() == [])
