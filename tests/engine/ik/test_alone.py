"""ik_llama.cpp with the real default model, in processes that never load llama.cpp: both define the same symbols."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.engine.asking import QUESTION, ask

ALONE = Path(__file__).parent / "alone"
pytestmark = pytest.mark.skipif(find_spec("ik_llama_cpp") is None, reason="no wheel of ik_llama.cpp for this computer")


def run_alone(*options: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", f"--confcutdir={ALONE}", "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["target", "tree", "model"])
def test_alone(name):
    run_alone(str(ALONE / f"test_{name}.py"))


def test_greedy_answers_are_llama_cpps(engine, tmp_path, monkeypatch):
    _, finished = ask(engine, QUESTION, max_tokens=48)
    prompt = engine._loaded().template.tokens([QUESTION])
    (tmp_path / "answer.json").write_text(json.dumps([prompt, list(finished.tokens)]))
    monkeypatch.setenv("LLAMA_CPP_ANSWER", str(tmp_path / "answer.json"))
    run_alone(str(ALONE / "answer_of_llama_cpp.py"))
