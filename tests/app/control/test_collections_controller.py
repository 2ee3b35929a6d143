"""Collections through the window: made, indexed, switched on, searched, shown, removed and brought back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit, QMenu, QPushButton
from pytestqt.qtbot import QtBot

from app.collections import INDEX_NAME, VECTORS_NAME
from app.collections.embedding import make_vectors
from app.control import indexing_controller
from app.dialogs.source_dialog import SourceDialog
from app.transcript.source_links import SourceLink
from app.wiring import Chickadee
from engine.protocol.requests import Generate
from models.default import default_model
from tests.app.conftest import Opener, Requests
from tests.app.test_window import label_text

Ask = Callable[[Chickadee, str], None]
BIRDS = "# Feeding\n\nChickadees store sunflower seeds in bark during autumn.\n\n" + "Filler about weather. " * 600
TREES = "# Oaks\n\nOaks carry acorns that jays bury.\n\n" + "Filler about soil. " * 600


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    (folder / "deep").mkdir(parents=True)
    (folder / "birds.md").write_text(BIRDS, encoding="utf-8")
    (folder / "deep" / "trees.md").write_text(TREES, encoding="utf-8")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    return folder


def indexed(chickadee: Chickadee) -> bool:
    collections = chickadee.chats.collections._collections
    return all(
        collections.state_of(each).known and not collections.state_of(each).working for each in collections.all()
    )


@pytest.fixture(scope="session")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a table of word vectors, made once."""
    path = tmp_path_factory.mktemp("vectors") / VECTORS_NAME
    make_vectors(default_model()).save(path)
    return path


@pytest.fixture
def with_documents(chickadee: Chickadee, qtbot: QtBot, documents: Path, vectors: Path) -> Chickadee:
    """Return a window whose open chat uses a collection of the documents, which are indexed."""
    chickadee.folders.collections.mkdir()
    shutil.copy(vectors, chickadee.folders.collections)
    chickadee.chats.collections.add(documents)
    qtbot.waitUntil(lambda: indexed(chickadee))
    return chickadee


def answered(chickadee: Chickadee, count: int = 2) -> bool:
    conversation = chickadee.open_chats.current
    return len(conversation.messages) >= count and not conversation.busy


def links(chickadee: Chickadee) -> list[SourceLink]:
    found = chickadee.window.transcript.views[-1].source_links
    return [each for each in found.widgets if isinstance(each, SourceLink)] if found else []


def test_an_answer_gets_what_helps_and_names_it(
    with_documents: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests, documents: Path
) -> None:
    chickadee = with_documents
    assert chickadee.window.composer.collections_button.text() == "documents"
    ask(chickadee, "Which seeds do chickadees store?")
    qtbot.waitUntil(lambda: answered(chickadee))
    sent = next(each for each in requests() if isinstance(each, Generate)).messages[-1].content
    assert "Chickadees store sunflower seeds in bark" in sent
    assert sent.startswith('Passages found in the file "birds.md":\n```\n[passage 1, under the heading: Feeding]')
    assert sent.endswith("Which seeds do chickadees store?")
    assert chickadee.window.transcript.views[0].files is None  # they are named below the answer
    (link,) = [each for each in links(chickadee) if "Feeding" in each.text()][:1]
    assert link.text() == "birds.md · Feeding"
    link.setFocus()
    qtbot.keyClick(link, Qt.Key.Key_Return)
    dialog = chickadee.window.findChild(SourceDialog)
    assert dialog is not None
    qtbot.waitUntil(lambda: "Filler" in dialog.text.toPlainText() and dialog.note.isHidden())
    (mark,) = dialog.text.extraSelections()
    assert "sunflower seeds" in mark.cursor.selectedText()
    assert dialog.path.accessibleName() == str(documents / "birds.md")
    dialog.close()


def test_passages_that_the_chat_has_read_are_named_but_not_sent_again(
    with_documents: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests
) -> None:
    for count in (2, 4):
        ask(with_documents, "Which seeds do chickadees store?")
        qtbot.waitUntil(partial(answered, with_documents, count))
        assert any("Feeding" in each.text() for each in links(with_documents))
    first, second = [each.messages[-1].content for each in requests() if isinstance(each, Generate)]
    assert "Chickadees store sunflower seeds in bark" in first
    assert second == "Which seeds do chickadees store?"
    with_documents.window.commands.run("new_chat")
    with_documents.chats.collections.menu().actions()[0].toggle()
    ask(with_documents, "Which seeds do chickadees store?")
    qtbot.waitUntil(lambda: answered(with_documents))
    assert [each.messages[-1].content for each in requests() if isinstance(each, Generate)][-1] == first


def test_nothing_found_is_said(with_documents: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests) -> None:
    ask(with_documents, "xyzzy plugh")
    qtbot.waitUntil(lambda: answered(with_documents))
    assert [each.messages[-1].content for each in requests() if isinstance(each, Generate)] == ["xyzzy plugh"]
    view = with_documents.window.transcript.views[-1]
    assert label_text(view, "sources") == "Nothing about this was found in documents."


def test_switches_and_sources_are_stored_with_the_chat(
    with_documents: Chickadee, ask: Ask, qtbot: QtBot, open_window: Opener
) -> None:
    ask(with_documents, "Which seeds do chickadees store?")
    qtbot.waitUntil(lambda: answered(with_documents))
    chat_id = with_documents.open_chats.current.chat.id
    with_documents.window.close()
    again = open_window()
    again.open_chats.open(chat_id)
    assert again.window.composer.collections_button.text() == "documents"
    assert any("Feeding" in each.text() for each in links(again))


def test_a_menu_switches_a_collection_off_and_on(with_documents: Chickadee) -> None:
    button = with_documents.window.composer.collections_button
    for expected in ("", "documents"):
        action = with_documents.chats.collections.menu().actions()[0]
        assert action.text() == "documents"
        action.toggle()
        assert button.text() == expected
        assert button.isChecked() == bool(expected)


def test_changes_are_indexed_and_deletions_forgotten(
    with_documents: Chickadee, ask: Ask, qtbot: QtBot, documents: Path
) -> None:
    chickadee = with_documents
    (documents / "birds.md").unlink()
    (documents / "new.md").write_text("Nuthatches walk down trunks head first.\n", encoding="utf-8")
    indexing = chickadee.chats.collections._indexing
    indexing.start()
    (state,) = [chickadee.chats.collections._collections.state_of(each) for each in all_of(chickadee)]
    qtbot.waitUntil(lambda: not indexing._process.running)
    assert state.refused == 1
    ask(chickadee, "Which seeds do chickadees store?")
    qtbot.waitUntil(lambda: answered(chickadee))
    assert not any("birds.md" in each.text() for each in links(chickadee))
    ask(chickadee, "How do nuthatches walk down trunks?")
    qtbot.waitUntil(lambda: answered(chickadee, 4))
    assert any(each.text() == "new.md · all of it" for each in links(chickadee))


def all_of(chickadee: Chickadee):
    return chickadee.chats.collections._collections.all()


def test_the_dialog_makes_pauses_removes_and_brings_back(
    chickadee: Chickadee, qtbot: QtBot, documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    qtbot.mouseClick(chickadee.window.composer.collections_button, Qt.MouseButton.LeftButton)
    dialog = chickadee.chats.collections.dialog
    assert dialog is not None
    assert not dialog.hint.isHidden()
    dialog.add_button.click()
    chooser = dialog.findChild(QFileDialog)
    assert chooser is not None
    chooser.fileSelected.emit(str(documents))
    chooser.close()
    qtbot.waitUntil(lambda: bool(dialog.views) and indexed(chickadee))
    ((collection_id, view),) = dialog.views.items()
    assert view.status.text() == "Up to date · 3 files · 1 cannot be read"
    view.buttons["unreadable"].click()
    qtbot.waitUntil(lambda: "broken.pdf" in dialog.note.text())
    view.name.setText("Nature")
    view.name.editingFinished.emit()
    assert chickadee.window.composer.collections_button.text() == "Nature"
    view.buttons["pause"].click()
    assert view.status.text() == "Paused · 3 files"
    view.buttons["resume"].click()
    view.buttons["remove"].click()
    assert dialog.views == {}
    assert chickadee.window.composer.collections_button.text() == ""
    dialog.undo_button.click()
    assert list(dialog.views) == [collection_id]
    assert chickadee.window.composer.collections_button.text() == "Nature"


def test_a_collection_chosen_before_the_first_message_survives_a_restart(
    chickadee: Chickadee, open_window: Opener, documents: Path, ask: Ask, qtbot: QtBot
) -> None:
    chickadee.chats.collections.add(documents)
    chickadee.window.close()
    again = open_window()
    assert again.window.composer.collections_button.text() == "documents"
    again.window.commands.run("new_chat")
    assert again.window.composer.collections_button.text() == "documents"
    again.chats.collections.menu().actions()[0].toggle()
    again.window.close()
    last = open_window()
    assert last.window.composer.collections_button.text() == ""
    ask(last, "hello")
    qtbot.waitUntil(lambda: answered(last))
    last.window.commands.run("new_chat")
    assert last.window.composer.collections_button.text() == ""


def test_typing_starts_the_search_so_that_send_does_not_wait(with_documents: Chickadee, qtbot: QtBot) -> None:
    search = with_documents.chats.collections._retriever.search
    running = [search._process.running]
    qtbot.keyClicks(with_documents.window.composer.text, "W")
    assert [*running, search._process.running] == [False, True]
    qtbot.waitUntil(lambda: not search._waiting)


def test_a_damaged_index_is_said_and_made_again(
    with_documents: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests
) -> None:
    chickadee = with_documents
    indexing = chickadee.chats.collections._indexing
    qtbot.waitUntil(lambda: not indexing._process.running)  # then all is in the file
    (chickadee.folders.collections / INDEX_NAME).write_bytes(b"no database" * 500)
    ask(chickadee, "Which seeds do chickadees store?")
    qtbot.waitUntil(lambda: answered(chickadee))
    assert chickadee.window.notice.text.text() == (
        "The index of your collections was damaged and is being rebuilt. Until then, answers may miss some of your "
        "documents."
    )
    qtbot.waitUntil(lambda: not indexing._start_soon.waiting and not indexing._process.running)
    ask(chickadee, "Which seeds do chickadees store?")
    qtbot.waitUntil(lambda: answered(chickadee, 4))
    assert any("Feeding" in each.text() for each in links(chickadee))


def test_damage_found_while_indexing_is_said_and_made_again(with_documents: Chickadee, qtbot: QtBot) -> None:
    chickadee = with_documents
    indexing = chickadee.chats.collections._indexing
    qtbot.waitUntil(lambda: not indexing._process.running)
    (chickadee.folders.collections / INDEX_NAME).write_bytes(b"no database" * 500)
    indexing.start()
    qtbot.waitUntil(lambda: chickadee.window.notice.text.text().startswith("The index of your collections was damaged"))
    qtbot.waitUntil(lambda: not indexing._start_soon.waiting and not indexing._process.running)
    assert (chickadee.folders.collections / INDEX_NAME).read_bytes().startswith(b"SQLite")


def test_an_index_deleted_in_storage_is_made_again(with_documents: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    chickadee = with_documents
    indexing = chickadee.chats.collections._indexing
    before = (chickadee.folders.collections / INDEX_NAME).stat().st_ino, indexing._process.running
    chickadee.window.commands.run("storage")
    page = chickadee.chats.storage.page
    assert page is not None
    page.action_requested.emit("collections", "delete")
    qtbot.waitUntil(lambda: not chickadee.chats.storage._work.running)
    qtbot.waitUntil(lambda: not indexing._start_soon.waiting and not indexing._process.running)
    assert (chickadee.folders.collections / INDEX_NAME).exists(), before
    ask(chickadee, "Which seeds do chickadees store?")
    qtbot.waitUntil(lambda: answered(chickadee))
    assert any("Feeding" in each.text() for each in links(chickadee))


def test_a_source_that_is_closed_while_its_file_is_read(
    with_documents: Chickadee, ask: Ask, qtbot: QtBot, documents: Path
) -> None:
    ask(with_documents, "Which seeds do chickadees store?")
    qtbot.waitUntil(lambda: answered(with_documents))
    (documents / "birds.md").write_text("something else", encoding="utf-8")
    first, second = opened_source(with_documents), opened_source(with_documents)
    first.close()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    qtbot.waitUntil(lambda: second.note.text() == "The file has changed. This is what the model read.")


def opened_source(chickadee: Chickadee) -> SourceDialog:
    """Open the first source of the answer."""
    before = chickadee.window.findChildren(SourceDialog)
    links(chickadee)[0].click()
    (dialog,) = [each for each in chickadee.window.findChildren(SourceDialog) if each not in before]
    return dialog


def test_keys_alone_make_a_collection_and_switch_it(chickadee: Chickadee, qtbot: QtBot, documents: Path) -> None:
    qtbot.keyClick(
        chickadee.window, Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    )
    dialog = chickadee.chats.collections.dialog
    assert dialog is not None
    qtbot.waitUntil(lambda: dialog.add_button.hasFocus())
    qtbot.keyClick(dialog.add_button, Qt.Key.Key_Space)
    chooser = dialog.findChild(QFileDialog)
    assert chooser is not None
    chooser.fileSelected.emit(str(documents))
    chooser.close()
    qtbot.waitUntil(lambda: indexed(chickadee))
    dialog.activateWindow()
    qtbot.waitUntil(dialog.isActiveWindow)
    dialog.close_button.setFocus()
    reached = []
    for _ in range(8):
        qtbot.keyClick(dialog.focusWidget() or dialog, Qt.Key.Key_Tab)
        focus = dialog.focusWidget()
        assert isinstance(focus, QLineEdit | QPushButton)
        reached.append(focus.text())
    assert reached == [
        "documents", "Files that cannot be read", "Add folder…", "Index again", "Pause", "Remove",
        "New collection from a folder…", "Close",
    ]  # fmt: skip
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert chickadee.chats.collections.dialog is None
    chickadee.window.commands.run("use_collections")
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    qtbot.keyClick(menu, Qt.Key.Key_Return)  # the first entry is chosen already
    assert chickadee.window.composer.collections_button.text() == ""


def test_a_dropped_folder_becomes_a_collection_and_is_indexed_at_once(
    open_window: Opener, ask: Ask, qtbot: QtBot, documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although a model answers: a small folder takes less than a second, on a busy computer more."""
    monkeypatch.setattr(indexing_controller, "HURRY_MS", 600_000)
    chickadee = open_window()
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    ask(chickadee, "slow")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(documents))])
    action, button, keys = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QApplication.sendEvent(chickadee.window, QDragEnterEvent(QPoint(5, 5), action, data, button, keys))
    QApplication.sendEvent(chickadee.window, QDropEvent(QPointF(5, 5), action, data, button, keys))
    notice = chickadee.window.notice
    assert notice.text.text() == "“documents” is a folder. Its documents can be searched for each question."
    assert not chickadee.open_chats.current.draft or not chickadee.open_chats.current.draft.items
    qtbot.mouseClick(notice.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: indexed(chickadee))
    assert chickadee.open_chats.current.busy
    assert [each.name for each in chickadee.chats.collections._collections.used_by(chickadee.open_chats.current)] == [
        "documents"
    ]


def test_index_now_does_not_wait_for_a_free_computer(chickadee: Chickadee, qtbot: QtBot, documents: Path) -> None:
    collections = chickadee.chats.collections
    collections.add(documents)
    collections.open()
    qtbot.waitUntil(lambda: indexed(chickadee))
    collections._collections.postpone(True)  # as on battery
    assert collections.dialog
    (view,) = collections.dialog.views.values()
    assert view.buttons["now"].isVisible()
    qtbot.mouseClick(view.buttons["now"], Qt.MouseButton.LeftButton)
    assert not view.buttons["now"].isVisible()
    assert view.status.text().startswith("Up to date")


@pytest.mark.long
def test_the_default_model_answers_from_a_collection(
    open_window: Opener, qtbot: QtBot, ask: Ask, tmp_path: Path
) -> None:
    folder = tmp_path / "atlas"
    folder.mkdir()
    (folder / "countries.txt").write_text("The capital of Zubrowka is Lutz.")
    (folder / "weather.txt").write_text("It was fine all week.")
    chickadee = open_window(model=default_model(), command=None, max_tokens=40)
    chickadee.settings.change({"answer.temperature": 0.0})
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    chickadee.chats.collections.add(folder)
    qtbot.waitUntil(lambda: indexed(chickadee))
    ask(chickadee, "What is the capital of Zubrowka?")
    qtbot.waitUntil(lambda: answered(chickadee))
    assert "Lutz" in chickadee.open_chats.current.messages[-1].content
    assert [each.text() for each in links(chickadee)] == ["countries.txt · all of it"]


def test_without_the_process_the_message_is_sent_and_said(
    with_documents: Chickadee, ask: Ask, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "none"))
    ask(with_documents, "Which seeds do chickadees store?")
    qtbot.waitUntil(lambda: answered(with_documents))
    assert with_documents.window.notice.text.text().startswith("Your collections could not be searched.")


def test_an_index_that_is_damaged_during_a_search_holds_no_message_back(
    with_documents: Chickadee, ask: Ask, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The composer stayed locked in every chat."""
    chickadee = with_documents
    collections, search = chickadee.chats.collections, chickadee.chats.collections._retriever.search
    monkeypatch.setattr(search._process, "send", lambda _question: None)  # the answer never comes
    ask(chickadee, "Which seeds do chickadees store?")
    assert chickadee.window.composer.text.isReadOnly()
    collections._index_damaged()
    assert not chickadee.window.composer.text.isReadOnly()
    monkeypatch.undo()
    qtbot.waitUntil(lambda: answered(chickadee))
