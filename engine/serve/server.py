"""The server of one engine: it reads requests as lines and writes the events that answer them."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

from common.failures import Failure
from common.paths import path_of
from common.sentences import Sentence
from engine.base import BaseEngine, OtherLibrary
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
from engine.protocol.lines import MAX_LINE, ProtocolError, decode_request, encode
from engine.protocol.requests import (
    AnswerNow,
    BackendName,
    Cancel,
    Count,
    Detokenize,
    Embed,
    Forget,
    Generate,
    Hello,
    ListModels,
    Load,
    Prepare,
    ReadPage,
    Request,
    Shutdown,
    Status,
    Title,
    Tokenize,
    Unload,
    Watch,
)
from engine.rights import out_of_reach
from engine.serve.jobs import Counters, JobQueue
from engine.stop import Stopped
from engine.tokenization.turns import ChatTooLong

log = logging.getLogger("engine.serve")
IDLE_AFTER = 1.0  # seconds without a request
ENDING = 60.0  # seconds in which the running job ends, once this process is to end
QUIET_LOOK = 10.0  # seconds between two looks whether other programs are quiet by now


class EngineServer:
    """The server of one engine: reads requests in its own thread and does them in a second one.

    So Cancel, AnswerNow and Status never wait for an answer. Nor does Count, which has two threads of its own: counting
    a book takes a second.
    """

    def __init__(self, engine: BaseEngine, input: BinaryIO, output: BinaryIO) -> None:
        self.engine = engine
        self.input = input
        self.output = output
        self.jobs = JobQueue(engine.stop)
        engine.give_way_to(self.jobs.urgent_waits, self._run_urgent)
        self._writing = threading.Lock()
        self._noticed: list[Sentence] = []  # failures of the last idle work, of which the user is told once
        self._announced: BackendName | None = None  # so that a user who declines the faster library is not asked again

    def run(self) -> None:
        """Serve requests until a Shutdown was read or the input ended, and return when the second thread is done."""
        worker = threading.Thread(target=self._run_jobs, name="jobs")
        worker.start()
        self._counter = Counters(self._answer, self.send)
        try:
            for line in self._lines():
                if isinstance(self._receive(line), Shutdown):
                    break
        finally:
            self.jobs.cancel_all()
            self.jobs.put(Shutdown(0))
            self._counter.close()
            worker.join(ENDING)
            if worker.is_alive():  # in a library that hangs; whoever started this process may be gone
                log.critical("the job that runs does not end: the process is ended without it")
                os._exit(1)

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

    def _run_urgent(self) -> None:
        """Do the urgent requests that wait, while the running one is paused."""
        while self.jobs.urgent_waits():
            job = self.jobs.pause_for_next()
            try:
                self._run_job(job)
            finally:
                self.jobs.resume()

    def _idle(self) -> bool:
        """Use idle time; return False when no idle work is left."""
        failures: list[Failure] = []
        try:
            more_to_do = self.engine.idle(failures.append)
            if (library := self.engine.faster_library()) and library != self._announced:
                self._announced = library
                self.send(Faster(0, library))
            return more_to_do
        except Stopped:
            return True
        except Exception:
            log.exception("bug in idle time")
            self._recover()
            return False
        finally:
            self._send_notices(failures)

    def _send_notices(self, failures: Sequence[Failure]) -> None:
        """Send a Notice of each failure of idle work that was not among those of the last time."""
        for failure in failures:
            if failure.sentence not in self._noticed:
                log.warning("%s", failure.log_text)
                self.send(Notice(0, failure.sentence))
        self._noticed = [failure.sentence for failure in failures]

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
        """Write an event, or Failed in its place if no reader takes so long a line; any thread may call this.

        Raises BrokenPipeError when the window is gone.
        """
        line = encode(event)
        if len(line) > MAX_LINE:
            event = Failed(event.id, Sentence.of("bad_request.long_answer", most=MAX_LINE))
            line = encode(event)
        if isinstance(event, ENDS):
            self.jobs.finish(event.id)
        with self._writing:
            self.output.write(line)
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
        elif isinstance(request, Count | Tokenize | Detokenize):
            self._counter.put(request)
        elif isinstance(request, Watch):
            self.engine.watch(request.on)
            self.send(Watching(request.id, request.on))
            if request.on:
                self.send(self.engine.last_pulse())
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
            case Generate():
                events = self.engine.generate(request)
            case Prepare():
                events = self.engine.prepare(request)
            case _:
                events = iter((self._answer(request),))
        for event in events:
            self.send(event)

    def _answer(self, request: Request) -> Event:
        """Do a request that one event answers, and return this event. Raises what the engine raises."""
        engine = self.engine
        match request:
            case Count():
                return engine.count(request)
            case Tokenize():
                return engine.tokenize(request)
            case Detokenize():
                return engine.detokenize(request)
            case Hello():
                return engine.welcome(request.id, os.getpid())
            case Load():
                return self._load(request)
            case Unload():
                engine.unload()
                return Unloaded(request.id)
            case Embed():
                return engine.embed(request)
            case Forget():
                engine.forget_chat(request.chat)
                return Forgotten(request.id)
            case Title():
                return engine.title(request)
            case ListModels():
                return engine.list_models(request)
            case ReadPage():
                return engine.read_page(request)
        raise TypeError(f"{type(request).__name__} is not done in turn")

    def _load(self, request: Load) -> Event:
        files = () if request.server else (request.path, request.draft_model)
        for file in filter(None, files):
            if out_of_reach(path_of(file)):
                log.info("this process may not read %s: a new one is asked for", file)
                self.engine.save_chat()
                return Restart(request.id, None)
        try:
            return self.engine.load(request, self._progress_reporter(request.id), self.send)
        except OtherLibrary as other:
            log.info("%s: a new process is asked for", other)
            return Restart(request.id, other.wanted)

    def _progress_reporter(self, id: int) -> Callable[[float], None]:
        """Return a callback that sends LoadProgress in whole percents: llama.cpp calls it thousands of times."""
        shown = -1

        def report(fraction: float) -> None:
            nonlocal shown
            if (percent := int(fraction * 100)) > shown:
                shown = percent
                self.send(LoadProgress(id, fraction))

        return report
