"""Has formulas drawn by the worker process and caches the drawings. Never blocks: `ready` announces new drawings."""

from __future__ import annotations

import logging
import sys
from collections import OrderedDict, deque

import msgspec
import psutil
from PySide6.QtCore import QCoreApplication, QObject, Signal

from app.services.json_line_process import JsonLineProcess
from app.services.math_worker import LONGEST_TEX, Drawing, Task
from app.services.timers import Debounce
from common.process_end import ProcessEnd

log = logging.getLogger(__name__)
REMEMBERED_BYTES = 8 << 20
PATIENCE_MS = 2_000  # of processor time; an ordinary formula takes 2 to 40 ms
BUSY = 10  # times PATIENCE_MS may pass by the clock, because other programs may use the processor
START_MS = 15_000  # starting Python and loading fonts takes 0.3 s, more on a slow or busy machine
IDLE_MS = 60_000
BATCH_MS = 50
FAILURES = 3  # failed starts of the process, after which formulas are shown as source


def worker_command() -> list[str]:
    """Return the command that starts the worker: from the checkout, or by the packaged app itself."""
    if getattr(sys, "frozen", False):
        return [sys.executable, "--draw-formulas"]
    return [sys.executable, "-m", "app.services.math_worker"]


class MathService(QObject):
    """The cache of drawings and the worker that fills it.

    `drawing` returns what is cached and has the rest drawn; `ready` is emitted once for each batch of new drawings.
    """

    ready = Signal()

    def __init__(self, command: list[str] | None = None, parent: QObject | None = None, patience_ms: int = 0) -> None:
        super().__init__(parent)
        self._command = command or worker_command()
        self._patience = patience_ms or PATIENCE_MS
        self._known: OrderedDict[Task, Drawing] = OrderedDict()
        self._bytes = 0
        self._waiting: deque[Task] = deque()
        self._process = JsonLineProcess(self, self._receive, self._ended)
        self._loaded = False
        self._failures = 0
        self._computed = 0.0  # processor seconds of the process when it began the oldest task
        self._checks = 0  # how often the watch has checked since then
        self._watch = Debounce(self._check_time, self._patience, self)
        self._idle = Debounce(self.close, IDLE_MS, self)
        self._ready_soon = Debounce(self.ready.emit, BATCH_MS, self, restarts=False)

    @property
    def busy(self) -> bool:
        """Whether formulas are still to be drawn."""
        return bool(self._waiting)

    def drawing(self, task: Task) -> Drawing | None:
        """Return the drawing; its `svg` is "" if the formula cannot be drawn. None if it is being drawn."""
        drawing = self._known.get(task)
        if drawing is not None:
            self._known.move_to_end(task)
            return drawing
        if len(task.tex) > LONGEST_TEX or self._failures >= FAILURES:
            return Drawing(problem="not drawn")
        if task not in self._waiting:
            self._waiting.append(task)
            self._start()
            self._send(task)
        return None

    def close(self) -> None:
        """End the process; the next formula starts it again."""
        self._watch.cancel()
        self._idle.cancel()
        self._process.close()

    def _start(self) -> None:
        self._idle.cancel()
        if self._process.running:
            return
        self._loaded = False
        self._process.start(self._command)
        for task in list(self._waiting)[:-1]:
            self._send(task)

    def _send(self, task: Task) -> None:
        if self._process.running:
            self._process.send(task)
            if not self._watch.waiting:
                self._begin_task(self._patience if self._loaded else START_MS)

    def _receive(self, lines: list[bytes]) -> None:
        for line in lines:
            try:
                drawing = msgspec.json.decode(line, type=Drawing)
            except msgspec.MsgspecError as error:
                drawing = Drawing(problem=str(error))
            if self._loaded:
                self._remember(drawing)
            self._loaded, self._failures = True, 0  # the first line only reports that everything is loaded
        self._watch.cancel()
        if self._waiting:
            self._begin_task(self._patience)
        else:
            self._idle.request()

    def _begin_task(self, patience: int) -> None:
        """Start the clock for the oldest task, which the process works on now."""
        self._computed, self._checks = self._processor_seconds(), 0
        self._watch.request_in(patience)

    def _processor_seconds(self) -> float:
        """Return the processor time of the process so far, in seconds; 0 if it cannot be read."""
        try:
            times = psutil.Process(self._process.pid).cpu_times() if self._process.pid else None
        except (psutil.Error, ValueError):  # the process has ended or not begun
            return 0.0
        return times.user + times.system if times else 0.0

    def _remember(self, drawing: Drawing) -> None:
        """Cache the drawing of the oldest waiting task."""
        if not self._waiting:
            return
        if drawing.problem:
            log.info("a formula stays as it is written: %s", drawing.problem.split(":")[0])
        self._known[self._waiting.popleft()] = drawing
        self._bytes += len(drawing.svg)
        while self._bytes > REMEMBERED_BYTES and len(self._known) > 1:
            self._bytes -= len(self._known.popitem(last=False)[1].svg)
        self._ready_soon.request()

    def _check_time(self) -> None:
        """Give up the oldest task if the process has used up its processor time for it; else check again later."""
        if not self._process.running or not self._waiting:
            return
        self._checks += 1
        computed = self._processor_seconds() - self._computed
        if self._loaded and computed < 0.9 * self._patience / 1000 and self._checks < BUSY:
            self._watch.request()
        else:
            self._give_up("too slow")

    def _ended(self, end: ProcessEnd) -> None:
        if end.not_started:
            self._failures = FAILURES
        self._give_up(f"the process {end}")

    def _give_up(self, reason: str) -> None:
        if not self._loaded:
            self._failures += 1
        self._remember(Drawing(problem=reason))
        waiting, self._waiting = list(self._waiting), deque()
        self.close()
        for task in waiting:
            if self.drawing(task) is not None:
                self._ready_soon.request_in(0)


_service: MathService | None = None


def math_service() -> MathService:
    """Return the process-wide service, which ends with the application."""
    global _service
    if _service is None:
        _service = MathService()
        application = QCoreApplication.instance()
        if application is not None:
            application.aboutToQuit.connect(_service.close)
    return _service
