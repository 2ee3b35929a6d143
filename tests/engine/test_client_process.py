"""The engine's client with real processes: scripted ones in random order, and the real engine."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis.strategies as st
import psutil
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from common.failures import Failure
from engine import client
from engine.client import Start, Target
from engine.client_process import ClientProcess, WaitingClient
from engine.protocol.events import ENDS, Event, Failed, Finished, Text, Tokenized
from engine.protocol.requests import Generate, Load, Message, Tokenize
from models.default import default_model
from tests.found import WHICH, chosen

HUNG = "engine_end.hung"
needs_stops = pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be stopped by a signal")


def scripted(_start: Start) -> list[str]:
    return [sys.executable, "-m", "tests.engine.scripted_engine"]


def model(name: str, folder: Path) -> Target:
    return Target(Load(0, str(folder / name)))


def question(words: str) -> Generate:
    return Generate(0, (Message("user", words),))


def children() -> list[psutil.Process]:
    """Return the scripted engines that run."""
    return children_with({"tests.engine.scripted_engine"})


def children_with(words: set[str], of: psutil.Process | None = None) -> list[psutil.Process]:
    """Return the children of a process (this one) that run and have one of the words in their command lines."""
    running = []
    for child in (of or psutil.Process()).children():
        with contextlib.suppress(psutil.Error):  # it ends at this moment
            if child.status() != psutil.STATUS_ZOMBIE and words & set(child.cmdline()):
                running.append(child)
    return running


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the client lose its patience soon."""
    lose_patience(monkeypatch)


def lose_patience(patch: pytest.MonkeyPatch) -> None:
    for name, seconds in {"QUIET": 1.0, "SILENT": 4.0, "GRACE": 0.5, "TERMINATED": 0.3}.items():
        patch.setattr(client, name, seconds)
    patch.setattr("engine.client_process.TICK", 0.05)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[WaitingClient]:
    engine = WaitingClient(model("m.gguf", tmp_path), scripted)
    yield engine
    engine.close()
    assert not children()


def test_requests_are_answered_and_close_leaves_nothing(engine: WaitingClient) -> None:
    assert engine.load().name == "m.gguf"
    assert [type(event) for event in engine.events(question("hello"))] == [Text, Finished]
    assert len(children()) == 1


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    engine = WaitingClient(model("m.gguf", tmp_path), lambda _start: ["/no/such/engine"])
    with pytest.raises(Failure, match="could not be started: No such file"):
        engine.load()
    engine.close()


def test_a_crash_is_told_with_the_last_lines_of_the_log(engine: WaitingClient) -> None:
    with pytest.raises(Failure, match="code 3"):
        engine.ask(question("leave"))
    assert isinstance(engine.ask(question("hello")), Finished)


@needs_stops
@pytest.mark.usefixtures("short")
def test_a_stopped_engine_is_noticed_and_replaced(engine: WaitingClient) -> None:
    with pytest.raises(Failure) as told:
        engine.ask(question("hang"))
    assert told.value.sentence.id == HUNG
    assert isinstance(engine.ask(question("hello")), Finished)


@needs_stops
@pytest.mark.usefixtures("short")
def test_an_engine_that_is_stopped_while_it_loads_is_noticed(engine: WaitingClient, tmp_path: Path) -> None:
    with pytest.raises(Failure) as told:
        engine.use(model("hang.gguf", tmp_path))
    assert told.value.sentence.id == HUNG


def test_two_who_ask_after_a_crash_share_one_new_process(tmp_path: Path) -> None:
    """Each of them started one, and one of those outlived the end."""

    async def ask() -> None:
        process = ClientProcess(model("m.gguf", tmp_path), scripted)
        await process.ready()
        psutil.Process(process.pid).kill()
        while process.model and process.pid:
            await asyncio.sleep(0.01)
        await asyncio.gather(process.ready(), process.ready())
        assert len(children()) == 1
        await process.close()
        assert not children()

    asyncio.run(ask())


def test_a_request_beside_a_switch_of_libraries_is_answered(tmp_path: Path) -> None:
    """It went to the process that was being ended, and nobody answered it."""

    async def ask() -> list[Event]:
        process = ClientProcess(model("restart.gguf", tmp_path), scripted)
        await process.ready()
        (tmp_path / "restart.gguf.mark").unlink()  # the next load restarts too
        ends: asyncio.Queue[Event] = asyncio.Queue()

        def heard(event: Event) -> None:
            if isinstance(event, ENDS):
                ends.put_nowait(event)

        process.submit(question("faster"), heard)
        first = await ends.get()
        while not process.client.switching:
            await asyncio.sleep(0.01)
        process.submit(question("hello"), heard)
        process.submit(Tokenize(0, "a"), heard)
        answers = [first, await ends.get(), await ends.get()]
        await process.close()
        return answers

    assert {type(event) for event in asyncio.run(ask())} == {Finished, Tokenized}


def test_an_answer_longer_than_a_line_may_be_ends_the_engine_and_its_request(tmp_path: Path) -> None:
    code = "import sys; sys.stdin.readline(); print('x' * (65 << 20), flush=True); sys.stdin.read()"
    engine = WaitingClient(model("m.gguf", tmp_path), lambda _start: [sys.executable, "-c", code])
    with pytest.raises(Failure, match=r"ended|stopped"):
        engine.load()
    engine.close()


def test_a_request_longer_than_a_line_may_be_is_refused(engine: WaitingClient) -> None:
    """The engine would drop it, and could not say whose it was."""
    with pytest.raises(Failure) as told:
        engine.ask(Tokenize(0, "x" * (65 << 20)))
    assert told.value.sentence.id == "bad_request.long"


def test_the_engines_log_of_a_bug_is_printed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A client is told that the log has the details."""
    code = (
        "import sys; sys.stdin.readline()\nprint('OverflowError in line 71', file=sys.stderr, flush=True)\nsys.exit(1)"
    )
    engine = WaitingClient(model("m.gguf", tmp_path), lambda _start: [sys.executable, "-c", code])
    with caplog.at_level(logging.ERROR), pytest.raises(Failure):
        engine.load()
    assert "OverflowError in line 71" in caplog.text
    engine.close()


@needs_stops
def test_a_real_engine_that_is_stopped_in_its_answer_is_killed_and_everybody_is_answered() -> None:
    """The next request starts it again."""

    async def ask() -> tuple[list[Event], list[Event]]:
        process = ClientProcess(Target(Load(0, str(default_model()), n_ctx=256, threads=1)), patience=0.5)
        await process.ready()
        stuck: asyncio.Queue[Event] = asyncio.Queue()
        others: asyncio.Queue[Event] = asyncio.Queue()
        id = process.submit(question("Count to a thousand."), stuck.put_nowait)
        await stuck.get()
        os.kill(process.pid, signal.SIGSTOP)
        process.submit(Tokenize(0, "a"), others.put_nowait)
        process.cancel(id)
        events = [await stuck.get()]
        while not isinstance(events[-1], ENDS):
            events.append(await stuck.get())
        counted = [await others.get()]
        process.submit(Generate(0, (Message("user", "Hi"),), max_tokens=1), others.put_nowait)
        while not isinstance(counted[-1], Finished):
            counted.append(await others.get())
        await process.close()
        return events, counted

    stuck, others = asyncio.run(ask())
    assert isinstance(stuck[-1], Failed)
    assert stuck[-1].sentence.id == HUNG
    assert isinstance(others[0], Failed)


class AnyOrder(RuleBasedStateMachine):
    """Two users and a real process, which does whatever a request of theirs makes it do."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.patch = pytest.MonkeyPatch()
        lose_patience(self.patch)
        self.loop = asyncio.new_event_loop()
        self.process = ClientProcess(model("m.gguf", self.folder), scripted, patience=0.4)
        self.ends: dict[int, list[Event]] = {}
        self.ids: dict[int, int] = {}
        self.run(0)

    def run(self, seconds: float) -> None:
        self.loop.run_until_complete(asyncio.sleep(seconds))

    @rule(name=st.sampled_from(("a", "refuse", "restart", "always", "crash", "leave", "hang", "silent")))
    def use(self, name: str) -> None:
        async def use() -> None:
            (self.folder / f"{name}.gguf.mark").unlink(missing_ok=True)
            self.process.use(model(f"{name}.gguf", self.folder))

        self.loop.run_until_complete(use())

    @rule(words=st.sampled_from(("hello", "slow", "deaf", "faster", "refuse", "crash", "leave", "hang", "silent")))
    def ask(self, words: str) -> None:
        self.submit(question(words))

    @rule(words=st.sampled_from(("a", "refuse", "crash", "silent")))
    def count(self, words: str) -> None:
        self.submit(Tokenize(0, words))

    def submit(self, request: Generate | Tokenize) -> None:
        number = len(self.ends)
        ends = self.ends[number] = []

        async def submit() -> int:
            return self.process.submit(request, lambda event: ends.append(event) if isinstance(event, ENDS) else None)

        self.ids[number] = self.loop.run_until_complete(submit())

    @precondition(lambda self: self.ids)
    @rule(which=WHICH)
    def hang_up(self, which: int) -> None:
        id = chosen(sorted(self.ids.values()), which)
        self.loop.call_soon(self.process.cancel, id)
        self.run(0)

    @rule(what=st.sampled_from((signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM)))
    def press(self, what: signal.Signals) -> None:
        if self.process.pid and psutil.pid_exists(self.process.pid):
            os.kill(self.process.pid, what)

    @rule()
    def unload(self) -> None:
        self.loop.call_soon(self.process.client.unload)
        self.run(0)

    @rule(seconds=st.sampled_from((0.05, 0.3, 0.6)))
    def wait(self, seconds: float) -> None:
        self.run(seconds)

    @invariant()
    def there_is_one_process_at_most(self) -> None:
        assert len(children()) <= 1

    @invariant()
    def nobody_is_answered_twice(self) -> None:
        assert all(len(ends) <= 1 for ends in getattr(self, "ends", {}).values())

    def teardown(self) -> None:
        """Check that everybody is answered, at the latest by close, and that no process is left."""
        if not hasattr(self, "loop"):
            return
        self.loop.run_until_complete(asyncio.wait_for(self.process.close(), 30))
        self.loop.close()
        self.patch.undo()
        assert not children()
        assert all(len(ends) == 1 for ends in self.ends.values())


TestAnyOrder = needs_stops(AnyOrder.TestCase)
TestAnyOrder.settings = settings(settings(), max_examples=20, stateful_step_count=16)  # real processes: 0.9 s each
