"""The notice about a model that is larger than the memory: scripted engine, real planner, a local hub."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.control.smaller_model_controller import TOPIC, smaller_choice
from app.dialogs.model_list import ModelList
from app.notice import NoticeRow
from app.wiring import Chickadee
from common.planning import Verdict
from common.sentences import Sentence
from engine.protocol.events import SpeedExpected
from models.catalogue import catalogue, forget_catalogue
from models.collection import describe_model
from tests.app.conftest import Opener, Requests
from tests.models.hub_server import HubServer
from tests.models.make_gguf import make_gguf

FITS = Verdict(verdict="fits", n_ctx=32768, total_bytes=10**9, available_bytes=10**10, predicted_speed=20.0)


@pytest.fixture(autouse=True)
def shipped_catalogue(server: HubServer) -> None:
    forget_catalogue()


def row_of(chickadee: Chickadee) -> NoticeRow | None:
    return next((row for row in chickadee.window.notice.rows if row.topic == TOPIC), None)


def named(chickadee: Chickadee) -> bool:
    row = row_of(chickadee)
    return row is not None and not row.button.text().startswith("Choose")


def test_it_is_said_before_the_model_is_loaded_and_a_smaller_one_is_offered(
    chickadee: Chickadee, qtbot: QtBot, tmp_path: Path, server: HubServer
) -> None:
    path = tmp_path / "fromdisk.gguf"
    chickadee.models.controller.use_model(str(path))
    qtbot.waitUntil(lambda: row_of(chickadee) is not None)
    row = row_of(chickadee)
    assert row
    assert chickadee.engine.state.phase == "loading"
    assert "expect about 0.4 tok/s. A smaller model is better here." in row.text.text()
    assert row.button.text() == "Choose another model"
    sentence = row.text.text()
    qtbot.waitUntil(lambda: named(chickadee))  # the planner has judged the catalogue's models
    offered = row_of(chickadee)
    assert offered
    assert offered.text.text() == sentence
    best = chickadee.models.controller.list.recommendation().best
    assert best
    assert offered.button.text().startswith("Download ")
    assert server.requests == [], "nothing connects before the button is pressed"
    (tmp_path / "go").touch()
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    assert row_of(chickadee) is not None, "it is still true when the model is loaded"
    chickadee.models.controller.use_model(str(tmp_path / "another.gguf"))
    assert row_of(chickadee) is None


def test_a_smaller_model_is_loaded_at_once_although_the_library_reads_the_large_file(
    chickadee: Chickadee, qtbot: QtBot, tmp_path: Path, requests: Requests
) -> None:
    """The engine does nothing else until the file `go` exists, so only a new process can load the other model."""
    chickadee.models.controller.use_model(str(tmp_path / "fromdisk.gguf"))
    qtbot.waitUntil(lambda: row_of(chickadee) is not None)
    chickadee.models.controller.use_model(str(tmp_path / "small.gguf"))
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    assert chickadee.engine.state.path == tmp_path / "small.gguf"
    assert chickadee.engine.state.problem is None
    assert row_of(chickadee) is None


def test_the_button_loads_a_model_that_is_here(
    open_window: Opener, qtbot: QtBot, tmp_path: Path, server: HubServer
) -> None:
    path = make_gguf(
        tmp_path / "home/.lmstudio/models/unsloth/Qwen3.5-0.8B-GGUF/Qwen3.5-0.8B-Q4_K_M.gguf", architecture="qwen35"
    )
    chickadee = open_window(tmp_path / "fromdisk.gguf")
    qtbot.waitUntil(lambda: named(chickadee))
    listed = chickadee.models.controller.list
    # The tiny file cannot be planned, so an answer for a real one takes its place.
    listed.verdicts["here", path] = FITS
    chickadee.engine.model.speed_expected.emit(_last_expected(chickadee))
    qtbot.waitUntil(lambda: named(chickadee))
    row = row_of(chickadee)
    assert row
    assert row.button.text() == "Use Qwen3.5 0.8B"
    row.button.click()
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    assert chickadee.engine.state.path == path


def _last_expected(chickadee: Chickadee) -> SpeedExpected:
    row = row_of(chickadee)
    assert row
    return SpeedExpected(0, Sentence.plain(row.text.text()), 0.4, is_slow=True)


def test_what_is_offered(tmp_path: Path) -> None:
    entries = {entry.id: entry for entry in catalogue()}
    small, better = entries["qwen3.5-0.8b"], entries["qwen3.5-4b"]
    built_in = describe_model(make_gguf(tmp_path / "SmolLM2-135M-Instruct.Q4_1.gguf"))
    listed = ModelList(entries=(small, better), local_models=[built_in])
    assert smaller_choice(listed, online=True) is None, "nothing was judged yet"
    listed.verdicts = {("here", built_in.path): FITS, ("entry", small.id): FITS, ("entry", better.id): FITS}

    def offered(online: bool = True) -> object:
        choice = smaller_choice(listed, online)
        return choice and (choice.model or choice.entry)

    assert offered() == better
    assert offered(online=False) == built_in
    listed.verdicts["entry", better.id] = Verdict(verdict="disk", predicted_speed=0.5)
    assert offered() == small
    here = describe_model(make_gguf(tmp_path / small.file, architecture=small.architecture))
    listed.local_models = [built_in, here]
    listed.verdicts["here", here.path] = FITS
    listed.verdicts["entry", better.id] = FITS
    assert offered() == here, "it can be used at once"
