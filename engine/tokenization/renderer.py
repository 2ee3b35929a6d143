"""Renderer: renders chat templates in a process of its own, with limits on time and memory.

The process runs `engine.tokenization.jinja`. Measured on 2 busy cores: 0.4 ms per prompt more than in this process, 0.7
s for the first one, and 10.6 MiB while the process lives; it ends after a minute without a request. The alternative was
a sandbox in this process that counts operations, calls and loops. That costs no memory, but misses unforeseen
constructs and what Jinja's compiler evaluates before anything runs. A process can be killed whatever it does.
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

from common.engine_program import TUNABLES
from engine.stop import Stopped
from engine.tokenization import jinja

CPU_SECONDS = 5.0  # processor time for one prompt: the template is not to blame for what other programs take
WALL_FACTOR = 12  # how many times as long may pass by the clock, on a busy machine
START_SECONDS = 30.0  # for starting the process, on a busy machine with a slow disk
GRACE = 5.0  # seconds after the last limit, when the process ends itself if it was not killed
POLL_SECONDS = 0.02  # between checks of the limits
BASE_BYTES = 48 << 20  # generous size of Python with Jinja


class RenderError(Exception):
    """Error of a template, which gives no text: `problem` is "damaged", "refuses" or "endless".

    `str()` is the message of Jinja or Python, or "" if a limit ended the rendering.
    """

    def __init__(self, problem: str, reason: str = "") -> None:
        super().__init__(reason)
        self.problem = problem


def environment() -> dict[str, str]:
    """Return this process's environment without huge pages and with one malloc arena.

    Huge pages are meant for weights; they would be most of the template process's memory. A second arena is reserved at
    times when faulthandler's timer thread starts: its 64 MiB of addresses would count towards the template's limit.
    """
    return {name: value for name, value in os.environ.items() if name != TUNABLES} | {"MALLOC_ARENA_MAX": "1"}


class Renderer:
    """The template process, started by `start` or when it is needed.

    Several threads may use it; their requests are processed one by one.
    """

    def __init__(self, seconds: float = CPU_SECONDS) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_up = False  # whether the process has said that it is ready

    def start(self) -> None:
        """Start the process without waiting for it, so that Jinja is imported while a model is loaded."""
        with self._lock:
            self._start()

    def render(self, source: str, values: dict[str, Any], stopped: Callable[[], bool]) -> str:
        """Render the template `source` with `values`, which are JSON types.

        Raises RenderError, and Stopped soon after `stopped` returns True.
        """
        request = json.dumps({"source": source, "values": values}).encode() + b"\n"
        while not self._lock.acquire(timeout=POLL_SECONDS):
            if stopped():
                raise Stopped
        try:
            # A second try: the process may have ended for lack of requests just when this request came.
            line = self._send(request, stopped) or self._send(request, stopped)
        finally:
            self._lock.release()
        reply = json.loads(line) if line else {"problem": "endless"}
        if "text" in reply:
            return str(reply["text"])
        raise RenderError(reply["problem"], reply.get("reason", ""))

    def close(self) -> None:
        """End the process; the next request starts it again."""
        with self._lock:
            self._kill_process()

    def _send(self, request: bytes, stopped: Callable[[], bool]) -> bytes:
        """Send a request to the process and return its reply; empty if the process ended by itself."""
        if self._process is None or self._process.poll() is not None:
            self._start()
        if not self._is_up:
            self._exchange(b"", START_SECONDS, stopped)
            self._is_up = True
        return self._exchange(request, self._seconds, stopped) if self._process else b""

    def _exchange(self, request: bytes, seconds: float, stopped: Callable[[], bool]) -> bytes:
        assert self._process
        exchange = Exchange(self._process, request)
        try:
            exchange.wait(seconds, BASE_BYTES + jinja.memory_allowance(request), stopped)
        finally:
            if not exchange.reply:
                self._kill_process()
        return exchange.reply

    def _start(self) -> None:
        self._kill_process()
        self._is_up = False
        program = [jinja.RENDER] if getattr(sys, "frozen", False) else ["-I", jinja.__file__]
        self._process = subprocess.Popen(
            [sys.executable, *program, str(WALL_FACTOR * self._seconds + GRACE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
            # Ctrl-C in the terminal must reach only the process that waits for the prompt.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )

    def _kill_process(self) -> None:
        process, self._process = self._process, None
        if process:
            process.kill()
            with suppress(OSError), process:  # closes the pipes, even if a request was only half read
                pass


class Exchange(threading.Thread):
    """One request and its reply, in a thread: no system can wait for a pipe and for other events at the same time."""

    def __init__(self, process: subprocess.Popen[bytes], request: bytes) -> None:
        super().__init__(name="template", daemon=True)
        self._process = process
        self._request = request
        self.reply = b""
        self.start()

    def run(self) -> None:
        """Write the request and read the reply; runs in the thread."""
        requests, replies = self._process.stdin, self._process.stdout
        assert requests
        assert replies
        with suppress(OSError):  # the process ended
            requests.write(self._request)
            requests.flush()
            line = replies.readline()
            self.reply = line if line.endswith(b"\n") else b""

    def wait(self, seconds: float, max_bytes: int, stopped: Callable[[], bool]) -> None:
        """Wait until the reply came or the process ended; kill the process at a limit or when stopped.

        Raises RenderError at a limit: `seconds` of processor time, WALL_FACTOR times as many by the clock, or
        `max_bytes` of memory. Raises Stopped when `stopped` returns True.
        """
        deadline, max_cpu = time.monotonic() + WALL_FACTOR * seconds, self._usage()[0] + seconds
        self.join(POLL_SECONDS)
        while self.is_alive():
            if stopped():
                self._kill()
                raise Stopped
            cpu_seconds, resident = self._usage()
            if time.monotonic() > deadline or cpu_seconds > max_cpu or resident > max_bytes:
                self._kill()
                raise RenderError("endless")
            self.join(POLL_SECONDS)

    def _usage(self) -> tuple[float, int]:
        """Return the process's processor time so far in seconds, and its resident bytes."""
        with suppress(psutil.Error):  # the process ended
            process = psutil.Process(self._process.pid)
            times = process.cpu_times()
            return times.user + times.system, process.memory_info().rss
        return 0.0, 0

    def _kill(self) -> None:
        self._process.kill()
        self.join()
        self.reply = b""
