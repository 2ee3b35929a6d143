"""Each chat remembers its model: a quiet line offers it back, and nothing is loaded by a click on a chat."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from app.state.conversation import Conversation
from app.store.formats import decode_chat, encode_chat
from app.wiring import Chickadee
from engine.protocol.requests import Generate, Load
from tests.app.conftest import SECONDS, Opener, Requests
from tests.app.test_window import Ask, done, last_text


@pytest.fixture
def wren(tmp_path: Path) -> Path:
    path = tmp_path / "wren.gguf"
    path.touch()
    return path


def use(chickadee: Chickadee, path: Path, qtbot: QtBot) -> None:
    chickadee.models.controller.use_model(str(path))
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready", timeout=SECONDS)


def old_chat(chickadee: Chickadee, ask: Ask, qtbot: QtBot, wren: Path) -> str:
    """Answer a chat with wren, load the model that was loaded before, open a new chat, and return the id of the old."""
    before = chickadee.engine.state.path
    assert before
    use(chickadee, wren, qtbot)
    ask(chickadee, "hello")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    chat = chickadee.open_chats.current.chat
    assert (chat.model, chat.model_path) == ("wren", str(wren))
    chickadee.chats.chat.new()
    use(chickadee, before, qtbot)
    return chat.id


def test_a_chat_says_which_model_it_used_and_switches_back_on_request_only(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, wren: Path, requests: Requests
) -> None:
    line = chickadee.window.chat_model
    id = old_chat(chickadee, ask, qtbot, wren)
    assert line.isHidden()
    loads = [type(each) for each in requests()].count(Load)
    chickadee.chats.chat.open(id)
    qtbot.waitUntil(line.isVisible, timeout=SECONDS)
    assert (line.text.text(), line.button.text()) == ("This chat last used wren ·", "Switch back")
    assert [type(each) for each in requests()].count(Load) == loads
    chickadee.window.composer.set_text("a draft")
    qtbot.mouseClick(line.button, Qt.MouseButton.LeftButton)
    assert line.isHidden()
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready", timeout=SECONDS)
    assert chickadee.engine.state.path == wren
    assert chickadee.window.composer.text.toPlainText() == "a draft"


def test_the_loaded_model_answers_and_becomes_the_chats_model(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, wren: Path, open_window: Opener
) -> None:
    id = old_chat(chickadee, ask, qtbot, wren)
    chickadee.chats.chat.open(id)
    qtbot.waitUntil(chickadee.window.chat_model.isVisible, timeout=SECONDS)
    ask(chickadee, "again")
    qtbot.waitUntil(lambda: done(chickadee) and last_text(chickadee) == "echo: again", timeout=SECONDS)
    assert chickadee.window.chat_model.isHidden()
    assert [message.model for message in chickadee.open_chats.current.messages] == ["", "wren", "", "fake"]
    chickadee.window.close()
    chat = open_window().open_chats.current.chat
    assert (chat.id, chat.model) == (id, "fake")


def test_a_model_that_is_gone_has_no_button(chickadee: Chickadee, ask: Ask, qtbot: QtBot, wren: Path) -> None:
    line = chickadee.window.chat_model
    id = old_chat(chickadee, ask, qtbot, wren)
    wren.unlink()
    chickadee.chats.chat.open(id)
    qtbot.waitUntil(line.isVisible, timeout=SECONDS)
    assert line.text.text() == "This chat last used wren (not on this computer)"
    assert line.button.isHidden()


def test_a_model_that_was_moved_is_found_by_its_name(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, wren: Path, tmp_path: Path
) -> None:
    line = chickadee.window.chat_model
    id = old_chat(chickadee, ask, qtbot, wren)
    moved = tmp_path / "elsewhere" / "wren.gguf"
    moved.parent.mkdir()
    wren.rename(moved)
    chickadee.models.controller.on_disk.recent.append(moved)
    chickadee.chats.chat.open(id)
    qtbot.waitUntil(line.isVisible, timeout=SECONDS)
    qtbot.mouseClick(line.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready", timeout=SECONDS)
    assert chickadee.engine.state.path == moved


def test_another_answer_by_another_model_is_a_branch(chickadee: Chickadee, ask: Ask, qtbot: QtBot, wren: Path) -> None:
    ask(chickadee, "hello")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    chickadee.models.controller.on_disk.recent.append(wren)
    view = chickadee.window.transcript.views[-1]
    view.setFocus()
    qtbot.mouseClick(view.row.buttons["again_with"], Qt.MouseButton.LeftButton)
    menu = view.findChild(QMenu)
    assert menu
    assert [action.text() for action in menu.actions()][:2] == ["wren", ""]
    menu.actions()[0].trigger()
    menu.close()
    conversation = chickadee.open_chats.current
    qtbot.waitUntil(lambda: len(conversation.tree) == 3 and not conversation.busy, timeout=SECONDS)
    siblings = conversation.tree.siblings(conversation.messages[-1].id)
    assert [conversation.tree[id].model for id in siblings] == ["fake", "wren"]
    assert "wren" in [action.text() for action in chickadee.window.transcript.views[-1].menu().actions()]


def test_the_menu_of_models_may_go_with_its_message_while_models_are_looked_for(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, wren: Path
) -> None:
    """The end of the scan filled the deleted menu, which was a bug of ours in the log."""
    use(chickadee, wren, qtbot)
    ask(chickadee, "hello")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    view = chickadee.window.transcript.views[-1]
    view._open_models(view)
    chickadee.open_chats.new()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    on_disk = chickadee.models.controller.on_disk
    qtbot.waitUntil(lambda: not on_disk._background.running, timeout=SECONDS)
    on_disk.recent = [wren.with_name("other.gguf")]
    on_disk.changed.emit()


def test_if_that_model_cannot_be_loaded_the_answer_that_was_there_stays(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, tmp_path: Path, requests: Requests
) -> None:
    ask(chickadee, "hello")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    conversation = chickadee.open_chats.current
    chickadee.chats.messages.answer_with(conversation.messages[-1].id, tmp_path / "missing.gguf")
    assert conversation.phase == "waiting"
    qtbot.waitUntil(lambda: conversation.phase == "idle", timeout=SECONDS)
    assert [message.content for message in conversation.messages] == ["hello", "echo: hello"]
    assert chickadee.window.notice.button.text() == "Choose another model"
    assert [type(each) for each in requests()].count(Generate) == 1


@pytest.fixture
def three_chats(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> tuple[Conversation, Conversation, Conversation]:
    """Open three chats: a long one, which is shown; one that is being answered; one that waits."""
    ask(chickadee, "many")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    long_chat = chickadee.open_chats.current
    chickadee.chats.chat.new()
    ask(chickadee, "slow")
    slow = chickadee.open_chats.current
    qtbot.waitUntil(lambda: bool(slow.answer and slow.answer.text), timeout=SECONDS)
    chickadee.chats.chat.new()
    ask(chickadee, "waits")
    waiting = chickadee.open_chats.current
    chickadee.chats.chat.open(long_chat.chat.id)
    return long_chat, slow, waiting


Three = tuple[Conversation, Conversation, Conversation]


def test_the_queue_and_the_place_in_the_text_stay_when_another_model_is_chosen(
    chickadee: Chickadee, qtbot: QtBot, wren: Path, three_chats: Three
) -> None:
    _long, slow, waiting = three_chats
    bar = chickadee.window.transcript.verticalScrollBar()
    bar.setValue(100)
    chickadee.window.composer.set_text("a draft")
    chickadee.models.controller.use_model(str(wren))
    qtbot.mouseClick(chickadee.window.notice.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(waiting.messages) == 2 and not waiting.busy, timeout=SECONDS)
    assert [message.model for message in waiting.messages] == ["", "wren"]
    assert slow.messages[-1].stop_reason == "cancelled"
    assert bar.value() == 100
    assert chickadee.window.composer.text.toPlainText() == "a draft"
    assert chickadee.window.notice.isHidden()


def test_a_change_of_the_model_waits_for_the_answers_of_other_chats(
    chickadee: Chickadee, qtbot: QtBot, wren: Path, three_chats: Three
) -> None:
    """The answers that the user does not see end by themselves; then the model is loaded."""
    long_chat, slow, waiting = three_chats
    notice, fake = chickadee.window.notice, chickadee.engine.state.path
    chickadee.chats.messages.answer_with(long_chat.messages[-1].id, wren)
    assert notice.text.text() == (
        "“slow” is being answered. wren will be loaded after that and answer again. Close this notice to cancel."
    )
    qtbot.keyClick(chickadee.window.composer.text, Qt.Key.Key_Return)
    assert (chickadee.engine.state.path, slow.phase, long_chat.phase) == (fake, "answering", "idle")
    chickadee.engine.stop(slow)  # as the user does, who opens that chat
    qtbot.waitUntil(
        lambda: len(long_chat.messages) == 2 and long_chat.messages[-1].model == "wren" and not long_chat.busy
    )
    assert [message.model for message in waiting.messages] == ["", "fake"]
    assert notice.isHidden()


def test_a_change_of_the_model_that_waits_can_be_cancelled(
    chickadee: Chickadee, qtbot: QtBot, wren: Path, three_chats: Three
) -> None:
    _long, slow, waiting = three_chats
    fake = chickadee.engine.state.path
    chickadee.models.controller.use_model(str(wren))
    qtbot.mouseClick(chickadee.window.notice.close_button, Qt.MouseButton.LeftButton)
    chickadee.engine.stop(slow)
    qtbot.waitUntil(lambda: len(waiting.messages) == 2 and not waiting.busy, timeout=SECONDS)
    assert (chickadee.engine.state.path, chickadee.engine.state.phase) == (fake, "ready")
    chickadee.models.controller.use_model(str(wren))  # nobody is answered now
    assert chickadee.engine.state.path == wren


def test_an_export_names_the_model_but_not_the_users_folder(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "hello")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    conversation = chickadee.open_chats.current
    exported = encode_chat(conversation.chat, conversation.messages)
    assert b'"model":"fake"' in exported
    assert str(chickadee.folders.data.parent).encode() not in exported
    raw = msgspec.json.decode(exported) | {"model_path": "/etc/a.gguf"}
    chat, _ = decode_chat(raw, 0)
    assert (chat.model, chat.model_path) == ("fake", "")
