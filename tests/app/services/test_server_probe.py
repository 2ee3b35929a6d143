"""A look at a server whose process cannot be started. On Windows such a start fails before it returns."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QObject

from app.services.json_line_process import JsonLineProcess
from app.services.server_probe import ServerProbe
from common.failures import Failure
from common.process_end import ProcessEnd
from engine.protocol.requests import Server


def test_a_start_that_fails_at_once_is_told_once(qapp: object, monkeypatch: pytest.MonkeyPatch) -> None:
    parent, failures = QObject(), list[Failure]()
    monkeypatch.setattr(JsonLineProcess, "start", lambda process, _: process._ended(ProcessEnd(not_started="gone")))
    probe = ServerProbe(parent)
    probe.look(Server("http://localhost:1"), lambda _: pytest.fail("found"), failures.append)
    assert len(failures) == 1
    assert not probe._patience.waiting  # nothing follows
