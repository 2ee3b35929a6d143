"""Files through the window: attached, counted, sent, stored, refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication, QImage
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton
from pytestqt.qtbot import QtBot

from app.attachments.attachment import Attachment, block_of
from app.composer.chips import AttachmentText, Chip
from app.composer.composer import DropHint
from app.control.draft_files import MAX_FILES
from app.wiring import Chickadee
from engine.protocol.requests import Generate, Prepare
from tests.app.conftest import SECONDS, Opener, Requests
from tests.app.test_window import label_text

Ask = Callable[[Chickadee, str], None]
TEXT = "Chickadees store seeds in autumn.\n" * 4


def file(folder: Path, name: str = "birds.md", text: str = TEXT) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def chips(chickadee: Chickadee) -> list[Chip]:
    return [chip for chip in chickadee.window.composer.tray.chips.widgets if isinstance(chip, Chip)]


def attach(chickadee: Chickadee, qtbot: QtBot, *paths: Path) -> None:
    """Attach the files and wait until they are read and counted."""
    chickadee.window.composer.text.attached.emit(list(paths))
    qtbot.waitUntil(lambda: bool(draft(chickadee).items) and draft(chickadee).fit != "unknown", timeout=SECONDS)


def draft(chickadee: Chickadee):
    found = chickadee.open_chats.current.draft
    assert found
    return found


def answered(chickadee: Chickadee, count: int = 2) -> bool:
    conversation = chickadee.open_chats.current
    return len(conversation.messages) >= count and not conversation.busy


def generated(requests: Requests) -> list[Generate]:
    return [request for request in requests() if isinstance(request, Generate)]


def test_a_file_goes_along_and_is_read_ahead(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, tmp_path: Path, requests: Requests
) -> None:
    attach(chickadee, qtbot, file(tmp_path))
    (chip,) = chips(chickadee)
    assert chip.face.text() == f"birds.md · {len(TEXT) // 4} tokens"
    qtbot.waitUntil(lambda: any(isinstance(request, Prepare) for request in requests()), timeout=SECONDS)
    (prepared,) = [request for request in requests() if isinstance(request, Prepare)]
    ask(chickadee, "What do they store?")
    qtbot.waitUntil(lambda: answered(chickadee), timeout=SECONDS)
    (sent,) = generated(requests)
    block = block_of(Attachment("birds.md", "text", len(TEXT), TEXT))
    assert sent.messages[-1].content == f"{block}\n\nWhat do they store?"
    assert sent.messages[-1].content.startswith(prepared.messages[-1].content)
    assert prepared.messages[-1].content == f"{block}\n\n"
    assert chips(chickadee) == []
    assert chickadee.window.composer.tray.isHidden()
    ask(chickadee, "And then?")
    qtbot.waitUntil(lambda: answered(chickadee, 4), timeout=SECONDS)
    assert generated(requests)[-1].messages[0] == sent.messages[-1]  # the same text, so it is in the cache


def test_a_file_alone_is_a_message(chickadee: Chickadee, qtbot: QtBot, tmp_path: Path) -> None:
    attach(chickadee, qtbot, file(tmp_path))
    qtbot.keyClick(chickadee.window.composer.text, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: answered(chickadee), timeout=SECONDS)
    assert chickadee.open_chats.current.chat.title == "birds.md"
    assert chickadee.open_chats.current.messages[0].content == ""
    files = chickadee.window.transcript.views[0].files
    assert files
    (chip,) = files.chips
    assert chip.face.text() == "birds.md"
    assert chip.close_button.isHidden()
    qtbot.mouseClick(chip.face, Qt.MouseButton.LeftButton)
    dialog = chickadee.window.findChild(AttachmentText)
    assert dialog
    assert dialog.text.toPlainText() == TEXT
    dialog.close()


def test_what_cannot_be_read_is_told(chickadee: Chickadee, qtbot: QtBot, tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    QImage(4, 4, QImage.Format.Format_RGB32).save(str(picture))
    chickadee.window.composer.text.attached.emit([picture, tmp_path / "gone.txt"])
    notice = chickadee.window.notice
    qtbot.waitUntil(lambda: len(notice.text.text().split("\n")) == 3, timeout=SECONDS)
    assert "“a.png” is a picture, and this model cannot see." in notice.text.text().split("\n")
    assert "Pictures need a model that can see" in notice.text.text()
    assert chips(chickadee) == []
    assert not chickadee.window.composer.button.isEnabled()


def test_without_a_process_there_is_a_sentence(
    chickadee: Chickadee, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "none"))
    chickadee.window.composer.text.attached.emit([file(tmp_path)])
    notice = chickadee.window.notice
    qtbot.waitUntil(notice.isVisible, timeout=SECONDS)
    assert notice.text.text().startswith("“birds.md” could not be read: the file reader stopped.")


def test_who_is_in_a_hurry_is_waited_for(chickadee: Chickadee, ask: Ask, qtbot: QtBot, tmp_path: Path) -> None:
    chickadee.window.composer.text.attached.emit([file(tmp_path)])
    ask(chickadee, "What?")
    assert chickadee.open_chats.current.messages == []
    assert chickadee.window.composer.text.toPlainText() == "What?"
    qtbot.waitUntil(lambda: answered(chickadee), timeout=SECONDS)
    assert [a.name for a in chickadee.open_chats.current.messages[0].attachments] == ["birds.md"]
    assert chickadee.window.composer.text.toPlainText() == ""


def test_a_full_chat_has_no_room_for_files(chickadee: Chickadee, ask: Ask, qtbot: QtBot, tmp_path: Path) -> None:
    attach(chickadee, qtbot, file(tmp_path, "long.txt", "word " * 2400))
    ask(chickadee, "read")
    qtbot.waitUntil(lambda: answered(chickadee), timeout=SECONDS)
    attach(chickadee, qtbot, file(tmp_path, "book.txt", BOOK), file(tmp_path))
    tray = chickadee.window.composer.tray
    assert tray.question.text().startswith("This chat has no room for files.")
    (remove,) = tray.choices.widgets
    assert isinstance(remove, QPushButton)
    assert remove.text() == "Remove largest file"
    qtbot.mouseClick(remove, Qt.MouseButton.LeftButton)
    assert [chip.item.name for chip in chips(chickadee)] == ["birds.md"]


def test_chips_are_removed_by_key_and_by_mouse(chickadee: Chickadee, qtbot: QtBot, tmp_path: Path) -> None:
    attach(chickadee, qtbot, file(tmp_path, "a.txt"), file(tmp_path, "b.txt"), file(tmp_path, "c.txt"))
    first, second, third = chips(chickadee)
    first.face.setFocus()
    qtbot.keyClick(first.face, Qt.Key.Key_Delete)
    assert chips(chickadee) == [second, third]
    qtbot.mouseClick(third.close_button, Qt.MouseButton.LeftButton)
    assert chips(chickadee) == [second]
    assert second.close_button.accessibleName() == "Remove b.txt"
    second.face.setFocus()
    qtbot.keyClick(second.face, Qt.Key.Key_Backspace)
    assert chickadee.window.composer.tray.isHidden()


def test_tab_goes_through_files_choices_and_text(chickadee: Chickadee, qtbot: QtBot, tmp_path: Path) -> None:
    attach(chickadee, qtbot, file(tmp_path, "book.txt", BOOK), file(tmp_path, "a&b.txt"))
    composer = chickadee.window.composer
    first, second = chips(chickadee)
    assert "a&amp;b.txt" in second.face.toolTip()
    first.face.setFocus()
    expected = [
        first.close_button, second.face, second.close_button, *composer.tray.choices.widgets, composer.attach_button,
        composer.collections_button, composer.tools_button, composer.text, composer.dictate_button, composer.button,
    ]  # fmt: skip
    seen = []
    for _ in expected:
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        seen.append(QApplication.focusWidget())
    assert seen == expected


def test_a_click_shows_the_text(chickadee: Chickadee, qtbot: QtBot, tmp_path: Path) -> None:
    attach(chickadee, qtbot, file(tmp_path, text="word " * 10_000))
    qtbot.mouseClick(chips(chickadee)[0].face, Qt.MouseButton.LeftButton)
    dialog = chickadee.window.findChild(AttachmentText)
    assert dialog
    qtbot.waitUntil(lambda: len(dialog.text.toPlainText()) == 50_000, timeout=SECONDS)
    dialog.close()


def test_a_text_from_before_unicode_is_read_and_shown_right(chickadee: Chickadee, qtbot: QtBot, tmp_path: Path) -> None:
    path, text = tmp_path / "письмо.txt", "Добрый день! Пишу вам по поводу вчерашней встречи."
    path.write_bytes(text.encode("koi8-r"))
    attach(chickadee, qtbot, path)
    qtbot.mouseClick(chips(chickadee)[0].face, Qt.MouseButton.LeftButton)
    dialog = chickadee.window.findChild(AttachmentText)
    assert dialog
    assert dialog.text.toPlainText() == text
    dialog.close()


BOOK = "\n\n".join(f"Chapter {n}. The bird number {n} sang. " + "It was quiet. " * 40 for n in range(120))


def test_what_does_not_fit_is_asked_and_the_best_parts_are_sent(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, tmp_path: Path, requests: Requests
) -> None:
    attach(chickadee, qtbot, file(tmp_path, "book.txt", BOOK))
    tray = chickadee.window.composer.tray
    assert tray.question.text().startswith(f"The file has {len(BOOK) // 4:,} tokens; ")
    ask(chickadee, "What did bird 77 do?")
    assert chickadee.window.composer.text.toPlainText() == "What did bird 77 do?"
    assert chickadee.open_chats.current.messages == []
    best, beginning, remove = (button for button in tray.choices.widgets if isinstance(button, QPushButton))
    assert [b.text() for b in (beginning, remove)] == ["Send the beginning, as much as fits", "Remove"]
    qtbot.keyClick(best, Qt.Key.Key_Return)  # Return in the composer has moved the focus to this choice
    assert (
        tray.question.text() == "The parts that match your question best will be sent."
    )  # the choice also sends the message
    qtbot.waitUntil(lambda: answered(chickadee), timeout=SECONDS)
    (sent,) = generated(requests)
    assert "The bird number 77 sang" in sent.messages[-1].content
    assert len(sent.messages[-1].content) < 4 * 4096
    assert sent.messages[-1].content.endswith("What did bird 77 do?")
    question, answer = chickadee.open_chats.current.messages
    (attachment,) = question.attachments
    assert attachment.sent
    footer = label_text(chickadee.window.transcript.views[-1], "sources")
    assert footer.startswith("From book.txt: part")
    assert footer.endswith(f" of {len(attachment.parts)}")
    assert answer.sources
    assert chickadee.window.composer.text.toPlainText() == ""
    assert not [request for request in requests() if isinstance(request, Prepare) and "Chapter 0" in str(request)]


def test_the_choice_can_be_another_one(chickadee: Chickadee, ask: Ask, qtbot: QtBot, tmp_path: Path) -> None:
    attach(chickadee, qtbot, file(tmp_path, "book.txt", BOOK))
    tray = chickadee.window.composer.tray
    chickadee.window.composer.text.setPlainText("Not yet")
    tray.chosen.emit("beginning", None)  # without Send before, so the choice sends nothing
    assert chickadee.open_chats.current.messages == []
    chickadee.window.composer.text.clear()
    (change,) = tray.choices.widgets
    assert isinstance(change, QPushButton)
    qtbot.mouseClick(change, Qt.MouseButton.LeftButton)
    assert len(tray.choices.widgets) == 3
    tray.chosen.emit("beginning", None)
    ask(chickadee, "Begin")
    qtbot.waitUntil(lambda: answered(chickadee), timeout=SECONDS)
    (attachment,) = chickadee.open_chats.current.messages[0].attachments
    assert attachment.sent == tuple(range(len(attachment.sent or ())))


def test_what_is_not_sent_stays_with_its_chat_and_over_a_restart(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, tmp_path: Path, open_window: Opener
) -> None:
    ask(chickadee, "first")
    qtbot.waitUntil(lambda: answered(chickadee), timeout=SECONDS)
    first = chickadee.open_chats.current.chat.id
    attach(chickadee, qtbot, file(tmp_path))
    qtbot.keyClicks(chickadee.window.composer.text, "half a thought")
    chickadee.chats.chat.new()
    assert chickadee.window.composer.text.toPlainText() == ""
    assert chips(chickadee) == []
    qtbot.keyClicks(chickadee.window.composer.text, "new")
    chickadee.chats.chat.open(first)
    assert chickadee.window.composer.text.toPlainText() == "half a thought"
    assert [chip.item.name for chip in chips(chickadee)] == ["birds.md"]
    chickadee.window.close()
    again = open_window()
    assert again.window.composer.text.toPlainText() == "half a thought"
    again.chats.chat.new()
    assert again.window.composer.text.toPlainText() == "new"
    again.chats.chat.open(first)
    qtbot.waitUntil(lambda: chips(again)[0].face.text().endswith(" tokens"), timeout=SECONDS)


def test_files_are_dropped_on_the_window(chickadee: Chickadee, qtbot: QtBot, tmp_path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(file(tmp_path)))])
    window, hint = chickadee.window, chickadee.window.findChild(DropHint)
    assert hint
    action, button, keys = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QApplication.sendEvent(window, QDragEnterEvent(QPoint(5, 5), action, data, button, keys))
    assert hint.isVisible()
    QApplication.sendEvent(window, QDropEvent(QPointF(5, 5), action, data, button, keys))
    assert hint.isHidden()
    qtbot.waitUntil(lambda: len(chips(chickadee)) == 1, timeout=SECONDS)


LONG_PASTE = "A line of a long text.\n" * 400


def test_pasting(chickadee: Chickadee, qtbot: QtBot, tmp_path: Path) -> None:
    composer, clipboard = chickadee.window.composer, QGuiApplication.clipboard()
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(file(tmp_path)))])
    clipboard.setMimeData(data)
    composer.text.paste()
    assert [chip.item.name for chip in chips(chickadee)] == ["birds.md"]
    clipboard.setImage(QImage(4, 4, QImage.Format.Format_RGB32))
    composer.text.paste()
    qtbot.waitUntil(lambda: "\n" in chickadee.window.notice.text.text(), timeout=SECONDS)  # names one that can
    assert chickadee.window.notice.text.text().startswith("This model cannot see pictures.")
    clipboard.setText("short")
    composer.text.paste()
    assert composer.text.toPlainText() == "short"
    clipboard.setText("long " * 2000)
    composer.text.paste()
    assert composer.text.toPlainText() == "short"
    qtbot.waitUntil(lambda: len(chips(chickadee)) == 2 and not draft(chickadee).reading, timeout=SECONDS)
    qtbot.mouseClick(chickadee.window.notice.button, Qt.MouseButton.LeftButton)
    assert composer.text.toPlainText() == "short" + "long " * 2000
    assert len(chips(chickadee)) == 1


def test_a_paste_is_inserted_into_the_message_of_its_own_chat(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "Hello")
    first = chickadee.open_chats.current
    chickadee.window.composer.text.setPlainText("See: ")
    chickadee.chats.drafts.attach_text(LONG_PASTE)
    (row,) = chickadee.window.notice.rows
    chickadee.window.commands.actions["new_chat"].trigger()
    assert chickadee.open_chats.current is not first
    assert row.isHidden()
    chickadee.open_chats.open(first.chat.id)
    qtbot.mouseClick(row.button, Qt.MouseButton.LeftButton)
    assert chickadee.window.composer.text.toPlainText() == f"See: {LONG_PASTE}"
    assert first.draft
    assert first.draft.items == []


def test_the_notice_about_a_long_paste_goes_with_its_chip(chickadee: Chickadee, qtbot: QtBot) -> None:
    chickadee.chats.drafts.attach_text(LONG_PASTE)
    (row,) = chickadee.window.notice.rows
    qtbot.waitUntil(lambda: not draft(chickadee).reading, timeout=SECONDS)
    assert not row.isHidden()
    (chip,) = chips(chickadee)
    qtbot.mouseClick(chip.close_button, Qt.MouseButton.LeftButton)
    assert chickadee.window.notice.rows == []


def test_too_many_files_are_no_problem_once_one_is_removed(chickadee: Chickadee, qtbot: QtBot, tmp_path: Path) -> None:
    chickadee.chats.drafts.attach([file(tmp_path)] * (MAX_FILES + 1))
    qtbot.waitUntil(lambda: not draft(chickadee).reading, timeout=SECONDS)
    notice = chickadee.window.notice
    assert "A message can have 20 files" in notice.text.text()
    qtbot.mouseClick(chips(chickadee)[0].close_button, Qt.MouseButton.LeftButton)
    assert notice.rows == []


def test_without_a_model_the_chip_has_characters(open_window: Opener, qtbot: QtBot, tmp_path: Path) -> None:
    chickadee = open_window(model=tmp_path / "slowload.gguf")
    chickadee.window.composer.text.attached.emit([file(tmp_path)])
    qtbot.waitUntil(lambda: bool(chips(chickadee)) and "characters" in chips(chickadee)[0].face.text(), timeout=SECONDS)
    (tmp_path / "go").touch()
    qtbot.waitUntil(lambda: "tokens" in chips(chickadee)[0].face.text(), timeout=SECONDS)


def test_what_is_begun_in_a_new_chat_outlives_a_message_in_another(
    chickadee: Chickadee, open_window: Opener, ask: Ask, qtbot: QtBot, tmp_path: Path
) -> None:
    ask(chickadee, "first")
    qtbot.waitUntil(lambda: answered(chickadee), timeout=SECONDS)
    old = chickadee.open_chats.current.chat.id
    chickadee.chats.chat.new()
    attach(chickadee, qtbot, file(tmp_path))
    chickadee.window.composer.text.setPlainText("half a thought")
    chickadee.chats.chat.open(old)
    ask(chickadee, "more")
    qtbot.waitUntil(lambda: answered(chickadee, 4), timeout=SECONDS)
    chickadee.window.close()
    again = open_window()
    again.chats.chat.new()
    assert again.window.composer.text.toPlainText() == "half a thought"
    assert len(chips(again)) == 1


def test_a_file_that_was_still_being_read_is_read_by_the_next_start(
    chickadee: Chickadee, open_window: Opener, qtbot: QtBot, tmp_path: Path
) -> None:
    gone = file(tmp_path, "gone.md")
    chickadee.window.composer.text.attached.emit([file(tmp_path), gone])
    chickadee.window.composer.text.attached.emit(LONG_PASTE)
    chickadee.window.close()  # before any of them was read
    gone.unlink()
    again = open_window()
    assert [item.name for item in draft(again).items] == ["Pasted text", "birds.md", "gone.md"]
    qtbot.waitUntil(lambda: not draft(again).reading)
    assert [item.name for item in draft(again).items] == ["Pasted text", "birds.md"]
    assert "gone.md" in again.window.notice.text.text()
    assert [file.text for file in draft(again).attachments] == [LONG_PASTE, TEXT]


def test_undo_works_after_another_chat_was_shown(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "first")
    qtbot.waitUntil(lambda: answered(chickadee), timeout=SECONDS)
    first, text = chickadee.open_chats.current.chat.id, chickadee.window.composer.text
    qtbot.keyClicks(text, "words")
    text.selectAll()
    qtbot.keyClick(text, Qt.Key.Key_Delete)
    chickadee.chats.chat.new()
    qtbot.keyClicks(text, "new")
    chickadee.chats.chat.open(first)
    assert text.toPlainText() == ""
    qtbot.keyClick(text, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert text.toPlainText() == "words"
    chickadee.chats.chat.new()
    assert text.toPlainText() == "new"
    text.undo()
    assert text.toPlainText() == ""


def test_what_waits_for_the_counting_is_sent_when_the_engine_has_ended(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, tmp_path: Path
) -> None:
    chickadee.window.composer.text.attached.emit([file(tmp_path, text="uncounted")])
    qtbot.waitUntil(lambda: not draft(chickadee).reading)
    ask(chickadee, "What?")
    assert chickadee.chats.drafts.sending.phase(draft(chickadee)) == "counting"
    assert chickadee.window.composer.text.toPlainText() == "What?"
    psutil.Process(chickadee.process.pid).kill()
    qtbot.waitUntil(lambda: answered(chickadee))
    assert [each.name for each in chickadee.open_chats.current.messages[0].attachments] == ["birds.md"]


def test_a_message_whose_file_is_refused_stays_with_the_user(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, tmp_path: Path
) -> None:
    chickadee.window.composer.text.attached.emit([tmp_path / "gone.md"])
    ask(chickadee, "What?")
    qtbot.waitUntil(lambda: not draft(chickadee).items)
    assert chickadee.chats.drafts.sending.phase(draft(chickadee)) == "editing"
    assert chickadee.window.composer.text.toPlainText() == "What?"
    assert chickadee.open_chats.current.messages == []


def test_a_search_locks_its_own_chat_alone_and_is_left_by_esc(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(chickadee, "first")
    qtbot.waitUntil(lambda: answered(chickadee))
    first, composer = chickadee.open_chats.current, chickadee.window.composer
    found: list[Callable[[tuple[Attachment, ...]], object]] = []
    retriever = chickadee.chats.drafts._retriever
    monkeypatch.setattr(retriever, "is_wanted", lambda *_: True)
    monkeypatch.setattr(retriever, "find", lambda _chat, _text, _files, done: found.append(done))  # no answer
    ask(chickadee, "second")
    assert composer.text.isReadOnly()
    assert composer.button.accessibleName() == "Stop"
    chickadee.chats.chat.new()
    assert not composer.text.isReadOnly()
    chickadee.chats.chat.open(first.chat.id)
    assert composer.text.isReadOnly()
    qtbot.keyClick(composer.text, Qt.Key.Key_Escape)
    assert not composer.text.isReadOnly()
    assert composer.text.toPlainText() == "second"
    found[0](())  # too late
    assert len(first.messages) == 2
    ask(chickadee, " try")
    chickadee.chats.chat.new()
    found[1](())
    qtbot.waitUntil(lambda: len(first.messages) == 4)
    assert first.messages[2].content == "second try"


def test_dialogs_open_where_a_file_was_chosen_before(
    chickadee: Chickadee, open_window: Opener, qtbot: QtBot, tmp_path: Path
) -> None:
    (tmp_path / "notes").mkdir()

    def dialog(chickadee: Chickadee, command: str) -> QFileDialog:
        chickadee.window.commands.run(command)
        (found,) = chickadee.window.findChildren(QFileDialog)
        return found

    chosen = dialog(chickadee, "attach")
    chosen.filesSelected.emit([str(file(tmp_path / "notes"))])
    chosen.close()
    qtbot.waitUntil(lambda: len(chips(chickadee)) == 1)
    chickadee.window.close()
    again = open_window()
    attach = dialog(again, "attach")
    assert attach.directory().absolutePath() == str(tmp_path / "notes")
    attach.close()
    qtbot.waitUntil(lambda: not again.window.findChildren(QFileDialog))
    model = dialog(again, "open_model")
    assert model.directory().absolutePath() != str(tmp_path / "notes")
    model.close()


def test_the_real_engine_does_not_read_a_file_twice(
    open_window: Opener, ask: Ask, qtbot: QtBot, tmp_path: Path
) -> None:
    chickadee = open_window(command=None, max_tokens=4)
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready", timeout=SECONDS)
    attach(chickadee, qtbot, file(tmp_path, text=TEXT * 3))
    tokens = draft(chickadee).tokens
    assert tokens
    qtbot.waitUntil(lambda: chickadee.engine.state.context_tokens > tokens, timeout=SECONDS)
    ask(chickadee, "What do chickadees store?")
    qtbot.waitUntil(lambda: answered(chickadee), timeout=SECONDS)
    first = chickadee.engine.state.statistics
    assert first
    assert first.reused_tokens > tokens
    assert first.prompt_tokens - first.reused_tokens < 40  # the question and the template's end
    ask(chickadee, "When?")
    qtbot.waitUntil(lambda: answered(chickadee, 4), timeout=SECONDS)
    second = chickadee.engine.state.statistics
    assert second
    assert second.reused_tokens >= first.prompt_tokens
