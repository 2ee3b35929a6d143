"""The two sides of a comparison as running processes: our engine over its pipes, llama-server over HTTP on loopback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psutil

from common.failures import Failure
from engine.client import Target
from engine.client_process import WaitingClient
from engine.protocol.events import WRITTEN, Event, Finished
from engine.protocol.requests import BackendWish, DraftMode, Generate, Load, Lookup, Message, Request, Sampling
from models.readable_files import readable_files

GREEDY = Sampling(temperature=0, repeat_penalty=1)


@dataclass(frozen=True, slots=True)
class Run:
    """One answer: tokens and wall seconds of its prompt and of its decoding, as the side itself counts them."""

    text: str
    prompt_tokens: int
    prompt_seconds: float
    decode_tokens: int
    decode_seconds: float
    drafted: int = 0
    accepted: int = 0


def rss_bytes(pid: int) -> int:
    """Return the resident memory of a process."""
    return int(psutil.Process(pid).memory_info().rss)


def environment(cache: Path | None) -> dict[str, str]:
    """Return this process's environment, with another cache folder if one is given."""
    return {**os.environ, **({"CHICKADEE_CACHE_DIR": str(cache)} if cache else {})}


class OurEngine:
    """`python -m engine serve`, or a packaged `program`'s, with the model loaded when the constructor returns.

    `python` is another environment's, with another build of a library; `cache` must then be a folder of its own,
    because timings of one build would replace the other's. A failure ends the program with its sentence.
    """

    def __init__(  # noqa: PLR0913
        self,
        model: Path,
        n_ctx: int | None,
        threads: int | None,
        draft_model: Path | None = None,
        backend: BackendWish = "llama",
        program: Path | None = None,
        python: Path | None = None,
        cache: Path | None = None,
    ) -> None:
        started = time.perf_counter()
        command = [str(program), "serve"] if program else [str(python or sys.executable), "-m", "engine", "serve"]
        draft = str(draft_model) if draft_model else None
        self._engine = WaitingClient(
            Target(Load(0, str(model), n_ctx, threads, draft_model=draft, backend=backend)),
            lambda start: [*command, *readable_files(start.files).arguments],
            environment(cache),
        )
        self._events: Iterator[Event] = iter(())
        with failure_ends():
            self.model = self._engine.load()
        if backend not in ("auto", self.model.backend):
            raise SystemExit(" ".join(map(str, self.model.notes)))
        self.start_seconds = time.perf_counter() - started

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.close()

    @property
    def pid(self) -> int:
        return self._engine.process.pid

    def rss_bytes(self) -> int:
        return rss_bytes(self.pid)

    def ask(self, request: Request) -> Event:
        """Send a request and return the event that ends it."""
        *_, last = self.stream(request)
        return last

    def settle(self) -> None:
        """Wait until the engine has done its one-time work in idle time (profile, calibration), 60 s at most."""
        process, quiet = psutil.Process(self.pid), 0
        process.cpu_percent()
        for _ in range(60):
            time.sleep(1)
            busy = process.cpu_percent() > 5 or process.children()
            quiet = 0 if busy else quiet + 1
            if quiet == 4:
                return

    def run(
        self, messages: Sequence[Message], max_tokens: int, draft: DraftMode = "off", lookup: Lookup | None = None
    ) -> Run:
        """Answer greedily; the default is plain decoding."""
        request = Generate(0, tuple(messages), GREEDY, max_tokens, draft=draft, lookup=lookup or Lookup())
        *events, finished = self.stream(request)
        assert isinstance(finished, Finished)
        s = finished.statistics
        text = "".join(event.text for event in events if isinstance(event, WRITTEN))
        read = s.prompt_tokens - s.reused_tokens
        return Run(text, read, s.prompt_seconds, s.decode_tokens, s.decode_seconds, s.drafted, s.accepted)

    def stream(self, request: Request) -> Iterator[Event]:
        """Return the events of a request as they arrive; if not all are read, `finish` must be called."""
        self._events = self._engine.events(request)
        return self._rest()

    def finish(self) -> None:
        """Read the events that are left of the last request."""
        for _ in self._rest():
            pass

    def _rest(self) -> Iterator[Event]:
        with failure_ends():
            for event in self._events:  # noqa: UP028 - `yield from` would close them for a reader who stops early
                yield event


@contextmanager
def failure_ends() -> Iterator[None]:
    """End the program with the sentence of a Failure."""
    try:
        yield
    except Failure as failure:
        raise SystemExit(str(failure)) from failure


class LlamaServer:
    """llama-server on the same file, context and threads; `extra` are further command line options."""

    def __init__(self, server: Path, model: Path, n_ctx: int, threads: int, extra: tuple[str, ...] = ()) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [str(server), "-m", str(model), "-c", str(n_ctx), "-t", str(threads), "-np", "1"]
        command += ["--port", str(self.port), "--host", "127.0.0.1", *extra]
        # A llama-server that was built but not installed has its libraries beside it.
        environment = dict(os.environ, LD_LIBRARY_PATH=str(server.resolve().parent))
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        self._wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(20)

    def rss_bytes(self) -> int:
        return rss_bytes(self.process.pid)

    def _wait(self) -> None:
        for _ in range(600):
            if self.process.poll() is not None:
                raise SystemExit(f"llama-server ended with code {self.process.returncode}")
            try:
                self._call("/health", None)
                return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        raise SystemExit("llama-server did not become ready in 60 s")

    def run(self, messages: Sequence[Message], max_tokens: int) -> Run:
        body = {
            "messages": [{"role": m.role, "content": m.content} for m in messages],
            "max_tokens": max_tokens,
            "temperature": 0,
            "repeat_penalty": 1.0,
            "cache_prompt": True,  # as our engine does
            "stream": True,  # as chat programs do, and our engine too
        }
        chunks = list(self._stream("/v1/chat/completions", body))
        t = chunks[-1]["timings"]
        text = "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks if c["choices"])
        return Run(
            text,
            t["prompt_n"],
            t["prompt_ms"] / 1000,
            t["predicted_n"],
            t["predicted_ms"] / 1000,
            t.get("draft_n", 0),
            t.get("draft_n_accepted", 0),
        )

    def _stream(self, path: str, body: dict[str, Any]) -> Iterator[Any]:
        with self._open(path, body) as reply:
            for line in reply:
                if line.startswith(b"data: {"):
                    yield json.loads(line[len(b"data: ") :])

    def _call(self, path: str, body: dict[str, Any] | None) -> Any:
        with self._open(path, body) as reply:
            return json.load(reply)

    def _open(self, path: str, body: dict[str, Any] | None) -> Any:
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data)
        return urllib.request.urlopen(request, timeout=600)
