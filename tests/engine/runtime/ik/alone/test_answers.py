"""The engine's answers on ik_llama.cpp: the same tests as on llama.cpp."""

import sys

from tests.engine.runtime.test_llama import *  # noqa: F403


def test_one_library(engine):
    """After all that the tests above do."""
    assert engine.status(0).model.backend == "ik"
    assert "llama_cpp" not in sys.modules
