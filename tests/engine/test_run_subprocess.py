"""The environment of the engine's process, which keeps its pipes and process id when it is executed again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from common.engine_program import engine_environment
from engine.protocol.events import Welcome
from engine.protocol.lines import decode_event, encode
from engine.protocol.requests import Hello
from engine.run_subprocess import start_with_environment


@pytest.mark.skipif(sys.platform != "linux", reason="the allocator is glibc's on Linux only")
def test_the_engine_sets_up_its_allocator_and_keeps_its_pipes_and_pid(monkeypatch):
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.arena_max=4")
    command = [sys.executable, "-m", "engine", "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as engine:
        assert engine.stdin
        assert engine.stdout
        engine.stdin.write(encode(Hello(1)))
        engine.stdin.flush()
        welcome = decode_event(engine.stdout.readline())
        environment = Path(f"/proc/{engine.pid}/environ").read_bytes()
        engine.stdin.close()
    assert isinstance(welcome, Welcome)
    assert welcome.pid == engine.pid
    assert b"GLIBC_TUNABLES=glibc.malloc.hugetlb=1" in environment
    assert b"glibc.malloc.mmap_threshold=1048576" in environment
    assert b"glibc.malloc.arena_max=4" in environment
    assert b"GGML_NO_BACKTRACE=1" in environment
    assert b"GOMP_SPINCOUNT=" in environment


@pytest.mark.skipif(sys.platform != "linux", reason="the allocator is glibc's on Linux only")
def test_an_environment_that_is_complete_is_left_as_it_is(monkeypatch):
    """Then the engine need not execute itself again, which takes a tenth of its start."""
    environment = engine_environment()
    monkeypatch.setattr(os, "environ", environment)
    assert engine_environment() == environment
    start_with_environment()  # would not come back
    assert os.environ is environment
