"""The queue over a real client, with a process that is only told about: whatever happens, everybody is answered."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from app.settings.settings import Settings
from app.state.conversation import Conversation
from app.state.engine_queue import EngineQueue
from app.store.chat_store import ChatStore
from common.failures import Failure
from common.paths import path_text
from common.process_end import EngineEnd
from common.sentences import Sentence
from engine.client import Action, End, EngineClient, Send, Start
from engine.protocol import events
from engine.protocol.events import ENDS, Event, Failed
from engine.protocol.requests import (
    Cancel,
    Count,
    Embed,
    Forget,
    Generate,
    Hello,
    Load,
    Message,
    Prepare,
    Request,
    Status,
    Title,
    Tokenize,
    Watch,
)
from models.servers import RemoteModel
from tests.engine.scripted_engine import STATISTICS, info
from tests.found import WHICH, Sequence, chosen, repeat

REFUSAL = Sentence.of("empty_prompt.message")
CANCELLED = Sentence.of("cancelled.request")
REMOTE = RemoteModel("http://one.lan:1/v1", "m").path
PATHS = (Path("/a.gguf"), Path("/b.gguf"), REMOTE, RemoteModel("http://two.lan:1/v1", "m").path)
GUEST = "of another program"
ENDINGS = (EngineEnd(exit_code=0), EngineEnd(exit_code=3), EngineEnd(signal_number=11), EngineEnd(signal_number=9))


class Process:
    """The engine's process as its client sees it: what it was told, and what it has not answered yet."""

    def __init__(self) -> None:
        self.now = 0.0
        self.client = EngineClient(self.perform, lambda: self.now)
        self.start: Start | None = None  # of the process that runs
        self.unanswered: list[Request] = []
        self.model: events.ModelInfo | None = None
        self.ending: str = ""
        self.sent: Callable[[Request], object] = lambda _request: None

    def perform(self, action: Action) -> None:
        match action:
            case Start():
                assert self.start is None, "two processes at once"
                self.start, self.unanswered, self.model, self.ending = action, [], None, ""
            case Send(request):
                assert self.start is not None
                assert not self.ending
                if self.start.remote:
                    self.sent(request)
                self.unanswered.append(request)
            case End(how):
                self.ending = how

    def end(self, end: EngineEnd) -> None:
        self.start, self.unanswered = None, []
        self.client.ended(end)

    def answer(self, request: Request, how: str) -> None:
        """Answer one of the requests: `well`, by a refusal, or as one that another request cuts short."""
        self.unanswered.remove(request)
        if how == "cut" and isinstance(request, Title | Prepare | Generate | Count):
            self.client.received(Failed(request.id, CANCELLED))
        elif how == "refuse" and not isinstance(request, Cancel | Status):
            self.client.received(Failed(request.id, REFUSAL))
        elif answer := self.good_answer(request):
            self.client.received(answer)

    def good_answer(self, request: Request) -> Event | None:
        match request:
            case Hello():
                return events.Welcome(request.id, engine="e", backend="", pid=1, limits=())
            case Load():
                self.model = info(request.path)
                return events.Loaded(request.id, self.model, 0.1)
            case Generate():
                self.client.received(events.PrefillProgress(request.id, 1, 2, 0))
                self.client.received(events.Text(request.id, "a"))
                return events.Finished(request.id, STATISTICS, ())
            case Prepare():
                self.client.received(events.PrefillProgress(request.id, 1, 2, 0))
                return events.Prepared(request.id, 2, 2)
            case Title():
                return events.Titled(request.id, "About birds")
            case Count():
                return events.Counted(request.id, tuple(1 for _ in request.texts), 5)
            case Cancel():
                found = any(other.id == request.request for other in self.unanswered)
                return events.Cancelled(request.id, found=found)
            case Status():
                return events.StatusReport(request.id, self.model, 0, 42)
            case Tokenize():
                return events.Tokenized(request.id, (), ())
            case Embed():
                return Failed(request.id, REFUSAL)
            case Forget():
                return events.Forgotten(request.id)
            case Watch():
                return events.Watching(request.id, request.on)
        return None


class Servers:
    """Keys that are found at once or later, and connections that can be turned off."""

    def __init__(self) -> None:
        self.offline = self.asks = False
        self.pending: list[tuple[Callable[[str], object], Callable[[Failure], object]]] = []

    def find_key(self, _url: str, found: Callable[[str], object], failed: Callable[[Failure], object]) -> None:
        if self.offline:
            failed(Failure("offline.settings", file="f"))
        elif self.asks:
            self.pending.append((found, failed))
        else:
            found("")


class AnyOrder(RuleBasedStateMachine):
    """Users, other programs, servers and the engine's process do whatever they can, in any order."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.store = ChatStore(Path(self.folder.name, "library.sqlite3"))
        self.settings = Settings(Path(self.folder.name, "settings.toml"))
        self.process, self.servers = Process(), Servers()
        self.client = self.process.client
        self.queue = EngineQueue(self.client, self.settings, self.servers.find_key, lambda: self.process.now)
        self.settings.changed.connect(self.queue.model.apply_settings)
        self.queue.guests.heard = self.hear_guest
        self.process.sent = self.nothing_is_sent_to_a_server_without_consent
        self.chats: list[Conversation] = []
        self.asked = 0  # callbacks that were given to the queue
        self.answered: Counter[int] = Counter()  # by their numbers
        self.guests = 0
        self.ended_guests: Counter[int] = Counter()

    def hear_guest(self, event: Event) -> None:
        if isinstance(event, ENDS):
            self.ended_guests[event.id] += 1

    def nothing_is_sent_to_a_server_without_consent(self, request: Request) -> None:
        assert GUEST not in str(request), "another program's text is sent to a server"
        if isinstance(request, Generate):
            chat = self.chats[int(request.messages[-1].content.split()[-1])]
            assert chat.may_leave_for(self.queue.state.host)

    def callback(self) -> Callable[[object], None]:
        number = self.asked = self.asked + 1
        return lambda _answer: self.answered.update([number])

    # --- users ------------------------------------------------------------------------------------------------------

    @rule(which=WHICH)
    def send(self, which: int) -> None:
        idle = [chat for chat in self.chats if not chat.busy]
        chat = chosen([*idle, Conversation(self.store, temporary=True)], which)
        if chat not in self.chats:
            self.chats.append(chat)
        assert chat.send(str(self.chats.index(chat)))
        self.queue.submit(chat)

    @precondition(lambda self: self.chats)
    @rule(which=WHICH)
    def stop(self, which: int) -> None:
        self.queue.stop(chosen(self.chats, which))

    @precondition(lambda self: any(chat.asked_host for chat in self.chats))
    @rule(which=WHICH, agrees=st.booleans())
    def consent(self, which: int, agrees: bool) -> None:
        chat = chosen([chat for chat in self.chats if chat.asked_host], which)
        if agrees:
            chat.agree()
            self.queue.submit(chat)
        else:
            self.queue.stop(chat)

    @rule(path=st.sampled_from(PATHS), asks=st.booleans(), fallback=st.sampled_from((None, *PATHS)))
    def use(self, path: Path, asks: bool, fallback: Path | None) -> None:
        left = [fallback]
        self.servers.asks = asks
        self.queue.model.use(path, fallback=(lambda _problem: left.pop() if left else None) if fallback else None)

    @precondition(lambda self: self.servers.pending)
    @rule(which=WHICH, found=st.booleans())
    def find_key(self, which: int, found: bool) -> None:
        pending = chosen(self.servers.pending, which)
        self.servers.pending.remove(pending)
        if found:
            pending[0]("key")
        else:
            pending[1](Failure("bad_option.server_key"))

    @rule(what=st.sampled_from(("unload", "start", "offline", "threads", "reload", "tick")))
    def press(self, what: str) -> None:
        match what:
            case "unload":
                self.queue.model.unload()
            case "start":
                self.queue.model.start()
            case "offline":
                self.servers.offline = not self.servers.offline
            case "threads":
                self.settings.change({"engine.threads": 3 if self.settings.values["engine.threads"] == 2 else 2})
            case "reload":
                self.queue.reload_if_outdated()
            case _:
                self.queue.tick()

    @precondition(lambda self: self.chats)
    @rule(which=WHICH, what=st.sampled_from(("count", "title", "read", "forget")))
    def ask(self, which: int, what: str) -> None:
        chat, idle = chosen(self.chats, which), self.queue.idle
        match what:
            case "count":
                idle.count(("a", "b"), chat, self.callback())
            case "title":
                idle.ask_title(chat, "What is it about?", 9, self.callback())
            case "read":
                idle.read_ahead(chat)
            case _:
                idle.forget(chat.chat.id)

    @rule(kind=st.sampled_from((Generate, Embed, Tokenize)))
    def come(self, kind: type[Generate | Embed | Tokenize]) -> None:
        """Take a request of another program."""
        self.guests += 1
        if kind is Generate:
            self.queue.submit_guest(Generate(self.guests, (Message("user", GUEST),)))
        elif kind is Embed:
            self.queue.submit_guest(Embed(self.guests, (GUEST,)))
        else:
            self.queue.submit_guest(Tokenize(self.guests, "a"))

    @precondition(lambda self: self.guests)
    @rule(which=WHICH)
    def hang_up(self, which: int) -> None:
        self.queue.submit_guest(Cancel(0, chosen(range(1, self.guests + 1), which)))

    # --- the process ------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.process.start and self.process.unanswered and self.process.ending != "kill")
    @rule(which=WHICH, how=st.sampled_from(("well", "well", "refuse", "cut")))
    def answer(self, which: int, how: str) -> None:
        self.process.answer(chosen(self.process.unanswered, which), how)

    @precondition(lambda self: self.process.start and self.process.unanswered and self.process.ending != "kill")
    @rule(which=WHICH, kind=WHICH)
    def say(self, which: int, kind: int) -> None:
        """Say something that ends no request."""
        id = chosen(self.process.unanswered, which).id
        kinds: tuple[Event, ...] = (events.Text(id, "a"), events.PrefillProgress(id, 1, 2, 0), events.Faster(0, "ik"))
        self.client.received(chosen(kinds, kind))

    @precondition(lambda self: self.process.start)
    @rule(end=st.sampled_from(ENDINGS))
    def end(self, end: EngineEnd) -> None:
        self.process.end(end)

    @precondition(lambda self: self.process.start)
    @rule()
    def hang(self) -> None:
        """Let so much time pass that the client kills a process that owes an answer."""
        for _ in range(70):
            self.process.now += 2
            self.client.tick()

    # --- what is always so ------------------------------------------------------------------------------------------

    @invariant()
    def one_is_answered_at_most_and_each_chat_knows_where_it_is(self) -> None:
        if hasattr(self, "queue"):
            for chat in self.chats:
                waits, active = chat in self.queue._waiting, chat is self.queue.active
                assert (chat.phase == "waiting") == waits
                assert (chat.phase in ("reading", "answering")) == active
            assert sum(chat.phase in ("reading", "answering") for chat in self.chats) <= 1

    @invariant()
    def the_window_shows_the_engine(self) -> None:
        if not hasattr(self, "queue"):
            return
        state, engine = self.queue.state, self.client.phase
        match state.phase:
            case "ready":
                assert engine == "ready" or self.client.switching or self.process.ending == "kill"
                assert state.model
                assert state.path
                name = "m" if state.host else path_text(state.path)
                assert state.model.path == name, "another model than the window shows"
            case "starting" | "loading":
                assert engine in ("starting", "loading", "ending") or self.servers.pending
            case "off":
                assert engine in ("absent", "ending") or self.queue.state.path is None
            case "failed":
                assert state.problem or state.path is None
        assert state.phase in ("ready", "loading") or state.read_ahead is None

    @invariant()
    def nobody_is_answered_twice(self) -> None:
        if hasattr(self, "queue"):
            assert all(count == 1 for count in self.answered.values())
            assert all(count == 1 for count in self.ended_guests.values())

    def teardown(self) -> None:
        """Let the engine come to rest and check that everybody has been answered."""
        if not hasattr(self, "queue"):
            return
        try:
            for _ in range(500):
                if not self.rest():
                    break
            else:
                raise AssertionError("the engine never comes to rest")
            assert all(self.answered[number] == 1 for number in range(1, self.asked + 1))
            assert all(self.ended_guests[number] == 1 for number in range(1, self.guests + 1))
            assert self.queue.state.read_ahead is None
            for chat in self.chats:
                stuck = self.queue.state.phase in ("off", "failed") and self.queue.state.problem
                never = self.queue.state.path is None
                assert chat.phase == "idle" or (chat.phase == "waiting" and (stuck or never)), chat.phase
        finally:
            self.store.close()
            self.folder.cleanup()

    def rest(self) -> bool:
        """Do one thing that something waits for; return False if there is none."""
        process = self.process
        if self.servers.pending:
            self.servers.pending.pop()[0]("key")
        elif asking := [chat for chat in self.chats if chat.asked_host]:
            asking[0].agree()
            self.queue.submit(asking[0])
        elif process.start and process.ending:
            process.end(EngineEnd(exit_code=0))
        elif process.unanswered:
            process.answer(process.unanswered[0], "well")
        else:
            return False
        return True


def a_program_hangs_up_twice_while_a_server_is_used(state: AnyOrder) -> None:
    """Answer no cancellation as a request: each was refused, with an answer to number 0."""
    state.begin()
    state.come(kind=Generate)
    state.use(path=REMOTE, asks=False, fallback=None)
    state.hang_up(which=0)
    state.hang_up(which=0)


FOUND = (a_program_hangs_up_twice_while_a_server_is_used,)


@pytest.mark.found
@pytest.mark.parametrize("sequence", FOUND)
def test_what_went_wrong_once_goes_well(sequence: Sequence) -> None:
    repeat(AnyOrder(), sequence)


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(settings(), stateful_step_count=40)
