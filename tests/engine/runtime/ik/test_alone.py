"""ik_llama.cpp with the real default model, in processes that never load llama.cpp: both define the same symbols."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.protocol.requests import BackendName, Load
from tests.engine.asking import QUESTION, ask, needs_ik
from tests.engine.runtime.test_llama import LONG
from tests.engine.shallow import shallow_model

ALONE = Path(__file__).parent / "alone"
COMPUTING = ("runtime", "tree", "native", "attention", "eight_rows", "output_head", "model", "dry", "needs", "kv_types")
ANSWERING = ("answers", "drafts", "draft_model")
pytestmark = needs_ik


def files(names: Sequence[str]) -> list[str]:
    return [str(ALONE / f"test_{name}.py") for name in names]


def run_alone(*options: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", f"--confcutdir={ALONE}", "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("names", [COMPUTING, ANSWERING], ids=["computing", "answering"])
def test_alone(names):
    run_alone(*files(names))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_alone_at_length():
    run_alone("-m", "slow", *files(("runtime", *ANSWERING)))


def test_greedy_answers_are_llama_cpps(whole, tmp_path, monkeypatch):
    _, finished = ask(whole, QUESTION, max_tokens=48)
    prompt = whole._loaded().template.tokens([QUESTION])
    (tmp_path / "answer.json").write_text(json.dumps([prompt, list(finished.tokens)]))
    monkeypatch.setenv("LLAMA_CPP_ANSWER", str(tmp_path / "answer.json"))
    run_alone(str(ALONE / "answer_of_llama_cpp.py"))


def reused_of_saved(backend: BackendName) -> int:
    """Answer a chat with a new engine, save it again, and return how many of its tokens were found saved."""
    with closing(Engine()) as engine:
        engine.load(Load(0, str(shallow_model()), n_ctx=2048, threads=1, backend=backend))
        _, finished = ask(engine, LONG, max_tokens=4, chat="c1")
        engine._loaded().chat_cache.save(disk_bytes_per_s=1e12)
        reused: int = finished.statistics.reused_tokens
        return reused


@pytest.mark.slow
def test_saved_chats_are_each_librarys_own(tmp_path, monkeypatch):
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))
    assert reused_of_saved("llama") == 0
    assert reused_of_saved("llama") > 256
    run_alone(str(ALONE / "chat_of_llama_cpp.py"))
    assert reused_of_saved("llama") == 0
