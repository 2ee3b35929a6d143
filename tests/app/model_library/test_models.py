"""The models' dialog through its real widgets: the scripted engine, the real planner, a hub on this computer."""

from __future__ import annotations

import json
import sys
import threading
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from app.assistant.options import Options
from app.assistant.plan_words import parts_words, verdict_words
from app.assistant.planner import Planner
from app.background import Background
from app.model_library.model_options import ModelOptions
from app.model_library.model_page import ModelPage
from app.model_library.model_rows import Action, duration, job_row, parameters
from app.model_library.model_settings import ModelSettings, settings_for
from app.model_library.models_dialog import ModelsDialog
from app.settings.setting_controls import Choice, Line
from app.wiring import Chickadee
from engine.protocol import Load, Request
from models.added import Added
from models.collection import describe
from models.default import default_model
from models.downloads import Job, wanted
from models.failures import Failure
from models.places import own_folder
from models.progress import Progress
from models.verdict import Ask, Verdict
from tests.app.conftest import Opener, Requests
from tests.models.hub_server import Handler, HubServer
from tests.models.make_gguf import make_gguf

SECONDS = 60_000
BUILT_IN = ("here", default_model())


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """Of the hub; and the user's own folders are not looked into."""
    running = HubServer()
    monkeypatch.setenv("CHICKADEE_HUB", running.address)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("CHICKADEE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for name in ("OLLAMA_MODELS", "HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "LLAMA_CACHE"):
        monkeypatch.delenv(name, raising=False)
    yield running
    running.close()


@pytest.fixture
def open_models(chickadee: Chickadee, qtbot: QtBot) -> Iterator[ModelsDialog]:
    """The dialog with all that is here in it."""
    qtbot.keyClick(chickadee.window, Qt.Key.Key_M, Qt.KeyboardModifier.ControlModifier)
    dialog = chickadee.models.dialog
    assert dialog
    qtbot.waitUntil(lambda: BUILT_IN in dialog.rows, timeout=SECONDS)
    yield dialog
    chickadee.models.close()


def press(qtbot: QtBot, dialog: ModelsDialog, key: object, action: Action) -> None:
    qtbot.waitUntil(lambda: key in dialog.rows and action in dialog.rows[key].buttons, timeout=SECONDS)
    qtbot.mouseClick(dialog.rows[key].buttons[action], Qt.MouseButton.LeftButton)


def keys(dialog: ModelsDialog, kind: str) -> list[str]:
    return [str(key[1]) for key in dialog.rows if isinstance(key, tuple) and key[0] == kind]


def test_what_is_here_and_what_is_suggested_says_whether_it_fits(open_models: ModelsDialog, qtbot: QtBot) -> None:
    row = open_models.rows[BUILT_IN]
    assert row.facts.text() == "135M · Q4_1 · 94 MiB · built in · apache-2.0"
    qtbot.waitUntil(lambda: row.verdict.text().startswith("Fits: 370 MiB of memory with 8,192"), timeout=SECONDS)
    assert row.verdict.property("tone") == "fits"
    suggested = open_models.rows["entry", "qwen3-4b"]
    qtbot.waitUntil(lambda: "about" in suggested.verdict.text(), timeout=SECONDS)
    assert list(suggested.buttons) == ["download"]
    assert suggested.buttons["download"].accessibleName() == "Download: Qwen3 4B"


def test_a_model_is_loaded(
    open_models: ModelsDialog, chickadee: Chickadee, qtbot: QtBot, requests: Requests, tmp_path: Path
) -> None:
    path = make_gguf(tmp_path / "wren.gguf")  # the scripted engine logs its requests beside the model
    chickadee.models.add(str(path))
    press(qtbot, open_models, ("here", path), "load")
    qtbot.waitUntil(lambda: chickadee.models.page.loaded == path, timeout=SECONDS)
    loads = [request for request in requests() if isinstance(request, Load)]
    assert loads[-1].path == str(path)
    row = open_models.rows["here", path]
    qtbot.waitUntil(lambda: "load" not in row.buttons, timeout=SECONDS)
    assert row.facts.text().startswith("in use · ")


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
    assert "an account there" in open_models.rows["repo", "c/d"].problem.text()


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
    assert "is here" in open_models.rows["file", "a/b", "bird-Q4_K_M.gguf"].facts.text()
    press(qtbot, open_models, ("job", 1), "load")
    qtbot.waitUntil(lambda: chickadee.assistant.standing.path == path)
    press(qtbot, open_models, ("job", 1), "hide")
    assert ("job", 1) not in open_models.rows
    chickadee.use_model(str(tmp_path / "other.gguf"))
    press(qtbot, open_models, ("here", path), "remove")
    qtbot.waitUntil(lambda: ("here", path) not in open_models.rows, timeout=SECONDS)
    assert open_models.note.text() == "bird-Q4_K_M.gguf was deleted."
    qtbot.mouseClick(open_models.undo_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: ("here", path) in open_models.rows, timeout=SECONDS)
    press(qtbot, open_models, ("here", path), "remove")
    open_models.accept()
    assert not list(path.parent.glob("*.gguf")) + list(path.parent.glob(".*"))


def test_a_suggestion_is_downloaded_and_wrong_bytes_are_told(
    open_models: ModelsDialog, chickadee: Chickadee, qtbot: QtBot, server: HubServer
) -> None:
    entry = next(entry for entry in chickadee.models.page.entries if entry.id == "qwen3-4b")
    about = f"/api/models/{entry.repo}"
    server.answers[about] = b"{}"
    file = {"type": "file", "path": entry.file, "lfs": {"oid": "0" * 64, "size": 3}}
    server.answers[f"{about}/tree/main"] = json.dumps([file]).encode()
    server.answers[f"/{entry.repo}/resolve/main/{entry.file}"] = b"abc"
    press(qtbot, open_models, ("entry", "qwen3-4b"), "download")
    qtbot.waitUntil(lambda: ("job", 1) in open_models.rows, timeout=SECONDS)
    row = open_models.rows["job", 1]
    qtbot.waitUntil(lambda: "not those that were published" in row.problem.text(), timeout=SECONDS)
    assert list(row.buttons) == ["resume", "cancel"]
    assert ("entry", "qwen3-4b") not in open_models.rows
    press(qtbot, open_models, ("job", 1), "cancel")
    qtbot.waitUntil(lambda: ("entry", "qwen3-4b") in open_models.rows, timeout=SECONDS)


def test_a_switch_forbids_and_says_so(
    open_models: ModelsDialog, qtbot: QtBot, server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHICKADEE_OFFLINE", "1")
    press(qtbot, open_models, ("entry", "qwen3-4b"), "download")
    qtbot.waitUntil(lambda: "Connections are switched off" in open_models.note.text(), timeout=SECONDS)
    open_models.line.setText("bird")
    open_models.search.emit("bird")
    qtbot.waitUntil(open_models.search_button.isEnabled, timeout=SECONDS)
    assert server.requests == []


def test_the_setting_forbids_too_and_pauses_what_is_under_way(
    open_models: ModelsDialog, chickadee: Chickadee, qtbot: QtBot, server: HubServer
) -> None:
    server.add("bird.gguf", bytes(100_000))
    go_on = threading.Event()

    def stall(handler: Handler) -> bool:
        handler.answer(200, bytes(50_000), 100_000)
        handler.wfile.flush()
        return go_on.wait(30)

    server.fault = stall
    hub = chickadee.models.fetching.hub
    chickadee.models.fetching.queue(wanted(hub.model("a/b"), hub))
    qtbot.waitUntil(lambda: any(job.progress.done == 50_000 for job in chickadee.models.page.jobs), timeout=SECONDS)
    chickadee.preferences.settings.change({"models.network": "forbidden"})
    qtbot.waitUntil(lambda: [job.state for job in chickadee.models.page.jobs] == ["paused"], timeout=SECONDS)
    go_on.set()
    server.requests.clear()
    open_models.search.emit("bird")
    qtbot.waitUntil(lambda: "switched off in the settings" in open_models.note.text(), timeout=SECONDS)
    assert server.requests == []


def test_a_folder_is_added(open_models: ModelsDialog, chickadee: Chickadee, qtbot: QtBot, tmp_path: Path) -> None:
    path = make_gguf(tmp_path / "there/wren.gguf")
    chickadee.models.add(str(tmp_path / "there"))
    qtbot.waitUntil(lambda: ("here", path) in open_models.rows, timeout=SECONDS)
    assert Added().read() == (tmp_path / "there",)
    chickadee.models.add(str(tmp_path / "nowhere"))
    assert "There is no file or folder" in open_models.note.text()


def test_every_control_has_a_name_and_tab_reaches_it(open_models: ModelsDialog) -> None:
    buttons = [button for button in open_models.findChildren(QPushButton) if button.isVisible()]
    assert all(button.text() or button.accessibleName() for button in buttons)
    assert all(button.focusPolicy() & Qt.FocusPolicy.TabFocus for button in buttons)
    assert open_models.line.accessibleName()


def test_tab_goes_down_the_rows(open_models: ModelsDialog, qtbot: QtBot) -> None:
    open_models.line.setFocus()
    seen: list[str] = []
    for _ in range(3):
        qtbot.keyClick(open_models.focusWidget(), Qt.Key.Key_Tab)
        widget = open_models.focusWidget()
        assert isinstance(widget, QPushButton)
        seen.append(widget.accessibleName() or widget.text())
    load = [f"{action}: SmolLM2-135M-Instruct.Q4_1" for action in ("Load", "Options…")]
    assert seen == ["Search huggingface.co", *load]


def test_unfinished_downloads_are_offered_again(open_window: Opener, qtbot: QtBot, server: HubServer) -> None:
    folder = own_folder() / "a/b"
    folder.mkdir(parents=True)
    (folder / "bird.gguf.part").write_bytes(b"12")
    source = {"url": f"{server.address}/x", "size": 4, "sha256": "0" * 64}
    (folder / "bird.gguf.part.json").write_text(json.dumps(source))
    chickadee = open_window()
    chickadee.models.open()
    dialog = chickadee.models.dialog
    assert dialog
    qtbot.waitUntil(lambda: ("job", 1) in dialog.rows, timeout=SECONDS)
    assert dialog.rows["job", 1].facts.text() == "Paused · 2 bytes of 4 bytes"
    assert list(dialog.rows["job", 1].buttons) == ["resume", "cancel"]
    assert server.requests == []


# --- parts without a window -----------------------------------------------------------------------------------------


def test_words_for_verdicts() -> None:
    gib = 1 << 30
    assert verdict_words(None) == "Working out whether it fits…"
    assert verdict_words(Verdict()) == "Whether it fits is not known."
    assert verdict_words(Verdict(verdict="tight", total_bytes=gib, n_ctx=4096, exact=True)) == (
        "Tight: 1.00 GiB of memory with 4,096 tokens"
    )
    assert verdict_words(Verdict(verdict="no", total_bytes=gib)) == "Does not fit: it needs about 1.00 GiB of memory"
    assert "2,048 tokens would" in verdict_words(Verdict(verdict="no", total_bytes=gib, max_n_ctx=2048))


def test_words_for_downloads() -> None:
    row = job_row(Job(1, "bird.gguf", "running", Progress("receiving", 1 << 20, 4 << 20, 1 << 14)))
    assert row.facts == "Downloading · 1 MiB of 4 MiB · 16,384 bytes a second · 4 minutes left"
    assert row.fraction == 0.25
    assert (duration(5), duration(7200), parameters(1_777_088_000)) == ("1 minute", "2 hours", "1.8B")


def test_smaller_models_of_the_same_vocabulary_can_draft(tmp_path: Path) -> None:
    large = describe(make_gguf(tmp_path / "large.gguf", rows=640))
    small = describe(make_gguf(tmp_path / "small.gguf"))
    page = ModelPage(here=[large, small])
    assert page.drafters_for(large) == [small]
    assert page.drafters_for(small) == []


def hear(heard: list[tuple[object, str]], key: object, verdict: Verdict) -> None:
    heard.append((key, verdict.verdict))


def is_long(heard: list[tuple[object, str]], length: int) -> bool:
    return len(heard) == length


def test_a_planner_that_ends_or_cannot_start_leaves_no_question_open(qtbot: QtBot, chickadee: Chickadee) -> None:
    for command in ([sys.executable, "-c", "pass"], ["/nowhere/planner"]):
        planner = Planner(chickadee.window, command)
        heard: list[tuple[object, str]] = []
        planner.answered.connect(partial(hear, heard))
        for key in ("a", "b"):
            planner.ask(key, Ask())
        qtbot.waitUntil(partial(is_long, heard, 2), timeout=SECONDS)
        assert heard == [("a", "unknown"), ("b", "unknown")]
        planner.close()


def test_of_two_questions_under_one_key_the_last_is_answered(qtbot: QtBot, chickadee: Chickadee) -> None:
    planner = Planner(chickadee.window)
    heard: list[int] = []
    planner.answered.connect(lambda _key, verdict: heard.append(verdict.n_ctx))
    for n_ctx in (512, 1024, 2048):
        planner.ask("x", Ask(path=str(default_model()), n_ctx=n_ctx, backend="llama"))
    qtbot.waitUntil(lambda: heard == [2048], timeout=SECONDS)
    planner.close()


def test_work_in_the_background_ends_in_the_window(qtbot: QtBot, chickadee: Chickadee) -> None:
    background = Background(chickadee.window)
    heard: list[object] = []

    def fail() -> object:
        raise Failure("x", "No.")

    def bug() -> object:
        raise ValueError("?")

    background.run(lambda: "three", heard.append, heard.append)
    qtbot.waitUntil(lambda: heard == ["three"])
    background.run(fail, heard.append, lambda failure: heard.append(str(failure)))
    qtbot.waitUntil(lambda: heard[1:] == ["No."])
    background.run(bug, heard.append, lambda failure: heard.append(failure.code))
    qtbot.waitUntil(lambda: heard[2:] == ["internal"])
    background.close()
    background.tell(lambda: heard.append("too late"))
    qtbot.wait(10)
    assert heard[3:] == []


# --- options of one model -------------------------------------------------------------------------------------------


@pytest.fixture
def wren(chickadee: Chickadee, open_models: ModelsDialog, qtbot: QtBot, tmp_path: Path) -> Path:
    """A model that is loaded, with its options open."""
    path = make_gguf(tmp_path / "wren.gguf")
    chickadee.models.add(str(path))
    press(qtbot, open_models, ("here", path), "load")
    qtbot.waitUntil(lambda: chickadee.models.page.loaded == path, timeout=SECONDS)
    press(qtbot, open_models, ("here", path), "options")
    return path


def options_of(chickadee: Chickadee) -> ModelOptions:
    dialog = chickadee.models.options.dialog
    assert dialog
    return dialog


def enter(dialog: ModelOptions, qtbot: QtBot, key: str, text: str) -> None:
    control = dialog.rows[key].control
    assert isinstance(control, Line)
    control.selectAll()
    qtbot.keyClicks(control, text)
    qtbot.keyClick(control, Qt.Key.Key_Return)


def pick(dialog: ModelOptions, key: str, value: str) -> None:
    control = dialog.rows[key].control
    assert isinstance(control, Choice)
    control.setCurrentIndex(control.findData(value))
    control.commit()


def test_options_are_stored_for_the_model_and_it_is_loaded_with_them(
    chickadee: Chickadee, wren: Path, qtbot: QtBot, requests: Requests
) -> None:
    dialog = options_of(chickadee)
    assert dialog.load_button.isHidden()
    enter(dialog, qtbot, "context", "2048")
    pick(dialog, "kv_type", "q8_0")
    pick(dialog, "draft", "off")
    stored = tomllib.loads(chickadee.models.settings._file.path.read_text())
    assert stored == {"models": {"wren.gguf": {"context": 2048, "kv_type": "q8_0", "draft": "off"}}}
    qtbot.waitUntil(lambda: last_load(requests()).n_ctx == 2048, timeout=SECONDS)
    assert last_load(requests()).kv_type == "q8_0"
    assert draft_mode(chickadee) == "off"
    chickadee.use_model(str(wren.with_name("other.gguf")))
    qtbot.waitUntil(lambda: last_load(requests()).path.endswith("other.gguf"), timeout=SECONDS)
    assert last_load(requests()).n_ctx is None
    assert draft_mode(chickadee) == "auto"
    qtbot.mouseClick(dialog.reset_button, Qt.MouseButton.LeftButton)
    assert tomllib.loads(chickadee.models.settings._file.path.read_text()) == {"models": {"wren.gguf": {}}}
    assert not dialog.reset_button.isEnabled()


def draft_mode(chickadee: Chickadee) -> str:
    return chickadee.assistant._options.generate.draft


def last_load(requests: list[Request]) -> Load:
    return [request for request in requests if isinstance(request, Load)][-1]


def test_a_wrong_value_is_told_and_not_stored(chickadee: Chickadee, wren: Path, qtbot: QtBot) -> None:
    dialog = options_of(chickadee)
    enter(dialog, qtbot, "context", "3")
    assert "from 64 to" in dialog.rows["context"].problem.text()
    assert not chickadee.models.settings._file.path.exists()


def test_the_plan_follows_the_options(open_models: ModelsDialog, chickadee: Chickadee, qtbot: QtBot) -> None:
    press(qtbot, open_models, BUILT_IN, "options")
    dialog = options_of(chickadee)
    pick(dialog, "backend", "llama")
    qtbot.waitUntil(lambda: "8,192 tokens" in dialog.plan.verdict.text(), timeout=SECONDS)
    assert "keys and values 180 MiB" in dialog.plan.parts.text()
    enter(dialog, qtbot, "context", "1024")
    qtbot.waitUntil(lambda: "1,024 tokens" in dialog.plan.verdict.text(), timeout=SECONDS)
    assert "keys and values 22 MiB" in dialog.plan.parts.text()
    pick(dialog, "kv_type", "q8_0")
    qtbot.waitUntil(lambda: "keys and values 12 MiB" in dialog.plan.parts.text(), timeout=SECONDS)
    row = open_models.rows[BUILT_IN]
    qtbot.waitUntil(lambda: "1,024 tokens" in row.verdict.text(), timeout=SECONDS)


def test_options_close_with_the_dialog_they_lie_on_and_what_was_typed_counts(
    open_models: ModelsDialog, chickadee: Chickadee, qtbot: QtBot
) -> None:
    press(qtbot, open_models, BUILT_IN, "options")
    dialog = options_of(chickadee)
    control = dialog.rows["context"].control
    assert isinstance(control, Line)
    qtbot.keyClicks(control, "2048")
    open_models.accept()
    assert chickadee.models.options.dialog is None
    assert chickadee.models.settings.values(default_model())["context"] == 2048


def test_what_people_write_by_hand_is_read(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    drafter = make_gguf(tmp_path / "small.gguf")
    path.write_text(f"""# mine
[models]
network = "allowed"
[models."a.gguf"]
context = 512 # short
threads = "many"
draft_model = "{drafter}"
[models."b.gguf"]
draft_model = "gone.gguf"
[models."c.gguf"]
kv_type = 3
""")
    settings, plain = ModelSettings(path), Options()
    tailored = settings.tailored(Path("a.gguf"), plain)
    assert (tailored.load.n_ctx, tailored.load.threads, tailored.load.draft_model) == (512, None, str(drafter))
    for name in ("b.gguf", "c.gguf", "d.gguf"):
        assert settings.tailored(Path(name), plain) == plain
    (context, *_others) = settings_for()
    settings.change(Path("a.gguf"), context, 1024)
    settings.change(Path("x y.gguf"), context, 64)
    assert "context = 1024 # short" in path.read_text()
    assert tomllib.loads(path.read_text())["models"]["x y.gguf"] == {"context": 64}
    assert path.read_text().startswith("# mine\n")


def test_words_for_the_parts_of_a_plan() -> None:
    parts = {"weights_mapped": 1 << 30, "weights_repacked": 1 << 29, "kv": 1 << 20, "compute": 1 << 20}
    parts |= {"draft_kv": 1 << 21, "draft_weights_mapped": 1 << 28}
    said = parts_words(Verdict(verdict="fits", total_bytes=1, available_bytes=2 << 30, parts=parts, notes=("Note.",)))
    assert said == (
        "weights 1.50 GiB · keys and values 1 MiB · draft model 258 MiB · the rest 1 MiB · 2.00 GiB can be used\nNote."
    )
    assert parts_words(Verdict()) == ""
