"""The engine's answers on ik_llama.cpp: the same tests as on llama.cpp."""

import sys

import pytest

from tests.engine.runtime.test_llama import *  # noqa: F403

for each in (test_a_damaged_saved_chat_is_read_again, test_where_memory_is_short_eight_bit_keys_and_values_are_offered):  # noqa: F405
    pytest.mark.slow(each)  # what they are about is the same code for every library


def test_one_library(engine):
    """After all that the tests above do."""
    assert engine.status(0).model.backend == "ik"
    assert "llama_cpp" not in sys.modules
