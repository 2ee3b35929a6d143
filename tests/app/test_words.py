"""Texts are translated when they are shown; a bad translation is replaced by the English text."""

from collections.abc import Iterator

import pytest

from app import words


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    words.use(None)  # these texts are not the window's, so the check of all tests must not see them
    yield
    words.use(None)


def test_without_a_translator_the_words_are_english() -> None:
    assert words.tr("Delete {title}?", title="{x}") == "Delete {x}?"
    assert words.tr("100 % {done}") == "100 % {done}"


def test_another_language_takes_effect_at_the_next_look() -> None:
    marked = words.mark("Copy")
    assert words.tr(marked) == "Copy"
    words.use(lambda text, _n=None: {"Copy": "复制"}.get(text))
    assert words.tr(marked) == "复制"


def test_a_translation_with_a_wrong_name_falls_back() -> None:
    words.use(lambda _text, _n=None: "{nonsense} gelöscht")
    assert words.tr("Deleted {n}", n=3) == "Deleted 3"


def test_one_and_many() -> None:
    assert words.tr_n("{n} message", "{n} messages", 1) == "1 message"
    assert words.tr_n("{n} message", "{n} messages", 20_000) == "20,000 messages"
