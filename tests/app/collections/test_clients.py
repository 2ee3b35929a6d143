"""The searching process where it cannot be started. On Windows such a start fails before it returns."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QObject

from app.collections import INDEX_NAME
from app.collections.clients import SearchProcess
from app.services.json_line_process import JsonLineProcess
from common.process_end import ProcessEnd


def test_a_start_that_fails_at_once_answers_the_question(
    qapp: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / INDEX_NAME).touch()
    parent, answers = QObject(), list[object]()
    monkeypatch.setattr(JsonLineProcess, "start", lambda process, _: process._ended(ProcessEnd(not_started="gone")))
    search = SearchProcess(tmp_path, parent)
    for asked in (1, 2):
        search.find("Where is it?", (), 100, answers.append)
        assert answers == [None] * asked
