"""Looks at a server before it is used: what it is, and which models it has. The remote engine does it, for one request.

So the bytes of an unknown server are read where nothing else can be reached, and a server that hangs keeps nobody.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from PySide6.QtCore import QObject

from app.services.json_line_process import JsonLineProcess
from app.services.timers import Debounce
from common.engine_program import engine_command
from common.failures import Failure
from common.process_end import EngineEnd, ProcessEnd
from engine.protocol.events import Failed, ModelsListed
from engine.protocol.lines import encode, event_of
from engine.protocol.requests import ListModels, Server
from models.servers import host_of

log = logging.getLogger(__name__)
PATIENCE_MS = 60_000  # the process gives up earlier; this is for one that hangs


class ServerProbe(QObject):
    """One look at a server at a time; another one ends the one before, whose callbacks are not called any more."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._process = JsonLineProcess(self, self._receive, self._ended)
        self._show_models: Callable[[ModelsListed], object] = lambda _listed: None
        self._failed: Callable[[Failure], object] = lambda _failure: None
        self._url = ""
        self._patience = Debounce(self._give_up, PATIENCE_MS, self)

    def look(
        self, server: Server, show_models: Callable[[ModelsListed], object], failed: Callable[[Failure], object]
    ) -> None:
        """Ask the server for its models, then call `show_models` or `failed`."""
        self.close()
        self._url, self._show_models, self._failed = server.url, show_models, failed
        self._patience.request()
        self._process.start(engine_command("remote"))  # on Windows `_ended` is called in here if that fails
        self._process.write(encode(ListModels(1, server)))

    def close(self) -> None:
        """End a look that is under way."""
        self._patience.cancel()
        self._process.close()

    def _receive(self, lines: list[bytes]) -> None:
        for event in filter(None, map(event_of, lines)):
            if isinstance(event, ModelsListed):
                self.close()
                self._show_models(event)
                return
            if isinstance(event, Failed):
                self.close()
                self._failed(Failure(event.sentence, event.detail))
                return

    def _ended(self, end: ProcessEnd) -> None:
        log.warning("looking at a server: %s", end)
        self._patience.cancel()
        self._failed(Failure(EngineEnd(end.exit_code, end.signal_number, end.not_started).sentence))

    def _give_up(self) -> None:
        self.close()
        self._failed(Failure("no_connection.server_silent", host=host_of(self._url)))
