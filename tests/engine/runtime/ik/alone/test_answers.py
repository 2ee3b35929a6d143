"""The engine's answers on ik_llama.cpp: the same tests as on llama.cpp."""

import sys

import pytest

from tests.engine.runtime.test_llama import *  # noqa: F403

SAME_CODE = (  # for every library
    test_a_chat_that_is_too_long_offers_to_forget_turns,  # noqa: F405
    test_a_chat_resumes_after_a_restart,  # noqa: F405
    test_a_damaged_model_that_computes_no_numbers_is_told,  # noqa: F405
    test_a_damaged_saved_chat_is_read_again,  # noqa: F405
    test_a_full_context_ends_the_answer,  # noqa: F405
    test_empty_prompt,  # noqa: F405
    test_greedy_is_deterministic,  # noqa: F405
    test_prompt_longer_than_the_context_is_refused_with_both_counts,  # noqa: F405
    test_repeat_penalty_changes_the_choice,  # noqa: F405
    test_stop_string,  # noqa: F405
    test_where_memory_is_short_eight_bit_keys_and_values_are_offered,  # noqa: F405
)
for each in SAME_CODE:
    pytest.mark.slow(each)


def test_one_library(engine):
    """This runs after the tests above, which must not have loaded llama.cpp."""
    assert engine.status(0).model.backend == "ik"
    assert "llama_cpp" not in sys.modules
