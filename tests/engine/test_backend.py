"""Libraries are chosen by name."""

from __future__ import annotations

import pytest

from engine import backend as backends
from engine.backend import backend
from models.failures import Failure


def test_llama_cpp():
    assert backend("llama").build.startswith("llama-cpp-python")


def test_no_wheel_for_this_computer(monkeypatch):
    monkeypatch.setattr(backends, "find_spec", lambda _name: None)
    with pytest.raises(Failure, match="not installed"):
        backend("ik")
