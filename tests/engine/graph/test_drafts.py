"""Drafts, and tokens that stay uncached, on our own graph with the real default model."""

from __future__ import annotations

import pytest

from tests.engine.draft import test_real_drafts as drafts
from tests.engine.draft.test_real_drafts import judge
from tests.engine.graph.test_engine import loaded
from tests.engine.kv import test_real_policies as policies

__all__ = ["judge", "loaded"]


@pytest.mark.parametrize("pending", [False, True], ids=["cached", "pending"])
@pytest.mark.parametrize("mode", ["auto", "published tree"])
def test_greedy_answers_are_the_plain_ones(engine, judge, monkeypatch, mode, pending):
    drafts.test_greedy_answers_are_the_plain_ones(engine, judge, monkeypatch, mode, pending)


def test_tokens_that_stay_uncached_change_no_answer(engine, monkeypatch):
    policies.test_greedy_answers_are_the_same_as_with_every_token_cached(engine, monkeypatch, policies.PUBLISHED)
