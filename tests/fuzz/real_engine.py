"""The real engine process, asked by its protocol, as one that must never die of what it is asked."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.protocol import (
    ENDS,
    Cancel,
    Event,
    Failed,
    Finished,
    Generate,
    Load,
    Loaded,
    Message,
    Request,
    Restart,
    Sampling,
    decode_event,
    encode,
)
from engine.protocol.lines import ProtocolError
from tests.fuzz.harness import Broken, Child, Deadline, Limits

CANCEL_SECONDS = 10.0  # of the processor's time, in which whatever was stopped must have ended
SHORT = Sampling(temperature=0, repeat_penalty=1)


class RealEngine:
    """Started when it is needed, and anew after it has broken a promise."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder, self.limits = folder, limits
        self._peak = 0
        self._child: Child | None = None
        self._id = 1_000_000  # above those that the fuzzers choose

    @property
    def child(self) -> Child:
        if self._child is None or not self._child.alive:
            self.kill()
            self._child = Child(["engine", "serve"], self.folder, self.limits)
        return self._child

    @property
    def peak(self) -> int:
        """Bytes of memory, of all processes that there were."""
        return max(self._peak, self._child.peak if self._child else 0)

    def next_id(self) -> int:
        self._id += 1
        return self._id

    def ask(self, request: Request, cancel_after: float | None = None) -> Event:
        """The event that ends the request. Raises Broken when there is none, or it says that the engine has a bug.

        `cancel_after`: seconds of wall time; what is cancelled must end soon."""
        child, deadline = self.child, self.child.deadline()
        child.send(encode(request))
        if cancel_after is not None:
            until = time.monotonic() + cancel_after
            while (left := until - time.monotonic()) > 0:
                line = child.line_within(left)
                if line and (event := self._ended(decoded(line), request.id)):
                    return event
            child.send(encode(Cancel(self.next_id(), request.id)))
            deadline = Deadline(child.pid, replace(self.limits, seconds=min(CANCEL_SECONDS, self.limits.seconds)))
        while (event := self._ended(decoded(child.answer(deadline)), request.id)) is None:
            pass
        return event

    def _ended(self, event: Event, id: int) -> Event | None:
        """The event if it is the request's last one."""
        if not isinstance(event, ENDS) or event.id != id:
            return None
        if isinstance(event, Failed) and event.code == "internal":
            raise Broken("the engine says that it has a bug", f"{event.detail}\n{self.child.said()}")
        return event

    def load(self, path: Path, **options: Any) -> Event:
        given: dict[str, Any] = {"n_ctx": 512, "backend": "llama", "threads": 2} | options
        return self.ask(Load(self.next_id(), str(path), **given))

    def answer(self, tokens: int = 4, **more: Any) -> Event:
        messages = (Message("user", "Say something about a small bird."),)
        return self.ask(Generate(self.next_id(), messages, SHORT, tokens, **more))

    def check(self) -> None:
        """After a case."""
        if self._child is not None:
            self._child.check()

    def must_answer(self, path: Path, **more: Any) -> None:
        """Whatever was before: a good model loads and answers. Raises Broken."""
        loaded = self.load(path)
        if isinstance(loaded, Restart):  # it holds the other library, which is no fault
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


def decoded(line: bytes) -> Event:
    """Raises Broken for what is no message of the engine's."""
    try:
        return decode_event(line)
    except ProtocolError as error:
        raise Broken(f"a line that is no event: {error}", repr(line[:500])) from error
