"""Reads web pages: one process fetches a page, and another one, without a network, makes text of it. Knows Qt.

A page is fetched by the process that asks servers, because it can connect but open no file of the user's. What it
brings is hostile, so the reader of attachments gets it, which cannot tell anybody.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable

import msgspec
from PySide6.QtCore import QObject, QTimer

from app.attachments import PAGE, READ_FILE
from app.attachments.attachment import Attachment, clean_name, sentence
from app.attachments.child import MOST_SECONDS, Reply
from app.services.json_line_process import JsonLineProcess
from app.words import worded
from common.engine_program import engine_command
from common.failures import Failure
from common.process_end import EngineEnd, ProcessEnd
from engine.protocol.events import Failed, PageRead
from engine.protocol.lines import ProtocolError, decode_event, encode
from engine.protocol.requests import ReadPage
from models.servers import host_of

log = logging.getLogger(__name__)
FETCH_MS = 75_000  # the process gives up after a minute; this ends one that hangs
READ_MS = round((MOST_SECONDS + 5) * 1000)
PageCallback = Callable[[Attachment | str], object]


class PageReader(QObject):
    """A reader of web pages.

    `read` calls back with the Attachment, or with the sentence that says why there is none.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._running: set[_Reading] = set()

    def read(self, address: str, done: PageCallback) -> Callable[[], None]:
        """Fetch and read the page; return the function that cancels this, after which `done` is not called."""

        def ended(result: Attachment | str) -> None:
            self._running.discard(reading)
            done(result)

        def cancel() -> None:
            if reading in self._running:  # else it has ended, and its object is gone
                self._running.discard(reading)
                reading.close()

        reading = _Reading(address, ended, self)
        self._running.add(reading)
        reading.start()
        return cancel

    def close(self) -> None:
        """End the processes, because the window is closing."""
        running, self._running = self._running, set()
        for reading in running:
            reading.close()


class _Reading(QObject):
    """The reading of one page by two processes, one after the other."""

    def __init__(self, address: str, ended: PageCallback, parent: QObject) -> None:
        super().__init__(parent)
        self._address, self._ended = address, ended
        self._page: PageRead | None = None
        self._fetcher = JsonLineProcess(self, self._fetched, self._fetcher_ended)
        self._reader = JsonLineProcess(self, self._extracted, self._reader_ended, errors="forward")
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.timeout.connect(self._give_up)

    def start(self) -> None:
        self._patience.start(FETCH_MS)
        self._fetcher.start(engine_command("remote"))
        self._fetcher.write(encode(ReadPage(1, self._address)))

    def close(self) -> None:
        """End both processes; nothing is called any more."""
        self._patience.stop()
        self._fetcher.close()
        self._reader.close()
        self.deleteLater()

    def _finish(self, result: Attachment | str) -> None:
        self.close()
        self._ended(result)

    def _fetched(self, lines: list[bytes]) -> None:
        try:
            event = decode_event(lines[0])
        except ProtocolError as error:
            log.warning("a line of %d bytes was not understood: %s", len(lines[0]), error.kind)
            self._finish(worded(Failure("refused.page_nonsense", host=host_of(self._address)).sentence))
            return
        if isinstance(event, Failed):
            self._finish(worded(event.sentence))
        elif isinstance(event, PageRead):
            self._fetcher.close()
            self._page = event
            program = [READ_FILE] if getattr(sys, "frozen", False) else ["-m", "app.attachments.child"]
            self._patience.start(READ_MS)
            self._reader.start([sys.executable, *program, PAGE])
            self._reader.write(lines[0] + b"\n")

    def _extracted(self, lines: list[bytes]) -> None:
        page = self._page
        assert page
        host = clean_name(host_of(page.url))
        try:
            reply = msgspec.json.decode(lines[0], type=Reply)
        except msgspec.DecodeError:
            self._finish(sentence("crashed", host))
            return
        if reply.file is None:
            self._finish(sentence(reply.refused, host, reply.values))
            return
        file = reply.file
        name = clean_name(reply.title) if reply.title.strip() else host
        self._finish(
            Attachment(
                name, file.kind, file.size, file.text, file.parts, file.pages, address=page.url, read_at=time.time()
            )
        )

    def _fetcher_ended(self, end: ProcessEnd) -> None:
        log.warning("fetching a page: %s", end)
        self._finish(worded(EngineEnd(end.exit_code, end.signal_number, end.not_started).sentence))

    def _reader_ended(self, end: ProcessEnd) -> None:
        log.warning("the process that reads a page %s", end)
        self._finish(sentence("crashed", clean_name(host_of(self._address))))

    def _give_up(self) -> None:
        self._finish(worded(Failure("no_connection.server_silent", host=host_of(self._address)).sentence))
