"""The client of an engine's process: starts it, has it load a model, hands it requests, restarts and ends it.

A state machine without I/O: its methods are told what users want and what the process does, and `perform` gets the
actions. `engine.client_process` performs them under asyncio, the window by QProcess.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from common.process_end import EngineEnd
from common.sentences import Sentence
from engine.protocol.events import (
    ENDS,
    Cancelled,
    Event,
    Failed,
    Faster,
    Loaded,
    ModelInfo,
    Restart,
    SpeedExpected,
    StatusReport,
    Welcome,
)
from engine.protocol.requests import Cancel, Hello, Load, Request, Shutdown, Status

PATIENCE = 20.0  # seconds in which a cancelled request ends; usual are 0.1, and more where the disk is slow
GRACE = 10.0  # seconds in which an engine ends that was asked to; it stores the chat first
TERMINATED = 3.0  # seconds after which an engine is killed that was told by a signal to end
QUIET = 20.0  # seconds without an event after which an engine with work is asked whether it is there
SILENT = 60.0  # seconds without an event, that question included, after which an engine with work is killed
STARTING = 120.0  # the same for a process that starts: a cold disk, a virus scanner
LATE = 5.0  # a tick that comes later than this tells of a computer that slept: the time does not count
MOST_RESTARTS = 2  # that one load may ask for: another library, then the right to read the file

Phase = Literal["absent", "starting", "loading", "ready", "failed", "ending"]
Heard = Callable[[Event], object]
Means = Literal["close", "terminate", "kill"]  # from the gentlest on


@dataclass(frozen=True, slots=True)
class Start:
    """Action: start the process, which may read these files; `remote`: the one that asks servers and reads none."""

    files: tuple[str, ...]
    remote: bool


@dataclass(frozen=True, slots=True)
class Send:
    """Action: write a request to the process."""

    request: Request


@dataclass(frozen=True, slots=True)
class End:
    """Action: end the process, by closing its input, by a signal that it may handle, or at once."""

    how: Means


@dataclass(frozen=True, slots=True)
class Tick:
    """Action: call `EngineClient.tick` a few times a second from now on, or no longer."""

    on: bool


Action = Start | Send | End | Tick


@dataclass(frozen=True, slots=True)
class Target:
    """The model that the engine is to have: the request that loads it, and further files that it may read."""

    load: Load
    files: tuple[str, ...] = ()

    @property
    def start(self) -> Start:
        """The process that can load this model."""
        if self.load.server is not None:
            return Start((), remote=True)
        return Start(tuple(filter(None, (self.load.path, self.load.draft_model, *self.files))), remote=False)


@dataclass(frozen=True, slots=True)
class Changed:
    """News for the owner: the phase has changed.

    `failed`: why the model could not be loaded; `end`: how the process ended. Both are None if all went as wanted.
    """

    phase: Phase
    failed: Failed | None = None
    end: EngineEnd | None = None


@dataclass(slots=True)
class Waiter:
    """Callback that waits for the last event of a request; `sent`: whether the engine has it already."""

    request: Request
    heard: Heard
    sent: bool = False
    cancelled_at: float | None = None

    def waited(self, now: float) -> float:
        """Return the seconds since the request was cancelled; 0 if it was not."""
        return 0.0 if self.cancelled_at is None else now - self.cancelled_at


class EngineClient:
    """One engine process, the model that it is to have, and everybody who waits for it.

    `submit` registers a waiter, who gets the events of that request and is sure of a last one: whatever happens to the
    process, a waiter is answered by the engine, by `Failed`, or sent to the next process. `news` gets the events that
    answer no request, those of loading, and `Changed`. Actions are performed and callbacks called in order, after the
    state has changed; what a callback asks for comes after what is under way.

    `clock` gives seconds that only grow.
    """

    def __init__(
        self,
        perform: Callable[[Action], object],
        clock: Callable[[], float] = time.monotonic,
        patience: float = PATIENCE,
    ) -> None:
        self.phase: Phase = "absent"
        self.model: ModelInfo | None = None  # the one that was loaded last
        self.end: EngineEnd | None = None  # of the last process
        self.switching = False  # to a library that was measured to be faster: the model stays the same
        self.news: Callable[[Event | Changed], object] = lambda _news: None
        self._perform, self._clock, self._patience = perform, clock, patience
        self._out: deque[Callable[[], object]] = deque()
        self._draining = False
        self._target: Target | None = None
        self._process: Start | None = None  # what the running process was started for
        self._waiting: dict[int, Waiter] = {}
        self._cancels: dict[int, int] = {}  # ids of the requests to be cancelled, by those of Cancel
        self._last_id = 0
        self._early: tuple[Target | None, int] = (None, 0)  # the target and the id of the Load sent behind Hello
        self._own = 0  # id of the client's own request under way: Hello, Load, or Status after a failed Load
        self._ping = 0
        self._refusal: Failed | None = None  # of a Load, while the engine is asked whether it has the model before
        self._holds_model = False  # whether this process has loaded one
        self._again = False  # whether a process that ends is replaced by another one
        self._wanted = False  # whether the process ends because this client wants it to
        self._hung = self._closed = False
        self._killed_in: Phase = "absent"  # the phase in which it hung
        self._faster = False  # another library was measured to be faster for this model
        self._maps = False  # a large file is being mapped: no request stops that
        self._crashed = False  # a library crashed while it loaded this model
        self._restarts = 0
        self._ticking = False
        self._ticked = self._heard_at = self._ending_at = 0.0
        self._harder: list[tuple[float, Means]] = []  # seconds after `_ending_at` and what is then done, in order

    @property
    def running(self) -> bool:
        """Whether there is a process."""
        return self.phase != "absent"

    # --- what is wanted ---------------------------------------------------------------------------------------------

    def use(self, target: Target) -> None:
        """Load this model in place of the loaded one; what runs is cancelled, what waits is answered by the new one."""
        self._target = target
        self._faster = self._crashed = self.switching = False
        self._restarts, self._refusal = 0, None
        for id in [id for id, waiter in self._waiting.items() if waiter.sent]:
            self._cancel(id)
        self._begin()
        self._finish()

    def start(self) -> None:
        """Have the chosen model loaded, if it is not: start the process, or try again after a failure."""
        if self.phase in ("absent", "failed", "ending"):
            self._begin()
        self._finish()

    def submit(self, request: Request, heard: Heard, hold: bool = True) -> int:
        """Send a request as soon as the model is loaded, and return its id; `heard` gets its events.

        With `hold` false, the request is dropped without an answer unless it can be sent at once; returns 0 then.
        """
        ready = self.phase == "ready" and not self._closed
        if not (ready or hold):
            return 0
        id = self._next_id()
        self._waiting[id] = Waiter(replace(request, id=id), heard)
        if self._closed or self._target is None:
            self._answer(id, Failed(id, Sentence.of("no_model.loaded")))
        elif self.phase in ("absent", "failed", "ending"):
            self._begin()
        self._finish()
        return id

    def cancel(self, id: int) -> None:
        """End a request early. Its last event follows, at once if the engine does not have it yet."""
        self._cancel(id)
        self._finish()

    def unload(self) -> None:
        """End the process, which frees the model's memory; the next request starts it again."""
        self._fail_waiters(Sentence.of("cancelled.request"))
        self._end_process(again=False)
        self._finish()

    def close(self) -> None:
        """End the process for good."""
        self._closed = True
        self.unload()

    # --- what the process does --------------------------------------------------------------------------------------

    def received(self, event: Event) -> None:
        """Take an event of the process."""
        self._heard_at = self._clock()
        if isinstance(event, Faster):
            self._faster = True
        waiter = self._waiting.get(event.id)
        if waiter is not None:
            if isinstance(event, ENDS):
                del self._waiting[event.id]
            self._out.append(partial(waiter.heard, event))
        elif event.id and event.id == self._own:
            self._take_own(event)
        elif isinstance(event, Cancelled):
            self._take_cancelled(event)
        elif not (isinstance(event, StatusReport) and event.id == self._ping):
            self._out.append(partial(self.news, event))
        self._finish()

    def ended(self, end: EngineEnd) -> None:
        """Take the end of the process, or that it could not be started."""
        if self.phase == "absent":
            return
        end = self.end = replace(end, killed=end.killed or self._hung)
        loads = (self._killed_in if self._hung else self.phase) in ("starting", "loading")
        again, wanted = self._again, self._wanted and not self._hung
        if loads and self._goes_on_after(end):
            again = self._crashed = True
        if not wanted:
            self._fail_waiters(end.sentence, end.output, held=loads and not again)
        else:
            self._fail_waiters(Sentence.of("cancelled.request"), held=False)
        self._process, self._holds_model, self._own, self._ping = None, False, 0, 0
        self._again = self._wanted = self._hung = self._maps = False
        self._cancels.clear()
        again = (again or bool(self._waiting)) and not self._closed
        if not again:
            self._faster = self.switching = False
        told = None if wanted or (again and loads) else end
        if told or not again:
            self._change("absent", end=told)
        self.phase = "absent"
        if again:
            self._begin()
        self._finish()

    def tick(self) -> None:
        """Look whether something takes too long; called a few times a second from `Tick(True)` to `Tick(False)`."""
        if not self._ticking:
            return
        now = self._clock()
        gap, self._ticked = now - self._ticked, now
        if gap > LATE:
            self._shift(gap)
        quiet, patience = now - self._heard_at, STARTING if self.phase == "starting" else SILENT
        if self.phase == "ending":
            self._end_harder(now)
        elif any(waiter.waited(now) > self._patience for waiter in self._waiting.values()):
            self._kill(again=self.phase == "loading", hung=True)  # another model waits for what does not end
        elif quiet > patience:
            self._kill(hung=True)
        elif quiet > QUIET and not self._ping and self.phase != "starting":
            self._ping = self._send(Status(0))
        elif quiet < QUIET:
            self._ping = 0
        self._finish()

    # --- inside: the process ----------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Take the next step towards the chosen model from wherever the process is."""
        if self._target is None or self._closed:
            return
        match self.phase:
            case "absent":
                self._process = self._target.start
                self._do(Start(self._process.files, self._process.remote))
                self._change("starting")
                self._own = self._send(Hello(0))
                self._early = self._target, self._send(self._target.load)  # read as soon as the engine has started
            case "ending":
                self._again = True
            case _ if self._process and self._process.remote != self._target.start.remote:
                self._end_process(again=True)
            case "starting":
                pass  # the model is loaded after the engine's Welcome
            case _ if self._maps:
                self._kill(again=True)
            case _:
                self._load()

    def _load(self) -> None:
        assert self._target
        self._own = self._send(self._target.load)
        self._change("loading")

    def _go_on_loading(self) -> None:
        """Wait for the model that was requested with the start; request another one that is wanted by now."""
        target, id = self._early
        if target is self._target:
            self._own = id
            self._change("loading")
        else:
            self._load()

    def _end_process(self, again: bool) -> None:
        self._again = again and not self._closed
        if self.phase in ("absent", "ending"):
            return
        self._wanted, self._own = True, 0
        self._send(Shutdown(0))
        self._do(End("close"))
        self._ending_at, self._harder = self._clock(), [(GRACE, "terminate"), (GRACE + TERMINATED, "kill")]
        self._change("ending")

    def _kill(self, again: bool = False, hung: bool = False) -> None:
        """Kill the process: because it hangs, or because nothing else stops what it does."""
        self._again, self._hung, self._wanted, self._killed_in = again, hung, not hung, self.phase
        self._own = 0
        self._do(End("kill"))
        self._harder.clear()
        self._change("ending")

    def _end_harder(self, now: float) -> None:
        """Take the next means against a process that does not end."""
        if self._harder and now - self._ending_at > self._harder[0][0]:
            self._do(End(self._harder.pop(0)[1]))

    def _goes_on_after(self, end: EngineEnd) -> bool:
        """Return whether the load that a crash ended goes on with another library; once for each model."""
        assert self._target
        any_library = self._target.load.server is None and self._target.load.backend in (None, "auto")
        return self.phase == "loading" and end.crashed and any_library and not self._crashed

    # --- inside: events ---------------------------------------------------------------------------------------------

    def _take_own(self, event: Event) -> None:
        """Take an event of this client's own request: Hello, Load, or Status."""
        match event:
            case Welcome():
                self._out.append(partial(self.news, event))
                self._go_on_loading()
            case Loaded():
                self.model, self._holds_model = event.model, True
                self._become_ready()
            case StatusReport() if event.model:
                self.model = event.model
                self._become_ready()
            case Restart() if self._restarts < MOST_RESTARTS:
                self._restarts += 1
                self._end_process(again=True)
            case Failed() if self.phase == "loading" and self._holds_model and not self._refusal:
                self._refusal, self.switching, self._maps = event, False, False
                self._own = self._send(Status(0))  # the model that was loaded before may still be there
            case Failed() | Restart() | StatusReport():
                self._refuse(event)
            case _:
                self._maps |= isinstance(event, SpeedExpected)
                self._out.append(partial(self.news, event))

    def _become_ready(self) -> None:
        refusal, self._refusal = self._refusal, None
        self.switching = self._maps = self._crashed = False
        self._own = self._restarts = 0
        self._change("ready", refusal)

    def _refuse(self, event: Event) -> None:
        """Tell everybody that the model cannot be loaded, or that the engine refused its first request."""
        answer = event if isinstance(event, Failed) else self._refusal
        refusal = answer or Failed(event.id, Sentence.of("engine_end.unexpected"))
        self._refusal, self._own = None, 0
        self.switching = self._maps = self._holds_model = False
        self._fail_waiters(refusal.sentence, refusal.detail)
        if self.phase == "starting":
            self._end_process(again=False)
        self._change("failed" if self.phase == "loading" else self.phase, refusal)

    def _take_cancelled(self, event: Cancelled) -> None:
        """Answer the waiter of a request that the engine does not know."""
        id = self._cancels.pop(event.id, 0)
        if not event.found:
            self._answer(id, Failed(id, Sentence.of("cancelled.request")))

    # --- inside: waiters --------------------------------------------------------------------------------------------

    def _cancel(self, id: int) -> None:
        waiter = self._waiting.get(id)
        if waiter is None or waiter.cancelled_at is not None:
            return
        if waiter.sent and self.phase != "ending":
            waiter.cancelled_at = self._clock()
            self._cancels[self._send(Cancel(0, id))] = id
        else:
            self._answer(id, Failed(id, Sentence.of("cancelled.request")))

    def _fail_waiters(self, sentence: Sentence, detail: str = "", held: bool = True) -> None:
        """End every request that the engine has, and with `held` those that it does not have yet."""
        for id in [id for id, waiter in self._waiting.items() if held or waiter.sent]:
            self._answer(id, Failed(id, sentence, detail))

    def _answer(self, id: int, event: Event) -> None:
        if waiter := self._waiting.pop(id, None):
            self._out.append(partial(waiter.heard, event))

    def _send_held(self) -> None:
        for waiter in self._waiting.values():
            if not waiter.sent:
                waiter.sent = True
                self._do(Send(waiter.request))

    # --- inside: actions --------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        """End a call: send what waits, perform what came of it, then use an idle moment for a faster library."""
        if self.phase == "ready":
            self._send_held()
        self._tick_if_needed()
        if self._draining:
            return
        self._drain()
        if self.phase == "ready" and self._faster and not self._waiting:
            self._faster, self.switching = False, True
            self._load()
            self._finish()

    def _tick_if_needed(self) -> None:
        waits = self.phase in ("starting", "loading", "ending") or any(w.sent for w in self._waiting.values())
        if waits and not self._ticking:
            self._ticked = self._heard_at = self._clock()
            self._ping = 0
        if waits != self._ticking:
            self._ticking = waits
            self._do(Tick(waits))

    def _shift(self, seconds: float) -> None:
        """Leave `seconds` out of everything that is timed."""
        self._heard_at += seconds
        self._ending_at += seconds
        for waiter in self._waiting.values():
            if waiter.cancelled_at is not None:
                waiter.cancelled_at += seconds

    def _change(self, phase: Phase, failed: Failed | None = None, end: EngineEnd | None = None) -> None:
        self.phase = phase
        self._out.append(partial(self.news, Changed(phase, failed, end)))

    def _send(self, request: Request) -> int:
        id = self._next_id()
        self._do(Send(replace(request, id=id)))
        return id

    def _do(self, action: Action) -> None:
        self._out.append(partial(self._perform, action))

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _drain(self) -> None:
        """Perform the actions and call the waiters in order; what these ask for comes after what is under way.

        A bug in one callback keeps no other from being called: the first exception is raised at the end.
        """
        self._draining, bug = True, None
        while self._out:
            try:
                self._out.popleft()()
            except Exception as error:  # noqa: BLE001 - raised below
                bug = bug or error
        self._draining = False
        if bug:
            raise bug
