"""The engine before llama.cpp is compiled: ik_llama.cpp answers with the models that it knows, others are refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.protocol.events import Failed, Loaded, Welcome
from engine.protocol.requests import Hello, Load
from models.default import default_model
from tests.engine.asking import needs_ik
from tests.engine.conftest import write_gguf
from tests.engine.serve.test_process import Pipe

# Python runs this first, in every process that a test starts: what is installed as llama.cpp cannot be found.
HIDING = """
import sys

class Hiding:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, *where):
        return None if name == "llama_cpp" else self.finder.find_spec(name, *where)

    def find_distributions(self, context):
        return () if context.name == "llama-cpp-python" else self.finder.find_distributions(context)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = [Hiding(f) if hasattr(f, "find_distributions") else f for f in sys.meta_path]
"""
NEEDED = "This model needs llama.cpp, which has not been compiled yet: `make setup` does that."
UNKNOWN = "ik_llama.cpp does not support the architecture “lfm2” yet."
NOT_READY = "ik_llama.cpp is used until llama.cpp has been compiled."

Run = Callable[..., subprocess.CompletedProcess[str]]
pytestmark = needs_ik


@pytest.fixture
def hidden(tmp_path, monkeypatch) -> Run:
    """Return a function that runs an engine command in a process where llama.cpp is not installed."""
    folder = tmp_path / "first"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HIDING)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path / "cache"))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "engine", *arguments]
        return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=240)

    return run


@pytest.fixture
def hybrid(tmp_path) -> Path:
    return write_gguf(tmp_path / "hybrid.gguf", "lfm2", lfm2__block_count=1, lfm2__embedding_length=32)


@pytest.mark.parametrize("options", [("--backend", "llama"), pytest.param((), marks=pytest.mark.slow)])
def test_ik_answers_in_the_terminal(hidden: Run, options):
    done = hidden("chat", "--prompt", "Name a bird.", "--json", "--threads", "1", *options, "--ctx", "512")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["backend"] == "ik"
    assert report["text"]


def test_a_model_that_needs_llama_cpp_is_refused_in_a_sentence(hidden: Run, hybrid):
    done = hidden("chat", "--prompt", "Name a bird.", "--model", str(hybrid))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"chickadee: {NEEDED} {UNKNOWN}\n"


def test_the_window_hears_which_library_computes_and_which_is_needed(hidden: Run, hybrid):
    pipe = Pipe("--read", str(hybrid))
    pipe.send(Hello(1), Load(2, str(default_model()), n_ctx=512, threads=1, backend="auto"), Load(3, str(hybrid)))
    welcome, loaded, refused = (pipe.end(id) for id in (1, 2, 3))
    assert pipe.close() == 0
    assert isinstance(welcome, Welcome)
    assert welcome.backend.startswith("ik-llama-cpp-python ")
    assert isinstance(loaded, Loaded)
    assert (loaded.model.backend, [str(note) for note in loaded.model.notes]) == ("ik", [NOT_READY])
    assert isinstance(refused, Failed)
    assert (refused.sentence.id, str(refused.sentence)) == ("no_backend.for_model", f"{NEEDED} {UNKNOWN}")


SLOW = [pytest.param((name, "--json"), marks=pytest.mark.slow) for name in ("phrases", "calibrate")]


@pytest.mark.parametrize("command", [("profile", "--json"), ("plan", "--json"), *SLOW], ids=lambda command: command[0])
def test_other_commands_use_ik_too(hidden: Run, command):
    done = hidden(*command)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout).get("build", "ik-llama-cpp-python").startswith("ik-llama-cpp-python")


def test_what_only_llama_cpp_can_do_is_refused_in_a_sentence(hidden: Run):
    done = hidden("calibrate", "--backend", "llama")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "chickadee: llama.cpp has not been compiled yet: `make setup` does that.\n"
