"""Requests in odd orders, malformed ones, and ones that meet a bug: each is answered, and the engine lives on."""

from __future__ import annotations

import io
import random
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from common.failures import Failure
from engine.engine import Engine
from engine.protocol.events import (
    WRITTEN,
    Cancelled,
    Detokenized,
    Event,
    Failed,
    Faster,
    Finished,
    Forgotten,
    Loaded,
    Notice,
    Pulse,
    StatusReport,
    Tokenized,
    Unloaded,
    Watching,
)
from engine.protocol.lines import decode_event, encode
from engine.protocol.requests import (
    Cancel,
    Detokenize,
    Embed,
    Forget,
    Generate,
    Hello,
    ListModels,
    Load,
    Message,
    Prepare,
    ReadPage,
    Request,
    Sampling,
    Server,
    Shutdown,
    Status,
    Tokenize,
    Unload,
    Watch,
)
from engine.runtime.capi.embedding import Embedder
from engine.serve.server import EngineServer
from models.default import default_model
from tests.engine.asking import QUESTION, ask
from tests.engine.serve.test_process import Pipe

GREEDY = Sampling(temperature=0)
SHORT = Generate(0, (Message("user", "Name a colour."),), GREEDY, max_tokens=5)
NEVER_END = ((2, -100.0),)  # the default model's last token of an answer


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    assert pipe.close() == 0


def served(engine: Engine, *requests: Request | bytes) -> list[Event]:
    """Return all events of a server over the engine that reads these requests and then its input's end."""
    lines = b"".join(request if isinstance(request, bytes) else encode(request) for request in requests)
    output = io.BytesIO()
    EngineServer(engine, io.BytesIO(lines), output).run()
    engine.watch(False)
    return [decode_event(line) for line in output.getvalue().splitlines()]


class Changing(dict[str, object]):
    """A dict that behaves as if another thread changed it while it is read."""

    def items(self) -> object:  # type: ignore[override]
        raise RuntimeError("dictionary changed size during iteration")


def test_who_begins_to_watch_gets_what_was_gathered_last_and_disturbs_nothing(engine):
    _, finished = ask(engine, QUESTION, max_tokens=8)
    engine.pulse()
    answer = engine.pulses._answer
    assert answer
    answer.counts.drafts._counts = Changing()
    watching, pulse, report = served(engine, Watch(1, True), Status(2))
    assert watching == Watching(1, True)
    assert isinstance(pulse, Pulse)
    assert (pulse.tokens, pulse.fixed) == (finished.statistics.decode_tokens, finished.statistics.context_tokens)
    assert 0 < pulse.rss_bytes < pulse.total_bytes
    assert isinstance(report, StatusReport)


def test_before_anything_was_gathered_there_is_the_memory():
    _, pulse = served(Engine(), Watch(1, True))
    assert isinstance(pulse, Pulse)
    assert 0 < pulse.rss_bytes < pulse.total_bytes
    assert pulse.tokens == pulse.capacity == 0


def test_a_bug_in_what_the_worker_tells_costs_no_request(engine):
    ask(engine, QUESTION, max_tokens=8)
    answer = engine.pulses._answer
    assert answer
    answer.counts.drafts._counts = Changing()
    events = served(engine, Watch(1, True), Forget(2, "a" * 32), Forget(3, "b" * 32))
    assert [event for event in events if isinstance(event, Forgotten)] == [Forgotten(2), Forgotten(3)]


def test_a_bug_in_the_reading_thread_is_answered(engine, monkeypatch):
    def broken(_id: int) -> StatusReport:
        raise KeyError("a bug")

    monkeypatch.setattr(engine, "status", broken)
    failed, cancelled = served(engine, Status(1), Cancel(2, request=9))
    assert isinstance(failed, Failed)
    assert (failed.id, failed.code) == (1, "internal")
    assert cancelled == Cancelled(2, found=False)


@pytest.mark.parametrize("broken", [("forget",), ("forget", "unload")])
def test_a_bug_in_mending_a_bug_is_answered_too(engine, monkeypatch, broken):
    def bug(*_arguments: object) -> None:
        raise KeyError("a bug")

    unloaded = []
    monkeypatch.setattr(engine, "unload", lambda: unloaded.append(True))
    for name in ("prepare", *broken):
        monkeypatch.setattr(engine, name, bug)
    events = served(engine, Prepare(1, (QUESTION,)), Forget(2, "a" * 32), Prepare(3, (QUESTION,)))
    ends = [(event.id, type(event)) for event in events]
    assert sorted(ends, key=lambda end: end[0]) == [(1, Failed), (2, Forgotten), (3, Failed)]
    assert bool(unloaded) == (broken == ("forget",))


def test_a_failure_of_idle_work_is_told_once_until_it_works_again(engine, monkeypatch):
    """The other idle work is done all the same."""
    ask(engine, QUESTION, max_tokens=2)
    chat, done, full = engine._loaded(), [], Failure("cache_full.disk")

    def count(*_arguments: object) -> Iterator[None]:
        done.append(1)
        yield

    monkeypatch.setattr(type(chat.cost_measurements), "measure", lambda *_: iter(()))
    monkeypatch.setattr(type(chat.sources.ngrams), "count", count)
    output = io.BytesIO()
    server = EngineServer(engine, io.BytesIO(), output)
    for failure in (full, full, None, full):

        def save(_disk_bytes_per_s: float, failure: Failure | None = failure) -> bool:
            if failure:
                raise failure
            return True

        monkeypatch.setattr(chat.chat_cache, "save", save)
        server._idle()
    assert len(done) == 4
    notices = [decode_event(line) for line in output.getvalue().splitlines()]
    assert notices == [Notice(0, full.sentence)] * 2


def test_an_order_that_makes_no_sense(pipe):
    pipe.send(Cancel(1, request=99), Generate(2, (QUESTION,)), Prepare(3, (QUESTION,)), Unload(4), Unload(5))
    ends = [pipe.event() for _ in range(5)]
    assert Cancelled(1, found=False) in ends
    assert [(end.id, end.code) for end in ends if isinstance(end, Failed)] == [(2, "no_model"), (3, "no_model")]
    assert [end for end in ends if isinstance(end, Unloaded)] == [Unloaded(4), Unloaded(5)]
    pipe.send(Load(6, str(default_model()), n_ctx=512, threads=1), Generate(7, (QUESTION,), GREEDY))
    while not isinstance(pipe.event(), WRITTEN):
        pass
    pipe.send(
        Load(8, str(default_model()), n_ctx=1024, threads=1), Generate(9, (QUESTION,), GREEDY, 2), Cancel(10, request=7)
    )
    assert isinstance(pipe.end(7), Finished)
    loaded = pipe.end(8)
    assert isinstance(loaded, Loaded)
    assert loaded.model.n_ctx == 1024
    assert isinstance(pipe.end(9), Finished)
    pipe.send(Cancel(11, request=11), Shutdown(12), Hello(13))
    assert pipe.end(11) == Cancelled(11, found=False)
    assert pipe.process.wait(120) == 0


@pytest.fixture
def short_lines(monkeypatch) -> int:
    """Lower the limit of a message and return it in bytes: decoding 64 MB would take a while."""
    monkeypatch.setattr("engine.serve.server.MAX_LINE", 1 << 20)
    return 1 << 20


def test_a_message_that_is_too_long_is_one_message(engine, short_lines):
    """The rest of a message that is too long is no message of its own, whatever it contains."""
    hidden = encode(Forget(7, "x")).strip()
    for length in (short_lines, short_lines + 1, 3 * short_lines):
        long = b'{"v":1,"type":"forget","id":6,"chat":"' + b"x" * length + hidden * 3 + b'"}\n'
        failed, report = served(engine, long, Status(8))
        assert isinstance(failed, Failed)
        assert (failed.id, failed.code) == (0, "bad_request")
        assert "up to 1 MB" in failed.message
        assert isinstance(report, StatusReport)
    assert len(served(engine, long[:-1])) == 1


def test_the_longest_message_is_taken(engine, short_lines):
    line = encode(Forget(1, ""))
    line = line.replace(b'"chat":""', b'"chat":"' + b"x" * (short_lines - len(line)) + b'"')
    assert len(line) == short_lines
    assert served(engine, line) == [Forgotten(1)]


def test_an_answer_that_no_reader_takes_becomes_a_sentence(engine, monkeypatch):
    """A reader ends an engine whose line is longer than its limit."""
    monkeypatch.setattr("engine.serve.server.MAX_LINE", 1 << 12)
    failed, forgotten = sorted(served(engine, Tokenize(1, "bird " * 600), Forget(2, "x")), key=lambda event: event.id)
    assert isinstance(failed, Failed)
    assert (failed.id, failed.sentence.id) == (1, "bad_request.long_answer")
    assert forgotten == Forgotten(2)


def test_vectors_that_no_message_has_room_for_are_refused_before_they_are_computed(engine, monkeypatch):
    monkeypatch.setattr("engine.loading.embedder.MAX_LINE", (1 << 20) + 4 * 576 * 3)
    monkeypatch.setattr(Embedder, "vector", lambda *_arguments: pytest.fail("a vector was computed"))
    [failed] = served(engine, Embed(1, ("a", "b", "c")))
    assert isinstance(failed, Failed)
    assert failed.sentence.id == "bad_request.long_answer"


def test_what_only_the_engine_of_servers_can_do_is_refused(engine):
    failed = served(engine, ListModels(1, Server("http://gpu.lan")), ReadPage(2, "https://example.org/"))
    assert [(event.id, event.code) for event in failed if isinstance(event, Failed)] == [
        (1, "server_only"),
        (2, "server_only"),
    ]


def test_a_message_without_its_end_is_none(engine):
    """The window died while it wrote: the user may not have meant what came through."""
    assert served(engine, encode(Status(1)), encode(Forget(2, "a" * 32))[:-1])[1:] == []
    assert served(engine, b"x" * 1000) == []


def test_a_flood_of_what_is_no_message(pipe):
    dice = random.Random(1)
    good = [encode(Hello(0)), encode(Generate(1, (Message("user", "é" * 9),))), encode(Load(2, "x.gguf"))]
    flood = []
    for _ in range(1000):
        line = bytearray(dice.choice(good).strip())
        for _ in range(dice.randrange(1, 6)):
            line[dice.randrange(len(line))] = dice.choice([0, 34, 44, 91, 123, 125, 128, 255, dice.randrange(256)])
        flood.append(bytes(line).replace(b"\n", b" ") + b"\n")
    flood += [b"\n", b"\0\n", b"[" * 100_000 + b"\n", b'{"v":1,"type":"status","id":true}\n', b'{"v":1,"id":[]}\n']
    flood += [b'{"v":99,"id":%s}\n' % (b"9" * 30), b'{"v":1,"type":"%s","id":3}\n' % (b"x" * 100_000)]
    fit = 10 if sys.platform == "win32" else 200  # answers that the pipe back holds
    for begin in range(0, len(flood), fit):
        pipe.send(*flood[begin : begin + fit], Hello(1_000_000 + begin))
        pipe.end(1_000_000 + begin)
    pipe.send(b'{"v":1,"type":"status","id":true}\n', b'{"v":1,"type":"%s","id":3}\n' % (b"x" * 100_000), Status(5))
    nobodys, long, report = pipe.event(), pipe.event(), pipe.event()
    assert isinstance(nobodys, Failed)
    assert type(nobodys.id) is int
    assert isinstance(long, Failed)
    assert len(long.message) < 300
    assert isinstance(report, StatusReport)


@pytest.mark.skipif(sys.platform == "win32", reason="a process's end by a signal")
@pytest.mark.parametrize(
    ("rounds", "longest"), [pytest.param(2, 10, id="some"), pytest.param(5, 40, id="all", marks=pytest.mark.slow)]
)
def test_requests_in_any_order(pipe, rounds, longest):
    """The order is random with a fixed seed; each request must be answered once."""
    dice = random.Random(2)
    pipe.send(Load(1, str(default_model()), n_ctx=512, threads=1))
    pipe.end(1)
    for begin in range(100, 100 + 20 * rounds, 20):
        sent = set()
        for id in range(begin, begin + 20):
            words = (Message("user", "word " * dice.randrange(1, longest)),)
            request = dice.choice(
                [
                    Generate(id, words, GREEDY, dice.randrange(1, 4), chat="a" * 32),
                    Prepare(id, words),
                    Cancel(id, request=id - dice.randrange(0, 4)),
                    Status(id),
                    Watch(id, dice.random() < 0.5),
                    Forget(id, "a" * 32),
                    Hello(id),
                ]
            )
            sent.add(id)
            pipe.send(request)
        codes = set()
        while sent:
            event = pipe.event()
            if isinstance(event, Failed):
                codes.add(event.code)
            if not isinstance(event, (Pulse, Faster, *WRITTEN)) and type(event).__name__ != "PrefillProgress":
                assert event.id in sent
                sent.discard(event.id)
        assert codes <= {"cancelled"}


def ends_of(pipe: Pipe, count: int) -> list[Finished]:
    """Return the ends of the next `count` answers, in order."""
    ends: list[Finished] = []
    while len(ends) < count:
        if isinstance(event := pipe.event(), Finished):
            ends.append(event)
    return ends


def test_an_answer_in_the_background_waits_for_another_one(pipe):
    endless = replace(SHORT, id=2, max_tokens=None, background=True, sampling=replace(GREEDY, logit_bias=NEVER_END))
    background = replace(SHORT, id=2, max_tokens=60, background=True)
    pipe.send(Load(1, str(default_model()), n_ctx=1024, threads=1), background)
    [alone] = ends_of(pipe, 1)

    def begin(request: Generate) -> None:
        pipe.send(request)
        while not (isinstance(event := pipe.event(), WRITTEN) and event.id == request.id):
            pass

    begin(replace(background, id=3))
    pipe.send(replace(SHORT, id=4))
    mine, paused = ends_of(pipe, 2)
    assert (mine.id, len(mine.tokens)) == (4, 5)
    assert (paused.id, len(paused.tokens)) == (3, len(alone.tokens))
    assert paused.statistics.stop_reason == alone.statistics.stop_reason

    begin(replace(endless, id=5))
    begin(replace(SHORT, id=6, max_tokens=40))
    pipe.send(Cancel(7, 5))  # the one that is paused
    mine, stopped = ends_of(pipe, 2)
    assert (mine.id, len(mine.tokens)) == (6, 40)
    assert (stopped.id, stopped.statistics.stop_reason) == (5, "cancelled")

    begin(replace(endless, id=8))
    begin(replace(endless, id=9, background=False))
    pipe.send(Shutdown(10))
    assert {(end.id, end.statistics.stop_reason) for end in ends_of(pipe, 2)} == {(8, "cancelled"), (9, "cancelled")}


def test_requests_about_tokens_are_answered_beside_others(engine):
    vocabulary = engine._loaded().template.vocabulary
    text = "A bird<|im_end|> 🐦"
    tokens = tuple(vocabulary.tokenize(text, special=True))
    plain = tuple(vocabulary.tokenize(text, special=False))
    answers = {
        event.id: event
        for event in served(
            engine,
            Tokenize(1, text),
            Tokenize(2, text, parse_special=False),
            Detokenize(3, plain),
            Detokenize(4, (-1,)),
        )
    }
    assert answers[1] == Tokenized(1, tokens, tuple(map(vocabulary.piece, tokens)))
    assert answers[2] == Tokenized(2, plain, tuple(map(vocabulary.piece, plain)))
    assert answers[3] == Detokenized(3, text)
    assert isinstance(answers[4], Failed)
    assert answers[4].code == "bad_prompt"
