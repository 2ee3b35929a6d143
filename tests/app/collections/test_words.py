from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.attachments.fitting import COMMON
from app.collections.words import LONGEST, MOST_WORDS, indexed_words, question_words


def test_words_are_counted_in_lower_case_without_common_ones() -> None:
    assert indexed_words("The Bird and the bird_song; The nest") == {"bird": 2, "song": 1, "nest": 1}


def test_chinese_is_counted_in_pairs_of_characters() -> None:
    assert indexed_words("山雀吃种子 seed") == {"seed": 1, "山雀": 1, "雀吃": 1, "吃种": 1, "种子": 1}
    assert indexed_words("鸟") == {"鸟": 1}


@given(st.text(max_size=500))
def test_no_common_word_is_counted_and_case_does_not_matter(text: str) -> None:
    counts = indexed_words(text)
    assert not set(counts) & COMMON
    assert all(count > 0 and word.strip() for word, count in counts.items())
    assert counts == indexed_words(text.lower())


@given(st.text(max_size=3_000))
def test_a_question_has_few_words_each_once(question: str) -> None:
    words = question_words(question)
    assert len(words) <= MOST_WORDS
    assert len(set(words)) == len(words)
    assert all(len(word) <= LONGEST for word in words)
    assert not set(words) & COMMON
