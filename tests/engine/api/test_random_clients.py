"""The local API under everything that can happen to it at once: many clients, hang-ups, a dying or stopped engine."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from models.default import default_model
from tests.engine.test_client_process import children_with

SERVE = """
import sys
from engine import client
client.QUIET, client.SILENT, client.PATIENCE, client.GRACE, client.STARTING = 2.0, 5.0, 3.0, 5.0, 15.0
from engine.__main__ import main
sys.exit(main())
"""
CLIENTS = 4
LONGEST = 120  # seconds that any request may take: an engine is stopped, noticed, replaced, and answers
CHAT = {"messages": [{"role": "user", "content": "Name a bird."}]}
QUESTIONS = (
    ("/v1/chat/completions", CHAT | {"max_tokens": 8}),
    ("/v1/chat/completions", CHAT | {"max_tokens": 60, "stream": True}),
    ("/v1/messages", CHAT | {"max_tokens": 200, "stream": True}),
    ("/v1/responses", {"input": "Hello", "max_output_tokens": 4}),
    ("/v1/completions", {"prompt": "The bird " * 200, "max_tokens": 2}),
    ("/tokenize", {"content": "a bird"}),
    ("/v1/embeddings", {"input": ["a bird", "a tree"]}),
)


class Client(threading.Thread):
    """A program that asks one question after the other, and sometimes hangs up in the middle of an answer."""

    def __init__(self, port: int, seed: int, until: float) -> None:
        super().__init__(daemon=True)
        self.port, self.dice, self.until = port, random.Random(seed), until
        self.statuses: dict[str, int] = {}
        self.late: list[str] = []

    def run(self) -> None:
        while time.monotonic() < self.until:
            path, body = self.dice.choice(QUESTIONS)
            started = time.monotonic()
            try:
                ended = self.ask(path, body)
            except (OSError, http.client.HTTPException) as error:
                ended = type(error).__name__
            self.statuses[ended] = self.statuses.get(ended, 0) + 1
            if time.monotonic() - started > LONGEST:
                self.late.append(f"{path} took {time.monotonic() - started:.0f} s and ended with {ended}")

    def ask(self, path: str, body: object) -> str:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=3 * LONGEST)) as connection:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            if self.dice.random() < 0.15:
                time.sleep(self.dice.random())
                return "hung up before the answer"
            response = connection.getresponse()
            if self.dice.random() < 0.15:
                response.read1(20)
                return "hung up in the answer"
            response.read()
            return str(response.status)


def engines(server: psutil.Process) -> list[psutil.Process]:
    return children_with({"serve"}, server)


def runs(engine: psutil.Process) -> bool:
    """Return whether a process has not ended, reaped or not."""
    try:
        return bool(engine.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be stopped by a signal")
def test_nobody_waits_for_ever_and_no_engine_is_left(tmp_path: Path) -> None:
    seconds, dice = float(os.environ.get("CHICKADEE_RANDOM_SECONDS", "90")), random.Random(61)
    command = [sys.executable, "-c", SERVE, "api", "--model", str(default_model()), "--port", "0", "--threads", "1"]
    environment = {**os.environ, "CHICKADEE_CACHE_DIR": str(tmp_path)}
    with subprocess.Popen(
        [*command, "--ctx", "1024"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as server:
        assert server.stdout
        port = re.search(r":(\d+)\.", server.stdout.readline())
        assert port
        until, process = time.monotonic() + seconds, psutil.Process(server.pid)
        clients = [Client(int(port[1]), seed, until) for seed in range(CLIENTS)]
        for client in clients:
            client.start()
        while time.monotonic() < until:
            time.sleep(dice.uniform(1, 12))
            running = engines(process)
            assert len(running) <= 1, running
            for engine in running:
                with contextlib.suppress(psutil.NoSuchProcess):
                    engine.send_signal(dice.choice((signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV, signal.SIGTERM)))
        for client in clients:
            client.join(2 * LONGEST)
        left = engines(process)
        last = Client(int(port[1]), 0, 0)
        answers = [last.ask("/tokenize", {"content": "a"}) for _ in range(3)]  # the last signal may end the first
        server.send_signal(signal.SIGINT)
        server.wait(60)
    assert not [client for client in clients if client.is_alive()]
    assert not [line for client in clients for line in client.late]
    assert "200" in answers
    assert len(left) <= 1
    assert not [engine for engine in left if runs(engine)]
    assert sum(client.statuses.get("200", 0) for client in clients) > 5
