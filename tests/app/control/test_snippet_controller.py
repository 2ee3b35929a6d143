"""Prompt snippets in the real window: found by `/`, filled in, asked for, changed, imported and undone."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QDate, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from app.dialogs.snippet_dialog import SnippetDialog
from app.wiring import Chickadee
from tests.app.state.test_snippets import content

Key = Qt.Key


@pytest.fixture(autouse=True)
def _clipboard(chickadee: Chickadee) -> None:
    QGuiApplication.clipboard().clear()


def typed(chickadee: Chickadee, qtbot: QtBot, text: str) -> list[str]:
    """Type a text into the composer and return the snippets that are offered."""
    editor = chickadee.window.composer.text
    chickadee.window.activateWindow()  # no window manager does that after a dialog
    editor.setFocus()
    qtbot.waitUntil(editor.hasFocus)
    qtbot.keyClicks(editor, text)
    popup = chickadee.chats.snippets.popup
    return [] if popup.isHidden() else [entry.title for entry in popup.shown_entries()]


def answered(chickadee: Chickadee) -> int:
    """Return the number of answers that have ended."""
    conversation = chickadee.open_chats.current
    return 0 if conversation.busy else len(conversation.messages) // 2


def press(chickadee: Chickadee, qtbot: QtBot, key: Qt.Key) -> None:
    qtbot.keyClick(chickadee.window.composer.text, key)


def test_a_slash_finds_a_snippet_and_enter_inserts_it(chickadee: Chickadee, qtbot: QtBot) -> None:
    editor, popup = chickadee.window.composer.text, chickadee.chats.snippets.popup
    offered = typed(chickadee, qtbot, "/")
    assert offered == [
        "Translate", "Correct my text", "Summarize", "Explain simply", "Write an e-mail", "Manage prompt snippets…",
    ]  # fmt: skip
    assert popup.geometry().bottom() < chickadee.window.composer.y() + chickadee.window.height()
    press(chickadee, qtbot, Key.Key_Down)
    assert popup.list.currentItem().text() == "Correct my text"
    QGuiApplication.clipboard().setText("teh {{date}}")
    press(chickadee, qtbot, Key.Key_Return)
    assert popup.isHidden()
    assert editor.toPlainText().endswith("corrected text only.\n\nteh {{date}}")
    assert editor.hasFocus()
    assert not chickadee.open_chats.current.messages
    editor.undo()
    assert editor.toPlainText() == "/"


def test_what_matches_nothing_or_was_closed_is_sent_as_it_is(chickadee: Chickadee, qtbot: QtBot) -> None:
    assert typed(chickadee, qtbot, "/sum") == ["Summarize"]
    press(chickadee, qtbot, Key.Key_Escape)
    assert chickadee.chats.snippets.popup.isHidden()
    press(chickadee, qtbot, Key.Key_Return)
    qtbot.waitUntil(lambda: answered(chickadee) == 1)
    assert typed(chickadee, qtbot, "/etc is full") == []
    press(chickadee, qtbot, Key.Key_Return)
    qtbot.waitUntil(lambda: answered(chickadee) == 2)
    assert [each.content for each in chickadee.open_chats.current.messages[::2]] == ["/sum", "/etc is full"]
    assert typed(chickadee, qtbot, "either/or") == []


def test_escape_closes_the_list_and_stops_no_answer(chickadee: Chickadee, qtbot: QtBot) -> None:
    typed(chickadee, qtbot, "slow please")
    press(chickadee, qtbot, Key.Key_Return)
    qtbot.waitUntil(lambda: chickadee.open_chats.current.busy)
    assert typed(chickadee, qtbot, "/")
    press(chickadee, qtbot, Key.Key_Escape)
    assert chickadee.chats.snippets.popup.isHidden()
    assert chickadee.open_chats.current.busy


def test_a_form_asks_for_what_is_not_known(chickadee: Chickadee, qtbot: QtBot) -> None:
    editor, snippets = chickadee.window.composer.text, chickadee.chats.snippets
    typed(chickadee, qtbot, "/e-mail")
    press(chickadee, qtbot, Key.Key_Tab)
    form = snippets.form
    assert form
    qtbot.waitUntil(form.isActiveWindow)
    assert [title.text() for title in form.titles.values()] == ["recipient", "what it must say"]
    assert [field.accessibleName() for field in form.fields.values()] == ["recipient", "what it must say"]
    form.fields["recipient"].setPlainText("Ms Smith")
    qtbot.keyClick(form.fields["recipient"], Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: snippets.form is None)
    text = editor.toPlainText()
    assert "e-mail to Ms Smith. What it must say: " in text
    assert str(QDate.currentDate().year()) in text
    editor.clear()
    typed(chickadee, qtbot, "/translate")
    press(chickadee, qtbot, Key.Key_Return)
    form = snippets.form
    assert form
    assert form.fields["language"].toPlainText() == "English"
    assert form.titles["selection"].text() == "Selected text"
    form.cancel_button.click()
    assert editor.toPlainText() == "/translate"


def test_selected_text_is_filled_in_and_a_long_one_is_attached(chickadee: Chickadee, qtbot: QtBot) -> None:
    snippets, window = chickadee.chats.snippets, chickadee.window
    snippets.snippets.add("About", "Explain: {{selection}}")
    typed(chickadee, qtbot, "hello")
    press(chickadee, qtbot, Key.Key_Return)
    qtbot.waitUntil(lambda: answered(chickadee) == 1)
    qtbot.waitUntil(lambda: bool(window.transcript.column.texts()))
    text = window.transcript.column.texts()[0]
    text.selectAll()
    typed(chickadee, qtbot, "/about")
    press(chickadee, qtbot, Key.Key_Return)
    assert window.composer.text.toPlainText() == "Explain: hello"
    window.composer.text.clear()
    QGuiApplication.clipboard().setText("word " * 3000)
    typed(chickadee, qtbot, "/summ")
    press(chickadee, qtbot, Key.Key_Return)
    qtbot.waitUntil(lambda: not window.composer.tray.empty)
    assert window.composer.text.toPlainText().endswith("(see the attached text)")


def opened(chickadee: Chickadee, qtbot: QtBot) -> SnippetDialog:
    chickadee.window.commands.run("snippets")
    dialog = chickadee.chats.snippets.dialog
    assert dialog
    qtbot.waitUntil(dialog.isActiveWindow)
    return dialog


def rows(dialog: SnippetDialog) -> list[str]:
    return [dialog.list.item(row).text() for row in range(dialog.list.count())]


def test_snippets_are_made_changed_deleted_and_brought_back(chickadee: Chickadee, qtbot: QtBot) -> None:
    dialog = opened(chickadee, qtbot)
    dialog.new_button.click()
    qtbot.waitUntil(dialog.name.hasFocus)
    qtbot.keyClicks(dialog.name, "Mine")
    dialog.text.setPlainText("Say {{word}}.")
    dialog.list.setCurrentRow(0)
    assert rows(dialog)[-1] == "Mine"
    assert dialog.name.text() == "Translate"
    dialog.list.setCurrentRow(5)
    assert dialog.text.toPlainText() == "Say {{word}}."
    dialog.name.clear()
    dialog.list.setCurrentRow(0)
    assert dialog.problem.text() == "A snippet needs a name."
    assert (dialog.list.currentRow(), dialog.name.text()) == (5, "")
    dialog.name.setText("Mine")
    dialog.list.setFocus()
    qtbot.keyClick(dialog.list, Key.Key_Delete)
    assert dialog.outcome.text() == "“Mine” was deleted."
    assert len(rows(dialog)) == 5
    dialog.undo_button.click()
    assert rows(dialog)[-1] == "Mine"
    dialog.list.setCurrentRow(1)
    dialog.delete_button.click()
    assert "Correct my text" not in rows(dialog)
    dialog.restore_button.click()
    assert rows(dialog)[-1] == "Correct my text"
    dialog.close()
    typed(chickadee, qtbot, "/mine")
    assert [entry.title for entry in chickadee.chats.snippets.popup.shown_entries()] == ["Mine"]


def test_a_file_is_imported_and_taken_back(chickadee: Chickadee, qtbot: QtBot, tmp_path: Path) -> None:
    dialog, controller = opened(chickadee, qtbot), chickadee.chats.snippets
    dialog.import_button.click()
    files = dialog.findChild(QFileDialog)
    assert files
    files.close()
    bad, good = tmp_path / "bad.json", tmp_path / "good.json"
    bad.write_text("[")
    good.write_text(content({"name": "New", "text": "x"}))
    controller.import_file(str(bad))
    assert dialog.problem.text().startswith("bad.json contains no prompt snippets.")
    controller.import_file(str(good))
    assert (dialog.outcome.text(), rows(dialog)[-1]) == ("1 snippet was imported.", "New")
    dialog.undo_button.click()
    assert "New" not in rows(dialog)
    controller.export_file(str(tmp_path / "out"))
    assert dialog.outcome.text() == "5 snippets were exported."
    assert (tmp_path / "out.json").exists()


def test_the_dialog_and_the_list_follow_the_language(chickadee: Chickadee, qtbot: QtBot) -> None:
    dialog = opened(chickadee, qtbot)
    chickadee.settings.change({"window.language": "zh_CN"})
    assert rows(dialog)[0] == chickadee.chats.snippets.snippets.all()[0].name != "Translate"
    assert dialog.name.text() == rows(dialog)[0]
    dialog.close()
    typed(chickadee, qtbot, "")
    chickadee.window.composer.text.insertPlainText("、")  # what an input method makes of the key
    assert chickadee.chats.snippets.popup.shown_entries()[0].title == chickadee.chats.snippets.snippets.all()[0].name
