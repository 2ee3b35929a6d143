"""The engine's process with time limits: every request ends, or its caller learns that the process crashed or hangs."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from common.folders import CACHE_DIR_VARIABLE, DATA_DIR_VARIABLE
from engine.protocol.events import ENDS, Event, Failed
from engine.protocol.lines import decode_event, encode
from engine.protocol.requests import Cancel, Generate, Hello, Prepare, Request, Shutdown

SECONDS = 200  # more than any request takes with a tiny model, on a busy computer too
ABORTED = re.compile(r"^.*(?:GGML_ASSERT|GGML_ABORT|fatal error|Error:).*$", re.MULTILINE)


class Broken(Exception):
    """End of a process that crashed, or was ended because it did not answer in time."""


class Refused(Exception):
    """Failure that the engine reported; the text is the sentence that a user reads."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.message)
        self.failed = failed


class EngineProcess:
    """`python -m engine serve` whose data folder is `home`: it may read the models in there.

    `seconds`: the longest time that a request may take. `arguments`: of Python, to start it otherwise.
    """

    def __init__(
        self, home: Path, seconds: float = SECONDS, arguments: Sequence[str] = ("-m", "engine", "serve")
    ) -> None:
        self.seconds = seconds
        self._id = 0
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        folders = {DATA_DIR_VARIABLE: str(home), CACHE_DIR_VARIABLE: str(home / "cache")}
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **folders, "GGML_NO_BACKTRACE": "1", "PYTHONFAULTHANDLER": "1"},
        )
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.ask(Hello(self.next_id()))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self) -> None:
        assert self.process.stdout
        while line := self.process.stdout.readline():
            self._lines.put(line)
        self._lines.put(b"")

    def next_id(self) -> int:
        """Return an id for a new request."""
        self._id += 1
        return self._id

    def ask(self, request: Request) -> Event:
        """Send a request and return its last event. Raises Broken, and Refused if the engine reports a failure."""
        *_, last = self.events(request)
        return last

    def events(self, request: Request) -> Iterator[Event]:
        """Send a request and yield its events as they come, the last one included. Raises Broken and Refused."""
        self.send(request)
        while True:
            event = self.next_event()
            if event.id != request.id:
                continue
            if isinstance(event, Failed):
                raise Refused(event)
            yield event
            if isinstance(event, ENDS):
                return

    def send(self, request: Request) -> None:
        """Send a request without waiting for its events. Raises Broken."""
        assert self.process.stdin
        try:
            self.process.stdin.write(encode(request))
            self.process.stdin.flush()
        except OSError as error:
            raise self._broken() from error

    def cancel(self, request: Generate | Prepare) -> None:
        """Stop a request that runs; its own events go on until its end."""
        self.send(Cancel(self.next_id(), request.id))

    def next_event(self) -> Event:
        """Return the next event of any request. Raises Broken."""
        try:
            line = self._lines.get(timeout=self.seconds)
        except queue.Empty:
            self.process.send_signal(signal.SIGABRT)  # Python then says on stderr where its threads are
            raise Broken(f"hangs: no answer in {self.seconds:g} s; {self._broken()}") from None
        if not line:
            raise self._broken()
        return decode_event(line)

    def _broken(self) -> Broken:
        code = self.process.wait(self.seconds)
        self._errors.seek(0)
        reasons = ABORTED.findall(self._errors.read().decode(errors="replace"))
        return Broken(f"crashed with code {code}: {reasons[-1] if reasons else 'no reason given'}")

    def close(self) -> None:
        """End the process as the window does, or kill it if it does not end; a second call does nothing."""
        if self._errors.closed:
            return
        try:
            self.send(Shutdown(self.next_id()))
            self.process.wait(self.seconds)
        except (Broken, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self._errors):
            with contextlib.suppress(BrokenPipeError):  # what a crashed process did not read
                if pipe:
                    pipe.close()
