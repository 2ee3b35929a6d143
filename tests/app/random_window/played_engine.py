"""An engine that a test plays event by event, in the place of the process that the window starts.

Everything from `EngineProcess` on is the window's own: the lines, the client, the queue. Without a process, the order
of events does not depend on how busy the computer is, so that a sequence of rules can be repeated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from PySide6.QtCore import QObject

from common.process_end import ProcessEnd
from common.sentences import Sentence
from engine.protocol import events, requests
from engine.protocol.lines import decode_request, encode
from tests.app.fake_engine import count, info

Speech = Literal["piece", "thought", "end", "full", "refuse", "too_long", "restart", "die", "hang"]
SPEECHES: tuple[Speech, ...] = ("piece", "thought", "end", "full", "refuse", "too_long", "restart", "die", "hang")
TOO_LONG = Sentence.of(
    "prompt_too_long.chat",
    needed=Sentence.of("turns.tokens", tokens=5000),
    first=Sentence.of("turns.leave_out", n=1),
    n_ctx=4096,
    other=Sentence.of("turns.larger_context", n_ctx=8192),
)
KILLED, CRASHED = 9, 11
Job = requests.Load | requests.Generate | requests.Prepare | requests.Title


class PlayedEngine(QObject):
    """Child process that exists only here; `speak` says what it does next, `pump` lets it do the rest."""

    latest: PlayedEngine
    on_piece: Callable[[int], str]  # makes the next piece of the answer to the request with this id

    def __init__(
        self,
        parent: QObject,
        heard: Callable[[list[bytes]], object],
        ended: Callable[[ProcessEnd], object],
        errors: object = "drop",
    ) -> None:
        super().__init__(parent)
        PlayedEngine.latest = self
        self._heard, self._ended = heard, ended
        self._reset()
        self.running = False
        self.pid, self.memory_bytes = 1, 42_000_000

    def _reset(self) -> None:
        self.lines: deque[bytes] = deque()
        self.jobs: deque[Job] = deque()
        self.cancelled: set[int] = set()
        self.answering_now: set[int] = set()
        self.model: events.ModelInfo | None = None
        self.hung = self.said = self.thinking = False
        self.tokens = 0
        self._end: ProcessEnd | None = None

    # --- what the window does with a process ------------------------------------------------------------------------

    def start(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        assert not self.running, "it is started already"
        self._reset()
        self.running = True

    def write(self, line: bytes) -> None:
        if self.running:
            self.lines.append(line)

    def flush(self) -> None:
        """Do nothing: what is written is here at once."""

    def kill(self) -> None:
        self._end = ProcessEnd(signal_number=KILLED, killed=True)

    def close_input(self) -> None:
        if not self.hung:
            self._end = self._end or ProcessEnd(exit_code=0)

    terminate = close_input

    def close(self, grace_ms: int = 0, terminate: bool = False) -> bool:
        self.running = False
        return True

    # --- what the test does with it ---------------------------------------------------------------------------------

    def pump(self) -> bool:
        """Answer what an engine answers at once; return whether there was anything to do."""
        if not self.running:
            return False
        if self._end is not None:
            self._die(self._end)
            return True
        if self.hung or not self.lines:
            return False
        while self.lines and self.running and not self.hung:
            self._take(decode_request(self.lines.popleft()))
        return True

    def speak(self, speech: Speech) -> None:
        """Go on with the oldest request as `speech` says, or as near to that as this request allows."""
        if not self.running or self.hung or self._end is not None:
            return
        if speech == "die":
            self._die(ProcessEnd(signal_number=CRASHED))
        elif speech == "hang":
            self.hung = True
        elif self.jobs:
            match self.jobs[0]:
                case requests.Load() as load:
                    self._load(load, speech)
                case requests.Generate() as generate:
                    self._generate(generate, speech)
                case requests.Prepare() as prepare:
                    self._last(events.Prepared(prepare.id, 20, 20))
                case requests.Title() as title:
                    self._last(events.Titled(title.id, "**Title:** about birds"))

    # --- inside -----------------------------------------------------------------------------------------------------

    def _say(self, event: events.Event) -> None:
        self._heard([encode(event)])

    def _last(self, event: events.Event) -> None:
        """Say the last event of the oldest request."""
        self.jobs.popleft()
        self.said = self.thinking = False
        self._say(event)

    def _die(self, end: ProcessEnd) -> None:
        self.running = False
        self._ended(end)

    def _take(self, request: requests.Request) -> None:
        match request:
            case requests.Hello():
                self._say(events.Welcome(request.id, "played", "none", self.pid))
            case requests.Cancel():
                self.cancelled.add(request.request)
                self._say(events.Cancelled(request.id, any(job.id == request.request for job in self.jobs)))
            case requests.AnswerNow():
                self.answering_now.add(request.request)
                self._say(events.AnsweringNow(request.id, True))
            case requests.Count():
                self._say(count(request))
            case requests.Status():
                self._say(events.StatusReport(request.id, self.model, 0, self.memory_bytes))
            case requests.Watch():
                self._say(events.Watching(request.id, request.on))
            case requests.Forget():
                self._say(events.Forgotten(request.id))
            case requests.Load() | requests.Generate() | requests.Prepare() | requests.Title():
                self.jobs.append(request)
            case _:
                self._end = ProcessEnd(exit_code=0)

    def _load(self, load: requests.Load, speech: Speech) -> None:
        if speech in ("refuse", "too_long"):
            self._last(events.Failed(load.id, Sentence.of("no_such_file.model", path=load.path), "details"))
        elif speech == "restart":
            self._last(events.Restart(load.id, "ik"))
        elif speech == "piece" and not self.said:
            self.said = True
            self._say(events.LoadProgress(load.id, 0.5))
        else:
            self.model = info(load.path, load.n_ctx or 4096)
            self._last(events.Loaded(load.id, self.model, 0.1))

    def _generate(self, generate: requests.Generate, speech: Speech) -> None:
        id = generate.id
        assert self.model, "an engine without a model is asked nothing"
        if id in self.cancelled:
            if self.said:
                self._finish(id, "cancelled")
            else:
                self._last(events.Failed(id, Sentence.of("cancelled.request")))
        elif speech == "refuse":
            self._last(events.Failed(id, Sentence.plain("This chat cannot be answered."), "details"))
        elif speech == "too_long" and not self.said:
            remedies = (events.Remedy("forget_turns", turns=1), events.Remedy("larger_context", n_ctx=8192))
            self._last(events.Failed(id, TOO_LONG, "", remedies))
        elif speech == "thought" and not self.thinking and not self.said:
            self.thinking = True
            self._say(events.ThinkingStarted(id, "<think>"))
        elif self.thinking and (speech in ("end", "full") or id in self.answering_now):
            self.thinking = False
            self._say(events.ThinkingEnded(id, "</think>", True, 3, 1.0))
        elif speech in ("end", "full", "restart") and self.said:
            self._finish(id, "context" if speech == "full" else "end")
        else:
            self.said = True
            self.tokens += 1
            text = PlayedEngine.on_piece(id)
            self._say(events.Thinking(id, text) if self.thinking else events.Text(id, text))

    def _finish(self, id: int, reason: requests.StopReason) -> None:
        statistics = events.Statistics(20, 5, 0.1, self.tokens, 0.5, self.tokens, reason, 20 + self.tokens, 4096)
        self._last(events.Finished(id, statistics, ()))
