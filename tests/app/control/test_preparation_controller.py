"""Compilation of llama.cpp while the window is open: progress, failure, and the model that waits for it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from pytestqt.qtbot import QtBot

from app.services import preparation
from app.services.preparation import remaining_command
from app.wiring import Chickadee
from common.planning import Verdict
from common.sentences import Sentence
from common.system_packages import COMPILERS, install_command
from tests.app.conftest import Opener
from tests.app.test_window import Ask
from tests.common.confined_program import linux

# A scripted set-up: it ends with the exit code in the file `go`, or when its standard input is closed.
SET_UP = """
import os, sys, threading, time
from pathlib import Path
folder = Path(sys.argv[1])
def watch():
    while os.read(0, 9): pass
    (folder / "closed").touch()
    os._exit(130)
threading.Thread(target=watch, daemon=True).start()
print("setup: compiling llama.cpp for this processor: about 4 minutes on 2 cores, once", flush=True)
print("setup: compiling llama.cpp 12/340, 30 s", flush=True)
while not (folder / "go").exists() or not (folder / "go").read_text(): time.sleep(0.01)
code = int((folder / "go").read_text())
if code:
    print("setup: llama.cpp did not compile; the log is /cache/compile.log\\nerror: it is broken", flush=True)
else:
    (folder / "compiled").touch()
sys.exit(code)
"""
WAITS = "This model needs llama.cpp, which is still being prepared. The model will be loaded in about 14 minutes."
Finish = Callable[[int], None]


@pytest.fixture
def opened(open_window: Opener, tmp_path: Path, qtbot: QtBot) -> Chickadee:
    """Return the window while set-up compiles and has reached 12 of 340 files."""
    chickadee = open_window(preparation=[sys.executable, "-c", SET_UP, str(tmp_path)])
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    qtbot.waitUntil(lambda: "12" in chickadee.window.status.preparing.text())
    return chickadee


@pytest.fixture
def finish(tmp_path: Path) -> Finish:
    """Return a function that ends set-up with an exit code."""

    def end(code: int) -> None:
        (tmp_path / "go").write_text(str(code))

    return end


def test_the_status_line_tells_how_far_it_is(opened: Chickadee, finish: Finish, qtbot: QtBot) -> None:
    status = opened.window.status
    assert status.preparing.isVisible()
    assert status.preparing.text() == "Preparing llama.cpp: 12 of 340"
    opened.window.toggle_sidebar()
    opened.window.resize(opened.window.minimumSize())
    qtbot.waitUntil(lambda: status.preparing.text() == "12 / 340")
    assert status.memory.geometry().right() <= status.width()
    assert status.preparing.accessibleName() == "Preparing llama.cpp: 12 of 340"
    finish(0)
    qtbot.waitUntil(status.preparing.isHidden)
    assert opened.window.notice.isHidden()


def test_nothing_is_prepared_where_set_up_is_complete(chickadee: Chickadee) -> None:
    assert chickadee.window.status.preparing.isHidden()
    assert chickadee.engine.state.preparing is None


def test_a_model_that_needs_it_is_loaded_when_it_is_there(
    opened: Chickadee, finish: Finish, tmp_path: Path, qtbot: QtBot
) -> None:
    model = tmp_path / "hybrid.gguf"
    opened.models.controller.use_model(str(model))
    qtbot.waitUntil(lambda: opened.window.notice.text.text() == WAITS)
    verdicts = opened.models.controller.list.verdicts
    verdicts["here", model] = Verdict(problem=Sentence.of("no_backend.for_model", reason=""))
    finish(0)
    qtbot.waitUntil(lambda: opened.engine.state.phase == "ready" and opened.engine.state.path == model)
    assert opened.window.notice.isHidden()
    assert verdicts == {}  # the planner is asked again whether the models fit


def test_an_answer_is_not_ended_for_it(
    opened: Chickadee, finish: Finish, tmp_path: Path, qtbot: QtBot, ask: Ask
) -> None:
    notice, model = opened.window.notice, tmp_path / "hybrid.gguf"
    opened.models.controller.use_model(str(model))
    qtbot.waitUntil(lambda: notice.text.text() == WAITS and opened.engine.state.phase == "ready")
    ask(opened, "slow")
    qtbot.waitUntil(lambda: opened.engine.active is not None)
    finish(0)
    qtbot.waitUntil(lambda: notice.text.text() == "llama.cpp is ready.")
    assert opened.engine.active is not None
    notice.button.click()
    qtbot.waitUntil(lambda: opened.engine.state.phase == "ready" and opened.engine.state.path == model)


def test_who_has_chosen_another_model_keeps_it(opened: Chickadee, finish: Finish, tmp_path: Path, qtbot: QtBot) -> None:
    other = tmp_path / "third.gguf"
    opened.models.controller.use_model(str(tmp_path / "hybrid.gguf"))
    qtbot.waitUntil(lambda: opened.window.notice.text.text() == WAITS)
    opened.models.controller.use_model(str(other))
    qtbot.waitUntil(lambda: opened.engine.state.phase == "ready" and opened.engine.state.path == other)
    finish(0)
    qtbot.waitUntil(opened.window.status.preparing.isHidden)
    assert opened.engine.state.path == other
    assert opened.engine.state.phase == "ready"


def test_a_failure_says_what_why_and_what_to_do(
    opened: Chickadee, finish: Finish, qtbot: QtBot, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    finish(1)
    notice = opened.window.notice
    qtbot.waitUntil(notice.isVisible)
    assert notice.text.text() == (
        "llama.cpp, which runs more models, could not be prepared: llama.cpp did not compile; the log is "
        "/cache/compile.log. Run `make setup` to try again."
    )
    assert "error: it is broken" in notice.details.text()
    assert "error: it is broken" in caplog.text
    assert opened.window.status.preparing.isHidden()


def test_without_a_compiler_it_says_how_to_get_one(opened: Chickadee, finish: Finish, qtbot: QtBot) -> None:
    finish(preparation.NO_COMPILER)
    qtbot.waitUntil(opened.window.notice.isVisible)
    assert install_command(COMPILERS) in opened.window.notice.text.text()


def test_it_ends_with_the_window(opened: Chickadee, tmp_path: Path) -> None:
    opened.window.close()
    assert (tmp_path / "closed").exists()


DEAF = """
import os, subprocess, sys, time
os.setpgid(0, 0)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(f"setup: compiling llama.cpp {child.pid}/{child.pid}, 1 s", flush=True)
time.sleep(600)
"""


def has_ended(process: psutil.Process) -> bool:
    """Return whether the process is gone or a zombie that nobody has waited for yet."""
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


@linux
def test_one_that_gets_no_turn_to_end_is_killed_with_its_compilers(
    open_window: Opener, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparation, "GRACE_MS", 50)
    chickadee = open_window(preparation=[sys.executable, "-c", DEAF])
    state = chickadee.engine.state
    qtbot.waitUntil(lambda: state.preparing is not None and state.preparing.done > 0)
    assert state.preparing
    child = psutil.Process(state.preparing.done)
    chickadee.window.close()
    qtbot.waitUntil(lambda: has_ended(child))


def test_what_set_up_left_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "UNFINISHED", tmp_path / "unfinished")
    assert remaining_command() == []
    (tmp_path / "unfinished").write_text('{"stamp": "1", "command": ["python3", "prepare.py"]}')
    assert remaining_command() == ["python3", "prepare.py"]
    (tmp_path / "unfinished").write_text('{"stamp":')
    assert remaining_command() == []
