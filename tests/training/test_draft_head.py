"""Tests of recording a model's states, and of heads that learn from them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from engine.runtime.ik.native import FILE
from models.default import default_model
from training import draft_head
from training.recorded_states import HEAD, read_recorded, read_rows

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FILE.exists(), reason="our native code for ik_llama.cpp was not compiled here"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder of recorded answers; a process of its own holds ik_llama.cpp, which must not meet llama.cpp."""
    folder = tmp_path_factory.mktemp("states")
    command = ["record", "--model", default_model(), "--states", folder, "--answers", "3", "--tokens", "24"]
    subprocess.run([sys.executable, "-m", "training.draft_head", *command], check=True, timeout=240)
    return folder


def test_the_head_says_of_each_state_the_token_that_follows(folder):
    answers = read_recorded(folder)
    assert len(answers) == 3
    head = read_rows(default_model(), HEAD)
    for answer in answers:
        assert len(answer.states) == len(answer.tokens) - 1
        states = np.array(answer.states[answer.first - 1 :], np.float32)
        agreed = (states @ head.T).argmax(axis=1) == answer.tokens[answer.first :]
        assert agreed.mean() > 0.97, "states are rounded to 16 bits, so near-ties may differ, nothing else"


def test_what_is_recorded_is_not_recorded_again(folder, tmp_path, capfd):
    assert draft_head.main(["record", "--model", str(default_model()), "--states", str(folder), "--answers", "3"]) == 0
    assert "recorded" not in capfd.readouterr().out


def test_heads_learn_what_comes_next(folder):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: training is optional")
    from training.heads import HEADS, Heads, judge, positions, training

    torch.manual_seed(0)
    answers = read_recorded(folder)
    ids = draft_head.known_tokens(answers)
    heads = Heads(read_rows(default_model(), "token_embd.weight"), read_rows(default_model(), HEAD, ids), ids)
    learned = positions(answers)
    before = judge(heads, learned)
    for _line in training(heads, learned, epochs=400):
        pass
    rates, tokens = judge(heads, learned)
    assert len(rates) == len(tokens) == HEADS
    assert all(after > 0.8 > earlier for after, earlier in zip(rates, before[0], strict=True))
    assert 2.4 < tokens[1] <= 3


def test_without_answers_it_says_what_to_do(tmp_path, capsys):
    pytest.importorskip("torch", reason="PyTorch is not installed: training is optional")
    assert draft_head.main(["train", "--model", str(default_model()), "--states", str(tmp_path)]) == 1
    assert "begin with `record`" in capsys.readouterr().err
