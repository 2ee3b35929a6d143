"""The first look: a file that crashes a library does so in a process of its own, and the user reads a sentence.

All libraries are the real ones, and only processes that the tests start load them: an abort is a test that fails, not a
run that ends.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from common.failures import Failure
from common.planning import Ask
from engine.loading import first_look
from engine.loading.first_look import PASSED, LibraryCrashed, Patience, look_key, take_first_looks
from engine.run_subprocess import start_engine_command
from engine.stop import Stopped
from models.default import default_model
from models.planner import verdicts
from models.split import model_headers
from tests.engine.altered import F32, STRING, U32, Value, rwkv_values, texts, write_altered

HUGE = 1 << 31
TWICE = {"tokenizer.ggml.tokens": Value([*texts()[:-1], texts()[5]], STRING)}  # only llama.cpp's assertion finds it
BROKEN = {
    "no layers": {"llama.block_count": Value(0, U32)},
    "too many layers": {"llama.block_count": Value(65_536, U32)},
    "experts": {"llama.expert_count": Value(HUGE, U32), "llama.expert_used_count": Value(2, U32)},
    "used experts": {"llama.expert_count": Value(4, U32), "llama.expert_used_count": Value(HUGE, U32)},
    "heads of three layers": {"llama.attention.head_count_kv": Value([2, 2, 2], U32)},
    "heads that are no counts": {"llama.attention.head_count_kv": Value([2.0, 2.0], F32)},
    "alignment": {"general.alignment": Value(1, U32)},
    "no tokenizer": {"tokenizer.ggml.model": Value("none", STRING)},
    "another tokenizer": {"tokenizer.ggml.model": Value("rwkv", STRING)},
    "a token twice": TWICE,
}


@pytest.fixture(autouse=True)
def own_marks(tmp_path, monkeypatch):
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def good(tmp_path) -> Path:
    return write_altered(tmp_path / "good.gguf")


def test_one_planner_survives_all_that_would_abort_it(tmp_path, good):
    files = {name: write_altered(tmp_path / f"{i}.gguf", changes) for i, (name, changes) in enumerate(BROKEN.items())}
    asks = {name: Ask(path=str(path), backend="llama") for name, path in (files | {"good": good}).items()}
    plans = dict(verdicts(asks))
    assert plans.pop("good").verdict == "fits"
    assert plans.keys() == BROKEN.keys()
    assert {name for name, verdict in plans.items() if f"{files[name].name} " not in str(verdict.problem)} == set()
    assert str(plans["a token twice"].problem).startswith(f"{files['a token twice'].name} makes llama.cpp crash")
    assert "no vocabulary" in str(plans["no tokenizer"].problem)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        # llama.cpp gives -1 for a byte that is missing, which the first look finds
        (rwkv_values(), "has no token for some of the characters"),
        # nothing is left of the question
        ({"tokenizer.ggml.tokens": Value([f"x{i}" for i in range(320)], STRING)}, "produces nothing for this chat"),
    ],
    ids=["rwkv", "no letters"],
)
def test_a_vocabulary_without_a_token_for_the_question(tmp_path, changes, words):
    path = write_altered(tmp_path / "bird.gguf", changes)
    arguments = ("chat", "--model", str(path), "--prompt", "Hello", "--backend", "llama")
    asked = subprocess.run((sys.executable, "-m", "engine", *arguments), capture_output=True, text=True)
    assert asked.returncode == 2
    assert words in asked.stderr


def test_a_file_is_looked_at_once(good, tmp_path):
    headers = model_headers(good)
    look = look_key(headers, "graph")
    assert look is not None
    assert look == look_key(headers, "llama") != look_key(headers, "ik")
    with pytest.raises(Stopped):
        take_first_looks((headers, None), "llama", stop=lambda: True)
    assert not PASSED.get(*look)
    take_first_looks((None, headers), "llama")
    assert PASSED.get(*look)
    take_first_looks((headers,), "llama", stop=lambda: True)
    write_altered(good, TWICE)
    assert look_key(model_headers(good), "llama") != look


@pytest.mark.skipif(os.name != "posix", reason="groups of processes are POSIX's")
def test_ctrl_c_is_for_who_started_the_look(good, monkeypatch):
    """A look that Ctrl-C ends must not be taken for a crash."""
    groups = []

    def started(*arguments, **options):
        process = start_engine_command(*arguments, **options)
        groups.append(os.getpgid(process.pid))
        return process

    monkeypatch.setattr(first_look, "start_engine_command", started)
    with pytest.raises(Stopped):
        take_first_looks((model_headers(good),), "llama", stop=lambda: True)
    assert groups
    assert os.getpgid(0) not in groups


def test_what_comes_with_chickadee_is_trusted():
    assert look_key(model_headers(default_model()), "llama") is None


@pytest.mark.parametrize(
    ("memory", "patience", "words"),
    [
        (0, Patience(), "memory"),
        (1 << 30, Patience(processor_seconds=0), "header to the end"),
        (1 << 30, Patience(clock_seconds=0), "header to the end"),
        (1 << 30, Patience(clock_seconds=0, is_final=False), "takes too long"),
    ],
)
def test_a_look_that_takes_too_much_is_ended(good, monkeypatch, memory, patience, words):
    monkeypatch.setattr(first_look, "MOST_BYTES", memory)
    with pytest.raises(Failure, match=words) as caught:
        take_first_looks((model_headers(good),), "llama", patience=patience)
    assert not isinstance(caught.value, LibraryCrashed)
    look = look_key(model_headers(good), "llama")
    assert look
    assert not PASSED.get(*look)


@pytest.mark.timeout(60)
def test_a_refusal_larger_than_a_pipe_holds_up_nothing(tmp_path, good):
    """The library's refusal repeats the architecture, and the process that looks must not wait for a reader."""
    bad = write_altered(tmp_path / "bad.gguf", architecture="x" * 100_000)
    plans = dict(verdicts({path.name: Ask(path=str(path), backend="llama") for path in (bad, good)}))
    problem = str(plans["bad.gguf"].problem)
    assert "which this version of llama.cpp does not support yet" in problem
    assert "xxx…xxx" in problem
    assert len(problem) < 500
    assert plans["good.gguf"].verdict == "fits"
