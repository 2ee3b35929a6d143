"""The chat list and the search in the real window: selection of many, folders, undo, hits."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import datetime

import pytest
from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPoint, Qt
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from app.folders import Folders
from app.sidebar.chat_rows import rows_of
from app.store.chat import Chat, ChatMessage, Folder
from app.store.chat_store import ChatStore
from app.wiring import Chickadee
from tests.app.conftest import Opener


@pytest.fixture
def filled(open_window: Opener, folders: Folders) -> Chickadee:
    """Return the window on a store of six chats."""
    store = ChatStore(folders.store)
    for number in range(6):
        chat = Chat(f"chat {number}", id=str(number), updated_at=time.time() - number)
        question = ChatMessage(chat.id, None, "user", f"question {number}", id=f"q{number}")
        first = ChatMessage(chat.id, question.id, "assistant", f"<b>first</b> 答案 {number}", id=f"a{number}")
        second = replace(first, id=f"b{number}", content=f"second answer {number}")
        store.save(replace(chat, leaf_id=second.id), [question, first, second])
    store.close()
    return open_window()


def index(chickadee: Chickadee, id: str) -> QModelIndex:
    model = chickadee.window.sidebar.list.rows
    return model.index([row.id for row in model.rows].index(id))


def click(chickadee: Chickadee, qtbot: QtBot, id: str, held: Qt.KeyboardModifier | None = None) -> None:
    view = chickadee.window.sidebar.list
    place = view.visualRect(index(chickadee, id)).center()
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, held or Qt.KeyboardModifier.NoModifier, place)


def listed(chickadee: Chickadee) -> list[str]:
    return [row.text for row in chickadee.window.sidebar.list.rows.rows]


def choose(chickadee: Chickadee, *ids: str) -> None:
    model = chickadee.window.sidebar.list.selectionModel()
    for number, id in enumerate(ids):
        how = QItemSelectionModel.SelectionFlag.Select
        model.select(index(chickadee, id), how if number else QItemSelectionModel.SelectionFlag.ClearAndSelect)


def test_rows_are_pins_folders_and_days() -> None:
    now = time.time()
    folder, empty = Folder("Work"), Folder("Empty", folded=True)
    chats = [
        Chat("now", updated_at=now),
        Chat("in work", updated_at=now, folder_id=folder.id),
        Chat("pinned", updated_at=now, pinned_at=now, folder_id=folder.id),
        Chat("old", updated_at=now - 40 * 86_400, folder_id="no such folder"),
    ]
    rows = rows_of(chats, [empty, folder], now)
    assert [(row.text, row.indent) for row in rows] == [
        ("Pinned", 0), ("pinned", 0), ("Empty", 0), ("Work", 0), ("in work", 1), ("Today", 0), ("now", 0),
        (f"{datetime.fromtimestamp(now - 40 * 86_400):%Y-%m}", 0), ("old", 0),
    ]  # fmt: skip
    folded = rows_of(chats, [replace(folder, folded=True)], now)
    assert "in work" not in [row.text for row in folded]
    assert next(row.chats for row in folded if row.kind == "folder") == 1


def test_a_click_opens_and_a_right_click_does_not(filled: Chickadee, qtbot: QtBot) -> None:
    click(filled, qtbot, "2")
    assert filled.open_chats.current.chat.id == "2"
    view = filled.window.sidebar.list
    place = view.visualRect(index(filled, "4")).center()
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.RightButton, pos=place)
    assert filled.open_chats.current.chat.id == "2"


def test_many_are_chosen_deleted_and_undone_at_once(filled: Chickadee, qtbot: QtBot) -> None:
    view, notice = filled.window.sidebar.list, filled.window.notice
    click(filled, qtbot, "1")
    click(filled, qtbot, "3", Qt.KeyboardModifier.ShiftModifier)
    click(filled, qtbot, "5", Qt.KeyboardModifier.ControlModifier)
    assert view.selected_chats() == ["1", "2", "3", "5"]
    assert filled.open_chats.current.chat.id == "1"
    qtbot.keyClick(view, Qt.Key.Key_Delete)
    assert filled.window.sidebar.titles() == ["chat 0", "chat 4"]
    assert notice.text.text() == "4 chats were deleted."
    qtbot.mouseClick(notice.button, Qt.MouseButton.LeftButton)
    assert len(filled.window.sidebar.titles()) == 6
    assert filled.open_chats.current.chat.id == "1"
    qtbot.keyClick(view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert len(view.selected_chats()) == 6


def test_the_open_chat_is_chosen_again_when_the_chosen_ones_are_gone(filled: Chickadee, qtbot: QtBot) -> None:
    filled.chats.chat.open("0")
    choose(filled, "2", "3")
    qtbot.keyClick(filled.window.sidebar.list, Qt.Key.Key_Delete)
    assert filled.open_chats.current.chat.id == "0"
    assert filled.window.sidebar.list.selected_chats() == ["0"]


def test_a_click_beside_the_chats_leaves_the_open_one_marked(filled: Chickadee, qtbot: QtBot) -> None:
    view = filled.window.sidebar.list
    click(filled, qtbot, "2")
    for chosen in (["2"], ["0", "1"]):
        choose(filled, *chosen)
        below = view.visualRect(view.rows.index(view.rows.rowCount() - 1)).bottomLeft() + QPoint(9, 9)
        qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=below)
        assert view.selected_chats() == ["2"]
        assert filled.open_chats.current.chat.id == "2"


def test_the_selection_and_the_place_stay_when_the_list_changes(filled: Chickadee, qtbot: QtBot) -> None:
    view = filled.window.sidebar.list
    for number in range(40):
        filled.open_chats.store.save(Chat(f"old {number}", updated_at=float(number)))
    filled.open_chats.reload()
    filled.chats.list.list_now()
    bar = view.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    choose(filled, "2", "3")
    bar.setValue(bar.maximum())
    at = bar.value()
    filled.open_chats.rename("5", "renamed")
    filled.chats.list.list_now()
    assert "renamed" in filled.window.sidebar.titles()
    assert view.selected_chats() == ["2", "3"]
    assert bar.value() == at > 0


def test_a_name_that_is_typed_is_not_lost_when_the_list_changes(filled: Chickadee, qtbot: QtBot) -> None:
    sidebar = filled.window.sidebar
    sidebar.rename("2")
    editor = sidebar.list.findChild(QLineEdit)
    assert editor
    editor.setText("half a na")
    filled.open_chats.rename("3", "other")
    filled.chats.list.list_now()
    assert editor.text() == "half a na"
    qtbot.keyClicks(editor, "me")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: sidebar.titles()[2:4] == ["half a name", "other"])


def test_folders_by_menu_drag_and_keyboard(filled: Chickadee, qtbot: QtBot) -> None:
    sidebar = filled.window.sidebar
    sidebar.list.action_requested.emit("new_folder", ["1", "2"], None)
    editor = sidebar.list.findChild(QLineEdit)
    assert editor
    editor.setText("Trips & <i>more</i>")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    (folder,) = filled.open_chats.folders()
    qtbot.waitUntil(lambda: listed(filled)[:3] == ["Trips & <i>more</i>", "chat 1", "chat 2"])
    model = sidebar.list.rows
    dragged = model.mimeData([index(filled, "4"), index(filled, "5")])
    at = index(filled, folder.id)
    assert model.canDropMimeData(dragged, Qt.DropAction.MoveAction, -1, -1, at)
    model.dropMimeData(dragged, Qt.DropAction.MoveAction, -1, -1, at)
    assert {chat.id for chat in filled.open_chats.chats() if chat.folder_id} == {"1", "2", "4", "5"}
    model.dropMimeData(dragged, Qt.DropAction.MoveAction, -1, -1, QModelIndex())
    assert {chat.id for chat in filled.open_chats.chats() if chat.folder_id} == {"1", "2"}
    sidebar.list.setCurrentIndex(index(filled, folder.id))
    qtbot.keyClick(sidebar.list, Qt.Key.Key_Left)
    assert "chat 1" not in listed(filled)
    spoken = model.data(index(filled, folder.id), Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "Folder Trips & <i>more</i>, 2 chats, collapsed"
    click(filled, qtbot, folder.id)
    assert "chat 1" in listed(filled)
    sidebar.list.clearSelection()
    sidebar.list.action_requested.emit("delete_folder", [folder.id], None)
    assert filled.open_chats.folders() == []
    assert len(sidebar.titles()) == 6
    qtbot.mouseClick(filled.window.notice.button, Qt.MouseButton.LeftButton)
    assert listed(filled)[:3] == ["Trips & <i>more</i>", "chat 1", "chat 2"]


def test_pinned_chats_stand_on_top(filled: Chickadee, qtbot: QtBot) -> None:
    filled.window.sidebar.list.action_requested.emit("pin", ["4"], None)
    assert listed(filled)[:3] == ["Pinned", "chat 4", "Today"]
    filled.chats.chat.open("4")
    filled.window.commands.run("pin_chat")
    assert listed(filled)[0] == "Today"


def test_what_is_found_is_shown_in_its_branch(filled: Chickadee, qtbot: QtBot) -> None:
    sidebar = filled.window.sidebar
    filled.window.commands.run("find")
    qtbot.waitUntil(sidebar.field.hasFocus)
    qtbot.keyClicks(sidebar.field, "answer")
    qtbot.waitUntil(lambda: len(sidebar.hits.hits.hits) == 6)
    sidebar.field.setText("案 3")
    qtbot.waitUntil(lambda: [hit.message_id for hit in sidebar.hits.hits.hits] == ["a3"])
    assert sidebar.hits.isVisible()
    sidebar.hits.grab()
    qtbot.keyClick(sidebar.field, Qt.Key.Key_Return)
    assert filled.open_chats.current.chat.id == "3"
    assert [message.id for message in filled.open_chats.current.messages] == ["q3", "a3"]
    sidebar.field.setText("no such words")
    qtbot.waitUntil(sidebar.nothing.isVisible)
    sidebar.field.setFocus()
    qtbot.keyClick(sidebar.field, Qt.Key.Key_Escape)
    assert sidebar.list.isVisible()
    assert sidebar.field.text() == ""


def test_deleted_chats_come_back_or_go_for_good(filled: Chickadee, qtbot: QtBot, folders: Folders) -> None:
    sidebar = filled.window.sidebar
    assert sidebar.bin_button.isHidden()
    filled.chats.list.delete(["1", "2", "3"])
    assert sidebar.bin_button.text() == "Recently deleted (3)"
    qtbot.mouseClick(sidebar.bin_button, Qt.MouseButton.LeftButton)
    dialog = filled.chats.list._bin.open
    assert dialog
    assert dialog.list.item(0).text().endswith("kept for 30 more days")
    dialog.list.clearSelection()
    dialog.list.item(0).setSelected(True)
    (restored,) = dialog.selected_ids()
    qtbot.mouseClick(dialog.restore, Qt.MouseButton.LeftButton)
    assert dialog.list.count() == 2
    assert len(sidebar.titles()) == 4
    qtbot.mouseClick(dialog.delete_all, Qt.MouseButton.LeftButton)
    assert dialog.question.text() == "These 2 chats will be deleted permanently."
    qtbot.mouseClick(dialog.cancel, Qt.MouseButton.LeftButton)
    assert dialog.list.count() == 2
    qtbot.mouseClick(dialog.delete_all, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(dialog.confirm, Qt.MouseButton.LeftButton)
    assert dialog.list.count() == 0
    assert sidebar.bin_button.isHidden()
    assert restored in [chat.id for chat in filled.open_chats.chats()]
    assert dialog.hint.text().startswith("No deleted chats.")
    assert not dialog.restore.isEnabled()
    gone = {"1", "2", "3"} - {restored}

    def stands(number: str) -> bool:
        data = b"".join(path.read_bytes() for path in folders.data.glob("library.sqlite3*"))
        return f"question {number}".encode() in data

    qtbot.waitUntil(lambda: not any(map(stands, gone)))
    assert stands(restored)


def test_the_menus_offer_what_fits(filled: Chickadee, qtbot: QtBot) -> None:
    sidebar = filled.window.sidebar
    choose(filled, "1", "2")
    menus = menus_at(filled)
    assert menus == [["Pin", "Move to folder", "Export…", "Delete 2 chats"], []]
    sidebar.list.action_requested.emit("new_folder", ["2"], None)
    choose(filled, "1", "2")
    assert menus_at(filled)[0] == ["Pin", "Move to folder", "Remove from folder", "Export…", "Delete 2 chats"]


def menus_at(filled: Chickadee) -> list[list[str]]:
    """Return the entries of the context menus on chat 1 and on the heading at the top of the list."""
    sidebar = filled.window.sidebar
    menus: list[list[str]] = []
    for place in (sidebar.list.visualRect(index(filled, "1")).center(), QPoint(5, 5)):
        sidebar.list.customContextMenuRequested.emit(place)
        menu = QApplication.activePopupWidget()
        menus.append([action.text() for action in menu.actions() if action.text()] if menu else [])
        if menu:
            menu.close()
    return menus


def test_the_palette_finds_words_in_messages(filled: Chickadee, qtbot: QtBot) -> None:
    filled.window.commands.run("palette")
    palette = filled.chats.palette.palette
    qtbot.keyClicks(palette.line, "first 4")
    qtbot.waitUntil(lambda: [(entry.id, entry.message_id) for entry in palette.shown_entries()] == [("4", "a4")])
    qtbot.keyClick(palette.line, Qt.Key.Key_Return)
    assert filled.open_chats.current.messages[-1].id == "a4"
