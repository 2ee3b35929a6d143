"""Drafts, and tokens that stay uncached, on ik_llama.cpp."""

import pytest

from tests.engine.kv.test_policy_answers import *  # noqa: F403
from tests.engine.speculative import test_real_drafts as drafts
from tests.engine.speculative.test_real_drafts import *  # noqa: F403


@pytest.mark.parametrize(  # type: ignore[no-redef]  # in place of the imported one
    ("mode", "pending", "questions"), drafts.forms(drafts.MODES, "published tree pending")
)
def test_greedy_answers_are_the_plain_ones(engine, free_passes, monkeypatch, mode, pending, questions):
    drafts.test_greedy_answers_are_the_plain_ones(engine, free_passes, monkeypatch, mode, pending, questions)
