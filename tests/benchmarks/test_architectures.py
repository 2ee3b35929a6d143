"""The document's table names every architecture that llama.cpp knows, and says what is wrong with one."""

from __future__ import annotations

import ctypes
from itertools import count

import pytest

from benchmarks import architectures
from benchmarks.trials import Trial
from engine.runtime.llama.library import open_library


def test_the_document_names_every_architecture_of_llama_cpp():
    listed = [name.removesuffix("+moe") for name in architectures.names_in(architectures.DOCUMENT.read_text("utf-8"))]
    assert sorted(set(listed)) == sorted(known_architectures())


def known_architectures() -> list[str]:
    """Return the names of all architectures of the installed llama.cpp, by its C++ function `llm_arch_name`."""
    try:
        name_of = open_library()._lib._Z13llm_arch_name8llm_arch
    except AttributeError:
        pytest.skip("this compiler names C++ functions in another way")
    name_of.restype = ctypes.c_char_p
    names = (name_of(number).decode() for number in count())
    known: list[str] = []
    for name in names:
        if name == "(unknown)":
            return known
        known.append(name)
    return known


def test_a_row_says_what_is_refused_and_what_is_wrong():
    assert architectures.row(Trial("t5", refused="It is no chat model.")).endswith("| refused: It is no chat model. |")
    wrong = Trial("lfm2", again=1, restarted=2, wrong=["stop: token 3 of 24 differs"], near_ties=1)
    assert architectures.row(wrong) == "| lfm2 | 1 | 0 | 0 | 2 |  |  | stop: token 3 of 24 differs, 1 near ties |"
