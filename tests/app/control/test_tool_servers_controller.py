"""The tool servers in the settings: they are added, tested, changed, removed and brought back."""

from __future__ import annotations

import json
import shlex
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backends.fail
import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from app.dialogs.tool_server_dialog import MASK, ToolServerDialog
from app.dialogs.tools_page import ToolServerView, ToolsPage
from app.services.key_storage import FILE as KEYS
from app.tools.mcp.configuration import FILE
from app.wiring import Chickadee
from tests.app.conftest import SECONDS, Opener
from tests.app.tools.mcp.running import hostile


@pytest.fixture(autouse=True)
def _no_keyring() -> Iterator[None]:
    """Keep the user's own keyring out of the tests."""
    before = keyring.get_keyring()
    keyring.set_keyring(keyring.backends.fail.Keyring())
    yield
    keyring.set_keyring(before)


@pytest.fixture
def chickadee(open_window: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chickadee:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))  # where other programs have no servers, unless a test makes some
    return open_window()


def page_of(chickadee: Chickadee) -> ToolsPage:
    chickadee.chats.tool_servers.open()
    page = chickadee.chats.tool_servers.page
    assert page is not None
    return page


def dialog_of(chickadee: Chickadee) -> ToolServerDialog:
    dialog = chickadee.chats.tool_servers.dialog
    assert dialog is not None
    return dialog


def add(chickadee: Chickadee, qtbot: QtBot, text: str, variables: str = "") -> None:
    page = page_of(chickadee)
    page.add_button.click()
    dialog = dialog_of(chickadee)
    dialog.where.setPlainText(text)
    dialog.variables.setPlainText(variables)
    dialog.save_button.click()
    qtbot.waitUntil(lambda: chickadee.chats.tool_servers.dialog is None, timeout=SECONDS)


def only_view(page: ToolsPage, qtbot: QtBot) -> ToolServerView:
    qtbot.waitUntil(lambda: len(page.views) == 1, timeout=SECONDS)
    (view,) = page.views.values()
    return view


def command(*behaviours: str) -> str:
    return json.dumps({"mcpServers": {"Hostile": {"command": sys.executable, "args": hostile(*behaviours)[1:]}}})


def test_a_server_is_added_tested_and_its_tools_are_chosen(chickadee: Chickadee, qtbot: QtBot) -> None:
    add(chickadee, qtbot, command("1,000 tools"))
    page = page_of(chickadee)
    view = only_view(page, qtbot)
    assert view.title.text() == "Hostile"
    assert view.status.text() == "Press Test to see its tools"
    view.buttons["test"].click()
    if sys.platform != "linux":  # this system cannot confine it
        qtbot.waitUntil(lambda: not view.buttons["anyway"].isHidden(), timeout=SECONDS)
        view.buttons["anyway"].click()
    qtbot.waitUntil(lambda: view.status.text().startswith("Running · 128 tools"), timeout=SECONDS)
    assert view.status.text() == "Running · 128 tools · 128 cannot be used"
    view.buttons["tools"].click()
    box = view._unfolded.boxes["on greet"]
    assert box.text() == "greet · Greets someone."
    box.click()
    view._unfolded.boxes["reads die"].click()
    (server,) = chickadee.chats.tool_servers.servers.all()
    assert [(known.on, known.reads) for known in server.tools[:3]] == [(False, False), (True, False), (True, True)]
    (offered,) = (source for source in chickadee.chats.desk.sources if source.id == f"mcp:{server.id}")
    assert {"wait", "die"} <= {info.name for info in offered.tools()}
    assert "greet" not in {info.name for info in offered.tools()}
    view.switch.click()
    qtbot.waitUntil(lambda: view.status.text().startswith("Off"), timeout=SECONDS)
    assert chickadee.chats.tool_servers.sources.source_of(server).pid == 0


def test_secrets_are_stored_apart_and_not_shown_again(chickadee: Chickadee, qtbot: QtBot, tmp_path: Path) -> None:
    add(chickadee, qtbot, "mcp-server-mail --fast", "TOKEN=hunter2\nUSER=me")
    data = chickadee.folders.data
    assert "hunter2" not in (data / FILE).read_text()
    if sys.platform != "win32":
        assert stat.S_IMODE((data / FILE).stat().st_mode) == 0o600
    page = page_of(chickadee)
    only_view(page, qtbot).buttons["edit"].click()
    dialog = dialog_of(chickadee)
    assert dialog.variables.toPlainText() == f"TOKEN={MASK}\nUSER={MASK}"
    dialog.variables.setPlainText(f"TOKEN={MASK}\nUSER=you")
    dialog.save_button.click()
    qtbot.waitUntil(lambda: chickadee.chats.tool_servers.dialog is None, timeout=SECONDS)
    controller = chickadee.chats.tool_servers
    (server,) = controller.servers.all()
    found: list[object] = []
    controller.sources.secrets.find(server, found.append, found.append)
    qtbot.waitUntil(lambda: bool(found), timeout=SECONDS)
    assert found == [{"TOKEN": "hunter2", "USER": "you"}]


def test_a_removed_server_comes_back_and_one_that_stays_removed_leaves_no_secret(
    chickadee: Chickadee, qtbot: QtBot
) -> None:
    add(chickadee, qtbot, "mcp-server-mail", "TOKEN=hunter2")
    page = page_of(chickadee)
    view = only_view(page, qtbot)
    view.buttons["remove"].click()
    qtbot.waitUntil(lambda: not page.views, timeout=SECONDS)
    assert page.note.text() == "“mcp-server-mail” was removed."
    page.undo_button.click()
    view = only_view(page, qtbot)
    (server,) = chickadee.chats.tool_servers.servers.all()
    assert server.variables == ("TOKEN",)
    view.buttons["remove"].click()
    keys = chickadee.folders.data / KEYS
    dialog = chickadee.settings_controller.dialog
    assert dialog is not None
    dialog.close()
    qtbot.waitUntil(lambda: not keys.exists(), timeout=SECONDS)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "This is no JSON."),
        ("{}", "There is no server in this JSON."),
        ('open "quote', "This is no command: check the quotation marks."),
        ("", "This is no command: check the quotation marks."),
        ("https://", "“https://” is not the address of a server"),
    ],
)
def test_what_cannot_be_a_server_is_said(chickadee: Chickadee, text: str, sentence: str) -> None:
    page_of(chickadee).add_button.click()
    dialog = dialog_of(chickadee)
    dialog.where.setPlainText(text)
    dialog.save_button.click()
    assert chickadee.chats.tool_servers.servers.all() == ()
    assert dialog.problem.text().startswith(sentence)


def test_an_address_has_no_folders_and_says_who_hears_it(chickadee: Chickadee, qtbot: QtBot) -> None:
    page_of(chickadee).add_button.click()
    dialog = dialog_of(chickadee)
    dialog.where.setPlainText("https://tools.example.org/mcp")
    assert not dialog.read.isVisible()
    assert not dialog.network.isVisible()
    assert "tools.example.org" in dialog.note.text()
    dialog.save_button.click()
    qtbot.waitUntil(lambda: chickadee.chats.tool_servers.dialog is None, timeout=SECONDS)
    (server,) = chickadee.chats.tool_servers.servers.all()
    assert (server.url, server.name) == ("https://tools.example.org/mcp", "tools.example.org")


def test_servers_of_other_programs_are_offered(
    open_window: Opener, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    file = tmp_path / "home" / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"mcpServers": {"one": {"command": "a"}, "two": {"command": "b"}}}))
    page = page_of(open_window())
    button = page.found_buttons["Cursor"]
    assert button.text() == "Add 2 servers of Cursor"
    button.click()
    qtbot.waitUntil(lambda: len(page.views) == 2, timeout=SECONDS)
    assert page.found_buttons == {}
    assert page.note.text() == "2 servers were added."


@pytest.mark.slow
def test_resources_are_attached_and_prompts_are_snippets(chickadee: Chickadee, qtbot: QtBot) -> None:
    add(chickadee, qtbot, shlex.join(hostile("resources and prompts")))
    page_of(chickadee).window().close()
    (server,) = chickadee.chats.tool_servers.servers.all()
    chickadee.chats.tool_servers.sources.source_of(server).test(lambda _problem: None)
    qtbot.waitUntil(lambda: bool(chickadee.chats.tool_servers.servers.all()[0].resources), timeout=SECONDS)
    composer, notice = chickadee.window.composer, chickadee.window.notice
    (menu,) = [action.menu() for action in chickadee.chats.tools.menu().actions() if action.menu()]
    assert isinstance(menu, QMenu)
    assert menu.title() == f"Attach from {server.name}"
    menu.actions()[1].trigger()
    assert notice.text.text() == f"Reading “../../.ssh/config” of {server.name}…"
    draft = chickadee.open_chats.current.draft
    assert draft is not None
    qtbot.waitUntil(lambda: bool(draft.attachments), timeout=SECONDS)
    (letter,) = draft.attachments
    assert (letter.name, letter.text) == ("_.._.ssh_config", "Dear Ann, this is test://1.")
    assert not notice.rows
    chickadee.window.activateWindow()
    composer.text.setFocus()
    qtbot.waitUntil(composer.text.hasFocus)
    qtbot.keyClicks(composer.text, "/greeting")
    snippets = chickadee.chats.snippets
    (entry,) = snippets.popup.shown_entries()
    assert entry.title == "A greeting"
    assert entry.note.startswith(f"{server.name} · ddd")
    qtbot.keyClick(composer.text, Qt.Key.Key_Return)
    form = snippets.form
    assert form is not None
    form.fields["who"].setPlainText("Ann")
    form.insert_button.click()
    qtbot.waitUntil(lambda: composer.text.toPlainText() == "Greet Ann.", timeout=SECONDS)
    source = chickadee.chats.tool_servers.sources.source_of(server)
    source.stop()
    chickadee.chats.tool_servers.servers.change(msgspec.structs.replace(server, command=("no such program",)))
    menu.actions()[0].trigger()
    qtbot.waitUntil(lambda: "no such program" in notice.text.text(), timeout=SECONDS)
