"""Renders chat templates in a process of its own (`engine.tokenization.jinja`), with limits on time, memory and text.

Measured on 2 busy cores: 0.4 ms a prompt more than in this process, 0.7 s for the first one, and 10.6 MiB as long as
the process lives, which is until nobody has asked for a minute. The alternative was a sandbox in this process that
counts operations, calls and loops: it costs no memory, but misses what nobody thought of, and what Jinja's compiler
works out before anything runs. A process can be killed whatever it does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psutil

from engine.run_subprocess import TUNABLES
from engine.stop import Stopped
from engine.tokenization import jinja

SECONDS = 5.0  # of processor time for one prompt: what other programs take is not the template's fault
PATIENCE = 12  # times as much may pass by the clock, on the busiest machine
STARTING = 30.0  # for the process: a busy machine, a slow disk
GRACE = 5.0  # so much later than it is killed the process ends itself
WATCHED = 0.02  # seconds between looks at a process that takes its time
RESIDENT = 48 << 20  # bytes of Python with Jinja, generously


class Trouble(Exception):
    """Why there is no text: the template is "damaged", it "refuses" what it is to render, or it is "endless".

    `str()` is what Jinja or Python says of it, "" where the limits ended it."""

    def __init__(self, problem: str, reason: str = "") -> None:
        super().__init__(reason)
        self.problem = problem


def environment() -> dict[str, str]:
    """Ours, without huge pages, which are for weights: here they would be most of the process's memory.

    And with one heap for all threads: at times glibc reserves 64 MiB of addresses for another one when the thread that
    watches for the end of the time starts, and the limit on addresses would count them as the template's."""
    return {name: value for name, value in os.environ.items() if name != TUNABLES} | {"MALLOC_ARENA_MAX": "1"}


class Renderer:
    """Starts the process when it is needed. May be used from several threads: one at a time is answered."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def check(self, source: str, stopped: Callable[[], bool]) -> None:
        """Compiles a template. Raises as `render` does."""
        self._ask(source, None, stopped)

    def render(self, source: str, values: dict[str, Any], stopped: Callable[[], bool]) -> str:
        """What the template `source` makes of `values`, which are what JSON can say. Raises Trouble, and Stopped soon
        after `stopped` says so."""
        return self._ask(source, values, stopped)

    def close(self) -> None:
        """Ends the process; it starts again when it is needed."""
        with self._turn:
            self._end()

    def _ask(self, source: str, values: dict[str, Any] | None, stopped: Callable[[], bool]) -> str:
        question = json.dumps({"source": source, "values": values}).encode() + b"\n"
        while not self._turn.acquire(timeout=WATCHED):
            if stopped():
                raise Stopped
        try:
            # One that ended by itself may have done so for lack of questions, just when this one came.
            line = self._answer(question, stopped) or self._answer(question, stopped)
        finally:
            self._turn.release()
        answer = json.loads(line) if line else {"problem": "endless"}
        if "text" in answer:
            return str(answer["text"])
        raise Trouble(answer["problem"], answer.get("reason", ""))

    def _answer(self, question: bytes, stopped: Callable[[], bool]) -> bytes:
        """Empty when the process ended by itself."""
        if self._process is None or self._process.poll() is not None:
            self._start()
            self._exchange(b"", STARTING, stopped)
        return self._exchange(question, self._seconds, stopped) if self._process else b""

    def _exchange(self, question: bytes, seconds: float, stopped: Callable[[], bool]) -> bytes:
        assert self._process
        exchange = Exchange(self._process, question)
        try:
            exchange.wait(seconds, RESIDENT + jinja.allowance(question), stopped)
        finally:
            if not exchange.answer:
                self._end()
        return exchange.answer

    def _start(self) -> None:
        self._end()
        program = [jinja.RENDER] if getattr(sys, "frozen", False) else ["-I", jinja.__file__]
        self._process = subprocess.Popen(
            [sys.executable, *program, str(PATIENCE * self._seconds + GRACE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
            # Ctrl-C in the terminal is for whoever waits for the prompt.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )

    def _end(self) -> None:
        process, self._process = self._process, None
        if process:
            process.kill()
            with suppress(OSError), process:  # which closes its pipes, a question half read in one of them
                pass


class Exchange(threading.Thread):
    """One question and its answer: a thread, because on no system can one wait for a pipe and for other things too."""

    def __init__(self, process: subprocess.Popen[bytes], question: bytes) -> None:
        super().__init__(name="template", daemon=True)
        self._process = process
        self._question = question
        self.answer = b""
        self.start()

    def run(self) -> None:
        """In the thread: ask, and wait for the answer."""
        asked, answered = self._process.stdin, self._process.stdout
        assert asked
        assert answered
        with suppress(OSError):  # it ended
            asked.write(self._question)
            asked.flush()
            line = answered.readline()
            self.answer = line if line.endswith(b"\n") else b""

    def wait(self, seconds: float, most: int, stopped: Callable[[], bool]) -> None:
        """Returns when there is an answer, or the process ended. Raises Trouble at a limit (`seconds` of processor
        time, PATIENCE times as many by the clock, `most` bytes), Stopped when stopped; the process is killed then."""
        until, enough = time.monotonic() + PATIENCE * seconds, self._used() + seconds
        self.join(WATCHED)
        while self.is_alive():
            if stopped():
                self._kill()
                raise Stopped
            if time.monotonic() > until or self._used() > enough or self._resident() > most:
                self._kill()
                raise Trouble("endless")
            self.join(WATCHED)

    def _used(self) -> float:
        """Seconds of processor time so far."""
        with suppress(psutil.Error):  # it ended
            times = psutil.Process(self._process.pid).cpu_times()
            return times.user + times.system
        return 0.0

    def _resident(self) -> int:
        with suppress(psutil.Error):  # it ended
            return psutil.Process(self._process.pid).memory_info().rss
        return 0

    def _kill(self) -> None:
        self._process.kill()
        self.join()
        self.answer = b""
