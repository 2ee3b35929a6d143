"""Static n-grams: compared with a slow count, drafted in the language that is written, stored on disk."""

from __future__ import annotations

import math
import os
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.store import Store
from engine.speculative.ngram_counting import DISCOUNT, MIN_CHANCE, MIN_PAIR_COUNT, SAME_LOG_ODDS, build_table
from engine.speculative.static_ngram import (
    CHANCE_STEPS,
    HOPELESS,
    MAX_DRAFT,
    MAX_VOCABULARY,
    NGRAM_STORE,
    UNKNOWN,
    StaticNgram,
    load_ngram_table,
    store_ngram_table,
)

VOCABULARY = 12
texts = st.lists(st.lists(st.integers(0, 5), max_size=30), min_size=1, max_size=4)

ENGLISH = [[1, 2, 3, 4] * 5, [1, 2, 3, 4, 1, 2]]
GERMAN = [[5, 6, 3, 7] * 5, [5, 6, 3, 7, 5, 6]]
LANGUAGES = build_table([ENGLISH, GERMAN], VOCABULARY)


def chances(texts: list[list[int]], known: int) -> dict[tuple[int, ...], dict[int, float]]:
    """Return the chance of each token after each context of `known` tokens, by interpolated absolute discounting."""
    seen: dict[tuple[int, ...], Counter[int]] = {}
    for text in texts:
        for i in range(known, len(text)):
            seen.setdefault(tuple(text[i - known : i]), Counter())[text[i]] += 1
    shorter = chances(texts, known - 1) if known > 1 else {}
    return {
        context: {
            token: (
                (count - DISCOUNT + DISCOUNT * len(counts) * shorter.get(context[1:], {}).get(token, 0))
                / counts.total()
            )
            for token, count in counts.items()
        }
        for context, counts in seen.items()
    }


def odds(chance: float) -> float:
    bounded = min(max(chance, 1e-3), 1 - 1e-3)
    return math.log(bounded / (1 - bounded))


def best(chances: dict[int, float]) -> tuple[int, float]:
    token = min(chances, key=lambda token: (-round(chances[token], 9), token))
    return token, chances[token]


@given(texts)
def test_what_is_found_is_the_likeliest_by_a_slow_count(texts):
    table = build_table([texts], VOCABULARY)
    ones, twos = chances(texts, 1), chances(texts, 2)
    for (last,), following in ones.items():
        token, chance = best(following)
        entry = table.next_token(0, MAX_VOCABULARY - 1, last)  # a token before that is in no text
        if chance < MIN_CHANCE - 1e-9:
            assert entry is None
        elif chance > MIN_CHANCE + 1e-9:
            assert entry is not None
            assert entry[1] == pytest.approx(chance, abs=0.51 / CHANCE_STEPS)
            assert following[entry[0]] == pytest.approx(following[token])
    for (before, last), following in twos.items():
        entry = table.next_token(0, before, last)
        token, chance = best(following)
        if entry and entry != table.next_token(0, MAX_VOCABULARY - 1, last):  # it rests on both tokens
            assert entry[1] == pytest.approx(chance, abs=0.51 / CHANCE_STEPS)
            assert following[entry[0]] == pytest.approx(following[token])
        elif entry:  # seen too seldom, or what one token tells is as good
            shorter, usual = best(ones[last,])
            seen = sum(text[i : i + 2] == [before, last] for text in texts for i in range(len(text) - 2))
            alike = abs(odds(usual) - odds(chance)) < SAME_LOG_ODDS + 1e-6
            assert seen < MIN_PAIR_COUNT or (alike and ones[last,][entry[0]] == pytest.approx(ones[last,][shorter]))


def test_nothing_is_counted_across_texts_or_languages():
    table = build_table([[[1, 2], [3, 4]], [[2, 5]]], VOCABULARY)
    assert table.next_token(0, 1, 2) is None
    assert table.next_token(1, 0, 2) == (5, 51 / CHANCE_STEPS)  # 1 - DISCOUNT of what was seen
    assert table.next_token(UNKNOWN, 0, 1) is None


@pytest.mark.parametrize("languages", [[[]], [[[]]], [[[1]]], [[], [[1, 2, 3]]]])
def test_little_text_makes_a_small_table(languages):
    table = build_table(languages, VOCABULARY)
    assert table.next_token(0, 1, 9) is None
    assert table.language(1) == UNKNOWN


def test_a_vocabulary_that_has_no_room_in_a_key_is_refused():
    with pytest.raises(ValueError, match="too large"):
        build_table([ENGLISH], MAX_VOCABULARY + 1)


def test_a_token_tells_the_language_that_has_it_more_often_than_others():
    assert [LANGUAGES.language(token) for token in (1, 5, 3, 9, VOCABULARY + 1)] == [0, 1, UNKNOWN, UNKNOWN, UNKNOWN]


def test_the_draft_is_in_the_language_that_is_written():
    drafter = StaticNgram(LANGUAGES)
    drafter.begin([1, 2, 3, 4, 1, 2, 3])
    assert drafter.propose(2)[0].tokens == (4, 1)
    drafter.extend([7, 5, 6, 3])
    assert drafter.propose(2)[0].tokens == (7, 5)
    drafter.begin([5, 6, 3])
    assert drafter.propose(1)[0].tokens == (7,)


def test_a_draft_is_as_long_as_there_is_hope():
    drafter = StaticNgram(LANGUAGES)
    drafter.begin([1, 2, 3, 4, 1])
    (draft,) = drafter.propose(47)
    assert 1 <= len(draft.tokens) <= MAX_DRAFT
    assert math.prod(draft.confidence) >= HOPELESS
    assert drafter.propose(0) == []
    assert len(drafter.propose(1)[0].tokens) == 1


def test_without_a_language_or_after_an_unknown_token_nothing_is_drafted():
    drafter = StaticNgram(LANGUAGES)
    assert drafter.propose(4) == []
    drafter.begin([3, 3])
    assert drafter.propose(4) == []
    drafter.begin([1, 2, 11])
    assert drafter.propose(4) == []


@given(
    texts, st.lists(st.integers(0, 5), min_size=1, max_size=4), st.lists(st.integers(0, VOCABULARY + 2), max_size=20)
)
def test_any_text_is_followed_as_if_it_had_been_read_at_once(texts, cycle, tokens):
    table = build_table([[*texts, cycle * 8]], VOCABULARY)
    tokens = [*tokens, *cycle * 3]
    drafter = StaticNgram(table)
    drafter.begin(tokens[:1])
    for length in range(2, len(tokens) + 1):
        drafter.extend(tokens[length - 1 : length])
        drafts, fresh = drafter.propose(3), StaticNgram(table)
        fresh.begin(tokens[:length])
        assert [draft.tokens for draft in drafts] == [draft.tokens for draft in fresh.propose(3)]
        assert all(0 < len(draft.tokens) <= 3 and set(draft.tokens) <= set(range(6)) for draft in drafts)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))


@pytest.mark.usefixtures("cache")
def test_a_kept_table_is_the_same():
    assert load_ngram_table("model") is None
    store_ngram_table("model", LANGUAGES)
    stored = load_ngram_table("model")
    assert stored is not None
    assert stored.arrays == LANGUAGES.arrays
    assert load_ngram_table("another") is None
    if sys.platform != "win32":  # there the user's folder is private, and files have no such modes
        assert NGRAM_STORE.path("model").stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("cache")
def test_the_oldest_tables_are_forgotten():
    models = [f"model {number}" for number in range(NGRAM_STORE.most_entries + 2)]
    for number, model in enumerate(models):
        store_ngram_table(model, LANGUAGES)
        os.utime(NGRAM_STORE.path(model), (number, number))
    store_ngram_table(models[2], LANGUAGES)
    assert [model for model in models if load_ngram_table(model)] == models[2:]


@pytest.mark.usefixtures("cache")
def test_a_damaged_table_is_made_again(caplog):
    store_ngram_table("model", LANGUAGES)
    path = NGRAM_STORE.path("model")
    path.write_bytes(path.read_bytes()[:200])
    assert load_ngram_table("model") is None
    assert "made again" in caplog.text


@pytest.mark.usefixtures("cache")
def test_arrays_of_different_lengths_are_no_table():
    arrays = {"keys": bytes(16), "tokens": bytes(8), "chances": bytes(2), "languages": b"\0"}
    store = Store(NGRAM_STORE.name, NGRAM_STORE.version, dict[str, bytes], binary=True)
    store.put(arrays, "model")
    assert load_ngram_table("model")
    store.put(arrays | {"chances": b"\0"}, "model")
    assert load_ngram_table("model") is None
