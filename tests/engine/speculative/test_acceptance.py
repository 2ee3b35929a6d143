"""Acceptance is learned by evidence and place, and by token."""

from __future__ import annotations

import pytest

from engine.speculative.acceptance import ANY_TOKEN, FADE, MAX_LEARNED_TOKENS, Acceptance
from engine.speculative.draft import Draft

USUAL, ODD = 5, 6


def draft(*tokens: int, drafter: str = "test") -> Draft:
    return Draft(tokens, drafter, (1,), (0.8,) * len(tokens))


def taught() -> Acceptance:
    """Return rates learned from tokens of which 80 % were right, as foretold; the wrong one was always ODD."""
    acceptance = Acceptance()
    for _ in range(20):
        for token in (USUAL, USUAL, USUAL, USUAL, ODD):
            acceptance.learn(draft(token), 0, token != ODD)
    return acceptance


def test_a_token_that_is_seldom_right_is_believed_less_than_others() -> None:
    acceptance = taught()
    odd, usual, other = (acceptance.rates(draft(token))[0] for token in (ODD, USUAL, 7))
    assert odd < 0.5 < other < usual
    assert other == pytest.approx(0.8, abs=0.02)


def test_of_another_drafter_nothing_is_known() -> None:
    assert taught().rates(draft(ODD, drafter="other")) == [0.8]


def test_no_token_is_told_to_the_disk() -> None:
    acceptance = taught()
    assert list(acceptance.state()) == ["test 1 0"]
    assert Acceptance(acceptance.state()).rates(draft(ODD)) == pytest.approx(acceptance.rates(draft(7)), abs=1e-3)


def test_a_draft_that_stands_for_any_teaches_about_no_token() -> None:
    acceptance = Acceptance()
    for _ in range(50):
        acceptance.learn(draft(ANY_TOKEN), 0, False)
    assert acceptance.rates(draft(ANY_TOKEN)) == acceptance.rates(draft(USUAL))
    assert acceptance.rates(draft(USUAL))[0] < 0.8


def test_the_oldest_tokens_are_forgotten() -> None:
    acceptance = taught()
    odd = acceptance.rates(draft(ODD))[0]
    for token in range(100, 100 + MAX_LEARNED_TOKENS):
        acceptance.learn(Draft((token,), "test", (2,), (0.5,)), 0, True)
    assert acceptance.rates(draft(ODD))[0] > odd + 0.2


def test_what_was_learned_long_ago_fades() -> None:
    acceptance = taught()
    for _ in range(round(3 / (1 - FADE))):
        acceptance.learn(draft(ODD), 0, True)
    assert acceptance.rates(draft(ODD))[0] > 0.8
