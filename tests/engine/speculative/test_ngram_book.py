"""Usual phrases for a real model: counted by another process where they can pay, drafted, and never another answer."""

from __future__ import annotations

import json
from itertools import islice

import pytest

from engine.costs import calibration
from engine.costs.cost_model import CostModel, Timings
from engine.engine import Engine
from engine.protocol import DraftMode, Generate, Message
from engine.speculative.drafters import drafters_for
from engine.speculative.ngram import keep_phrases, kept_phrases
from engine.speculative.ngram_book import CHEAP, NgramBook, counted, languages, texts
from engine.speculative.policy import DraftPolicy
from engine.stop import Stopped
from models.default import default_model
from tests.engine.asking import ask, assert_same_but_for_near_ties

COUNTING = "chickadee: Counting common phrases in this model's tokens first"
QUESTION = Message("user", "Tell me in a few sentences why birds sing in the morning.")


def costs(two: float) -> CostModel:
    """Where a pass of two tokens and more costs so much of one's."""
    return CostModel(Timings({0: {1: 1.0, 2: two, 48: two}}, 0.0, 512, 2.0))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))


@pytest.mark.usefixtures("cache")
def test_where_two_tokens_are_dear_nothing_is_counted():
    book = NgramBook(default_model(), "model", "llama")
    assert [*book.count(None), *book.count(costs(CHEAP))] == []
    assert book.drafter is None


@pytest.mark.usefixtures("cache")
def test_a_model_that_cannot_be_counted_is_tried_once(tmp_path):
    book = NgramBook(tmp_path / "none.gguf", "model", "llama")
    assert [*book.count(costs(1.0))]
    assert [*book.count(costs(1.0))] == []
    assert book.drafter is None


def count_in_some_english(engine):
    """What `count_phrases` has another process count in all languages, which takes it half a minute."""
    book, words = engine._loaded().sources.ngrams, engine._loaded().template.vocabulary
    (english,) = [file for file in languages() if file.name == "en.txt.xz"]
    keep_phrases(book.identity, counted([islice(texts(english, words), 50)], words.n_tokens))
    book._read()


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("count", "least_bytes"),
    [(count_in_some_english, 1e4), pytest.param(Engine.count_phrases, 3e6, marks=pytest.mark.slow)],
    ids=["some", "all"],
)
def test_phrases_of_the_default_model(whole, monkeypatch, count, least_bytes):
    engine, chat = whole, whole._loaded()
    monkeypatch.setattr(chat.sources.ngrams, "_drafter", None)  # what is counted here is no other test's
    monkeypatch.setattr(chat.measured, "cost_model", costs(1.0))
    monkeypatch.setattr(chat.sources, "policy", DraftPolicy())
    monkeypatch.setattr(type(chat.measured), "observe", lambda *_: None)
    _, plain = ask(engine, QUESTION, max_tokens=32, draft="off")
    _, nothing = ask(engine, QUESTION, max_tokens=8, draft="phrases")
    assert nothing.statistics.drafted == 0

    count(engine)
    drafter = chat.sources.ngrams.drafter
    assert least_bytes < drafter.table.bytes < 6 * 2**20
    asked: tuple[tuple[DraftMode, float, bool], ...] = (
        ("auto", 1.0, True), ("auto", CHEAP, False), ("phrases", CHEAP, True), ("history", 1.0, False),
    )  # fmt: skip
    for mode, two, drafts in asked:
        monkeypatch.setattr(chat.measured, "cost_model", costs(two))
        assert (drafter in drafters_for(Generate(0, (QUESTION,), draft=mode), chat.sources)) == drafts
    monkeypatch.setattr(chat.measured, "cost_model", costs(1.0))
    assert [*chat.sources.ngrams.count(chat.measured.cost_model)] == []
    assert kept_phrases(chat.sources.ngrams.identity) is not None
    for mode in ("phrases", "auto"):
        _, drafted = ask(engine, QUESTION, max_tokens=32, draft=mode)
        assert_same_but_for_near_ties(engine, (QUESTION,), plain.tokens, drafted.tokens)
        (found,) = [one for one in drafted.statistics.drafters if one.name == "phrases"]
        assert found.accepted > 1


@pytest.mark.usefixtures("cache")
def test_counting_is_stopped(engine, monkeypatch):
    chat = engine._loaded()
    monkeypatch.setattr(chat.sources.ngrams, "_drafter", None)
    monkeypatch.setattr(chat.sources.ngrams, "_tried", False)
    ask(engine, QUESTION, max_tokens=2, draft="off")
    monkeypatch.setattr(chat.measured, "cost_model", costs(1.0))
    monkeypatch.setattr(type(chat.measured), "measure", lambda *_: iter(()))  # nothing else is to be done
    engine.stop.set()
    try:
        with pytest.raises(Stopped):
            engine.count_phrases()
        with pytest.raises(Stopped):
            engine.idle()
    finally:
        engine.stop.clear()
    assert not engine.has_phrases
    assert kept_phrases(chat.sources.ngrams.identity) is None


@pytest.mark.slow
@pytest.mark.usefixtures("cache")
def test_who_asks_for_phrases_has_them_counted_first(monkeypatch, capsys):
    from engine.__main__ import main

    assert main(["phrases", "--model", "no such file.gguf"]) == 2
    assert "no such file" in capsys.readouterr().err
    monkeypatch.setattr(calibration, "BUDGET", 1.0)
    question = ["chat", "--prompt", "Why do birds sing?", "--draft", "phrases", "--max-tokens", "4"]
    assert main(question) == 0
    assert COUNTING in capsys.readouterr().err
    assert main(question) == 0
    assert COUNTING not in capsys.readouterr().err
    assert main(["phrases", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert main(["phrases"]) == 0
    assert f"{made['entries']:,} entries, {made['bytes']:,} bytes" in capsys.readouterr().out
