"""The process that draws formulas: what it draws, what a hostile formula cannot do, and when it is given up."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

from app.services.math_worker import EM, Drawing, Task, draw
from app.services.worker_service import MATH, WorkerService, math_service
from common.confinement import landlock
from tests.app.conftest import SECONDS
from tests.common.confined_program import linux, private_file, run_attempts

Service = WorkerService[Task, Drawing]
SLOW = "x^{" * 40 + "}" * 40  # ziamath takes twice as long for each level
OF_LIBRARIES = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@OF_LIBRARIES
@pytest.mark.parametrize("tex", [r"\frac{1}{2}", r"\begin{aligned}a&=b\\c&=d\end{aligned}", r"\sum_{i=1}^n \mathbb{R}"])
def test_a_formula_becomes_outlines(tex: str) -> None:
    drawing = draw(Task(tex, True))
    assert drawing.svg.startswith("<svg")
    assert drawing.width > 0
    assert drawing.ascent > drawing.descent > 0


@OF_LIBRARIES
@pytest.mark.parametrize(
    ("tex", "letters"),
    [
        (r"v = \frac{\text{距离 in km}}{\mathrm{时间}}", ["距离", "时", "间"]),
        (r"速度_{中} \le \sqrt{字}，", ["速", "度", "中", "字", "，"]),
    ],
)
@pytest.mark.parametrize("display", [True, False])
def test_chinese_letters_stand_in_a_formula_as_text(tex: str, letters: list[str], display: bool) -> None:
    drawing = draw(Task(tex, display))
    assert drawing.problem == ""
    pattern = r'<text x="(\S+)" y="\S+" font-size="(\S+)" font-family="sans-serif" fill="black">(.+?)</text>'
    drawn = re.findall(pattern, drawing.svg)
    assert sorted(letters) == sorted(text for _, _, text in drawn)
    assert all(0 <= float(left) < drawing.width * EM and 40 < float(size) <= EM for left, size, _ in drawn)
    assert "#fe01" not in drawing.svg


@pytest.mark.parametrize(
    "tex",
    [
        r"\unknown{x}",
        r"\frac{1}{",
        r"\def\a{\a\a}\a",
        "{" * 500,
        "速" * 9_000,
        "",
        "a & < b",
        "x" * 9_000,
        r"\text{\foo}",
    ],
)
def test_what_cannot_be_drawn_says_why(tex: str) -> None:
    drawing = draw(Task(tex, True))
    assert not drawing.svg
    assert drawing.problem


@OF_LIBRARIES
@given(st.text(alphabet="\\{}^_&<>'\"/ abx", max_size=12))
def test_no_formula_brings_anything_but_outlines(tex: str) -> None:
    svg = draw(Task(f"\\text{{{tex}}}", False)).svg
    assert "href" not in svg
    assert "<image" not in svg


@pytest.fixture
def service(qtbot: QtBot) -> Iterator[Callable[..., Service]]:
    made: list[Service] = []

    def make(command: list[str] | None = None, patience_ms: int = 0) -> Service:
        made.append(WorkerService(MATH, command, patience_ms=patience_ms))
        return made[-1]

    yield make
    for each in made:
        each.close()


def wait_for(qtbot: QtBot, service: Service, task: Task) -> Drawing:
    qtbot.waitUntil(lambda: service.result(task) is not None, timeout=SECONDS)
    drawing = service.result(task)
    assert drawing is not None
    return drawing


def test_a_formula_that_takes_for_ever_is_given_up_alone(qtbot: QtBot, service: Callable[..., Service]) -> None:
    slow, good = Task(SLOW, False), Task("x", False)
    own = service(patience_ms=700)
    assert own.result(slow) is None
    assert own.result(good) is None
    assert wait_for(qtbot, own, slow).problem == "too slow"
    assert wait_for(qtbot, own, good).svg


@pytest.mark.parametrize("command", [["/no/such/program"], [sys.executable, "-c", "raise SystemExit(3)"]])
def test_without_a_worker_formulas_stay_as_they_are(
    qtbot: QtBot, service: Callable[..., Service], command: list[str]
) -> None:
    own = service(command)
    assert not wait_for(qtbot, own, Task("x", False)).svg
    assert not wait_for(qtbot, own, Task("y", False)).svg


def test_what_other_programs_take_is_not_the_formulas_time(service: Callable[..., Service], qtbot: QtBot) -> None:
    """A process that waits for the processor on a busy computer is not given up."""
    own = service(patience_ms=300)
    assert wait_for(qtbot, own, Task("x", False)).svg
    assert own._process.running
    process = psutil.Process(own._process.pid)
    process.suspend()
    QTimer.singleShot(1000, process.resume)
    assert wait_for(qtbot, own, Task("y", False)).svg


def test_there_is_one_service(qapp: object) -> None:
    assert math_service() is math_service()


@linux
def test_the_worker_draws_and_can_do_nothing_else(tmp_path: Path) -> None:
    secret = private_file(tmp_path)
    attempts = {
        "drawing": "draw(Task('x^2', True)).svg or 1 / 0",
        "socket": "socket.socket()",
        "file": "Path(sys.argv[1]).read_text()",
        "writing": "Path(sys.argv[1]).write_text('x')",
        "process": "child('pass')",
    }
    refused = dict.fromkeys(attempts, "PermissionError") | {"drawing": "done"}
    if not landlock.version():
        refused |= {"file": "done", "writing": "done"}
    confining = "from app.services.math_worker import *\nfrom app.services.worker import *\nrestrain()"
    assert run_attempts(confining, attempts, str(secret)) == refused
