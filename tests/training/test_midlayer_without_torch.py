"""Tests that the training program says so if PyTorch is not installed."""

from __future__ import annotations

import sys

from models.default import default_model
from training import midlayer


def test_without_pytorch_a_sentence_says_so(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    out = tmp_path / "out.gguf"
    assert midlayer.main(["--model", str(default_model()), "--layer", "15", "--out", str(out)]) == 1
    assert "PyTorch is not installed" in capsys.readouterr().err
    assert not out.exists()
