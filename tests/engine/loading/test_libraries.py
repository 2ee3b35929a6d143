"""Libraries are chosen by name, and a process holds one of them."""

from __future__ import annotations

import pytest

from common.failures import Failure
from engine.base import OtherLibrary
from engine.loading import libraries as backends
from engine.loading.libraries import backend, imported_library


def test_llama_cpp():
    assert backend("llama").build.startswith("llama-cpp-python ")
    assert imported_library() == "llama"


def test_a_second_library_takes_another_process():
    backend("llama")
    with pytest.raises(OtherLibrary, match="another library than ik") as caught:
        backend("ik")
    assert caught.value.wanted == "ik"


def test_our_own_graph_computes_in_the_same_process():
    library = backend("graph")
    assert library.name == "graph"
    assert library.build.startswith("chickadee-graph ")
    assert imported_library() == "llama"


def test_no_wheel_for_this_computer(monkeypatch):
    monkeypatch.setattr(backends, "imported_library", lambda: None)
    monkeypatch.setattr(backends, "find_spec", lambda _name: None)
    with pytest.raises(Failure, match="not installed"):
        backend("ik")
