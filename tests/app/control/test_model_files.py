"""Downloads that lines, servers and disks interrupt: the models' dialog shows a sentence and a button."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.dialogs.models_dialog import ModelsDialog
from app.wiring import Chickadee
from models import part_file
from models.locations import own_folder
from tests.app.conftest import SECONDS
from tests.app.dialogs.conftest import press
from tests.models.hub_server import Handler, HubServer
from tests.models.make_gguf import make_gguf

NAME = "bird-Q4_K_M.gguf"
JOB = ("job", 1)


@pytest.fixture
def content(open_models: ModelsDialog, qtbot: QtBot, server: HubServer, tmp_path: Path) -> bytes:
    """Return the content of a file that the hub's search has found and listed."""
    content = make_gguf(tmp_path / NAME).read_bytes()
    server.add(NAME, content)
    server.answers["/api/models"] = json.dumps([{"id": "a/b"}]).encode()
    open_models.search_requested.emit("bird")
    press(qtbot, open_models, ("repo", "a/b"), "files")
    return content


def download(dialog: ModelsDialog, qtbot: QtBot) -> None:
    press(qtbot, dialog, ("file", "a/b", NAME), "download")


def arrives(dialog: ModelsDialog, qtbot: QtBot, content: bytes) -> None:
    path = own_folder() / "a/b" / NAME
    qtbot.waitUntil(lambda: ("here", path) in dialog.rows, timeout=SECONDS)
    qtbot.waitUntil(lambda: dialog.rows[JOB].facts.text().startswith("Done"), timeout=SECONDS)
    assert path.read_bytes() == content


def ends_with(dialog: ModelsDialog, qtbot: QtBot, words: str) -> None:
    """Wait until the download has failed with `words`, and check that it can be resumed or cancelled."""
    qtbot.waitUntil(lambda: JOB in dialog.rows and words in dialog.rows[JOB].problem.text(), timeout=SECONDS)
    assert list(dialog.rows[JOB].buttons) == ["resume", "cancel"]
    assert not (own_folder() / "a/b" / NAME).exists()


def sent(server: HubServer) -> list[str]:
    """Return the byte ranges that were requested."""
    return [range for path, range in server.requests if path.startswith("/cdn/")]


def test_a_dropped_line_goes_on_by_itself(
    open_models: ModelsDialog, qtbot: QtBot, server: HubServer, content: bytes
) -> None:
    half = len(content) // 2

    def drop(handler: Handler) -> bool:
        if len(sent(server)) > 1:
            return False
        handler.answer(200, content[:half], len(content), ETag=server.etag)
        return True

    server.fault = drop
    download(open_models, qtbot)
    arrives(open_models, qtbot, content)
    assert sent(server) == ["", f"bytes={half}-"]


def test_a_lie_about_the_length_is_told_and_can_be_tried_again(
    open_models: ModelsDialog, qtbot: QtBot, server: HubServer, content: bytes
) -> None:

    def lie(handler: Handler) -> bool:
        handler.answer(200, content, len(content) + 7)
        return True

    server.fault = lie
    download(open_models, qtbot)
    ends_with(open_models, qtbot, "are offered where")
    server.fault = lambda handler: False
    press(qtbot, open_models, JOB, "resume")
    arrives(open_models, qtbot, content)


def test_a_slow_line_shows_how_far_it_is_and_a_server_that_ignores_range_begins_anew(
    open_models: ModelsDialog, qtbot: QtBot, server: HubServer, content: bytes
) -> None:
    half, go_on = len(content) // 2, threading.Event()

    def stall(handler: Handler) -> bool:
        handler.answer(200, content[:half], len(content), ETag=server.etag)
        handler.wfile.flush()
        return go_on.wait(SECONDS / 1000)

    server.fault = stall
    download(open_models, qtbot)
    qtbot.waitUntil(lambda: JOB in open_models.rows and open_models.rows[JOB].bar.value() > 400, timeout=SECONDS)
    assert open_models.rows[JOB].facts.text().startswith("Downloading · ")
    press(qtbot, open_models, JOB, "pause")
    qtbot.waitUntil(lambda: open_models.rows[JOB].facts.text().startswith("Paused"), timeout=SECONDS)
    go_on.set()

    def ignore_range(handler: Handler) -> bool:
        handler.answer(200, content, ETag=server.etag)
        return True

    server.fault = ignore_range
    press(qtbot, open_models, JOB, "resume")
    arrives(open_models, qtbot, content)
    assert sent(server)[-1] == f"bytes={half}-"


def test_no_room_is_told_before_anything_is_asked_for(
    open_models: ModelsDialog, qtbot: QtBot, server: HubServer, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_file, "SPARE", 1 << 60)
    download(open_models, qtbot)
    ends_with(open_models, qtbot, "not enough disk space")
    assert sent(server) == []
    monkeypatch.undo()
    monkeypatch.setenv("CHICKADEE_HUB", server.address)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_disk_that_runs_full_is_told_and_the_rest_comes_later(
    open_models: ModelsDialog, qtbot: QtBot, content: bytes
) -> None:
    folder = own_folder() / "a/b"
    folder.mkdir(parents=True)
    part = folder / f"{NAME}.part"
    part.symlink_to("/dev/full")
    download(open_models, qtbot)
    ends_with(open_models, qtbot, "The disk is full")
    part.unlink()
    press(qtbot, open_models, JOB, "resume")
    arrives(open_models, qtbot, content)


def test_downloads_go_into_the_chosen_folder_and_old_models_are_still_found(
    open_models: ModelsDialog, qtbot: QtBot, content: bytes, tmp_path: Path, chickadee: Chickadee
) -> None:
    old = make_gguf(own_folder() / "old.gguf")
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    make_gguf(first / "wren.gguf")
    for folder in (first, second):
        chickadee.settings.change({"models.folder": str(folder)})
    download(open_models, qtbot)
    path = second / "a/b" / NAME
    for expected in (path, old, first / "wren.gguf"):
        qtbot.waitUntil(lambda expected=expected: ("here", expected) in open_models.rows)  # type: ignore[misc]
    assert path.read_bytes() == content


def test_an_action_that_a_row_does_not_have_deletes_nothing(
    open_models: ModelsDialog, chickadee: Chickadee, qtbot: QtBot, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, every unknown action cancelled a download, and removed a model."""
    controller = chickadee.models.controller
    monkeypatch.setattr(part_file, "SPARE", 1 << 60)
    download(open_models, qtbot)
    ends_with(open_models, qtbot, "not enough disk space")
    here = next(key for key in open_models.rows if isinstance(key, tuple) and key[0] == "here")
    for key in (JOB, here):
        with pytest.raises(KeyError):
            controller.do_action(key, "unknown")
        assert key in open_models.rows
    assert [job.state for job in controller.list.jobs] == ["failed"]
