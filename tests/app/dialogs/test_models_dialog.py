"""The models' dialog through its real widgets: the scripted engine, the real planner, a hub on this computer."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from app.dialogs.model_list import ModelList
from app.dialogs.models_dialog import ModelsDialog
from app.settings.schema import for_model
from app.state.answer_facts import facts_of
from app.wiring import Chickadee
from common.paths import path_of, path_text
from common.planning import Verdict
from engine.protocol.requests import Load
from models.added_paths import AddedPaths
from models.assets import asset
from models.catalogue import FILE, forget_catalogue, shipped_catalogue
from models.catalogue_update import REPO
from models.choices import choice_of
from models.locations import own_folder
from models.model_download import plan_download
from tests.app.conftest import SECONDS, Opener, Requests
from tests.app.dialogs.conftest import BUILT_IN, press
from tests.app.event_loop import settle
from tests.app.test_window import Ask
from tests.models.hub_server import Handler, HubServer
from tests.models.make_gguf import make_gguf


def keys(dialog: ModelsDialog, kind: str) -> list[str]:
    return [str(key[1]) for key in dialog.rows if isinstance(key, tuple) and key[0] == kind]


def test_what_is_here_and_what_is_suggested_says_whether_it_fits(open_models: ModelsDialog, qtbot: QtBot) -> None:
    row = open_models.rows[BUILT_IN]
    assert row.facts.text() == "135M · Q4_1 · 98 MB · built in · Apache License 2.0"
    qtbot.waitUntil(
        lambda: re.match(r"Fits: [\d.]+ [MG]B of memory with 8,192", row.verdict.text()) is not None, timeout=SECONDS
    )
    assert row.verdict.property("tone") == "fits"
    suggested = open_models.rows["entry", "qwen3.5-4b"]
    qtbot.waitUntil(lambda: "about" in suggested.verdict.text(), timeout=SECONDS)
    assert list(suggested.buttons) == ["download"]
    assert suggested.buttons["download"].accessibleName() == "Download: Qwen3.5 4B"


def test_a_model_is_loaded(
    open_models: ModelsDialog, chickadee: Chickadee, qtbot: QtBot, requests: Requests, tmp_path: Path
) -> None:
    path = make_gguf(tmp_path / "wren.gguf")  # the scripted engine logs its requests beside the model
    chickadee.models.controller.add(str(path))
    press(qtbot, open_models, ("here", path), "load")
    qtbot.waitUntil(lambda: chickadee.models.controller.list.loaded == path, timeout=SECONDS)
    loads = [request for request in requests() if isinstance(request, Load)]
    assert loads[-1].path == str(path)
    row = open_models.rows["here", path]
    qtbot.waitUntil(lambda: row.facts.text().startswith("in use · "), timeout=SECONDS)
    assert "load" not in row.buttons


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are always letters")
def test_a_name_that_is_not_utf8_is_listed_planned_loaded_and_remembered(
    open_models: ModelsDialog, chickadee: Chickadee, qtbot: QtBot, requests: Requests, tmp_path: Path
) -> None:
    path = make_gguf(Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9.gguf")))
    chickadee.models.controller.add(path_text(path))
    qtbot.waitUntil(lambda: ("here", path) in open_models.rows, timeout=SECONDS)
    row = open_models.rows["here", path]
    assert row.title.text() == "caf\N{REPLACEMENT CHARACTER}"
    qtbot.waitUntil(lambda: ("here", path) in chickadee.models.controller.list.verdicts, timeout=SECONDS)
    assert "There is no file" not in str(chickadee.models.controller.list.verdicts["here", path].problem)
    context = next(setting for setting in for_model() if setting.key == "context")
    chickadee.settings.change_model(path, context, 640)
    press(qtbot, open_models, ("here", path), "load")
    qtbot.waitUntil(lambda: chickadee.models.controller.list.loaded == path, timeout=SECONDS)
    load = [request for request in requests() if isinstance(request, Load)][-1]
    assert path_of(load.path) == path
    assert load.n_ctx == 640
    assert chickadee.store.recent_models()[0] == path


def test_a_model_has_one_name_everywhere(
    server: HubServer, open_window: Opener, qtbot: QtBot, ask: Ask, tmp_path: Path
) -> None:
    title = "Qwen2.5 Coder 0.5B Instruct"
    chickadee = open_window(make_gguf(tmp_path / "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"))
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    assert chickadee.window.status.model.text() == f"{title}  ▾"
    ask(chickadee, "Hello")
    qtbot.waitUntil(lambda: chickadee.open_chats.current.messages[-1].stop_reason == "end")
    assert title in facts_of(chickadee.open_chats.current.messages[-1])
    chickadee.window.commands.run("settings")
    settings = chickadee.settings_controller.dialog
    assert settings
    assert settings.plan.verdict.text().startswith(f"{title}: ")
    chickadee.models.controller.add(str(chickadee.engine.state.path))
    chickadee.window.commands.run("models")
    dialog = chickadee.models.controller.dialog
    assert dialog
    qtbot.waitUntil(lambda: ("here", chickadee.engine.state.path) in dialog.rows, timeout=SECONDS)
    assert dialog.rows["here", chickadee.engine.state.path].title.text() == title
    dialog.line.setText("qwen2.5-coder-0.5b-instruct")
    assert len(keys(dialog, "here")) == 1


def test_words_filter_and_nothing_found_is_said(open_models: ModelsDialog, qtbot: QtBot) -> None:
    qtbot.keyClicks(open_models.line, "coder 7b")
    assert keys(open_models, "entry") == ["qwen2.5-coder-7b"]
    assert BUILT_IN not in open_models.rows
    qtbot.keyClicks(open_models.line, " nonsense")
    assert open_models.rows == {}
    assert not open_models.nothing.isHidden()


def test_nothing_connects_before_the_search_is_asked_for(
    open_models: ModelsDialog, qtbot: QtBot, server: HubServer
) -> None:
    qtbot.keyClicks(open_models.line, "bird")
    assert server.requests == []
    server.answers["/api/models"] = json.dumps([{"id": "a/b"}, {"id": "c/d", "gated": "auto"}]).encode()
    qtbot.mouseClick(open_models.search_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: keys(open_models, "repo") == ["a/b", "c/d"], timeout=SECONDS)
    assert open_models.rows["repo", "c/d"].buttons == {}
    assert "an account on huggingface.co" in open_models.rows["repo", "c/d"].problem.text()


def test_search_download_load_remove_undo(
    open_models: ModelsDialog, chickadee: Chickadee, qtbot: QtBot, server: HubServer, tmp_path: Path
) -> None:
    server.add("bird-Q4_K_M.gguf", make_gguf(tmp_path / "bird.gguf").read_bytes())
    server.answers["/api/models"] = json.dumps([{"id": "a/b"}]).encode()
    qtbot.keyClicks(open_models.line, "bird")
    qtbot.keyClick(open_models.line, Qt.Key.Key_Return)
    press(qtbot, open_models, ("repo", "a/b"), "files")
    press(qtbot, open_models, ("file", "a/b", "bird-Q4_K_M.gguf"), "download")
    path = own_folder() / "a/b/bird-Q4_K_M.gguf"
    qtbot.waitUntil(lambda: ("here", path) in open_models.rows, timeout=SECONDS)
    assert "on this computer" in open_models.rows["file", "a/b", "bird-Q4_K_M.gguf"].facts.text()
    press(qtbot, open_models, ("job", 1), "load")
    qtbot.waitUntil(lambda: chickadee.engine.state.path == path)
    press(qtbot, open_models, ("job", 1), "hide")
    assert ("job", 1) not in open_models.rows
    chickadee.models.controller.use_model(str(tmp_path / "other.gguf"))
    press(qtbot, open_models, ("here", path), "remove")
    qtbot.waitUntil(lambda: ("here", path) not in open_models.rows, timeout=SECONDS)
    assert open_models.note.text() == "bird Q4_K_M was deleted."
    qtbot.mouseClick(open_models.undo_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: ("here", path) in open_models.rows, timeout=SECONDS)
    press(qtbot, open_models, ("here", path), "remove")
    open_models.accept()
    assert not list(path.parent.glob("*.gguf")) + list(path.parent.glob(".*"))


def test_a_suggestion_is_downloaded_and_wrong_bytes_are_told(
    open_models: ModelsDialog, chickadee: Chickadee, qtbot: QtBot, server: HubServer
) -> None:
    entry = next(entry for entry in chickadee.models.controller.list.entries if entry.id == "qwen3.5-4b")
    about = f"/api/models/{entry.repo}"
    server.answers[about] = b"{}"
    file = {"type": "file", "path": entry.file, "lfs": {"oid": "0" * 64, "size": 7}}
    server.answers[f"{about}/tree/main"] = json.dumps([file]).encode()
    server.answers[f"/{entry.repo}/resolve/main/{entry.file}"] = b"GGUFabc"
    press(qtbot, open_models, ("entry", "qwen3.5-4b"), "download")
    assert ("job", 1) not in open_models.rows  # gigabytes: asked first, with the size and the free disk
    assert re.search(r"[\d.]+ GB to download, [\d.]+ [GT]B free on this disk", open_models.note.text())
    qtbot.mouseClick(open_models.undo_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: ("job", 1) in open_models.rows, timeout=SECONDS)
    row = open_models.rows["job", 1]
    qtbot.waitUntil(lambda: "not those that were published" in row.problem.text(), timeout=SECONDS)
    assert list(row.buttons) == ["resume", "cancel"]
    assert ("entry", "qwen3.5-4b") not in open_models.rows
    press(qtbot, open_models, ("job", 1), "cancel")
    qtbot.waitUntil(lambda: ("entry", "qwen3.5-4b") in open_models.rows, timeout=SECONDS)


def test_a_switch_forbids_and_says_so(
    open_models: ModelsDialog, qtbot: QtBot, server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHICKADEE_OFFLINE", "1")
    press(qtbot, open_models, ("entry", "qwen3.5-4b"), "download")
    qtbot.waitUntil(lambda: "Connections are turned off" in open_models.note.text(), timeout=SECONDS)
    open_models.line.setText("bird")
    open_models.search_requested.emit("bird")
    qtbot.waitUntil(open_models.search_button.isEnabled, timeout=SECONDS)
    assert server.requests == []


def test_the_setting_forbids_too_and_pauses_what_is_under_way(
    open_models: ModelsDialog, chickadee: Chickadee, qtbot: QtBot, server: HubServer
) -> None:
    server.add("bird.gguf", b"GGUF" + bytes(99_996))
    go_on = threading.Event()

    def stall(handler: Handler) -> bool:
        handler.answer(200, b"GGUF" + bytes(49_996), 100_000)
        handler.wfile.flush()
        return go_on.wait(30)

    server.fault = stall
    hub = chickadee.models.controller.downloads.hub
    chickadee.models.controller.downloads.queue(plan_download(hub.model("a/b"), hub))
    listed = chickadee.models.controller.list
    qtbot.waitUntil(lambda: any(job.progress.done == 50_000 for job in listed.jobs), timeout=SECONDS)
    chickadee.settings.change({"models.network": "forbidden"})
    qtbot.waitUntil(lambda: [job.state for job in listed.jobs] == ["paused"], timeout=SECONDS)
    go_on.set()
    server.requests.clear()
    open_models.search_requested.emit("bird")
    qtbot.waitUntil(lambda: "turned off in the settings" in open_models.note.text(), timeout=SECONDS)
    assert server.requests == []


def test_a_folder_is_added(open_models: ModelsDialog, chickadee: Chickadee, qtbot: QtBot, tmp_path: Path) -> None:
    path = make_gguf(tmp_path / "there/wren.gguf")
    chickadee.models.controller.add(str(tmp_path / "there"))
    qtbot.waitUntil(lambda: ("here", path) in open_models.rows, timeout=SECONDS)
    assert AddedPaths().read() == (tmp_path / "there",)
    chickadee.models.controller.add(str(tmp_path / "nowhere"))
    assert "There is no file or folder" in open_models.note.text()


def test_every_control_has_a_name_and_tab_reaches_it(open_models: ModelsDialog) -> None:
    buttons = [button for button in open_models.findChildren(QPushButton) if button.isVisible()]
    assert all(button.text() or button.accessibleName() for button in buttons)
    assert all(button.focusPolicy() & Qt.FocusPolicy.TabFocus for button in buttons)
    assert open_models.line.accessibleName()


def test_tab_goes_down_the_rows(open_models: ModelsDialog, qtbot: QtBot) -> None:
    open_models.line.setFocus()
    plain = ("Search huggingface.co", "Fits", "Code", "Thinking", "Pictures")
    seen: list[str] = []
    for _ in range(9):
        qtbot.keyClick(open_models.focusWidget(), Qt.Key.Key_Tab)
        widget = open_models.focusWidget()
        assert widget is not None
        has_text = isinstance(widget, QPushButton) and widget.text() in plain
        seen.append(widget.text() if isinstance(widget, QPushButton) and has_text else widget.accessibleName())
    of_row = [f"{action}: SmolLM2 135M Instruct" for action in ("Load", "Options…", "Details")]
    assert seen == [*plain, "Language", *of_row]


def titles(dialog: ModelsDialog) -> list[str]:
    """Return the titles of the catalogue's models from the top down."""
    views = [view for key, view in dialog.rows.items() if isinstance(key, tuple) and key[0] == "entry"]
    QApplication.processEvents()
    return [view.title.text() for view in sorted(views, key=lambda view: view.y())]


def test_the_list_begins_with_the_recommended_models_and_is_filtered(
    open_models: ModelsDialog, chickadee: Chickadee, qtbot: QtBot
) -> None:
    listed = chickadee.models.controller.list
    qtbot.waitUntil(lambda: listed.judged, timeout=SECONDS)
    found = listed.recommendation().best
    assert found
    best = choice_of(found)
    assert best.entry
    qtbot.waitUntil(lambda: open_models.rows[best.key].badge.isVisible(), timeout=SECONDS)
    assert titles(open_models)[0] == best.entry.title
    assert open_models.rows[best.key].badge.text() == "Best for this computer"
    assert "tok/s" in open_models.rows[best.key].verdict.text()
    entries = {entry.title: entry for entry in listed.entries}
    for name in ("coding", "thinking", "vision"):
        qtbot.mouseClick(open_models.filters.buttons[name], Qt.MouseButton.LeftButton)
        assert all(getattr(entries[title], name) for title in titles(open_models))
        assert BUILT_IN not in open_models.rows
        qtbot.mouseClick(open_models.filters.buttons[name], Qt.MouseButton.LeftButton)
    language = open_models.filters.language
    language.setCurrentIndex(language.findData("da"))
    assert titles(open_models)
    assert all("da" in entries[title].languages for title in titles(open_models))
    language.setCurrentIndex(0)
    listed.verdicts[best.key] = Verdict(verdict="no")
    qtbot.mouseClick(open_models.filters.buttons["fits"], Qt.MouseButton.LeftButton)
    assert best.key not in open_models.rows
    assert BUILT_IN in open_models.rows


def test_verdicts_move_no_row_under_the_pointer(open_models: ModelsDialog, chickadee: Chickadee, qtbot: QtBot) -> None:
    """A verdict that comes after the rows are shown changes words, not places."""
    listed = chickadee.models.controller.list
    before = titles(open_models)
    last = next(entry for entry in listed.entries if entry.title == before[-1])
    listed.verdicts["entry", last.id] = Verdict(verdict="fits", n_ctx=8192, predicted_speed=900.0)
    listed.verdicts["entry", listed.entries[0].id] = Verdict(verdict="no")
    open_models.show_models()
    assert titles(open_models) == before
    chickadee.models.controller.plan_again()
    open_models.show_models()
    assert titles(open_models) == before


def test_recommended_models_are_listed_once_the_best_is_known(chickadee: Chickadee, qtbot: QtBot) -> None:
    models = ModelList(entries=shipped_catalogue().model)
    dialog = ModelsDialog(models, chickadee.window)
    qtbot.addWidget(dialog)
    dialog.show()
    assert keys(dialog, "entry") == []
    assert dialog.checking.isVisible()
    models.verdicts = {("entry", entry.id): Verdict() for entry in models.entries}
    dialog.show_models()
    assert len(keys(dialog, "entry")) == len(models.entries)
    assert not dialog.checking.isVisible()


def test_a_card_says_what_is_known_of_a_model(open_models: ModelsDialog, qtbot: QtBot) -> None:
    row = open_models.rows["entry", "lfm2.5-1.2b"]
    assert not row.card.isVisible()
    qtbot.mouseClick(row.fold, Qt.MouseButton.LeftButton)
    assert row.card.isVisible()
    text = dict(row.row.details)
    assert "huggingface.co/LiquidAI" in text["Origin"]
    assert "10 million US dollars" in text["Licence"]
    assert text["Speculative decoding"] == "yes"  # llama.cpp keeps snapshots of its states
    without = dict(open_models.rows["entry", "granite4.0-h-tiny"].row.details)
    assert "recurrent layers" in without["Speculative decoding"]
    qtbot.waitUntil(lambda: "Own kernels" in dict(open_models.rows[BUILT_IN].row.details), timeout=SECONDS)
    here = dict(open_models.rows[BUILT_IN].row.details)
    assert here["Speculative decoding"] == "yes"
    assert here["Chat template"] == "its own"
    assert "llama · 135M parameters · Q4_1 · vocabulary of 49,152 tokens" in here["Model"]
    assert here["Own kernels"].startswith("no: for Q4_1")


def test_conditions_of_a_licence_are_read_before_the_download(
    open_models: ModelsDialog, qtbot: QtBot, server: HubServer
) -> None:
    press(qtbot, open_models, ("entry", "lfm2.5-1.2b"), "download")
    assert "10 million US dollars" in open_models.note.text()
    assert server.requests == []
    qtbot.mouseClick(open_models.undo_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(server.requests) > 0, timeout=SECONDS)


def test_new_models_are_checked_for_only_when_asked(
    open_models: ModelsDialog, chickadee: Chickadee, qtbot: QtBot, server: HubServer
) -> None:
    assert server.requests == []
    shipped = asset("catalogue.toml").read_text(encoding="utf-8")
    newer = shipped.replace(f'date = "{shipped_catalogue().date}"', 'date = "2099-01-01"')
    newer = newer.replace("size = 532517120", "size = 632517120")
    server.answers[f"/{REPO}/resolve/main/{FILE}"] = newer.encode()
    qtbot.mouseClick(open_models.update_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: open_models.note.text() == "1 model is new or has changed.", timeout=SECONDS)
    row = open_models.rows["entry", "qwen3.5-0.8b"]
    qtbot.waitUntil(lambda: row.facts.text().startswith("633 MB"), timeout=SECONDS)
    qtbot.mouseClick(open_models.update_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: open_models.note.text() == "No new models since 2099-01-01.", timeout=SECONDS)
    forget_catalogue()


def test_unfinished_downloads_are_offered_again(open_window: Opener, qtbot: QtBot, server: HubServer) -> None:
    folder = own_folder() / "a/b"
    folder.mkdir(parents=True)
    (folder / "bird.gguf.part").write_bytes(b"12")
    source = {"url": f"{server.address}/x", "size": 4, "sha256": "0" * 64}
    (folder / "bird.gguf.part.json").write_text(json.dumps(source))
    chickadee = open_window()
    chickadee.models.controller.open()
    dialog = chickadee.models.controller.dialog
    assert dialog
    qtbot.waitUntil(lambda: ("job", 1) in dialog.rows, timeout=SECONDS)
    assert dialog.rows["job", 1].facts.text() == "Paused · 2 bytes of 4 bytes"
    assert list(dialog.rows["job", 1].buttons) == ["resume", "cancel"]
    assert server.requests == []


def test_details_of_a_model_found_by_a_search_are_shown_in_full(open_models: ModelsDialog, qtbot: QtBot) -> None:
    for words in ("gemma", "", "gemma"):
        open_models.line.setText(words)
        settle()
    row = next(row for key, row in open_models.rows.items() if "gemma" in str(key))
    place = row.fold.mapTo(open_models, row.fold.rect().topLeft())
    qtbot.mouseClick(row.fold, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: row.height() >= row.heightForWidth(row.width()))
    assert row.card.height() >= row.card.heightForWidth(row.card.width())
    assert row.fold.mapTo(open_models, row.fold.rect().topLeft()) == place
