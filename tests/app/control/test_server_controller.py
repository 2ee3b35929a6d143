"""Models on servers, from the dialog to the answer, with the real remote engine and a server that obeys."""

from __future__ import annotations

import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import keyring
import keyring.backends.fail
import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.dialogs.server_dialog import ServerDialog
from app.folders import Folders
from app.settings.servers import SavedServer
from app.state.conversation import Conversation
from app.store.formats import decode_chat, encode_chat
from app.wiring import Chickadee
from app.words import worded
from common.sentences import decode_sentence
from tests.app.conftest import Opener
from tests.app.memory_keyring import MemoryKeyring
from tests.engine.remote.fake_server import MODEL, FakeServer, fake_server

KEY = "sesame-4711"
Ask = Callable[[Chickadee, str], None]
OTHER = {**MODEL, "id": "org/other"}


@pytest.fixture(autouse=True)
def _no_keyring() -> Iterator[None]:
    """Keep the user's own keyring out of the tests."""
    before = keyring.get_keyring()
    keyring.set_keyring(keyring.backends.fail.Keyring())
    yield
    keyring.set_keyring(before)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with fake_server(MODEL, OTHER) as running:
        yield running


def use(chickadee: Chickadee, server: FakeServer, qtbot: QtBot, key: str = "") -> Path:
    """Use the server's model, as a user who connected to it earlier."""
    saved = SavedServer(server.url, "Office", ("echo",), "file" if key else "")
    chickadee.settings.save_server(saved)
    path = saved.paths[0]
    chickadee.models.controller.use_model(str(path))
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready" and chickadee.engine.state.host != "")
    return path


def agreed(chickadee: Chickadee, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: chickadee.window.consent.isVisible())
    chickadee.window.consent.agree_button.click()
    qtbot.waitUntil(lambda: not current(chickadee).busy)


def current(chickadee: Chickadee) -> Conversation:
    return chickadee.open_chats.current


def dialog_of(chickadee: Chickadee, url: str = "") -> ServerDialog:
    controller = chickadee.models.controller
    controller.open()
    assert controller.dialog is not None
    controller.servers.open(controller.dialog, url)
    assert controller.servers.dialog is not None
    return controller.servers.dialog


def test_from_the_dialog_to_an_answer(chickadee: Chickadee, qtbot: QtBot, ask: Ask, folders: Folders) -> None:
    with fake_server(MODEL, OTHER, key=KEY) as server:
        dialog = dialog_of(chickadee)
        dialog.address.setText(server.url.removesuffix("/v1").removeprefix("http://"))
        dialog.address.textEdited.emit(dialog.address.text())
        assert not dialog.save_button.isEnabled()
        dialog.key.setText("wrong")
        dialog.test_button.click()
        qtbot.waitUntil(lambda: "does not accept the key" in dialog.problem.text())
        dialog.key.setText(KEY)
        dialog.name.setText("Office")
        dialog.test_button.click()
        qtbot.waitUntil(lambda: list(dialog.boxes) == ["echo", "org/other"])
        assert dialog.address.text() == server.url
        assert dialog.outcome.text() == "This is vLLM. It has 2 models."
        dialog.boxes["org/other"].setChecked(False)
        dialog.save_button.click()
        models = chickadee.models.controller
        qtbot.waitUntil(lambda: bool(models.list.servers))
        assert models.list.servers == (SavedServer(server.url, "Office", ("echo",), "file"),)
        row = models.list.sections()["servers"][0]
        host = f"127.0.0.1:{server.server_address[1]}"
        assert (row.title, row.actions) == (f"echo · {host}", ("use", "server"))
        models.do_action(row.key, "use")  # type: ignore[arg-type]
        qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready" and chickadee.engine.state.host == host)
        assert host in chickadee.window.status.model.text()
        assert host in chickadee.window.composer.text.placeholderText()
        assert chickadee.window.welcome.sentences[1].text() == f"Answers come from {host}."
        ask(chickadee, "good morning")
        qtbot.waitUntil(lambda: chickadee.window.consent.isVisible())
        assert host in chickadee.window.consent.text.text()
        assert server.bodies == []
        agreed(chickadee, qtbot)
        answer = current(chickadee).messages[-1]
        assert (answer.content, answer.model, answer.stop_reason) == ("good morning ", f"echo · {host}", "end")
        ask(chickadee, "again")
        qtbot.waitUntil(lambda: len(server.bodies) == 2 and not current(chickadee).busy)
    chickadee.window.close()
    key_file = folders.data / "server-keys.json"
    if sys.platform != "win32":  # there the user's folder is private, and files have no such modes
        assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    holding = [path for path in folders.data.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert holding == [key_file]


def test_what_the_user_does_not_send_stays_here(
    chickadee: Chickadee, qtbot: QtBot, ask: Ask, server: FakeServer
) -> None:
    use(chickadee, server, qtbot)
    ask(chickadee, "a secret")
    qtbot.waitUntil(lambda: chickadee.window.consent.isVisible())
    chickadee.window.consent.refuse_button.click()
    assert not chickadee.window.consent.isVisible()
    conversation = current(chickadee)
    assert not conversation.busy
    assert [message.content for message in conversation.messages] == ["a secret"]
    assert "/v1/chat/completions" not in server.paths


def test_a_chat_with_a_server_to_ask_about_lets_others_go_first_and_a_local_model_answers_it(
    chickadee: Chickadee, qtbot: QtBot, ask: Ask, server: FakeServer, tmp_path: Path
) -> None:
    use(chickadee, server, qtbot)
    ask(chickadee, "first")
    waiting = current(chickadee)
    qtbot.waitUntil(lambda: bool(waiting.asked_host))
    chickadee.chats.chat.new()
    assert not chickadee.window.consent.isVisible()
    ask(chickadee, "second")
    agreed(chickadee, qtbot)
    assert current(chickadee).messages[-1].content == "second "
    assert waiting.busy
    chickadee.engine.model.use(tmp_path / "fake.gguf")
    qtbot.waitUntil(lambda: not waiting.busy)
    assert not waiting.asked_host
    assert len(server.bodies) == 1


def test_consent_is_per_chat_and_neither_copied_nor_exported(
    chickadee: Chickadee, qtbot: QtBot, ask: Ask, server: FakeServer
) -> None:
    use(chickadee, server, qtbot)
    ask(chickadee, "hello")
    agreed(chickadee, qtbot)
    original = current(chickadee)
    chat = original.chat
    assert chat.agreed == chickadee.engine.state.host
    assert chickadee.store.chats()[0].agreed == chat.agreed
    assert chickadee.open_chats.branch_off(original.messages[-1].id).chat.agreed == ""
    exported = encode_chat(chat, original.messages)
    assert chat.agreed.encode() not in exported.replace(b"echo \xc2\xb7 " + chat.agreed.encode(), b"")

    forged = msgspec.json.decode(exported) | {"agreed": "evil.example"}
    assert decode_chat(forged, 2e9)[0].agreed == ""


def test_half_an_answer_is_kept_and_can_be_tried_again(
    chickadee: Chickadee, qtbot: QtBot, ask: Ask, server: FakeServer
) -> None:
    use(chickadee, server, qtbot)
    ask(chickadee, "half")
    agreed(chickadee, qtbot)
    answer = current(chickadee).messages[-1]
    assert answer.content == "Only the beginning"
    assert "broke off" in worded(decode_sentence(answer.problem))
    chickadee.chats.messages.answer_again(answer.id)
    qtbot.waitUntil(lambda: len(server.bodies) == 2 and not current(chickadee).busy)
    assert current(chickadee).messages[-1].id != answer.id


def test_a_server_that_hangs_neither_hangs_the_window_nor_a_stop(
    chickadee: Chickadee, qtbot: QtBot, ask: Ask, server: FakeServer
) -> None:
    use(chickadee, server, qtbot)
    ask(chickadee, "silent")
    qtbot.waitUntil(lambda: chickadee.window.consent.isVisible())
    chickadee.window.consent.agree_button.click()
    qtbot.waitUntil(lambda: chickadee.window.composer.progress.text().startswith("Waiting for 127.0.0.1"))
    qtbot.waitUntil(lambda: bool(server.bodies))
    chickadee.chats.chat.stop()
    qtbot.waitUntil(lambda: not current(chickadee).busy)
    assert server.gone.wait(10)
    assert chickadee.engine.state.phase == "ready"


def test_never_means_never(chickadee: Chickadee, qtbot: QtBot, server: FakeServer) -> None:
    path = use(chickadee, server, qtbot)
    chickadee.settings.change({"models.network": "forbidden"})
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "off")
    asked = len(server.paths)
    chickadee.models.controller.use_model(str(path))
    qtbot.waitUntil(lambda: chickadee.engine.state.problem is not None)
    problem = chickadee.engine.state.problem
    assert problem is not None
    assert problem.sentence.id == "offline.settings"
    dialog = dialog_of(chickadee, server.url)
    dialog.test_button.click()
    assert "turned off" in dialog.problem.text()
    assert len(server.paths) == asked


def test_a_server_that_is_away_at_the_start_is_replaced_by_the_next_model_with_a_reason(
    open_window: Opener, qtbot: QtBot, folders: Folders, server: FakeServer
) -> None:
    first = open_window()
    qtbot.waitUntil(lambda: first.engine.state.phase == "ready")
    path = use(first, server, qtbot)
    first.window.close()
    again = open_window(model_used_last=True)
    qtbot.waitUntil(lambda: again.engine.state.phase == "ready")
    assert again.engine.state.path == path
    again.window.close()
    server.shutdown()
    server.server_close()
    third = open_window(model_used_last=True)
    qtbot.waitUntil(lambda: third.engine.state.phase == "ready")
    assert third.engine.state.host == ""
    assert "Nothing answers at" in third.window.notice.text.text()


def test_a_server_that_comes_back_is_used_again(
    chickadee: Chickadee, qtbot: QtBot, ask: Ask, server: FakeServer
) -> None:
    gone = SavedServer("http://127.0.0.1:9/v1", "", ("echo",))
    chickadee.settings.save_server(gone)
    chickadee.models.controller.use_model(str(gone.paths[0]))
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "failed")
    assert chickadee.window.notice.button.text() == "Try again"
    chickadee.window.notice.button.click()
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "failed" and chickadee.window.notice.button.isVisible())
    chickadee.models.controller.use_model(str(SavedServer(server.url, "", ("gone",)).paths[0]))
    qtbot.waitUntil(lambda: "does not have gone" in chickadee.window.notice.text.text())
    chickadee.window.notice.button.click()
    assert chickadee.models.controller.dialog is not None
    chickadee.models.controller.dialog.close()
    use(chickadee, server, qtbot)
    ask(chickadee, "hello")
    agreed(chickadee, qtbot)
    assert current(chickadee).messages[-1].content == "hello "


def test_a_key_in_the_keyring_is_found_changed_and_deleted(
    chickadee: Chickadee, qtbot: QtBot, folders: Folders
) -> None:
    ring = MemoryKeyring()
    keyring.set_keyring(ring)
    with fake_server(MODEL, key=KEY) as server:
        dialog = dialog_of(chickadee)
        dialog.address.setText(server.url)
        dialog.key.setText(KEY)
        dialog.test_button.setEnabled(True)
        dialog.test_button.click()
        qtbot.waitUntil(lambda: dialog.save_button.isEnabled())
        dialog.save_button.click()
        qtbot.waitUntil(lambda: server.url in chickadee.settings.servers)
        assert ring.kept == {("Chickadee", server.url): KEY}
        assert chickadee.settings.servers[server.url].key == "keyring"
        assert not (folders.data / "server-keys.json").exists()
        dialog = dialog_of(chickadee, server.url)
        assert "keyring" in dialog.key.placeholderText()
        dialog.test_button.click()
        qtbot.waitUntil(lambda: dialog.outcome.text() == "This is vLLM. It has 1 model.")
        dialog.address.setText("http://elsewhere.invalid/v1")
        dialog.address.textEdited.emit(dialog.address.text())
        assert "keyring" not in dialog.key.placeholderText(), "the key would go to another host"
        dialog.address.setText(server.url)
        dialog.remove_button.click()
        qtbot.waitUntil(lambda: ring.kept == {})
        assert chickadee.settings.servers == {}
        assert chickadee.models.controller.list.sections()["servers"] == []


def test_what_only_this_computer_can_do_is_greyed_with_a_reason(
    chickadee: Chickadee, qtbot: QtBot, server: FakeServer
) -> None:
    use(chickadee, server, qtbot)
    window = chickadee.window
    window.commands.run("chat_options")
    panel = chickadee.chats.options.panel
    assert panel is not None
    row = panel.rows["answer.thinking_budget"]
    assert not row.control.isEnabled()
    assert "does not offer this" in row.help.text()
    temperature = panel.rows["answer.temperature"]
    assert temperature.control.isEnabled()
    assert "uses its own value" in temperature.effect.text()
    chickadee.chats.options.change_option("answer.temperature", 0.2)
    assert temperature.effect.text() == ""
    window.commands.run("engine")
    monitor = chickadee.chats.engine_monitor.panel
    assert monitor.elsewhere.isVisible()
    assert "computes the answers" in monitor.elsewhere.text()
    assert "The connection takes" in monitor.elsewhere.text()
    panel.close()


def test_a_chat_remembers_its_server_and_says_when_it_was_removed(
    chickadee: Chickadee, qtbot: QtBot, ask: Ask, server: FakeServer, tmp_path: Path
) -> None:
    path = use(chickadee, server, qtbot)
    ask(chickadee, "hello")
    agreed(chickadee, qtbot)
    assert current(chickadee).chat.model_path == str(path)
    chickadee.engine.model.use(tmp_path / "fake.gguf")
    line = chickadee.window.chat_model
    qtbot.waitUntil(lambda: line.isVisible() and line.button.isVisible())
    line.button.click()
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready" and chickadee.engine.state.path == path)
    chickadee.engine.model.use(tmp_path / "fake.gguf")
    chickadee.settings.remove_server(server.url)
    chickadee.models.controller.on_disk.changed.emit()
    qtbot.waitUntil(lambda: "(server removed)" in line.text.text())


def test_files_and_instructions_go_along(
    chickadee: Chickadee, qtbot: QtBot, ask: Ask, server: FakeServer, tmp_path: Path
) -> None:
    use(chickadee, server, qtbot)
    chickadee.chats.options.change_option("answer.system_prompt", "Answer like a pirate.")
    (tmp_path / "notes.txt").write_text("The treasure lies under the oak.")
    chickadee.chats.drafts.attach([tmp_path / "notes.txt"])
    draft = current(chickadee).draft
    assert draft is not None
    qtbot.waitUntil(lambda: draft.fit == "all")
    assert server.bodies == []
    ask(chickadee, "where is it")
    agreed(chickadee, qtbot)
    messages = server.bodies[0]["messages"]
    assert messages[0] == {"role": "system", "content": "Answer like a pirate."}
    assert "under the oak" in messages[1]["content"]
    assert messages[1]["content"].endswith("where is it")


def test_a_second_enter_consents_to_nothing(chickadee: Chickadee, qtbot: QtBot, server: FakeServer) -> None:
    use(chickadee, server, qtbot)
    composer = chickadee.window.composer.text
    composer.setFocus()
    qtbot.keyClicks(composer, "hello")
    qtbot.keyClick(composer, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: chickadee.window.consent.isVisible())
    focused = QApplication.focusWidget()
    assert focused
    qtbot.keyClick(focused, Qt.Key.Key_Return)
    qtbot.keyClick(focused, Qt.Key.Key_Space)
    assert chickadee.window.consent.isVisible()
    assert not server.bodies
