"""Real engine process, used through its protocol, which no request may kill."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.protocol.events import ENDS, Event, Failed, Finished, Loaded, Restart
from engine.protocol.lines import ProtocolError, decode_event, encode
from engine.protocol.requests import Cancel, Generate, Load, Message, Request, Sampling
from tests.fuzz.harness import Broken, Child, Deadline, Limits

CANCEL_SECONDS = 10.0  # processor time within which a cancelled request must end
SHORT = Sampling(temperature=0, repeat_penalty=1)


class RealEngine:
    """Engine that is started when needed, and again after it has broken a promise."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder, self.limits = folder, limits
        self._peak = 0
        self._child: Child | None = None
        self._id = 1_000_000  # above the ids that the fuzzers choose

    @property
    def child(self) -> Child:
        if self._child is None or not self._child.alive:
            self.kill()
            self._child = Child(["engine", "serve"], self.folder, self.limits)
        return self._child

    @property
    def peak(self) -> int:
        """Bytes of memory of the largest process so far."""
        return max(self._peak, self._child.peak if self._child else 0)

    def next_id(self) -> int:
        self._id += 1
        return self._id

    def ask(self, request: Request, cancel_after: float | None = None) -> Event:
        """Send a request and return the event that ends it, cancelling it after `cancel_after` seconds of wall time.

        Raises Broken if there is no such event, if it reports a bug of the engine, or if a cancelled request does not
        end soon.
        """
        child, deadline = self.child, self.child.deadline()
        child.send(encode(request))
        if cancel_after is not None:
            until = time.monotonic() + cancel_after
            while (left := until - time.monotonic()) > 0:
                line = child.line_within(left)
                if line and (event := self._ended(decode_line(line), request.id)):
                    return event
            child.send(encode(Cancel(self.next_id(), request.id)))
            deadline = Deadline(child.pid, replace(self.limits, seconds=min(CANCEL_SECONDS, self.limits.seconds)))
        while (event := self._ended(decode_line(child.answer(deadline)), request.id)) is None:
            pass
        return event

    def _ended(self, event: Event, id: int) -> Event | None:
        """Return the event if it ends the request, else None. Raises Broken if it reports a bug."""
        if not isinstance(event, ENDS) or event.id != id:
            return None
        if isinstance(event, Failed) and event.code == "internal":
            raise Broken("the engine says that it has a bug", f"{event.detail}\n{self.child.new_stderr()}")
        return event

    def load(self, path: Path, **options: Any) -> Event:
        given: dict[str, Any] = {"n_ctx": 512, "backend": "llama", "threads": 2} | options
        return self.ask(Load(self.next_id(), str(path), **given))

    def answer(self, tokens: int = 4, **more: Any) -> Event:
        messages = (Message("user", "Say something about a small bird."),)
        return self.ask(Generate(self.next_id(), messages, SHORT, tokens, **more))

    def check(self) -> None:
        """Raise Broken for a traceback or too much memory; called after each case."""
        if self._child is not None:
            self._child.check()

    def must_answer(self, path: Path, **more: Any) -> None:
        """Check that a good model loads and answers, whatever happened before. Raises Broken."""
        loaded = self.load(path)
        if isinstance(loaded, Restart):  # the process holds the other library: no fault
            self.close()
            loaded = self.load(path)
        if not isinstance(loaded, Loaded):
            raise Broken(f"a good model does not load afterwards: {loaded}")
        if not isinstance(end := self.answer(**more), Finished):
            raise Broken(f"a good model does not answer afterwards: {end}")

    def kill(self) -> None:
        if self._child is not None:
            self._child.kill()
            self.close()

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._peak, self._child = self.peak, None


def decode_line(line: bytes) -> Event:
    """Decode a line. Raises Broken if it is no event of the engine's."""
    try:
        return decode_event(line)
    except ProtocolError as error:
        raise Broken(f"a line that is no event: {error}", repr(line[:500])) from error
