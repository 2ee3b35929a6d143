"""The model of a start: the one used last; else a sentence says why, and the next best one is loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.folders import Folders
from app.foundation import Foundation
from app.state import first_model
from app.store.chat_store import ChatStore
from app.wiring import Chickadee
from engine.protocol.requests import Load
from tests.app.conftest import SECONDS, Opener, Requests
from tests.app.test_window import Ask, done, last_text

Start = Callable[[], Chickadee]


@pytest.fixture
def built_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file that stands for the built-in model: the scripted engine logs requests beside a model."""
    path = made(tmp_path / "built-in.gguf")
    monkeypatch.setattr(first_model, "built_in_model", lambda: path)
    return path


@pytest.fixture
def start(open_window: Opener, built_in: Path, qtbot: QtBot) -> Start:
    """Return a function that starts the program without naming a model, and waits until one is loaded."""

    def start() -> Chickadee:
        chickadee = open_window(model_used_last=True)
        qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready", timeout=SECONDS)
        return chickadee

    return start


def made(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.touch()
    return path


def remember(folders: Folders, *paths: Path, loading: Path | None = None) -> None:
    """Store these models as the recent ones, the last of them as the latest."""
    store = ChatStore(folders.store)
    for path in paths:
        store.remember_model(path)
    if loading is not None:
        store.mark_loading(loading, True)
    store.close()


def said(chickadee: Chickadee) -> str:
    notice = chickadee.window.notice
    return notice.text.text() if notice.isVisible() else ""


def test_the_first_start_ever_takes_the_built_in_model(start: Start, built_in: Path) -> None:
    chickadee = start()
    assert chickadee.engine.state.path == built_in
    assert said(chickadee) == ""


def test_a_start_takes_the_model_that_was_used_last(start: Start, tmp_path: Path, qtbot: QtBot) -> None:
    path = made(tmp_path / "wren.gguf")
    chickadee = start()
    chickadee.models.controller.use_model(str(path))
    qtbot.waitUntil(lambda: chickadee.store.recent_models()[0] == path, timeout=SECONDS)
    chickadee.window.close()
    again = start()
    assert again.engine.state.path == path
    assert said(again) == ""


def test_a_model_that_was_chosen_but_never_loaded_is_no_recent_one(
    chickadee: Chickadee, tmp_path: Path, qtbot: QtBot
) -> None:
    chickadee.models.controller.use_model(str(tmp_path / "missing.gguf"))
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "failed", timeout=SECONDS)
    assert chickadee.store.recent_models() == [tmp_path / "fake.gguf"]


def test_a_named_model_takes_precedence(open_window: Opener, folders: Folders, tmp_path: Path, qtbot: QtBot) -> None:
    remember(folders, made(tmp_path / "wren.gguf"))
    chickadee = open_window(model=tmp_path / "named.gguf", model_used_last=True)
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready", timeout=SECONDS)
    assert chickadee.engine.state.path == tmp_path / "named.gguf"


def test_a_model_that_is_gone_is_told_and_the_next_recent_one_is_loaded(
    start: Start, folders: Folders, tmp_path: Path, built_in: Path
) -> None:
    robin = made(tmp_path / "robin.gguf")
    remember(folders, robin, tmp_path / "wren.gguf")
    chickadee = start()
    assert chickadee.engine.state.path == robin
    assert said(chickadee) == f"wren is no longer in {tmp_path}, so robin is used."
    assert chickadee.window.notice.button.text() == "Choose another model"
    chickadee.models.controller.use_model(str(built_in))
    assert said(chickadee) == ""


def test_a_model_that_comes_back_is_used_again_unless_the_substitute_has_answered(
    start: Start, folders: Folders, tmp_path: Path, built_in: Path, ask: Ask, qtbot: QtBot
) -> None:
    wren = tmp_path / "wren.gguf"  # on a disk that is not always plugged in
    remember(folders, wren)
    start().window.close()
    made(wren)
    again = start()
    assert again.engine.state.path == wren
    again.window.close()
    wren.unlink()
    substitute = start()
    ask(substitute, "hello")
    qtbot.waitUntil(lambda: done(substitute), timeout=SECONDS)
    substitute.window.close()
    made(wren)
    last = start()
    assert last.engine.state.path == built_in
    assert said(last) == ""


def test_of_several_models_that_cannot_be_loaded_the_first_is_told_and_each_is_tried_once(
    start: Start, folders: Folders, tmp_path: Path, built_in: Path, requests: Requests
) -> None:
    bad = [made(tmp_path / f"missing {name}.gguf") for name in ("a", "b", "c", "d")]
    remember(folders, *bad)
    chickadee = start()
    loads = [Path(each.path) for each in requests() if isinstance(each, Load)]
    assert loads == [bad[3], bad[2], bad[1], built_in]  # those before are passed over: every failure takes time
    assert said(chickadee).startswith("missing d could not be loaded, so built in is used. There is no file")
    assert chickadee.window.notice.details.text() == "details for the log"


def test_a_message_that_waits_is_answered_by_the_substitute(
    open_window: Opener, folders: Folders, tmp_path: Path, built_in: Path, ask: Ask, qtbot: QtBot
) -> None:
    remember(folders, made(tmp_path / "missing.gguf"))
    chickadee = open_window(model_used_last=True)
    ask(chickadee, "hello")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    assert last_text(chickadee) == "echo: hello"
    assert chickadee.open_chats.current.chat.model == "built in"


def test_too_little_memory_has_a_button_that_tries_again(
    start: Start, folders: Folders, tmp_path: Path, qtbot: QtBot
) -> None:
    path = made(tmp_path / "large.gguf")
    remember(folders, path)
    chickadee = start()
    assert said(chickadee) == "large does not fit into memory now, so built in is used."
    assert chickadee.window.notice.button.text() == "Load large"
    path.with_name("room").touch()
    qtbot.mouseClick(chickadee.window.notice.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready", timeout=SECONDS)
    assert chickadee.engine.state.path == path
    assert said(chickadee) == ""


def test_a_model_that_brings_the_engine_down_is_not_tried_at_the_next_start(
    start: Start, folders: Folders, tmp_path: Path, built_in: Path, requests: Requests, qtbot: QtBot
) -> None:
    path = made(tmp_path / "crash.gguf")
    remember(folders, path)
    first = start()
    assert first.engine.state.path == built_in
    assert said(first) == "The engine stopped while loading crash, so built in is used."
    first.window.close()
    before = len(requests())
    second = start()
    assert said(second) == ("Chickadee ended unexpectedly while loading crash last time, so built in is used.")
    assert [each.path for each in requests()[before:] if isinstance(each, Load)] == [str(built_in)]


def test_a_start_that_was_killed_while_it_loaded_counts_and_one_that_was_closed_does_not(
    open_window: Opener, start: Start, folders: Folders, tmp_path: Path, built_in: Path
) -> None:
    slow = made(tmp_path / "slowload.gguf")
    remember(folders, slow)
    open_window(model_used_last=True).window.close()
    (tmp_path / "go").touch()
    chickadee = start()
    assert chickadee.engine.state.path == slow
    chickadee.window.close()
    remember(folders, slow, loading=slow)
    assert start().engine.state.path == built_in


def test_the_only_model_is_tried_nevertheless(start: Start, folders: Folders, built_in: Path) -> None:
    remember(folders, built_in, loading=built_in)
    assert start().engine.state.path == built_in


def test_without_any_model_a_sentence_says_so(
    open_window: Opener, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    monkeypatch.setattr("models.default._folders", list)
    chickadee = open_window(model_used_last=True)
    assert said(chickadee) == "The built-in model is missing from this installation. Install Chickadee again."


def test_when_nothing_can_be_loaded_the_last_problem_stays(
    open_window: Opener, folders: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    broken = made(tmp_path / "missing built in.gguf")
    monkeypatch.setattr(first_model, "built_in_model", lambda: broken)
    remember(folders, made(tmp_path / "missing.gguf"))
    chickadee = open_window(model_used_last=True)
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "failed", timeout=SECONDS)
    assert said(chickadee).startswith(f"There is no file {broken}.")
    assert chickadee.window.notice.button.text() == "Choose another model"


def test_the_engine_starts_before_the_window_is_built(folders: Folders, built_in: Path, scripted: list[str]) -> None:
    foundation = Foundation(folders, command=scripted)
    foundation.start()
    assert foundation.process.running
    assert foundation.engine.state.path == built_in
    foundation.process.close()
    foundation.store.close()
