"""The engine as a process: requests come in as lines on stdin, events go out as lines on stdout. Ends with its stdin.

stdout carries the protocol and nothing else. Everything that prints (C library, Python, a template) prints to stderr,
which the window writes to its log.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import queue
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO

import psutil

from common.confinement import limits, problems
from common.failures import Failure
from common.log_format import PrivateFormatter, traceback_of
from common.paths import path_of
from common.sentences import Sentence
from engine.loading.libraries import OtherLibrary
from engine.protocol.events import (
    ENDS,
    AnsweringNow,
    Cancelled,
    Event,
    Failed,
    Faster,
    Forgotten,
    LoadProgress,
    Notice,
    Pulse,
    Restart,
    Unloaded,
    Watching,
)
from engine.protocol.lines import ProtocolError, claim_stdout, decode_request, encode
from engine.protocol.requests import (
    AnswerNow,
    BackendName,
    Cancel,
    Count,
    Forget,
    Generate,
    Hello,
    Load,
    Prepare,
    Request,
    Shutdown,
    Status,
    Unload,
    Watch,
)
from engine.rights import add_read_option, out_of_reach
from engine.stop import StopFlag, Stopped
from engine.tokenization.turns import ChatTooLong

if TYPE_CHECKING:
    from engine.engine import Engine

log = logging.getLogger("engine.serve")
NICE = 5  # during prefill 3 to 10 of 700 wheel steps in the window missed a frame; with this niceness none did
IDLE_AFTER = 1.0  # seconds without a request
QUIET_LOOK = 10.0  # seconds between two looks whether other programs are quiet by now
MAX_LINE = 64 << 20  # bytes; a longer line is no message of ours


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `python -m engine serve`."""
    parser = commands.add_parser("serve", help="speak the protocol on stdin and stdout (for the window)")
    add_read_option(parser)
    parser.set_defaults(run=lambda _options: serve())


def serve() -> int:
    """Speak the protocol until the input ends; return the exit code."""
    output = claim_stdout()
    lower_priority()
    start_logging()
    log.info("refused to this process: %s %s", ", ".join(limits()) or "nothing", "; ".join(problems()))
    from engine.engine import Engine  # imported after stdout is claimed, because imports may print

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal is the window's business
    server = Server(Engine(), sys.stdin.buffer, output)
    try:
        server.run()
    except BrokenPipeError:
        log.info("the window is gone")
    finally:
        server.engine.close()
    return 0


def start_logging() -> None:
    """Log to stderr, which the window writes into a file; uncaught exceptions too."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PrivateFormatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    sys.excepthook = lambda _kind, error, _trace: log.critical("bug:\n%s", traceback_of(error))
    threading.excepthook = lambda end: log.critical("bug:\n%s", traceback_of(end.exc_value) if end.exc_value else "")


def lower_priority() -> None:
    """Lower this process's priority, so that the window gets a core that both want: it needs little, and a user waits.

    Call this before the process has threads: on Linux each thread has its own niceness, inherited from the thread that
    made it.
    """
    if sys.platform == "win32":
        psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
    else:
        os.nice(NICE)


class Server:
    """The server of one engine: reads requests in its own thread and does them in a second one.

    So Cancel, AnswerNow and Status never wait for an answer. Nor does Count, which has a third thread: counting a book
    takes a second.
    """

    def __init__(self, engine: Engine, input: BinaryIO, output: BinaryIO) -> None:
        self.engine = engine
        self.input = input
        self.output = output
        self.jobs = Jobs(engine.stop)
        self._writing = threading.Lock()
        self._announced: BackendName | None = None  # so that a user who declines the faster library is not asked again

    def run(self) -> None:
        """Serve requests until a Shutdown was read or the input ended, and return when the second thread is done."""
        worker = threading.Thread(target=self._run_jobs, name="jobs")
        worker.start()
        self._counter = Counter(self._count)
        try:
            for line in self._lines():
                if isinstance(self._receive(line), Shutdown):
                    break
        finally:
            self.jobs.cancel_all()
            self.jobs.put(Shutdown(0))
            self._counter.close()
            worker.join()

    def _lines(self) -> Iterator[bytes]:
        """Yield the complete lines of the input.

        A line that is longer than MAX_LINE is dropped as a whole and answered with Failed. An incomplete line at the
        end of the input is dropped without an answer.
        """
        while line := self.input.readline(MAX_LINE):
            if line.endswith(b"\n"):
                yield line
            elif len(line) == MAX_LINE:
                while line and not line.endswith(b"\n"):
                    line = self.input.readline(MAX_LINE)
                log.warning("a message of more than %d bytes is dropped", MAX_LINE)
                self.send(Failed(0, Sentence.of("bad_request.long", most=MAX_LINE)))

    def _run_jobs(self) -> None:
        with contextlib.suppress(BrokenPipeError):  # the window is gone, and so will be our input
            patience: float | None = None  # seconds; None: no idle work is left
            while not isinstance(job := self.jobs.next_job(patience), Shutdown):
                if job:
                    self._run_job(job)
                    patience = IDLE_AFTER
                else:
                    patience = QUIET_LOOK if self._idle() else None
                if pulse := self._pulse():
                    self.send(pulse)

    def _idle(self) -> bool:
        """Use idle time; return False when no idle work is left."""
        try:
            more_to_do = self.engine.idle()
            if (library := self.engine.faster_library()) and library != self._announced:
                self._announced = library
                self.send(Faster(0, library))
            return more_to_do
        except Stopped:
            return True
        except Failure as failure:
            log.warning("%s", failure.log_text)
            self.send(Notice(0, failure.sentence))
            return False
        except Exception:
            log.exception("bug in idle time")
            self._recover()
            return False

    def _recover(self) -> None:
        """Empty the session after a bug that may have corrupted the cache; if that fails, unload the model.

        Raises nothing, because without this thread no request would ever be answered again.
        """
        for recover in (self.engine.forget, self.engine.unload):
            try:
                recover()
                return
            except Exception:
                log.exception("the engine cannot %s", recover.__name__)

    def send(self, event: Event) -> None:
        """Write an event; any thread may call this. Raises BrokenPipeError when the window is gone."""
        if isinstance(event, ENDS):
            self.jobs.finish(event.id)
        with self._writing:
            self.output.write(encode(event))
            self.output.flush()

    def _pulse(self) -> Pulse | None:
        try:
            return self.engine.pulse()
        except Exception:  # a missing pulse must not end a request
            log.exception("bug while telling how things stand")
            return None

    def _receive(self, line: bytes) -> Request | None:
        try:
            request = decode_request(line)
        except ProtocolError as error:
            log.warning("a request of %d bytes was not understood: %s", len(line), error.kind)
            self.send(Failed(error.id, Sentence.of("bad_request.message", reason=error)))
            return None
        try:
            self._answer_or_queue(request)
        except BrokenPipeError:
            raise
        except Exception as error:  # this thread reads the requests: it must not end
            log.exception("bug while taking %s", type(request).__name__)
            self.send(Failed(request.id, Sentence.of("internal.engine"), repr(error)))
        return request

    def _answer_or_queue(self, request: Request) -> None:
        """Answer requests that need not wait for other requests, and queue all others."""
        if isinstance(request, Cancel):
            self.send(Cancelled(request.id, found=self.jobs.cancel(request.request)))
        elif isinstance(request, AnswerNow):
            self.send(AnsweringNow(request.id, found=self.engine.end_thought(request.request)))
        elif isinstance(request, Status):
            self.send(self.engine.status(request.id))
        elif isinstance(request, Count):
            self._counter.put(request)
        elif isinstance(request, Watch):
            self.engine.watch(request.on)
            self.send(Watching(request.id, request.on))
            if request.on:
                self.send(self.engine.pulses.last_pulse())
        elif not isinstance(request, Shutdown):
            self.jobs.put(request)

    def _run_job(self, request: Request) -> None:
        try:
            self._dispatch(request)
        except BrokenPipeError:
            raise
        except Failure as failure:
            library_output = failure.detail if isinstance(request, Load) else ""  # others may quote the chat
            log.info("%s %s", failure.log_text, library_output)
            remedies = failure.remedies if isinstance(failure, ChatTooLong) else ()
            self.send(Failed(request.id, failure.sentence, failure.detail, remedies))
        except Stopped:
            self.send(Failed(request.id, Sentence.of("cancelled.request")))
        except MemoryError as error:
            self.send(Failed(request.id, Sentence.of("out_of_memory.computer"), str(error)))
        except Exception as error:
            log.exception("bug while doing %s", type(request).__name__)
            self._recover()
            self.send(Failed(request.id, Sentence.of("internal.engine"), repr(error)))

    def _dispatch(self, request: Request) -> None:
        match request:
            case Hello():
                self.send(self.engine.welcome(request.id, os.getpid()))
            case Load():
                self.send(self._load(request))
            case Unload():
                self.engine.unload()
                self.send(Unloaded(request.id))
            case Generate():
                for event in self.engine.generate(request):
                    self.send(event)
            case Forget():
                self.engine.forget_chat(request.chat)
                self.send(Forgotten(request.id))
            case Prepare():
                for event in self.engine.prepare(request):
                    self.send(event)

    def _count(self, request: Count) -> None:
        with contextlib.suppress(BrokenPipeError):  # the window is gone, and so will be our input
            try:
                self.send(self.engine.count(request))
            except Failure as failure:
                self.send(Failed(request.id, failure.sentence, failure.detail))
            except Exception as error:
                log.exception("bug while counting")
                self.send(Failed(request.id, Sentence.of("internal.counting"), repr(error)))

    def _load(self, request: Load) -> Event:
        for file in filter(None, (request.path, request.draft_model)):
            if out_of_reach(path_of(file)):
                log.info("this process may not read %s: a new one is asked for", file)
                self.engine.save_chat()
                return Restart(request.id, None)
        try:
            return self.engine.load(request, LoadProgressReporter(self, request.id))
        except OtherLibrary as other:
            log.info("%s: a new process is asked for", other)
            return Restart(request.id, other.wanted)


class LoadProgressReporter:
    """A progress callback that sends LoadProgress in whole percents.

    llama.cpp calls it once for each tensor, which may be thousands of times.
    """

    def __init__(self, server: Server, id: int) -> None:
        self.server = server
        self.id = id
        self.shown = -1

    def __call__(self, fraction: float) -> None:
        """Send LoadProgress if the loaded fraction has reached another whole percent."""
        percent = int(fraction * 100)
        if percent > self.shown:
            self.shown = percent
            self.server.send(LoadProgress(self.id, fraction))


class Jobs:
    """The queue of requests, of which one runs at a time.

    Cancelling the running request sets the engine's stop flag; cancelling a waiting one is remembered until its turn.
    """

    def __init__(self, stop: StopFlag) -> None:
        self.stop = stop
        self._waiting: deque[Request] = deque()
        self._running: Request | None = None
        self._idle = False
        self._cancelled: set[int] = set()
        self._changed = threading.Condition()

    def put(self, request: Request) -> None:
        """Queue a request; stop idle work and cancel every running or waiting Prepare, because they give way to it."""
        with self._changed:
            if self._idle:
                self.stop.set()
            for job in (self._running, *self._waiting):
                if isinstance(job, Prepare):
                    self._cancel(job.id)
            self._waiting.append(request)
            self._changed.notify()

    def next_job(self, patience: float | None = None) -> Request | None:
        """Wait for the next request and return it; it counts as running until the next call.

        The stop flag is set if the request was cancelled while it waited, else cleared. Returns None after `patience`
        seconds without a request; the caller may then do idle work, which the next request will stop.
        """
        with self._changed:
            self._running, self._idle = None, False
            if not self._changed.wait_for(lambda: self._waiting, patience):
                self._idle = True
                self.stop.clear()
                return None
            job = self._running = self._waiting.popleft()
            self.stop.clear()
            if job.id in self._cancelled:
                self._cancelled.discard(job.id)
                self.stop.set()
            return job

    def finish(self, id: int) -> None:
        """Mark request `id` as finished: from now on it cannot be cancelled."""
        with self._changed:
            if self._running and self._running.id == id:
                self._running = None

    def cancel(self, id: int) -> bool:
        """Cancel request `id`; return False if it is neither running nor waiting."""
        with self._changed:
            return self._cancel(id)

    def cancel_all(self) -> None:
        """Cancel the running request and all waiting ones."""
        with self._changed:
            for job in (self._running, *self._waiting):
                if job:
                    self._cancel(job.id)

    def _cancel(self, id: int) -> bool:
        if self._running and self._running.id == id:
            self.stop.set()
            return True
        if any(job.id == id for job in self._waiting):
            self._cancelled.add(id)
            return True
        return False


class Counter:
    """A thread that calls `work` with one request after the other until `close`.

    So neither an answer nor Cancel and Status wait for a count.
    """

    def __init__(self, work: Callable[[Count], None]) -> None:
        self._count = work
        self._waiting: queue.SimpleQueue[Count | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="counter")
        self._thread.start()

    def put(self, request: Count) -> None:
        """Queue a request."""
        self._waiting.put(request)

    def close(self) -> None:
        """Count the requests that are already queued, then end the thread."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (request := self._waiting.get()) is not None:
            self._count(request)
