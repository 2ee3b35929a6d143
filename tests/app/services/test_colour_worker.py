"""The process that colours code: what it finds, and that no lexer can hold up the window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.markdown.code_view import CodeView
from app.services.colour_worker import COLUMNS, Code, Colours, colour
from app.services.worker_service import COLOURS, WorkerService, colour_service
from common.confinement import landlock
from tests.app.conftest import SECONDS
from tests.common.confined_program import linux, private_file, run_attempts

SLOW = Code("scala", '"' + "\\\\" * 22)  # an unclosed string: twice the time for each pair


@pytest.fixture
def service(qtbot: QtBot) -> Iterator[WorkerService[Code, Colours]]:
    own = WorkerService(COLOURS, patience_ms=500)
    yield own
    own.close()


def test_each_line_has_its_spans() -> None:
    lines = colour(Code("python", "def f():\n    return '🐦' + 1  # one")).lines
    assert lines[0] == [(0, 3, "keyword"), (4, 1, "name_")]
    assert lines[1] == [(4, 6, "keyword"), (11, 1, "string"), (12, 2, "string"), (14, 1, "string"), *lines[1][4:]]
    assert lines[1][-1] == (21, 5, "comment")


def test_an_unknown_language_has_no_colours_and_far_columns_neither() -> None:
    assert colour(Code("no such language", "x = 1")) == Colours()
    spans = colour(Code("json", "[" + "1234567, " * 400 + "0]")).lines[0]
    assert COLUMNS - 10 < spans[-1][0] < COLUMNS


def test_code_that_no_lexer_ends_with_is_given_up_alone(qtbot: QtBot, service: WorkerService[Code, Colours]) -> None:
    good = Code("python", "x = 1")
    assert service.result(SLOW) is None
    assert service.result(good) is None
    qtbot.waitUntil(lambda: service.result(good) is not None, timeout=SECONDS)
    assert service.result(SLOW) == Colours(problem="too slow")
    assert service.result(good) == colour(good)


def test_code_is_shown_while_its_lexer_hangs(qtbot: QtBot) -> None:
    view = CodeView()
    qtbot.addWidget(view)
    view.set_code(SLOW.text, "scala", complete=True)
    assert view.text.toPlainText() == SLOW.text
    qtbot.waitUntil(lambda: colour_service().busy, timeout=SECONDS)
    colour_service().close()


@linux
def test_the_worker_colours_and_can_do_nothing_else(tmp_path: Path) -> None:
    secret = private_file(tmp_path)
    attempts = {
        "colours": "colour(Code('python', 'x = 1')).lines or 1 / 0",
        "socket": "socket.socket()",
        "file": "Path(sys.argv[1]).read_text()",
        "process": "child('pass')",
    }
    refused = dict.fromkeys(attempts, "PermissionError") | {"colours": "done"}
    if not landlock.version():
        refused |= {"file": "done"}
    confining = "from app.services.colour_worker import *\nfrom app.services.worker import *\nrestrain()"
    assert run_attempts(confining, attempts, str(secret)) == refused
