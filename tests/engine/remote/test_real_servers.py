"""The remote engine against real servers: our own API, and llama-server where CHICKADEE_LLAMA_SERVER names one."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from engine.protocol.events import WRITTEN, Event, Finished, ModelsListed, PrefillProgress
from engine.protocol.requests import Generate, ListModels, Load, Message, Sampling, Server
from engine.remote.engine import RemoteEngine
from engine.tokenization.turns import ChatTooLong
from models.default import default_model

KEY = "sesame"
GREEDY = Sampling(temperature=0.0, repeat_penalty=1.0)
LLAMA_SERVER = os.environ.get("CHICKADEE_LLAMA_SERVER") or shutil.which("llama-server")
OURS = (sys.executable, "-m", "engine", "api", "--key", KEY, "--ctx", "512", "--port")


@contextmanager
def running(command: Sequence[str]) -> Iterator[Server]:
    """Run a server's command, to which a free port is added, until the block ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([*command, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_until_ready(process, f"http://127.0.0.1:{port}/health")
        yield Server(f"127.0.0.1:{port}", KEY)
    finally:
        process.terminate()
        process.wait()


def _wait_until_ready(process: subprocess.Popen[bytes], url: str) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        assert process.poll() is None, "the server ended"
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise AssertionError("the server did not become ready")


def check(server: Server, software: str) -> None:
    """Have a server do everything that the window asks of one."""
    engine = RemoteEngine()
    listed = engine.list_models(ListModels(1, server))
    assert isinstance(listed, ModelsListed)
    assert listed.software.startswith(software)
    name = listed.models[0].name
    info = engine.load(Load(2, name, server=Server(listed.url, KEY))).model
    assert info.n_ctx == 512
    question = Message("user", "Tell me about the sea.")
    first, end = answer(engine, Generate(3, (question,), GREEDY, max_tokens=8))
    assert first.strip()
    assert (end.statistics.stop_reason, end.statistics.decode_tokens) == ("length", 8)
    assert 20 < end.statistics.prompt_tokens < 60
    begun = (question, Message("assistant", first))
    rest, end = answer(engine, Generate(4, begun, GREEDY, max_tokens=8, continue_last=True))
    assert rest.strip()
    assert not rest.startswith(first)
    assert end.statistics.reused_tokens > 20
    whole, _ = answer(engine, Generate(5, (question,), GREEDY, max_tokens=16))
    assert whole == first + rest
    check_stop(engine, question)
    check_too_long(engine)


def check_stop(engine: RemoteEngine, question: Message) -> None:
    threading.Timer(0.3, engine.stop.set).start()
    _, end = answer(engine, Generate(6, (question,), max_tokens=400))
    assert end.statistics.stop_reason == "cancelled" or end.statistics.decode_tokens < 400
    engine.stop.clear()


def check_too_long(engine: RemoteEngine) -> None:
    turns = (Message("user", "word " * 200), Message("assistant", "Fine.")) * 3
    chat = Generate(7, (*turns, Message("user", "And now?")), GREEDY, max_tokens=4)
    with pytest.raises(ChatTooLong) as caught:
        list(engine.generate(chat))
    turns_to_leave_out = caught.value.remedies[0].turns
    text, _ = answer(engine, Generate(8, chat.messages, GREEDY, max_tokens=4, forget_turns=turns_to_leave_out))
    assert text


def answer(engine: RemoteEngine, request: Generate) -> tuple[str, Finished]:
    events: list[Event] = list(engine.generate(request))
    assert any(isinstance(event, PrefillProgress) for event in events)
    end = events[-1]
    assert isinstance(end, Finished)
    return "".join(event.text for event in events if isinstance(event, WRITTEN)), end


def test_our_own_api() -> None:
    with running(OURS) as server:
        check(server, "Chickadee")


@pytest.mark.slow
def test_llama_server() -> None:
    if LLAMA_SERVER is None:
        pytest.skip("CHICKADEE_LLAMA_SERVER names no llama-server, and PATH has none")
    command = (LLAMA_SERVER, "-m", str(default_model()), "-c", "512", "-np", "1", "--api-key", KEY, "--port")
    with running(command) as server:
        check(server, "llama.cpp")
