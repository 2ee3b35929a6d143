"""The engine's client, with a process that is only told about: every order of events, and no time that passes."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TypeVar

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from common.process_end import EngineEnd
from common.sentences import Sentence
from engine.client import (
    GRACE,
    PATIENCE,
    QUIET,
    SILENT,
    STARTING,
    TERMINATED,
    Action,
    Changed,
    End,
    EngineClient,
    Send,
    Start,
    Target,
    Tick,
)
from engine.protocol.events import (
    ENDS,
    Cancelled,
    Event,
    Failed,
    Faster,
    Loaded,
    LoadProgress,
    Notice,
    Restart,
    SpeedExpected,
    StatusReport,
    Text,
    Tokenized,
    Welcome,
)
from engine.protocol.requests import Cancel, Generate, Hello, Load, Request, Server, Shutdown, Status, Tokenize
from tests.engine.scripted_engine import info
from tests.found import WHICH, chosen

R = TypeVar("R", bound=Request)
REFUSAL = Sentence.of("empty_prompt.message")
MODEL = Target(Load(0, "/m.gguf"))


class Bench:
    """A client, its clock, and what it wants done to a process that this test plays."""

    def __init__(self) -> None:
        self.now = 0.0
        self.actions: list[Action] = []
        self.news: list[Event | Changed] = []
        self.client = EngineClient(self.actions.append, lambda: self.now)
        self.client.news = self.news.append

    def requests(self) -> list[Request]:
        return [action.request for action in self.actions if isinstance(action, Send)]

    def last(self, kind: type[R]) -> R:
        return [request for request in self.requests() if isinstance(request, kind)][-1]

    def welcome(self) -> None:
        self.client.received(Welcome(self.last(Hello).id, engine="e", backend="", pid=1, limits=()))

    def loaded(self) -> None:
        self.client.received(Loaded(self.last(Load).id, info("/m.gguf"), 0.1))

    def phase(self) -> str:
        return self.client.phase

    def switching(self) -> bool:
        return self.client.switching

    def ready(self, target: Target = MODEL) -> None:
        self.client.use(target)
        self.welcome()
        self.loaded()

    def submit(self, text: str = "a") -> list[Event]:
        heard: list[Event] = []
        self.client.submit(Tokenize(0, text), heard.append)
        return heard

    def pass_time(self, seconds: float) -> None:
        """Let time pass in steps that a computer makes which does not sleep."""
        until = self.now + seconds
        while self.now < until:
            self.now += 1
            self.client.tick()

    def ends(self) -> list[str]:
        return [action.how for action in self.actions if isinstance(action, End)]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_request_starts_the_process_and_waits_for_the_model(bench: Bench) -> None:
    bench.client.use(MODEL)
    heard = bench.submit()
    assert bench.actions[0] == Start(("/m.gguf",), remote=False)
    assert not any(isinstance(request, Tokenize) for request in bench.requests())
    bench.welcome()
    bench.loaded()
    asked = bench.last(Tokenize)
    bench.client.received(Tokenized(asked.id, (1,), (b"a",)))
    assert heard == [Tokenized(asked.id, (1,), (b"a",))]


def test_the_model_is_requested_with_the_start_so_that_nobody_waits_for_the_welcome(bench: Bench) -> None:
    bench.client.use(MODEL)
    assert [type(request) for request in bench.requests()] == [Hello, Load]
    assert bench.phase() == "starting"
    bench.welcome()
    assert bench.phase() == "loading"
    bench.loaded()
    assert (bench.phase(), len(bench.requests())) == ("ready", 2)


def test_a_model_that_is_chosen_before_the_welcome_is_the_one_that_is_loaded(bench: Bench) -> None:
    bench.client.use(MODEL)
    first = bench.last(Load)
    bench.client.use(Target(Load(0, "/other.gguf")))
    bench.welcome()
    assert bench.last(Load).path == "/other.gguf"
    bench.client.received(Loaded(first.id, info("/m.gguf"), 0.1))
    assert bench.phase() == "loading"
    bench.loaded()
    assert bench.phase() == "ready"


def test_without_a_model_a_request_is_refused(bench: Bench) -> None:
    [event] = bench.submit()
    assert isinstance(event, Failed)
    assert event.code == "no_model"
    assert not bench.actions


def test_a_request_that_may_not_wait_is_dropped_while_nothing_is_loaded(bench: Bench) -> None:
    bench.client.use(MODEL)
    assert bench.client.submit(Status(0), lambda _event: None, hold=False) == 0
    bench.welcome()
    bench.loaded()
    assert not any(isinstance(request, Status) for request in bench.requests())


def test_a_request_that_is_cancelled_before_the_engine_has_it_is_answered_and_never_sent(bench: Bench) -> None:
    bench.client.use(MODEL)
    heard: list[Event] = []
    id = bench.client.submit(Generate(0, ()), heard.append)
    bench.client.cancel(id)
    assert [type(event) for event in heard] == [Failed]
    bench.welcome()
    bench.loaded()
    assert not any(isinstance(request, Generate | Cancel) for request in bench.requests())


def test_a_cancelled_request_that_the_engine_does_not_know_is_answered(bench: Bench) -> None:
    bench.ready()
    heard: list[Event] = []
    id = bench.client.submit(Generate(0, ()), heard.append)
    bench.client.cancel(id)
    bench.client.received(Cancelled(bench.last(Cancel).id, found=False))
    assert [event.code for event in heard if isinstance(event, Failed)] == ["cancelled"]


def test_an_engine_that_ignores_cancel_is_killed_and_the_next_request_starts_another(bench: Bench) -> None:
    bench.ready()
    heard: list[Event] = []
    bench.client.cancel(bench.client.submit(Generate(0, ()), heard.append))
    bench.client.received(Cancelled(bench.last(Cancel).id, found=True))
    bench.pass_time(PATIENCE - 1)
    assert bench.ends() == []
    bench.pass_time(2)
    assert bench.ends() == ["kill"]
    bench.client.ended(EngineEnd(signal_number=9))
    [event] = heard
    assert isinstance(event, Failed)
    assert event.sentence.id == "engine_end.hung"
    bench.submit()
    assert bench.phase() == "starting"


def test_another_model_is_loaded_though_what_ran_does_not_end(bench: Bench) -> None:
    bench.ready()
    heard: list[Event] = []
    bench.client.submit(Generate(0, ()), heard.append)
    bench.client.use(Target(Load(0, "/other.gguf")))
    waiting = bench.submit()
    bench.pass_time(PATIENCE + 1)
    assert bench.ends() == ["kill"]
    bench.client.ended(EngineEnd(signal_number=9))
    bench.welcome()
    assert bench.last(Load).path == "/other.gguf"
    bench.loaded()
    assert [event.sentence.id for event in heard if isinstance(event, Failed)] == ["engine_end.hung"]
    assert not waiting


def test_an_engine_that_says_nothing_is_asked_and_then_killed(bench: Bench) -> None:
    """So is a process that somebody has stopped."""
    bench.ready()
    heard = bench.submit()
    bench.pass_time(QUIET + 1)
    assert isinstance(bench.requests()[-1], Status)
    bench.client.received(StatusReport(bench.requests()[-1].id, None, 0, 0))
    bench.pass_time(SILENT - 1)
    assert bench.ends() == []
    bench.pass_time(2)
    assert bench.ends() == ["kill"]
    bench.client.ended(EngineEnd(signal_number=9))
    assert [event.sentence.id for event in heard if isinstance(event, Failed)] == ["engine_end.hung"]


def test_an_idle_engine_may_be_silent(bench: Bench) -> None:
    bench.ready()
    assert [action.on for action in bench.actions if isinstance(action, Tick)] == [True, False]


def test_a_computer_that_slept_kills_no_engine(bench: Bench) -> None:
    bench.ready()
    heard = bench.submit()
    bench.now += 8 * 3600
    bench.client.tick()
    bench.pass_time(QUIET - 1)
    assert bench.ends() == []
    assert not heard


def test_a_welcome_that_comes_too_late_loads_nothing(bench: Bench) -> None:
    bench.client.use(MODEL)
    bench.client.unload()
    bench.welcome()
    assert isinstance(bench.requests()[-1], Shutdown)
    assert bench.phase() == "ending"


def test_a_process_that_never_says_welcome_is_killed(bench: Bench) -> None:
    bench.client.use(MODEL)
    heard = bench.submit()
    bench.pass_time(STARTING + 1)
    bench.client.ended(EngineEnd(signal_number=9))
    assert [event.sentence.id for event in heard if isinstance(event, Failed)] == ["engine_end.hung"]
    assert bench.phase() == "absent"


def test_a_process_that_cannot_be_started_is_told(bench: Bench) -> None:
    bench.client.use(MODEL)
    heard = bench.submit()
    bench.client.ended(EngineEnd(not_started="No such file"))
    assert [event.sentence.id for event in heard if isinstance(event, Failed)] == ["engine_end.not_started"]


def test_another_library_takes_a_new_process_and_nothing_is_lost(bench: Bench) -> None:
    bench.client.use(MODEL)
    bench.welcome()
    heard = bench.submit()
    bench.client.received(Restart(bench.last(Load).id, "ik"))
    assert bench.actions[-1] == End("close")
    bench.client.ended(EngineEnd(exit_code=0))
    bench.welcome()
    bench.loaded()
    bench.client.received(Tokenized(bench.last(Tokenize).id, (), ()))
    assert [type(event) for event in heard] == [Tokenized]
    assert not [news for news in bench.news if isinstance(news, Changed) and (news.end or news.failed)]


def test_an_engine_that_always_wants_another_process_is_refused(bench: Bench) -> None:
    bench.client.use(MODEL)
    heard = bench.submit()
    for _ in range(3):
        bench.welcome()
        bench.client.received(Restart(bench.last(Load).id, "ik"))
        if bench.phase() == "ending":
            bench.client.ended(EngineEnd(exit_code=0))
    assert bench.phase() == "failed"
    assert [event.sentence.id for event in heard if isinstance(event, Failed)] == ["engine_end.unexpected"]


def test_a_faster_library_is_taken_while_nobody_waits_and_requests_wait_for_it(bench: Bench) -> None:
    bench.ready()
    answering = bench.submit()
    bench.client.received(Faster(0, "ik"))
    assert bench.phase() == "ready"
    bench.client.received(Tokenized(bench.last(Tokenize).id, (), ()))
    assert len(answering) == 1
    assert bench.switching()
    chat = bench.submit("b")
    bench.client.received(Restart(bench.last(Load).id, "ik"))
    bench.client.ended(EngineEnd(exit_code=0))
    bench.welcome()
    assert not chat
    bench.loaded()
    assert not bench.switching()
    assert bench.last(Tokenize).text == "b"


def test_a_library_that_crashes_while_it_loads_is_replaced_once(bench: Bench) -> None:
    bench.client.use(MODEL)
    heard = bench.submit()
    bench.welcome()
    bench.client.ended(EngineEnd(signal_number=11))
    assert bench.phase() == "starting"
    assert not heard
    bench.welcome()
    bench.client.ended(EngineEnd(signal_number=11))
    assert bench.phase() == "absent"
    assert [event.sentence.id for event in heard if isinstance(event, Failed)] == ["engine_end.crashed"]


def test_a_library_that_the_user_named_is_not_replaced(bench: Bench) -> None:
    bench.client.use(Target(Load(0, "/m.gguf", backend="ik")))
    bench.welcome()
    bench.client.ended(EngineEnd(signal_number=11))
    assert bench.phase() == "absent"


def test_a_model_that_cannot_be_loaded_leaves_the_one_before(bench: Bench) -> None:
    bench.ready()
    bench.client.use(Target(Load(0, "/other.gguf")))
    heard = bench.submit()
    bench.client.received(Failed(bench.last(Load).id, REFUSAL))
    bench.client.received(StatusReport(bench.last(Status).id, info("/m.gguf"), 0, 0))
    last = bench.news[-1]
    assert isinstance(last, Changed)
    assert last.phase == "ready"
    assert last.failed
    assert last.failed.sentence == REFUSAL
    assert bench.requests()[-1].id == bench.last(Tokenize).id
    assert not heard


def test_a_model_that_cannot_be_loaded_is_told_to_who_waits_and_tried_again_for_the_next(bench: Bench) -> None:
    bench.client.use(MODEL)
    heard = bench.submit()
    bench.welcome()
    bench.client.received(Failed(bench.last(Load).id, REFUSAL))
    assert [event.sentence for event in heard if isinstance(event, Failed)] == [REFUSAL]
    assert bench.phase() == "failed"
    bench.submit()
    assert bench.phase() == "loading"


def test_the_library_that_maps_a_large_file_is_killed_for_another_model(bench: Bench) -> None:
    bench.client.use(MODEL)
    bench.welcome()
    bench.client.received(SpeedExpected(bench.last(Load).id, REFUSAL, 1.0, True))
    bench.client.use(Target(Load(0, "/other.gguf")))
    assert bench.ends() == ["kill"]
    bench.client.ended(EngineEnd(signal_number=9))
    assert Start(("/other.gguf",), remote=False) in bench.actions


def test_a_server_and_a_model_on_this_computer_have_different_processes(bench: Bench) -> None:
    bench.ready()
    bench.client.use(Target(Load(0, "name", server=Server("http://x"))))
    assert bench.ends() == ["close"]
    bench.client.ended(EngineEnd(exit_code=0))
    assert Start((), remote=True) in bench.actions


def test_an_engine_that_does_not_end_is_ended(bench: Bench) -> None:
    bench.ready()
    bench.client.close()
    assert isinstance(bench.requests()[-1], Shutdown)
    bench.pass_time(GRACE + TERMINATED + 2)
    assert bench.ends() == ["close", "terminate", "kill"]


def test_the_end_of_an_unloaded_engine_is_no_problem_and_a_request_starts_the_next_one(bench: Bench) -> None:
    bench.ready()
    bench.client.unload()
    heard = bench.submit()
    assert bench.phase() == "ending"
    bench.client.ended(EngineEnd(exit_code=0))
    assert bench.phase() == "starting"
    assert not heard


def test_events_of_nobody_are_news(bench: Bench) -> None:
    bench.ready()
    notice = Notice(0, REFUSAL)
    bench.client.received(notice)
    assert bench.news[-1] == notice


def test_a_bug_in_a_callback_keeps_no_other_from_its_answer(bench: Bench) -> None:
    bench.ready()

    def broken(_event: Event) -> None:
        raise ZeroDivisionError

    bench.client.submit(Tokenize(0, "a"), broken)
    heard = bench.submit()
    with pytest.raises(ZeroDivisionError):
        bench.client.ended(EngineEnd(exit_code=1))
    assert len(heard) == 1


def test_what_a_callback_asks_for_comes_after_what_is_under_way(bench: Bench) -> None:
    bench.ready()
    again: list[Event] = []
    bench.client.submit(Tokenize(0, "a"), lambda _event: bench.client.submit(Tokenize(0, "b"), again.append))
    bench.client.ended(EngineEnd(exit_code=1))
    bench.welcome()
    bench.loaded()
    bench.client.received(Tokenized(bench.last(Tokenize).id, (), ()))
    assert [type(event) for event in again] == [Tokenized]


class AnyOrder(RuleBasedStateMachine):
    """Users and a process do whatever they can, in any order."""

    @initialize()
    def begin(self) -> None:
        self.bench = Bench()
        self.client = self.bench.client
        self.processes = 0
        self.done = 0  # actions that the process has seen
        self.unanswered: list[Request] = []  # by the process
        self.ends: Counter[int] = Counter()
        self.asked = 0
        self.closed = False
        self.numbers = itertools.count()

    def look(self) -> None:
        """Do to the process what the client wants done."""
        while self.done < len(self.bench.actions):
            action = self.bench.actions[self.done]
            self.done += 1
            match action:
                case Start():
                    assert self.processes == 0, "two processes at once"
                    assert not self.closed, "started after close"
                    self.processes, self.unanswered, self.killed, self.ending = 1, [], False, False
                case Send(request):
                    assert self.processes == 1, f"{request} to no process"
                    assert not self.ending, f"{request} to a process that is being ended"
                    self.unanswered.append(request)
                case End(how):
                    assert self.processes == 1
                    self.ending = True
                    self.killed |= how == "kill"

    def hear(self, number: int, event: Event) -> None:
        if isinstance(event, ENDS):
            self.ends[number] += 1

    # --- users ---

    @rule(path=st.sampled_from(("/a.gguf", "/b.gguf")), remote=st.booleans(), named=st.booleans())
    def use(self, path: str, remote: bool, named: bool) -> None:
        server = Server("http://x") if remote else None
        self.client.use(Target(Load(0, path, server=server, backend="ik" if named else None)))
        self.look()

    @rule(long=st.booleans(), again=st.booleans())
    def submit(self, long: bool, again: bool) -> None:
        number = next(self.numbers)
        self.asked = number + 1

        def heard(event: Event) -> None:
            self.hear(number, event)
            if again and isinstance(event, ENDS) and not self.closed:
                self.submit(long, again=False)

        self.client.submit(Generate(0, ()) if long else Tokenize(0, "a"), heard)
        self.look()

    @rule(which=WHICH)
    def hang_up(self, which: int) -> None:
        if self.client._waiting:
            self.client.cancel(chosen(sorted(self.client._waiting), which))
            self.look()

    @rule()
    def unload(self) -> None:
        self.client.unload()
        self.look()

    @rule()
    def start(self) -> None:
        self.client.start()
        self.look()

    @rule(seconds=st.sampled_from((1, 30, 140, 10_000)))
    def wait(self, seconds: int) -> None:
        self.bench.now += 1
        self.client.tick()
        self.look()
        if seconds == 10_000:
            self.bench.now += seconds
            self.client.tick()
        else:
            self.bench.pass_time(seconds)
        self.look()

    # --- the process ---

    @precondition(lambda self: self.processes and self.unanswered and not self.killed)
    @rule(which=WHICH, how=st.sampled_from(("well", "refuse", "other")))
    def answer(self, which: int, how: str) -> None:
        """Answer one of the requests, in any order."""
        request = chosen(self.unanswered, which)
        self.unanswered.remove(request)
        answer: Event
        match request:
            case Hello():
                answer = Welcome(request.id, engine="e", backend="", pid=1, limits=())
            case Load():
                answer = Loaded(request.id, info(request.path), 0.1) if how == "well" else Restart(request.id, "ik")
            case Generate():
                self.client.received(Text(request.id, "a"))
                answer = Failed(request.id, REFUSAL) if how == "other" else Tokenized(request.id, (), ())
            case Cancel():
                answer = Cancelled(request.id, found=any(other.id == request.request for other in self.unanswered))
            case Status():
                answer = StatusReport(request.id, info("/a.gguf") if how == "well" else None, 0, 0)
            case Tokenize():
                answer = Tokenized(request.id, (), ())
            case _:
                return
        self.client.received(Failed(request.id, REFUSAL) if how == "refuse" else answer)
        self.look()

    @precondition(lambda self: self.processes and not self.killed)
    @rule(what=st.sampled_from((Faster(0, "ik"), Notice(0, REFUSAL), LoadProgress(7, 0.5))))
    def say(self, what: Event) -> None:
        self.client.received(what)
        self.look()

    @precondition(lambda self: self.processes)
    @rule(end=st.sampled_from((EngineEnd(exit_code=0), EngineEnd(exit_code=3), EngineEnd(signal_number=11))))
    def end(self, end: EngineEnd) -> None:
        self.processes = 0
        self.client.ended(end)
        self.look()

    @invariant()
    def every_waiter_has_one_end_at_most(self) -> None:
        if hasattr(self, "ends"):
            assert all(count == 1 for count in self.ends.values())

    @invariant()
    def who_waits_waits_for_a_process_that_is_watched(self) -> None:
        if hasattr(self, "client") and self.client._waiting:
            assert self.processes == 1
            assert self.client._ticking

    def teardown(self) -> None:
        """Check that close answers everybody, and that the process ends whatever it does."""
        if not hasattr(self, "client"):
            return
        self.closed = True
        self.client.close()
        self.look()
        assert sum(self.ends.values()) == len(self.ends) == self.asked
        if self.processes:
            self.bench.pass_time(GRACE + TERMINATED + 2)
            self.look()
            assert self.killed
            self.processes = 0
            self.client.ended(EngineEnd(signal_number=9))
            self.look()
        assert self.client.phase == "absent"
        assert not self.client._ticking


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(settings(), stateful_step_count=50, max_examples=150)
