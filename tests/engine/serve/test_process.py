"""The engine process over its real pipes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from common.paths import path_text
from common.power import PowerMode
from engine.costs.cost_model import KS, Timings
from engine.costs.measurements import CalibrationKey, store_calibration
from engine.costs.threads import ThreadCost
from engine.loading.libraries import backend
from engine.loading.library_choice import identity_of
from engine.machine import fingerprint
from engine.protocol.events import (
    ENDS,
    WRITTEN,
    AnsweringNow,
    Cancelled,
    Counted,
    Event,
    Failed,
    Finished,
    Loaded,
    LoadProgress,
    PrefillProgress,
    Prepared,
    Pulse,
    Restart,
    StatusReport,
    Text,
    Thinking,
    ThinkingControls,
    ThinkingEnded,
    Titled,
    Unloaded,
    Watching,
    Welcome,
)
from engine.protocol.lines import decode_event, encode
from engine.protocol.requests import (
    AnswerNow,
    Cancel,
    Count,
    Generate,
    Hello,
    Load,
    Message,
    Prepare,
    Request,
    Sampling,
    Shutdown,
    Status,
    ThinkingOptions,
    Title,
    Unload,
    Watch,
)
from engine.runtime.contexts import PROMPT_PASS
from engine.serve.process import NICE
from models.default import default_model
from models.header import read_header
from models.locations import own_folder
from tests.engine.asking import needs_ik
from tests.engine.tokenization.hostile import default_model_with, endless_later


class Pipe:
    """A running engine process: `send` writes requests, `event` reads events."""

    def __init__(self, *arguments: str, stderr: int | None = subprocess.DEVNULL) -> None:
        command = [sys.executable, "-m", "engine", "serve", *arguments]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr)

    def send(self, *requests: Request | bytes) -> None:
        assert self.process.stdin
        for request in requests:
            self.process.stdin.write(request if isinstance(request, bytes) else encode(request))
        self.process.stdin.flush()

    def event(self) -> Event:
        assert self.process.stdout
        return decode_event(self.process.stdout.readline())

    def end(self, id: int) -> Event:
        """Return the event that ends request `id`; skip all events before it."""
        while not (isinstance(event := self.event(), ENDS) and event.id == id):
            pass
        return event

    def close(self) -> int:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        code = self.process.wait(120)
        self.process.stdout.close()
        return code


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.close()


BELOW_NORMAL_PRIORITY_CLASS = 0x4000  # Windows' (winbase.h)
MESSAGES = (Message("user", "Tell me a very long story about birds."),)


def test_a_whole_life(pipe):
    pipe.send(Hello(1), Load(2, str(default_model()), n_ctx=1024, threads=1))
    welcome = pipe.end(1)
    assert isinstance(welcome, Welcome)
    assert welcome.pid == pipe.process.pid
    fractions = []
    while isinstance(event := pipe.event(), LoadProgress):
        fractions.append(event.fraction)
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1
    assert isinstance(event, Loaded)
    assert event.model.n_ctx == 1024
    assert event.model.template == "model"
    pipe.send(Generate(3, MESSAGES, Sampling(temperature=0), max_tokens=5))
    finished = pipe.end(3)
    assert isinstance(finished, Finished)
    assert finished.statistics.decode_tokens == 5
    pipe.send(Unload(4))
    assert isinstance(pipe.end(4), Unloaded)
    pipe.send(Generate(5, MESSAGES))
    failed = pipe.end(5)
    assert isinstance(failed, Failed)
    assert failed.code == "no_model"
    pipe.send(Shutdown(6))
    assert pipe.process.wait(120) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="priorities have other names there")
def test_the_window_goes_first_where_both_want_a_core(pipe):
    pipe.send(Hello(1))
    pipe.end(1)
    ours = os.getpriority(os.PRIO_PROCESS, 0)
    assert os.getpriority(os.PRIO_PROCESS, pipe.process.pid) == min(19, ours + NICE)


@pytest.mark.skipif(sys.platform != "win32", reason="priorities are numbers elsewhere")
def test_the_window_goes_first_on_windows_too(pipe):
    pipe.send(Hello(1))
    pipe.end(1)
    assert psutil.Process(pipe.process.pid).nice() == BELOW_NORMAL_PRIORITY_CLASS


def test_no_text_of_a_request_is_logged(capfd):
    """The window writes the engine's stderr into a file."""
    secret = "a secret of the user's"
    pipe = Pipe(stderr=None)
    pipe.send(
        f"{secret}\n".encode(),
        f'{{"v":1,"type":"{secret}","id":3}}\n'.encode(),
        f'{{"v":1,"type":"generate","id":4,"messages":[{{"role":"{secret}","content":"{secret}"}}]}}\n'.encode(),
        Generate(5, (Message("user", secret),)),  # no model is loaded
        Hello(6),
    )
    assert type(pipe.end(6)) is Welcome
    pipe.close()
    logged = capfd.readouterr().err
    assert logged.count("was not understood") == 3
    assert "no_model.loaded" in logged
    assert "secret" not in logged


def test_bad_lines_are_answered_and_change_nothing(pipe):
    pipe.send(
        b"\xff\xfe garbage\n", b"[]\n", b'{"v":99,"type":"hello","id":3}\n', b'{"v":1,"type":"load","id":4}\n', Hello(5)
    )
    answers = [pipe.event() for _ in range(5)]
    assert [type(answer) for answer in answers] == [Failed] * 4 + [Welcome]
    assert [answer.id for answer in answers] == [0, 0, 3, 4, 5]


def test_cancel_status_and_prepare_while_it_works(pipe):
    pipe.send(Load(1, str(default_model()), n_ctx=512, threads=1), Generate(2, MESSAGES, Sampling(temperature=0)))
    while not isinstance(pipe.event(), WRITTEN):
        pass
    pipe.send(Status(3), Cancel(4, request=2))
    report = pipe.end(3)
    assert isinstance(report, StatusReport)
    assert report.model is not None
    assert report.rss_bytes > 50 << 20
    assert pipe.end(4) == Cancelled(4, found=True)
    finished = pipe.end(2)
    assert isinstance(finished, Finished)
    assert finished.statistics.stop_reason == "cancelled"
    pipe.send(Cancel(5, request=2))
    assert pipe.end(5) == Cancelled(5, found=False)


THINKING = (
    "{% for message in messages %}{{ message.content }}\n{% endfor %}"
    "<think>{% if enable_thinking is defined and not enable_thinking %}</think>{% endif %}"
)


def test_the_answer_follows_at_once_when_asked_for(pipe):
    own_folder().mkdir(parents=True, exist_ok=True)  # whose files every engine may read
    thinker = default_model_with(THINKING, own_folder() / "thinker.gguf")
    pipe.send(Load(1, str(thinker), n_ctx=512, threads=1), AnswerNow(2, 1))
    assert pipe.end(2) == AnsweringNow(2, found=False)
    loaded = pipe.end(1)
    assert isinstance(loaded, Loaded)
    assert loaded.model.thinking == ThinkingControls(switch=True, default=True)
    pipe.send(Generate(3, MESSAGES, Sampling(temperature=0, repeat_penalty=1)))
    while not isinstance(pipe.event(), Thinking):
        pass
    pipe.send(AnswerNow(4, 3))
    assert pipe.end(4) == AnsweringNow(4, found=True)
    while not isinstance(event := pipe.event(), ThinkingEnded):
        assert isinstance(event, Thinking)
    assert event.tokens > 0
    assert event.seconds > 0
    while not isinstance(pipe.event(), Text):
        pass
    pipe.send(AnswerNow(5, 3), Cancel(6, 3))
    assert pipe.end(5) == AnsweringNow(5, found=False)
    assert isinstance(pipe.end(3), Finished)
    pipe.send(Generate(7, MESSAGES, Sampling(temperature=0), 4, thinking=ThinkingOptions(mode="off")))
    while not isinstance(event := pipe.event(), Finished):
        assert not isinstance(event, Thinking)


def test_tokens_are_counted_while_it_answers(pipe):
    pipe.send(Count(1, ("no model yet",)))
    assert isinstance(pipe.end(1), Failed)
    pipe.send(Load(2, str(default_model()), n_ctx=512, threads=1), Generate(3, MESSAGES, Sampling(temperature=0)))
    while not isinstance(pipe.event(), WRITTEN):
        pass
    pipe.send(Count(4, ("", "hello hello", "word " * 20_000), MESSAGES), Count(5, ("<|im_end|>",)))
    ended: dict[int, Event] = {}
    while not {4, 5} <= ended.keys():  # in any order: what takes a moment does not wait for a book
        event = pipe.event()
        ended[event.id] = event
    counted, plain = ended[4], ended[5]
    assert isinstance(counted, Counted)
    assert counted.texts[0] == 0
    assert 1 < counted.texts[1] < 5
    assert 20_000 <= counted.texts[2] <= 40_002
    assert counted.prompt > 8
    assert isinstance(plain, Counted)
    assert plain.texts[0] > 1  # a file's text is text, whatever it says
    pipe.send(Cancel(6, request=3))
    assert isinstance(pipe.end(3), Finished)


@pytest.fixture
def timed_with_one_thread_as_fast(tmp_path, monkeypatch) -> None:
    """Store timings of the default model by which one thread decodes about as fast as two."""
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))
    header, library = read_header(default_model()), backend("llama")
    key = CalibrationKey(identity_of(header), 0, "f16", library.build, fingerprint())
    passes = {k: 0.0100 + 0.0005 * k for k in KS}
    costs = tuple(
        ThreadCost(tokens, threads, seconds)
        for tokens, threads, seconds in (
            (1, 1, 0.011),
            (1, 2, 0.0105),
            (PROMPT_PASS, 1, 0.040),
            (PROMPT_PASS, 2, 0.026),
        )
    )
    store_calibration(key, Timings({16: passes, 256: passes}, 0.0, 256, 0.2, False, 2, 2, costs))


def test_the_threads_change_between_two_answers_without_loading_again(timed_with_one_thread_as_fast):
    pipe = Pipe()
    pipe.send(Hello(1), Load(2, str(default_model()), n_ctx=1024, backend="llama"), Watch(3, True))
    assert isinstance(pipe.end(2), Loaded)
    answers = []
    modes: tuple[PowerMode, ...] = ("full", "save", "full")
    for id, mode in enumerate(modes, 4):
        pipe.send(Generate(id, MESSAGES, Sampling(temperature=0, repeat_penalty=1), max_tokens=8, power=mode))
        while not isinstance(event := pipe.event(), Finished):
            if isinstance(event, Pulse):
                pulse = event
        assert pulse.saving_power == ("always" if mode == "save" else "")
        assert (pulse.threads, pulse.prompt_threads) == (event.statistics.threads, event.statistics.prompt_threads)
        answers.append((event.statistics.threads, event.statistics.prompt_threads, event.tokens))
    assert [answer[:2] for answer in answers] == [(2, 2), (1, 2), (2, 2)]
    assert answers[0][2] == answers[1][2] == answers[2][2]
    assert pipe.close() == 0


def test_what_it_does_is_told_while_somebody_watches(pipe):
    pipe.send(Load(1, str(default_model()), n_ctx=512, threads=1), Watch(2, True))
    assert pipe.end(2) == Watching(2, True)
    assert isinstance(pipe.end(1), Loaded)
    pipe.send(Generate(3, (Message("user", "Count to fifty."),), Sampling(temperature=0), 60, chat="a" * 32))
    pulses = []
    while not isinstance(event := pipe.event(), Finished):
        pulses += [event] if isinstance(event, Pulse) else []
    assert pulses[-1].tokens == event.statistics.decode_tokens
    assert pulses[-1].steps == event.statistics.steps
    assert pulses[-1].fixed + pulses[-1].pending == event.statistics.context_tokens
    assert pulses[-1].fixed <= pulses[-1].capacity <= 512
    assert 0 < pulses[-1].rss_bytes < pulses[-1].total_bytes
    pipe.send(Watch(4, False))
    assert pipe.end(4) == Watching(4, False)
    pipe.send(Generate(5, (Message("user", "Hi."),), Sampling(temperature=0), 20))
    while not isinstance(pipe.event(), PrefillProgress):  # one may have been on its way
        pass
    while not isinstance(event := pipe.event(), Finished):
        assert not isinstance(event, Pulse)
    pipe.send(Watch(6, True))  # who looks afterwards sees the last answer
    while not isinstance(pulse := pipe.event(), Pulse):
        pass
    assert (pulse.tokens, pulse.steps) == (event.statistics.decode_tokens, event.statistics.steps)


def test_a_failing_load_is_a_sentence(pipe, tmp_path):
    pipe.send(Load(1, str(tmp_path / "none.gguf")))
    failed = pipe.end(1)
    assert isinstance(failed, Failed)
    assert failed.code == "no_such_file"
    assert "none.gguf" in failed.message


@pytest.mark.skipif(sys.platform != "linux", reason="there is no pipe of that kind, and names are letters")
def test_paths_of_all_kinds(pipe, tmp_path):
    """The paths are: a pipe, one with a zero byte, one too long, and a model whose name is not UTF-8."""
    os.mkfifo(tmp_path / "pipe.gguf")
    bad = {"pipe.gguf": "is not a file", "a\0b.gguf": "There is no file", "a" * 100_000: "There is no file"}
    for id, (name, sentence) in enumerate(bad.items(), 1):
        for request in (
            Load(id, f"{tmp_path}/{name}"),
            Load(id, str(default_model()), draft_model=f"{tmp_path}/{name}"),
        ):
            pipe.send(request)
            failed = pipe.end(id)
            assert isinstance(failed, Failed)
            assert sentence in failed.message
            assert failed.code in ("no_such_file", "not_a_model")
    odd = Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9.gguf"))
    odd.symlink_to(default_model())
    pipe.send(Load(9, path_text(odd), n_ctx=512, backend="llama"))
    loaded = pipe.end(9)
    assert isinstance(loaded, Loaded)
    assert loaded.model.name == "caf\N{REPLACEMENT CHARACTER}"


@needs_ik
@pytest.mark.parametrize(("first", "second"), [("llama", "ik"), ("ik", "llama")])
def test_another_library_takes_another_process(pipe, first, second):
    pipe.send(Load(1, str(default_model()), n_ctx=512, backend=first))
    loaded = pipe.end(1)
    assert isinstance(loaded, Loaded)
    assert (loaded.model.backend, loaded.model.notes) == (first, ())
    pipe.send(Load(2, str(default_model()), n_ctx=512, backend=second))
    assert pipe.end(2) == Restart(2, second)
    pipe.send(Generate(3, MESSAGES, Sampling(temperature=0), max_tokens=2))
    assert isinstance(pipe.end(3), Finished)  # what was loaded still is
    pipe.send(Shutdown(4))
    assert pipe.process.wait(120) == 0


def test_prepare_gives_way_to_generate(pipe):
    pipe.send(Load(1, str(default_model()), n_ctx=4096, threads=1))
    pipe.end(1)
    history = (Message("user", "word " * 2000), Message("assistant", "Yes."))
    pipe.send(Prepare(2, history), Generate(3, (Message("user", "hi"),), max_tokens=2))
    prepared = pipe.end(2)
    assert isinstance(prepared, Prepared)
    assert prepared.cached_tokens < max(1, prepared.prompt_tokens)  # 0: it gave way before it had made any
    assert isinstance(pipe.end(3), Finished)


def test_a_title_gives_way_to_generate(pipe):
    """A question stops a title that is being written, and a title does not stop a chat that is read ahead."""
    pipe.send(Load(1, str(default_model()), n_ctx=1024, threads=1))
    pipe.end(1)
    chat = (Message("user", "Name a colour."),)
    pipe.send(Generate(2, chat, Sampling(temperature=0), max_tokens=8, chat="a"))
    pipe.end(2)
    asked = (*chat, Message("assistant", "Blue."), Message("user", "Write a title."))
    title, question = Title(3, asked, "a", max_tokens=64), Generate(4, chat, max_tokens=2, chat="a")
    pipe.send(title, question)
    ended = pipe.end(3)
    assert isinstance(ended, Titled | Failed)
    assert isinstance(pipe.end(4), Finished)
    history = (Message("user", "word " * 200), Message("assistant", "Yes."))
    pipe.send(Prepare(5, history, "a"), Title(6, asked, "a"))
    prepared = pipe.end(5)
    assert isinstance(prepared, Prepared)
    assert prepared.cached_tokens >= prepared.prompt_tokens > 200
    assert pipe.end(6) == Titled(6, "")


def test_cancel_ends_a_template_without_end(pipe, tmp_path):
    own_folder().mkdir(parents=True, exist_ok=True)  # whose files every engine may read
    hostile = default_model_with(endless_later("nested loops"), own_folder() / "hostile.gguf")
    pipe.send(Load(1, str(hostile), n_ctx=512, threads=1))
    loaded = pipe.end(1)
    assert isinstance(loaded, Loaded)
    assert loaded.model.template == "model"
    pipe.send(Generate(2, MESSAGES), Cancel(3, 2))
    failed = pipe.end(2)
    assert isinstance(failed, Failed)
    assert failed.code == "cancelled"
    pipe.send(Prepare(4, MESSAGES, "a"), Cancel(5, 4))
    assert isinstance(pipe.end(4), Prepared)
    pipe.send(Count(6, (), MESSAGES), Unload(7))  # nor does a count keep unloading waiting
    ended: dict[int, Event] = {}
    while not {6, 7} <= ended.keys():
        event = pipe.event()
        ended[event.id] = event
    assert isinstance(ended[6], Failed)
    assert isinstance(ended[7], Unloaded)
    pipe.send(Shutdown(8))
    assert pipe.process.wait(120) == 0


def test_it_ends_with_its_stdin_even_in_the_middle_of_an_answer(pipe):
    pipe.send(Load(1, str(default_model()), n_ctx=512, threads=1), Generate(2, MESSAGES))
    while not isinstance(pipe.event(), WRITTEN):
        pass
    assert pipe.close() == 0


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_killed_engine_leaves_no_half_line(pipe):
    pipe.send(Load(1, str(default_model()), n_ctx=512, threads=1), Generate(2, MESSAGES))
    while not isinstance(pipe.event(), WRITTEN):
        pass
    pipe.process.send_signal(signal.SIGKILL)
    assert pipe.process.stdout
    lines = pipe.process.stdout.read().splitlines(keepends=True)
    assert all(line.endswith(b"\n") for line in lines)
    pipe.process.wait(120)


def test_a_job_that_hangs_does_not_keep_a_process_that_nobody_needs() -> None:
    """Its input ends when whoever started it is killed."""
    script = """
import sys, time
from engine.base import BaseEngine
from engine.serve import server
server.ENDING = 0.5
class Hanging(BaseEngine):
    def unload(self): ...
    def generate(self, request):
        while True:
            time.sleep(1)
        yield
server.EngineServer(Hanging(), sys.stdin.buffer, sys.stdout.buffer).run()
"""
    asked = encode(Generate(1, (Message("user", "Hello"),)))
    ended = subprocess.run([sys.executable, "-c", script], input=asked, capture_output=True, check=False, timeout=60)
    assert ended.returncode == 1
    assert b"does not end" in ended.stderr
