"""The life of a server: everybody who waits is answered once, whatever happens in whatever order."""

from __future__ import annotations

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from app.tools.mcp.life import (
    RESTS_MS,
    STARTS,
    Abort,
    Action,
    Alarm,
    Answer,
    End,
    Life,
    Send,
    Spawn,
    Timer,
    Wanted,
)  # fmt: skip
from app.tools.mcp.messages import Called, Tool
from common.sentences import Sentence

GREET, OTHER = Tool("greet", description="Greets."), Tool("greet", description="Sends your files.")
DIED = Sentence.of("tool_server.closed")
OFF = Sentence.of("tool_server.stopped")


def answers(actions: list[Action]) -> list[Called]:
    return [action.result for action in actions if isinstance(action, Answer)]


def started(tools: tuple[Tool, ...] = (GREET,)) -> Life:
    life = Life()
    life.want(Wanted(0))
    life.described(tools)
    return life


def test_a_call_starts_the_server_and_is_sent_when_it_is_ready() -> None:
    life = Life()
    assert life.want(Wanted(1, GREET))[0] == Spawn()
    assert Send(Wanted(1, GREET)) in life.described((GREET,))
    assert answers(life.answered(Called(1, "Hello"))) == [Called(1, "Hello")]


def test_a_call_of_a_tool_that_has_changed_is_not_sent() -> None:
    life = started((OTHER,))
    (answer,) = answers(life.want(Wanted(1, GREET)))
    assert answer.problem is not None
    assert answer.problem.id == "tool_server.changed"
    (answer,) = answers(started(()).want(Wanted(1, GREET)))
    assert answer.problem is not None
    assert answer.problem.id == "tool_server.gone"


def test_a_call_that_was_sent_is_never_sent_again() -> None:
    life = started()
    life.want(Wanted(1, GREET))
    (answer,) = answers(life.ended(DIED))
    assert answer == Called(1, failed=True, problem=DIED)
    assert not life.waiting
    assert not life.running


def test_a_server_that_fails_is_started_again_after_growing_pauses_and_then_no_more() -> None:
    life = Life()
    life.want(Wanted(1, GREET))
    for rest in RESTS_MS:
        assert Alarm("rest", rest) in life.ended(DIED)
        assert life.alarm("rest")[0] == Spawn()
    (answer,) = answers(life.ended(DIED))
    assert answer.problem == Sentence.of("tool_server.gave_up", reason=DIED, starts=STARTS)
    assert life.state == "failed"
    assert life.want(Wanted(2, GREET))[0] == Spawn()  # a new call tries once
    assert len(answers(life.ended(DIED))) == 1


def test_what_another_start_would_not_change_is_said_at_once() -> None:
    life = Life()
    life.want(Wanted(1, GREET))
    unconfined = Sentence.of("tool_server.unconfined")
    (answer,) = answers(life.ended(unconfined, final=True))
    assert answer.problem == unconfined


def test_a_server_that_nobody_needs_ends() -> None:
    life = started()
    assert life.alarm("idle")[0] == End()
    assert life.state == "off"


class Lives(RuleBasedStateMachine):
    """A life, and a driver that does what it asks for, with a process that does anything at any moment."""

    @initialize()
    def begin(self) -> None:
        self.life = Life()
        self.last = 0
        self.wanted: set[int] = set()
        self.cancelled: set[int] = set()
        self.answered: Counter[int] = Counter()
        self.sent: Counter[int] = Counter()
        self.process = self.ready = False
        self.alarms: set[Timer] = set()
        self.spawned = 0  # since somebody wanted something anew

    def perform(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Spawn():
                    assert not self.process
                    self.process, self.ready = True, False
                    self.spawned += 1
                case End():
                    self.process = self.ready = False
                case Send(wanted=wanted):
                    assert self.ready
                    assert wanted.tool in self.tools
                    self.sent[wanted.id] += 1
                case Abort(id=id):
                    assert self.ready
                    assert self.sent[id]
                case Answer(result=result):
                    self.answered[result.id] += 1
                    assert result.failed or self.ready
                case Alarm(timer=timer, ms=ms):
                    (self.alarms.add if ms else self.alarms.discard)(timer)

    @rule(tool=st.sampled_from([None, GREET, OTHER]))
    def want(self, tool: Tool | None) -> None:
        self.last += 1
        self.wanted.add(self.last)
        self.spawned = 0
        self.perform(self.life.want(Wanted(self.last, tool)))

    @precondition(lambda self: self.wanted)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(sorted(self.wanted)))
        if not self.answered[id]:
            self.cancelled.add(id)
        self.perform(self.life.cancel(id))

    @precondition(lambda self: self.process)
    @rule(tools=st.sampled_from([(GREET,), (OTHER,), ()]))
    def describe(self, tools: tuple[Tool, ...]) -> None:
        self.ready, self.tools = True, tools
        self.perform(self.life.described(tools))

    @precondition(lambda self: self.process)
    @rule(final=st.booleans())
    def die(self, final: bool) -> None:
        self.process = self.ready = False
        self.perform(self.life.ended(DIED, final))

    @precondition(lambda self: self.ready and self.sent)
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        """Answer any call that was sent, also one that was answered or cancelled before."""
        self.perform(self.life.answered(Called(data.draw(st.sampled_from(sorted(self.sent))), "Hello")))

    @precondition(lambda self: self.alarms)
    @rule(data=st.data())
    def ring(self, data: st.DataObject) -> None:
        timer: Timer = data.draw(st.sampled_from(sorted(self.alarms)))
        self.alarms.discard(timer)
        self.perform(self.life.alarm(timer))

    @rule()
    def stop(self) -> None:
        self.perform(self.life.stop(OFF))
        assert not self.life.waiting
        assert not self.alarms

    @invariant()
    def everybody_waits_or_was_answered_once(self) -> None:
        if not hasattr(self, "life"):
            return
        for id in self.wanted:
            waits = id in self.life.waiting
            assert self.answered[id] + (id in self.cancelled) + waits == 1, id
        assert all(count == 1 for count in self.sent.values())

    @invariant()
    def who_waits_waits_for_something(self) -> None:
        if not hasattr(self, "life"):
            return
        assert self.life.running == self.process
        assert self.spawned <= STARTS
        if self.life.waiting:
            assert self.alarms & {"start", "answer", "rest"}
        elif self.process:
            assert self.alarms & {"start", "idle"}


Lives.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestLives = Lives.TestCase
