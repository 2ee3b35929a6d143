"""Has formulas drawn and code coloured by worker processes and caches the results. Never blocks the window.

Work on hostile text may take for ever: then the process is ended, and only that text stays as it is.
"""

from __future__ import annotations

import logging
import sys
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar

import msgspec
import psutil
from PySide6.QtCore import QCoreApplication, QObject, Signal

from app.services import colour_worker, math_worker
from app.services.json_line_process import JsonLineProcess
from app.services.timers import Debounce
from app.services.worker import WorkerResult
from common.process_end import ProcessEnd

log = logging.getLogger(__name__)
REMEMBERED_BYTES = 8 << 20
PATIENCE_MS = 2_000  # of processor time; an ordinary formula takes 2 to 40 ms
BUSY = 10  # times PATIENCE_MS may pass by the clock, because other programs may use the processor
START_MS = 15_000  # starting Python and loading fonts takes 0.3 s, more on a slow or busy machine
IDLE_MS = 60_000
BATCH_MS = 50
FAILURES = 3  # failed starts of the process, after which texts stay as they are
Task = TypeVar("Task", bound=msgspec.Struct)
Result = TypeVar("Result", bound=WorkerResult)


@dataclass(frozen=True)
class Work(Generic[Task, Result]):
    """One kind of work: the worker's module and the option that starts it in a packaged app; what a result is."""

    module: str
    option: str
    result: type[Result]
    size: Callable[[Task, Result], int]
    is_too_long: Callable[[Task], bool]

    @property
    def command(self) -> list[str]:
        """The command that starts the worker: from the checkout, or by the packaged app itself."""
        if getattr(sys, "frozen", False):
            return [sys.executable, self.option]
        return [sys.executable, "-m", self.module]


MATH: Work[math_worker.Task, math_worker.Drawing] = Work(
    "app.services.math_worker",
    "--draw-formulas",
    math_worker.Drawing,
    lambda task, drawing: len(task.tex) + len(drawing.svg),
    lambda task: len(task.tex) > math_worker.LONGEST_TEX,
)
COLOURS: Work[colour_worker.Code, colour_worker.Colours] = Work(
    "app.services.colour_worker",
    "--colour-code",
    colour_worker.Colours,
    lambda code, colours: len(code.text) + 40 * sum(map(len, colours.lines)),
    lambda code: len(code.text) > colour_worker.LONGEST,
)


class WorkerService(QObject, Generic[Task, Result]):
    """The cache of results and the worker that fills it.

    `result` returns what is cached and has the rest made; `ready` is emitted once for each batch of new results.
    """

    ready = Signal()

    def __init__(
        self,
        work: Work[Task, Result],
        command: list[str] | None = None,
        parent: QObject | None = None,
        patience_ms: int = 0,
    ) -> None:
        super().__init__(parent)
        self._work = work
        self._command = command or work.command
        self._patience = patience_ms or PATIENCE_MS
        self._known: OrderedDict[Task, Result] = OrderedDict()
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
        """Whether results are still to be made."""
        return bool(self._waiting)

    def result(self, task: Task) -> Result | None:
        """Return the result, which may be that of a failure; None if it is being made."""
        result = self._known.get(task)
        if result is not None:
            self._known.move_to_end(task)
            return result
        if self._work.is_too_long(task) or self._failures >= FAILURES:
            return self._work.result(problem="not tried")
        if task not in self._waiting:
            self._waiting.append(task)
            self._start()
            self._send(task)
        return None

    def close(self) -> None:
        """End the process; the next task starts it again."""
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
                result = msgspec.json.decode(line, type=self._work.result)
            except msgspec.MsgspecError as error:
                result = self._work.result(problem=str(error))
            if self._loaded:
                self._remember(result)
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

    def _remember(self, result: Result) -> None:
        """Cache the result of the oldest waiting task."""
        if not self._waiting:
            return
        if result.problem:
            log.info("a formula or code stays as it is written: %s", result.problem.split(":")[0])
        task = self._waiting.popleft()
        self._known[task] = result
        self._bytes += self._work.size(task, result)
        while self._bytes > REMEMBERED_BYTES and len(self._known) > 1:
            self._bytes -= self._work.size(*self._known.popitem(last=False))
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
        self._remember(self._work.result(problem=reason))
        waiting, self._waiting = list(self._waiting), deque()
        self.close()
        for task in waiting:
            if self.result(task) is not None:
                self._ready_soon.request_in(0)


@cache
def math_service() -> WorkerService[math_worker.Task, math_worker.Drawing]:
    """Return the process-wide service that draws formulas."""
    return _until_the_end(WorkerService(MATH))


@cache
def colour_service() -> WorkerService[colour_worker.Code, colour_worker.Colours]:
    """Return the process-wide service that colours code."""
    return _until_the_end(WorkerService(COLOURS))


def _until_the_end(service: WorkerService[Task, Result]) -> WorkerService[Task, Result]:
    """Have the service end with the application."""
    application = QCoreApplication.instance()
    if application is not None:
        application.aboutToQuit.connect(service.close)
    return service
