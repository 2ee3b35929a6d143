"""The line below the composer, without the window."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QMainWindow
from pytestqt.qtbot import QtBot

from app.commands.commands import CommandSet
from app.composer.status_line import StatusLine
from app.state.engine_state import EngineState
from models.titles import title_of


def test_a_long_model_name_leaves_room_for_the_numbers(qtbot: QtBot) -> None:
    window = QMainWindow()
    qtbot.addWidget(window)
    line = StatusLine(CommandSet(window))
    qtbot.addWidget(line)
    path = Path("/models") / f"{'very-' * 20}long-model-Q4_K_M.gguf"
    line.resize(480, 40)
    line.show()
    line.show_engine(EngineState("ready", path, rss_bytes=1_300_000_000, live_speed=31.0))
    assert "…" in line.model.text()
    assert line.model.text().endswith("Q4_K_M  ▾")
    assert line.memory.geometry().right() <= line.width()
    line.resize(2000, 40)
    qtbot.waitUntil(lambda: line.model.text() == f"{title_of(path)}  ▾")
