"""The engine's tests that depend on the runtime, with our own graph in place of llama.cpp."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.engine import Engine
from engine.protocol.requests import Load
from tests.engine.runtime.test_llama import (
    test_a_second_turn_reuses_the_first_ones_tokens,
    test_a_seed_gives_the_same_text,
    test_a_snapshot_is_restored,
    test_editing_an_earlier_message_reuses_up_to_the_edit,
    test_growing_saving_and_restoring_change_no_answer,
    test_prepare_makes_the_next_prompt_short,
    test_stop_inside_a_pass_keeps_the_session_whole,
)
from tests.engine.shallow import shallow_model

__all__ = [
    "test_a_second_turn_reuses_the_first_ones_tokens",
    "test_a_seed_gives_the_same_text",
    "test_a_snapshot_is_restored",
    "test_editing_an_earlier_message_reuses_up_to_the_edit",
    "test_growing_saving_and_restoring_change_no_answer",
    "test_prepare_makes_the_next_prompt_short",
    "test_stop_inside_a_pass_keeps_the_session_whole",
]


@pytest.fixture(scope="module")
def loaded() -> Iterator[Engine]:
    engine = Engine()
    info = engine.load(Load(0, str(shallow_model()), n_ctx=1024, threads=1, backend="graph")).model
    assert info.backend == "graph"
    yield engine
    engine.close()
