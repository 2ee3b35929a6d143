"""Memory plans in the settings' dialog: the real planner, asked again when a setting changes."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.dialogs.settings_dialog import SettingsDialog
from app.wiring import Chickadee
from common.sentences import Sentence
from engine.protocol.events import DeviceUse
from models.default import default_model
from tests.app.conftest import SECONDS, Opener
from tests.app.dialogs.test_settings_dialog import enter, open_dialog, pick


@pytest.fixture
def chickadee(open_window: Opener, qtbot: QtBot, tmp_path: Path) -> Chickadee:
    """Return a window whose scripted engine claims to have loaded the default model."""
    if sys.platform == "win32":  # where a link needs a right that users lack
        shutil.copyfile(default_model(), tmp_path / "fake.gguf")
    else:
        (tmp_path / "fake.gguf").symlink_to(default_model())
    chickadee = open_window()
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    return chickadee


def says(dialog: SettingsDialog, qtbot: QtBot, words: str) -> None:
    qtbot.waitUntil(lambda: words in dialog.plan.verdict.text() + dialog.plan.parts.text(), timeout=SECONDS)


def effect(dialog: SettingsDialog, qtbot: QtBot, name: str, words: str) -> None:
    qtbot.waitUntil(lambda: words in dialog.rows[name].effect.text(), timeout=SECONDS)


def test_the_settings_say_what_they_come_to(chickadee: Chickadee, qtbot: QtBot) -> None:
    assert chickadee.models.controller.planner._client._process is None  # nothing is planned before the dialog is open
    dialog = open_dialog(chickadee, qtbot)
    pick(dialog, qtbot, "engine.backend", "llama")
    says(dialog, qtbot, "fake: Fits: 406 MB of memory with 8,192 tokens")
    effect(dialog, qtbot, "engine.context", "23 MB for each 1,000 tokens")
    effect(dialog, qtbot, "engine.kv_type", "16 bits (f16) 406 MB · 8 bits (q8_0) 316 MB · 4 bits (q4_0) 269 MB")
    effect(dialog, qtbot, "engine.flash_attention", "On 406 MB · Off 558 MB")
    enter(dialog, qtbot, "engine.context", "1024")
    says(dialog, qtbot, "with 1,024 tokens")
    pick(dialog, qtbot, "engine.kv_type", "q8_0")
    says(dialog, qtbot, "KV cache 13 MB")
    pick(dialog, qtbot, "engine.flash_attention", "off")
    says(dialog, qtbot, "A KV cache stored as q8_0 needs flash attention")


def test_closed_nobody_is_asked_any_more(chickadee: Chickadee, qtbot: QtBot) -> None:
    open_dialog(chickadee, qtbot).accept()
    assert chickadee.models.controller.planner._waiting == {}
    chickadee.settings.change({"engine.context": 512})
    assert chickadee.models.controller.planner._waiting == {}


def test_graphics_processors_are_offered_by_name(chickadee: Chickadee, qtbot: QtBot) -> None:
    """Without one, a line says so; what the user chose can be changed all the same."""
    dialog, state = open_dialog(chickadee, qtbot), chickadee.engine.state
    row, controller = dialog.rows["engine.device"], chickadee.settings_controller

    def found(use: DeviceUse) -> None:
        assert state.model
        state.model = replace(state.model, devices=use)
        controller.engine_changed(state)

    found(DeviceUse(Sentence.of("device.none")))
    assert row.help.text() == "The processor computes: no graphics processor, or no Vulkan driver for one, was found."
    assert not row.control.isEnabled()
    found(DeviceUse(Sentence.of("device.not_timed", device="Iris Xe"), ("Iris Xe", "RTX A2000")))
    assert row.control.isEnabled()
    assert row.effect.text().startswith("The processor computes until Iris Xe was timed")
    pick(dialog, qtbot, "engine.device", "RTX A2000")
    assert chickadee.settings.values["engine.device"] == "RTX A2000"
    found(DeviceUse(Sentence.of("device.not_found", name="RTX A2000")))
    assert row.control.isEnabled()
