"""Tokenizing in pieces: a long text gives the same tokens as at once, and counting can be interrupted."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path

import pytest

from common.failures import Failure
from engine.engine import Engine
from engine.loading.libraries import backend
from engine.protocol.requests import Count, Load, Tokenize
from engine.runtime.capi import vocabulary as module
from engine.runtime.capi.vocabulary import CVocabulary
from engine.tokenization.prompt import plain_prompt
from engine.tokenization.tokens import InfillTokens
from models.default import default_model
from tests.engine.altered import BOOL, F32, I32, STRING, U32, Value, texts, write_altered
from tests.engine.asking import library, loaded_from

ROOT = Path(__file__).parents[3]


@pytest.fixture
def vocabulary(loaded: Engine, monkeypatch: pytest.MonkeyPatch) -> CVocabulary:
    monkeypatch.setattr(module, "PIECE", 700)
    monkeypatch.setattr(module, "SEARCHED", 200)
    return loaded._loaded().model.vocabulary


@pytest.mark.parametrize("name", ["README.md", "engine/engine.py", "assets/translations/zh_CN.ts", "LICENSE"])
def test_pieces_have_the_tokens_of_the_whole(vocabulary: CVocabulary, name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")[:40_000]
    pieces = list(vocabulary.tokenize_pieces(text, special=True))
    assert len(pieces) > 1
    assert [token for piece in pieces for token in piece] == vocabulary._tokenize(text, special=True)
    assert sum(vocabulary.token_counts(text)) == len(vocabulary._tokenize(text, special=False))


def test_a_text_grows_without_other_tokens_at_its_beginning(vocabulary: CVocabulary) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")[:6_000]
    long = vocabulary.tokenize(text, special=True)
    for length in (600, 800, 1_500, 4_000):
        begun = vocabulary.tokenize(text[:length], special=True)
        assert long[: len(begun) - 2] == begun[:-2]


def test_where_there_is_no_place_to_cut_none_is_cut(vocabulary: CVocabulary) -> None:
    for text in ("x" * 5_000, " " * 5_000, "<|im_end|>" * 500):
        assert [vocabulary._tokenize(text, special=True)] == list(vocabulary.tokenize_pieces(text, special=True))


@pytest.mark.parametrize("bos", [False, True])
def test_a_header_that_adds_the_end_token_ends_no_prompt_with_it(tmp_path: Path, bos: bool) -> None:
    flags = {f"tokenizer.ggml.add_{name}_token": Value(on, BOOL) for name, on in (("bos", bos), ("eos", True))}
    with loaded_from(write_altered(tmp_path / "model.gguf", flags), "llama") as engine:
        vocabulary = engine._loaded().model.vocabulary
        start, end = ([0] if bos else []), 1
        plain = vocabulary.tokenize("a bird", special=True)
        assert end not in plain
        assert vocabulary.tokenize("a bird", special=True, add_bos=vocabulary.adds_bos) == [*start, *plain]
        assert vocabulary.tokenize_whole("a bird") == [*start, *plain, end]
        assert list(engine.tokenize(Tokenize(1, "a bird", add_special=True)).tokens) == [*start, *plain]
        assert end not in plain_prompt(vocabulary, "a bird", 512)


def test_a_token_that_the_vocabulary_lacks_is_put_in_front_of_nothing(tmp_path: Path) -> None:
    """T5's vocabulary has no such token unless the header names one."""
    tokens = ["<pad>", "</s>", "<unk>", *texts()[3:]]
    changes = {
        "tokenizer.ggml.model": Value("t5", STRING),
        "tokenizer.ggml.tokens": Value(tokens, STRING),
        "tokenizer.ggml.token_type": Value([3, 3, 2, *[1] * (len(tokens) - 3)], I32),
        "tokenizer.ggml.scores": Value([0.0] * len(tokens), F32),
        "tokenizer.ggml.add_bos_token": Value(True, BOOL),
        "tokenizer.ggml.bos_token_id": None,
    }
    with loaded_from(write_altered(tmp_path / "model.gguf", changes), "llama") as engine:
        vocabulary = engine._loaded().template.vocabulary
        assert plain_prompt(vocabulary, "abc", 100) == vocabulary.tokenize("abc", special=True)


def test_counting_gives_way_to_unloading() -> None:
    engine = Engine()
    engine.load(Load(0, str(default_model()), n_ctx=512, backend="llama"))
    vocabulary, begun, failed = engine._loaded().model.vocabulary, threading.Event(), list[Failure]()

    def without_end(text: str):
        while True:
            begun.set()
            yield 1

    def count() -> None:
        with pytest.raises(Failure) as caught:
            engine.count(Count(1, ("a book",)))
        failed.append(caught.value)

    vocabulary.token_counts = without_end  # type: ignore[method-assign]
    thread = threading.Thread(target=count)
    thread.start()
    assert begun.wait(60)
    engine.unload()
    thread.join(60)
    assert [failure.code for failure in failed] == ["no_model"]


def test_marks_for_the_middle_of_a_text(tmp_path: Path) -> None:
    """Three are those of the header; those of a repository and of a file are found by their texts."""
    tokens = [*texts()[:-2], "<|repo_name|>", "<|file_sep|>"]
    kinds = [3 if token.startswith("<|") else 1 for token in tokens]
    marks = {"fim_pre": 10, "fim_suf": 11, "fim_mid": 12}
    header = {f"tokenizer.ggml.{name}_token_id": Value(token, U32) for name, token in marks.items()}
    names = {"tokenizer.ggml.tokens": Value(tokens, STRING), "tokenizer.ggml.token_type": Value(kinds, I32)}
    found = []
    for changes in ({}, header, header | names):
        with closing(backend(library()).load(write_altered(tmp_path / "model.gguf", changes))) as model:
            found.append(model.vocabulary.infill_tokens)
    last = len(tokens) - 1
    assert found == [None, InfillTokens(10, 11, 12), InfillTokens(10, 11, 12, last - 1, last)]
