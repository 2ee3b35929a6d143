"""A setting that is added to the table alone appears in every place that shows, stores or sends settings."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.dialogs.setting_row import LineControl, SettingRow
from app.settings.schema import for_all, for_chat, for_model
from app.settings.settings import Settings
from app.wiring import Chickadee
from engine.commands import chat, plan
from engine.protocol.requests import Generate
from engine.protocol.settings import OF_REQUESTS, Flag, Scope, Setting
from tests.app.conftest import Requests
from tests.models.make_gguf import make_gguf

Ask = Callable[[Chickadee, str], None]
NAME = "answer.window"
OTHER = OF_REQUESTS["engine.threads"]  # its words, as those have a translation
MADE_UP = Setting(
    "answer", "window", "whole", 64, OTHER.title, OTHER.help, high=1000,
    fills="generate.sampling.repeat_last_n", flag=Flag("--window", "so many tokens are not repeated", "N"),
)  # fmt: skip


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Setting:
    """Add a setting to the table, with the scope that the test names."""
    scope: Scope = getattr(request, "param", "global")
    setting = replace(MADE_UP, scope=scope)
    monkeypatch.setitem(OF_REQUESTS, NAME, setting)
    return setting


def given(*arguments: str) -> Generate:
    """Return the request that the command line makes."""
    commands = argparse.ArgumentParser()
    verbs = commands.add_subparsers()
    chat.add(verbs)
    plan.add(verbs)
    return chat.requests_of(commands.parse_args(["chat", *arguments]))[1]


def enter(row: SettingRow, qtbot: QtBot, text: str) -> None:
    assert isinstance(row.control, LineControl)
    row.control.selectAll()
    qtbot.keyClicks(row.control, text)
    qtbot.keyClick(row.control, Qt.Key.Key_Return)


def test_it_is_on_the_command_line(made_up: Setting) -> None:
    assert given("--window", "5").sampling.repeat_last_n == 5
    assert given().sampling.repeat_last_n == 64
    assert given("--greedy", "--window", "5").sampling.repeat_penalty == 1.0


def test_it_is_in_the_file_and_comes_back(made_up: Setting, tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    settings = Settings(path)
    assert settings.options().generate.sampling.repeat_last_n == 64
    settings.change({NAME: 5})
    assert tomllib.loads(path.read_text()) == {"answer": {"window": 5}}
    again = Settings(path)
    assert (again.values[NAME], again.problems) == (5, ())
    assert again.options().generate.sampling.repeat_last_n == 5
    path.write_text("[answer]\nwindow = 5000\n")
    again.refresh()
    assert "answer.window is 5000; it must be a whole number from 0 to 1,000" in str(again.problems[0])


@pytest.mark.parametrize("made_up", ["global", "model", "chat"], indirect=True)
def test_its_scope_says_where_it_is_offered(made_up: Setting) -> None:
    assert NAME in [setting.name for setting in for_all()]
    assert (NAME in [setting.name for setting in for_model()]) == (made_up.scope == "model")
    assert (NAME in [setting.name for setting in for_chat()]) == (made_up.scope == "chat")


def test_it_is_in_the_dialog_and_in_the_next_request(
    made_up: Setting, chickadee: Chickadee, qtbot: QtBot, ask: Ask, requests: Requests
) -> None:
    dialog = chickadee.settings_controller.open()
    dialog.search.setText("answer.window")
    assert [name for name, row in dialog.rows.items() if row.isVisible()] == [NAME]
    enter(dialog.rows[NAME], qtbot, "7")
    assert repeated(chickadee, qtbot, ask, requests) == 7


@pytest.mark.parametrize("made_up", ["chat"], indirect=True)
def test_one_chat_has_it(made_up: Setting, chickadee: Chickadee, qtbot: QtBot, ask: Ask, requests: Requests) -> None:
    chickadee.settings.change({NAME: 7})
    chickadee.window.commands.run("chat_options")
    panel = chickadee.chats.options.panel
    assert panel
    enter(panel.rows[NAME], qtbot, "9")
    assert repeated(chickadee, qtbot, ask, requests) == 9
    chickadee.chats.chat.new()
    assert repeated(chickadee, qtbot, ask, requests) == 7


@pytest.mark.parametrize("made_up", ["model"], indirect=True)
def test_one_model_has_it(
    made_up: Setting, chickadee: Chickadee, qtbot: QtBot, ask: Ask, requests: Requests, tmp_path: Path
) -> None:
    chickadee.settings.change({NAME: 7})
    path = make_gguf(tmp_path / "wren.gguf")
    chickadee.models.controller.add(str(path))
    chickadee.models.controller.open()
    qtbot.waitUntil(lambda: chickadee.models.controller.list.local_model(path) is not None)
    model = chickadee.models.controller.list.local_model(path)
    assert model
    chickadee.models.controller.open_options(model)
    options = chickadee.models.controller.options
    assert options
    enter(options.rows["window"], qtbot, "9")
    assert chickadee.settings.of_model(path) == {NAME: 9}
    assert repeated(chickadee, qtbot, ask, requests) == 7
    chickadee.models.controller.use_model(str(path))
    qtbot.waitUntil(lambda: chickadee.models.controller.list.loaded == path)
    assert repeated(chickadee, qtbot, ask, requests) == 9
    chickadee.models.controller.close()


def repeated(chickadee: Chickadee, qtbot: QtBot, ask: Ask, requests: Requests) -> int:
    """Return the `repeat_last_n` that the engine gets with the next message."""
    ask(chickadee, "hello")
    qtbot.waitUntil(lambda: bool(chickadee.open_chats.current.messages) and not chickadee.open_chats.current.busy)
    return [request for request in requests() if isinstance(request, Generate)][-1].sampling.repeat_last_n


def test_a_choice_of_a_chat_is_made_by_choosing_alone(monkeypatch: pytest.MonkeyPatch, chickadee: Chickadee) -> None:
    """Closing the panel stores what was typed, but makes no choice."""
    monkeypatch.setitem(OF_REQUESTS, "engine.draft", replace(OF_REQUESTS["engine.draft"], scope="chat"))
    chickadee.window.commands.run("chat_options")
    panel = chickadee.chats.options.panel
    assert panel
    panel.close()
    assert chickadee.open_chats.current.chat.options == ""
