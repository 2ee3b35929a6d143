"""Static n-grams of a real model: counted by another process where they can pay, and never another answer."""

from __future__ import annotations

import json
import lzma
from itertools import islice

import pytest

from common.failures import Failure
from engine.costs import calibration
from engine.costs.cost_model import CostModel, Timings
from engine.engine import Engine
from engine.protocol.requests import DraftMode, Generate, Message
from engine.speculative.drafters import drafters_for
from engine.speculative.ngram_counting import (
    MAX_TWO_TOKEN_COST,
    SENTENCES_PER_TEXT,
    NgramCounter,
    build_table,
    read_texts,
    sentence_files,
)
from engine.speculative.policy import DraftPolicy
from engine.speculative.static_ngram import load_ngram_table, store_ngram_table
from engine.stop import Stopped
from models.default import default_model
from tests.engine.asking import ask, assert_same_but_for_near_ties

COUNTING = "chickadee: Counting common phrases in this model's tokens first"
QUESTION = Message("user", "Tell me in a few sentences why birds sing in the morning.")


def costs(two: float) -> CostModel:
    """Return costs at which a pass of two or more tokens takes `two` times as long as a pass of one."""
    return CostModel(Timings({0: {1: 1.0, 2: two, 48: two}}, 0.0, 512, 2.0))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))


@pytest.mark.usefixtures("cache")
def test_where_two_tokens_are_dear_nothing_is_counted():
    counter = NgramCounter(default_model(), "model", "llama")
    assert [*counter.count(None), *counter.count(costs(MAX_TWO_TOKEN_COST))] == []
    assert counter.drafter is None


@pytest.mark.usefixtures("cache")
def test_a_model_that_cannot_be_counted_is_tried_once(tmp_path):
    counter = NgramCounter(tmp_path / "none.gguf", "model", "llama")
    assert [*counter.count(costs(1.0))]
    assert [*counter.count(costs(1.0))] == []
    assert counter.drafter is None


def count_in_some_english(engine):
    """Count a few English texts; another process counts all languages for `Engine.count_ngrams`, in half a minute."""
    counter, words = engine._loaded().sources.ngrams, engine._loaded().template.vocabulary
    (english,) = [file for file in sentence_files() if file.name == "en.txt.xz"]
    store_ngram_table(counter.identity, build_table([islice(read_texts(english, words), 50)], words.n_tokens))
    counter._load_table()


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("count", "least_bytes"),
    [(count_in_some_english, 1e4), pytest.param(Engine.count_ngrams, 3e6, marks=pytest.mark.slow)],
    ids=["some", "all"],
)
def test_n_grams_of_the_default_model(whole, monkeypatch, count, least_bytes):
    engine, chat = whole, whole._loaded()
    monkeypatch.setattr(chat.sources.ngrams, "drafter", None)  # what is build_table here is no other test's
    monkeypatch.setattr(chat.cost_measurements, "cost_model", costs(1.0))
    monkeypatch.setattr(chat.sources, "policy", DraftPolicy())
    monkeypatch.setattr(type(chat.cost_measurements), "observe", lambda *_: None)
    _, plain = ask(engine, QUESTION, max_tokens=32, draft="off")
    _, nothing = ask(engine, QUESTION, max_tokens=8, draft="phrases")
    assert nothing.statistics.drafted == 0

    count(engine)
    drafter = chat.sources.ngrams.drafter
    assert least_bytes < drafter.table.bytes < 6 * 2**20
    cases: tuple[tuple[DraftMode, float, bool], ...] = (
        ("auto", 1.0, True),
        ("auto", MAX_TWO_TOKEN_COST, False),
        ("phrases", MAX_TWO_TOKEN_COST, True),
        ("history", 1.0, False),
    )
    for mode, two, drafts in cases:
        monkeypatch.setattr(chat.cost_measurements, "cost_model", costs(two))
        assert (drafter in drafters_for(Generate(0, (QUESTION,), draft=mode), chat.sources)) == drafts
    monkeypatch.setattr(chat.cost_measurements, "cost_model", costs(1.0))
    assert [*chat.sources.ngrams.count(chat.cost_measurements.cost_model)] == []
    assert load_ngram_table(chat.sources.ngrams.identity) is not None
    for mode in ("phrases", "auto"):
        _, drafted = ask(engine, QUESTION, max_tokens=32, draft=mode)
        assert_same_but_for_near_ties(engine, (QUESTION,), plain.tokens, drafted.tokens)
        (phrases,) = [one for one in drafted.statistics.drafters if one.name == "phrases"]
        assert phrases.accepted > 1


@pytest.mark.usefixtures("cache")
def test_counting_is_stopped(engine, monkeypatch):
    chat = engine._loaded()
    monkeypatch.setattr(chat.sources.ngrams, "drafter", None)
    monkeypatch.setattr(chat.sources.ngrams, "_has_counted", False)
    ask(engine, QUESTION, max_tokens=2, draft="off")
    monkeypatch.setattr(chat.cost_measurements, "cost_model", costs(1.0))
    monkeypatch.setattr(type(chat.cost_measurements), "measure", lambda *_: iter(()))  # nothing else is to be done
    engine.stop.set()
    try:
        with pytest.raises(Stopped):
            engine.count_ngrams()
        with pytest.raises(Stopped):
            engine.idle()
    finally:
        engine.stop.clear()
    assert not engine.has_ngram_table
    assert load_ngram_table(chat.sources.ngrams.identity) is None


@pytest.mark.slow
@pytest.mark.usefixtures("cache")
def test_the_mode_phrases_counts_n_grams_first(monkeypatch, capsys):
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


# --- the sentences that are counted ---


class Words:
    """A vocabulary in which each word is one token, whose id is the word's length."""

    def tokenize(self, text: str, special: bool) -> list[int]:
        assert not special
        return [len(word) for word in text.split()]

    def piece(self, token: int) -> bytes:
        return b"x" * token

    def is_end(self, token: int) -> bool:
        return token < 0


def test_all_languages_have_sentences():
    files = sentence_files()
    assert {file.name.partition(".")[0] for file in files} >= {"en", "de", "fr", "es", "ja", "zh-CN", "ar", "hi"}
    assert files == sorted(files)
    for file in files:
        lines = lzma.decompress(file.read_bytes()).decode().splitlines()
        assert len(lines) == len(set(lines)) > 1_000
        assert all(line == line.strip() != "" for line in lines)


def test_sentences_are_put_together_to_texts(tmp_path):
    file = tmp_path / "xx.txt.xz"
    file.write_bytes(lzma.compress("\n".join(["a bb ccc"] * (SENTENCES_PER_TEXT + 1)).encode()))
    assert [*read_texts(file, Words())] == [[1, 2, 3] * SENTENCES_PER_TEXT, [1, 2, 3]]


@pytest.mark.parametrize("content", [b"", b"no xz", lzma.compress(b"\xff\xfe"), lzma.compress(b"a text")[:-9]])
def test_a_damaged_file_is_told(tmp_path, content):
    file = tmp_path / "xx.txt.xz"
    file.write_bytes(content)
    with pytest.raises(Failure, match="damaged"):
        [*read_texts(file, Words())]


def test_a_missing_folder_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.speculative.ngram_counting.asset", lambda name: tmp_path / name)
    with pytest.raises(Failure, match="missing"):
        sentence_files()
