"""The window with the real engine changes to the faster library by itself, and the chat continues with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from engine.costs.cost_model import KS, Timings
from engine.costs.measurements import CalibrationKey, store_calibration
from engine.loading.libraries import backend
from engine.machine import fingerprint
from models.default import default_model
from models.header import read_header
from models.identity import file_identity
from tests.app.conftest import SECONDS, Opener
from tests.app.test_window import Ask, done
from tests.engine.asking import needs_ik

# Stored timings as if llama.cpp's passes took no time; ik_llama.cpp is really measured.
NOTHING = Timings({16: dict.fromkeys(KS, 1e-6)}, 0.0, 512, 1e-5)


@pytest.mark.slow
@pytest.mark.timeout(600)
@needs_ik
def test_the_faster_library_takes_over(
    open_window: Opener, ask: Ask, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path / "cache"))
    header = read_header(default_model())
    model = file_identity(header.path, header.data_offset)
    store_calibration(CalibrationKey(model, 0, "f16", backend("llama").build, fingerprint()), NOTHING)
    chickadee = open_window(model=default_model(), command=None, max_tokens=8)
    state, conversation = chickadee.engine.state, chickadee.open_chats.current
    qtbot.waitUntil(lambda: state.phase == "ready", timeout=SECONDS)
    assert state.model
    assert state.model.backend == "ik"  # chosen by timings of other computers, until measured here
    first = chickadee.process.pid
    ask(chickadee, "Name a bird.")
    qtbot.waitUntil(lambda: len(conversation.messages) == 2 and done(chickadee), timeout=SECONDS)
    phases: list[str] = []
    state.phase_changed.connect(lambda state: phases.append(state.phase))
    qtbot.waitUntil(lambda: state.model is not None and state.model.backend == "llama", timeout=300_000)
    assert set(phases) <= {"ready"}
    assert chickadee.process.pid != first
    ask(chickadee, "And another one.")
    qtbot.waitUntil(lambda: len(conversation.messages) == 4 and done(chickadee), timeout=SECONDS)
    assert conversation.messages[-1].content.strip()
    assert not conversation.messages[-1].problem
    assert not chickadee.window.notice.isVisible()
