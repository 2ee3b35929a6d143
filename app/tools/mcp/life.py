"""The life of a server's process as a pure state machine: events in, actions out; everybody who waits is answered once.

A server runs only while somebody wants something from it, and a few minutes longer. If it dies, a call that it was
given fails, since nobody knows how far it came; calls that wait for its start are kept, and it is started again, after
a pause that grows, until it has failed STARTS times in a row. After that each new call tries once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from app.tools.mcp.messages import Asked, Called, Tool
from common.sentences import Sentence

State = Literal["off", "starting", "ready", "resting", "failed"]
Timer = Literal["start", "answer", "rest", "idle"]
STARTS = 3
RESTS_MS = (1_000, 5_000)  # before the second and the third start
START_MS = 120_000  # the child itself gives up a little earlier
ANSWER_MS = 130_000
IDLE_MS = 300_000
TIMES: dict[Timer, int] = {"start": START_MS, "answer": ANSWER_MS, "idle": IDLE_MS}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request to the server; without a tool or a `request`, that it starts and tells its lists.

    `tool`: the tool that the request calls. It is sent only if the server still describes the tool in the same way.
    """

    id: int
    tool: Tool | None = None
    request: Asked | None = None


@dataclass(frozen=True, slots=True)
class Spawn:
    """Order to start the process."""


@dataclass(frozen=True, slots=True)
class End:
    """Order to end the process, and to hear nothing of it any more."""


@dataclass(frozen=True, slots=True)
class Send:
    """Order to send a call."""

    wanted: Wanted


@dataclass(frozen=True, slots=True)
class Abort:
    """Order to tell the process that a call's result is not wanted any more."""

    id: int


@dataclass(frozen=True, slots=True)
class Answer:
    """Result of a call for the one who waits; `result.problem` says why there is none."""

    result: Called


@dataclass(frozen=True, slots=True)
class Alarm:
    """Order to call `alarm` with this timer after `ms` milliseconds; with 0, to cancel it."""

    timer: Timer
    ms: int


Action = Spawn | End | Send | Abort | Answer | Alarm


class Life:
    """The state of one server's process, and all that is wanted of it. Each method returns what is to be done."""

    def __init__(self) -> None:
        self.state: State = "off"
        self.problem: Sentence | None = None  # why the last start or the running server failed
        self.tools: dict[str, Tool] = {}  # as the running server describes them
        self._waiting: dict[int, Wanted] = {}  # for the server to be ready
        self._sent: dict[int, Wanted] = {}
        self._failures = 0  # in a row

    @property
    def running(self) -> bool:
        return self.state in ("starting", "ready")

    @property
    def waiting(self) -> frozenset[int]:
        """Ids of all that was not answered yet."""
        return frozenset(self._waiting) | frozenset(self._sent)

    def want(self, wanted: Wanted) -> list[Action]:
        if self.state == "ready":
            return [Alarm("idle", 0), *self._give(wanted), *self._idle_if_free()]
        self._waiting[wanted.id] = wanted
        if self.state in ("off", "failed"):
            return self._spawn()
        return []

    def cancel(self, id: int) -> list[Action]:
        """Forget what was wanted; it gets no answer."""
        if self._sent.pop(id, None) is not None:
            return [Abort(id), *self._watch_answers()]
        self._waiting.pop(id, None)
        if self.state == "resting" and not self._waiting:
            self.state = "failed"
            return [Alarm("rest", 0)]
        return []

    def described(self, tools: Iterable[Tool]) -> list[Action]:
        """Take over the tools of the server, which is ready if it was not before."""
        if not self.running:
            return []
        self.tools = {tool.name: tool for tool in tools}
        if self.state == "ready":
            return []
        self.state, self.problem = "ready", None
        waiting, self._waiting = self._waiting, {}
        given = [action for wanted in waiting.values() for action in self._give(wanted)]
        return [Alarm("start", 0), *given, *self._idle_if_free()]

    def answered(self, result: Called) -> list[Action]:
        """Answer a call whose result has come; drop one that nobody waits for."""
        if self._sent.pop(result.id, None) is None:
            return []
        self._failures = 0
        return [Answer(result), *self._watch_answers()]

    def ended(self, problem: Sentence, final: bool = False) -> list[Action]:
        """Take note that the process has ended or is of no use; `final`: another start would not change that."""
        if not self.running:
            return []
        self._failures = STARTS if final else self._failures + 1
        self.problem, self.tools = problem, {}
        failed = self._answer_all(self._sent, problem)
        stop: list[Action] = [End(), *(Alarm(timer, 0) for timer in TIMES)]
        if self._waiting and self._failures < STARTS:
            self.state = "resting"
            return [*stop, *failed, Alarm("rest", RESTS_MS[self._failures - 1])]
        self.state = "failed"
        return [*stop, *failed, *self._answer_all(self._waiting, self._last_word(problem, final))]

    def alarm(self, timer: Timer) -> list[Action]:
        """Do what a timer was set for that has run out."""
        if timer == "rest" and self.state == "resting":
            return self._spawn()
        if timer == "start" and self.state == "starting":
            return self.ended(Sentence.of("tool_server.slow"))
        if timer == "answer" and self._sent:
            return self.ended(Sentence.of("tool_server.slow"))
        if timer == "idle" and self.state == "ready" and not self._sent:
            return self._stop("off")
        return []

    def stop(self, problem: Sentence) -> list[Action]:
        """End the server, because the user has switched it off, changed or removed it, or the window closes."""
        self._failures, self.problem = 0, None
        answers = [*self._answer_all(self._sent, problem), *self._answer_all(self._waiting, problem)]
        return [*self._stop("off"), *answers]

    # --- inside -----------------------------------------------------------------------------------------------------

    def _spawn(self) -> list[Action]:
        self.state = "starting"
        return [Spawn(), Alarm("start", START_MS)]

    def _stop(self, state: State) -> list[Action]:
        was_running, self.state, self.tools = self.running, state, {}
        return [*([End()] if was_running else []), *(Alarm(timer, 0) for timer in (*TIMES, "rest"))]

    def _give(self, wanted: Wanted) -> list[Action]:
        """Send what is wanted of a server that is ready, or answer it."""
        if wanted.tool is None and wanted.request is None:
            self._failures = 0
            return [Answer(Called(wanted.id))]
        now = self.tools.get(wanted.tool.name) if wanted.tool else None
        if wanted.tool is not None and now != wanted.tool:
            name = wanted.tool.name
            problem = Sentence.of("tool_server.changed" if now else "tool_server.gone", name=name)
            return [Answer(_failure(wanted.id, problem))]
        self._sent[wanted.id] = wanted
        return [Send(wanted), Alarm("answer", ANSWER_MS)]

    def _watch_answers(self) -> list[Action]:
        return [Alarm("answer", ANSWER_MS if self._sent else 0), *self._idle_if_free()]

    def _idle_if_free(self) -> list[Action]:
        return [] if self._sent else [Alarm("idle", IDLE_MS)]

    def _answer_all(self, wanted: dict[int, Wanted], problem: Sentence) -> list[Action]:
        ids = list(wanted)
        wanted.clear()
        return [Answer(_failure(id, problem)) for id in ids]

    def _last_word(self, problem: Sentence, final: bool) -> Sentence:
        """Return what those are told who waited for a start that never came."""
        if final or self._failures < STARTS:
            return problem
        return Sentence.of("tool_server.gave_up", reason=problem, starts=self._failures)


def _failure(id: int, problem: Sentence) -> Called:
    return Called(id, failed=True, problem=problem)
