"""The models' dialog with the scripted engine, the real planner, and a hub on this computer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.dialogs.model_list import Action
from app.dialogs.models_dialog import ModelsDialog
from app.wiring import Chickadee
from models.default import default_model
from tests.app.conftest import SECONDS
from tests.models.hub_server import HubServer

BUILT_IN = ("here", default_model())


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """Yield a hub on this computer, with empty folders in place of those that tests share."""
    running = HubServer()
    monkeypatch.setenv("CHICKADEE_HUB", running.address)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("CHICKADEE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    yield running
    running.close()


@pytest.fixture
def open_models(server: HubServer, chickadee: Chickadee, qtbot: QtBot) -> Iterator[ModelsDialog]:
    """Yield the open models' dialog after the scan for local models, when the recommended ones are listed too."""
    qtbot.keyClick(chickadee.window, Qt.Key.Key_M, Qt.KeyboardModifier.ControlModifier)
    dialog = chickadee.models.controller.dialog
    assert dialog
    qtbot.waitUntil(lambda: BUILT_IN in dialog.rows, timeout=SECONDS)
    qtbot.waitUntil(lambda: not dialog.models.ranking and not dialog.checking.isVisible(), timeout=SECONDS)
    yield dialog
    chickadee.models.controller.close()


def press(qtbot: QtBot, dialog: ModelsDialog, key: object, action: Action) -> None:
    qtbot.waitUntil(lambda: key in dialog.rows and action in dialog.rows[key].buttons, timeout=SECONDS)
    qtbot.mouseClick(dialog.rows[key].buttons[action], Qt.MouseButton.LeftButton)
