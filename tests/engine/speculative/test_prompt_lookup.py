"""Prompt lookup in both forms, compared with obvious slow implementations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.fit_prior import VECTOR, features
from engine.protocol.requests import Lookup
from engine.speculative.prompt_lookup import LEVELS, MAX_MATCH, PAST_TOKENS, PromptLookup, Suffixes
from engine.speculative.prompt_lookup_prior import HOPELESS, TokenRecords, acceptance_prior
from engine.speculative.published import PublishedLookup

texts = st.lists(st.integers(0, 3), max_size=60) | st.lists(st.integers(0, 40), max_size=60)
FEW, ALL = 2, 10_000


def brute_force(tokens: list[int]) -> dict[int, int]:
    """Return every earlier position after an occurrence of the last token, with the length of its match."""
    lengths = {}
    for position in range(1, len(tokens)):
        length = 0
        while length < min(MAX_MATCH, position) and tokens[position - 1 - length] == tokens[-1 - length]:
            length += 1
        if length:
            lengths[position] = length
    return lengths


def level_of(length: int) -> int:
    return max(level for level in LEVELS if level <= length)


def indexed(tokens: list[int]) -> Suffixes:
    suffixes = Suffixes()
    suffixes.extend(tokens)
    return suffixes


@given(texts)
def test_all_occurrences_are_those_of_a_brute_force_search(tokens: list[int]) -> None:
    assert indexed(tokens).occurrences(ALL) == brute_force(tokens)


@given(texts)
def test_a_short_look_finds_real_matches_as_long_by_level_as_the_longest(tokens: list[int]) -> None:
    occurrences, real = indexed(tokens).occurrences(FEW), brute_force(tokens)
    assert occurrences.items() <= real.items()
    if real:
        assert level_of(max(occurrences.values())) == level_of(max(real.values()))


@given(texts, st.data())
def test_forgetting_leaves_no_trace(tokens: list[int], data: st.DataObject) -> None:
    size = data.draw(st.integers(0, len(tokens)))
    tail = data.draw(texts)
    suffixes = indexed(tokens)
    suffixes.keep_first(size)
    suffixes.extend(tail)
    assert suffixes.tokens == tokens[:size] + tail
    assert suffixes.occurrences(ALL) == brute_force(tokens[:size] + tail)


def test_more_tokens_than_slots() -> None:
    tokens = [i * i % 997 for i in range(5000)]
    suffixes = Suffixes()
    for token in tokens:
        suffixes.extend((token,))
    assert suffixes.occurrences(ALL) == brute_force(tokens)


def drafts(drafter: PromptLookup, limit: int = 8) -> list[tuple[int, ...]]:
    return [draft.tokens for draft in drafter.propose(limit)]


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=30))
def test_the_record_of_a_token_counts_how_often_it_came(events: list[tuple[int, bool]]) -> None:
    records = TokenRecords()
    for token, right in events:
        records.add(token, right)
    assert set(records.records) == {token for token, _ in events}
    for token, record in records.records.items():
        yes, no = events.count((token, True)), events.count((token, False))
        assert record == pytest.approx(np.log((1 + yes) / (1 + no)))


@given(texts, texts, st.data())
def test_pieces_make_no_difference(prompt: list[int], answer: list[int], data: st.DataObject) -> None:
    whole, pieces = PromptLookup(), PromptLookup()
    whole.begin(prompt)
    whole.extend(answer)
    pieces.begin(data.draw(texts))
    pieces.propose(3)
    pieces.forget()
    pieces.begin(prompt)
    at = 0
    while at < len(answer):
        size = data.draw(st.integers(1, 5))
        pieces.extend(answer[at : at + size])
        at += size
    assert list(whole.tokens) == list(pieces.tokens) == prompt + answer
    assert [(d.tokens, d.confidence) for d in whole.propose(8)] == [(d.tokens, d.confidence) for d in pieces.propose(8)]


@given(texts, st.integers(1, 20))
def test_drafts_are_continuations(tokens: list[int], limit: int) -> None:
    drafter = PromptLookup()
    drafter.begin(tokens)
    for draft in drafts(drafter, limit):
        assert 1 <= len(draft) <= limit
        assert any((tokens + list(draft))[p : p + len(draft)] == list(draft) for p in brute_force(tokens))


@given(texts)
def test_the_longest_match_comes_first_in_a_fresh_prompt(tokens: list[int]) -> None:
    drafter, real = PromptLookup(), brute_force(tokens)
    drafter.begin(tokens)
    matches = drafter.matches()
    assert bool(matches) == bool(real)
    if matches:
        assert level_of(matches[0].length) == level_of(max(real.values()))


@given(texts, st.lists(st.integers(0, 3), max_size=20))
def test_the_prior_is_the_regression_as_far_as_there_is_hope(prompt: list[int], answer: list[int]) -> None:
    drafter = PromptLookup()
    drafter.begin(prompt)
    drafter.extend(answer)
    if evidence := drafter.best_evidence(47):
        chances = 1 / (1 + np.exp(-features(evidence) @ VECTOR))
        prior = acceptance_prior(evidence)
        assert prior == pytest.approx(chances[: len(prior)])
        assert len(prior) == len(chances) or np.prod(prior) < HOPELESS <= np.prod(prior[:-1])


def test_a_copy_is_taken_up_again_where_it_was_left() -> None:
    source = [1, 2, 3, 4, 5, 9, 6, 7, 8]
    elsewhere = [50, 9, 51, 52]
    drafter = PromptLookup()
    drafter.begin([*source, *elsewhere, 100])
    drafter.extend([1, 2, 3, 4, 5, 60, 9])
    assert drafts(drafter, 3) == [(6, 7, 8)]


def test_a_word_that_was_replaced_before_is_expected_to_be_replaced_again() -> None:
    """The token 7 was replaced twice; where it comes next, the copy is trusted only up to that place."""
    source = [1, 2, 3, 4, 7, 11, 12, 13, 14, 7, 21, 22, 23, 24, 7, 31]
    drafter = PromptLookup()
    drafter.begin([*source, *range(100, 200)])
    drafter.extend([1, 2, 3, 4, 8, 11, 12, 13, 14, 8, 21, 22])
    replaced = drafter.propose(4)[0]
    assert replaced.tokens[:3] == (23, 24, 7)
    assert replaced.confidence[2] < min(replaced.confidence[:2]) - 0.1
    drafter.begin([*source, *range(100, 200)])
    drafter.extend([21, 22])  # another answer may do otherwise
    assert drafter.propose(4)[0].confidence[2] > replaced.confidence[2] + 0.1


ANSWER = list(range(300, 330))
QUESTION, CHANGED = [*range(10, 30), 7, 1, 2, 3], [*range(10, 30), 8, 1, 2, 3]


def test_the_answer_to_a_changed_question_is_drafted_from_the_answer_before() -> None:
    drafter = PromptLookup()
    drafter.begin([*QUESTION, *range(200, 210)])
    drafter.extend(ANSWER)
    drafter.begin([*CHANGED, *range(200, 210)])
    assert drafts(drafter, 4) == [(300, 301, 302, 303)]
    drafter.extend([300, 301, 302, 999, 304, 305])  # two tokens are enough once something was copied
    assert drafts(drafter, 3) == [(306, 307, 308)]
    drafter.extend(ANSWER[9:])
    assert drafts(drafter, 3) == []  # a draft ends where the earlier answer ended


def test_a_chat_is_copied_from_after_another_one_took_its_place() -> None:
    drafter = PromptLookup()
    for other in range(3):
        drafter.begin([*range(1000 * other, 1000 * other + 50)])
    drafter.begin([5000, *range(8)])
    assert drafts(drafter, 2) == [(8, 9)]
    drafter.begin([5000, *range(7)])
    assert drafts(drafter, 2) == []  # too few known tokens to trust another chat


def test_nothing_is_left_of_a_deleted_chat() -> None:
    drafter = PromptLookup()
    drafter.begin([*QUESTION, *ANSWER])
    drafter.begin([*range(50, 60)])
    drafter.forget()
    drafter.begin(QUESTION)
    assert drafts(drafter) == []


def test_what_is_kept_of_earlier_chats_is_limited() -> None:
    drafter = PromptLookup()
    for number in range(12):
        first = 10_000 * number
        drafter.begin([*range(first, first + 3000)])
    drafter.begin([])
    assert len(drafter._past.tokens) <= 2 * PAST_TOKENS
    drafter.begin([*range(112_990 - 10, 112_990)])
    assert drafts(drafter, 2) == [(112_990, 112_991)]  # the end of the newest one is there


def test_nothing_to_look_up() -> None:
    drafter = PromptLookup()
    drafter.begin([])
    assert drafter.propose(4) == []
    drafter.extend([1])
    assert drafter.propose(4) == []
    drafter.extend([1])
    assert drafter.propose(0) == []
    assert drafts(drafter, 3) == [(1, 1, 1)]


@given(texts, st.integers(1, 3), st.integers(1, 4), st.integers(2, 6))
def test_published_recent(tokens: list[int], match: int, m: int, n: int) -> None:
    drafter = PublishedLookup(Lookup(match, m, n))
    drafter.begin(tokens)
    positions = [p for p, length in brute_force(tokens).items() if length >= match]
    expected = [tuple(tokens[p : p + n - 1]) for p in sorted(positions, reverse=True)[:m]]
    assert [draft.tokens for draft in drafter.propose(63)] == expected


@given(texts, st.integers(1, 4), st.integers(0, 3))
def test_published_random_is_seeded_and_without_repeats(tokens: list[int], m: int, seed: int) -> None:
    options = Lookup(m=m, n=3, select="random")
    one, other = PublishedLookup(options, seed), PublishedLookup(options, seed)
    one.begin(tokens)
    other.begin([*tokens[: len(tokens) // 2], 7, 7])
    other.begin(tokens)
    drafts = [draft.tokens for draft in one.propose(63)]
    assert drafts == [draft.tokens for draft in other.propose(63)]
    left = [tuple(tokens[p : p + 2]) for p in brute_force(tokens)]
    assert len(drafts) == min(m, len(left))
    for draft in drafts:
        left.remove(draft)


@pytest.mark.parametrize(
    "wrong", [{"match": 0}, {"match": 17}, {"n": 1}, {"n": 65}, {"m": 0}, {"m": 17, "n": 4}, {"select": "oldest"}]
)
def test_lookup_out_of_range(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Lookup(**wrong)  # type: ignore[arg-type]
