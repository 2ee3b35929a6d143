"""The sentences that come with Chickadee: all of them can be read, and damage is told."""

from __future__ import annotations

import lzma

import pytest

from common.failures import Failure
from engine.speculative.ngram_book import TOGETHER, languages, texts


class Words:
    """A vocabulary in which each word is a token, its length."""

    def tokenize(self, text: str, special: bool) -> list[int]:
        assert not special
        return [len(word) for word in text.split()]

    def piece(self, token: int) -> bytes:
        return b"x" * token

    def is_end(self, token: int) -> bool:
        return token < 0


def test_all_languages_have_sentences():
    found = languages()
    assert {file.name.partition(".")[0] for file in found} >= {"en", "de", "fr", "es", "ja", "zh-CN", "ar", "hi"}
    assert found == sorted(found)
    for file in found:
        lines = lzma.decompress(file.read_bytes()).decode().splitlines()
        assert len(lines) == len(set(lines)) > 1_000
        assert all(line == line.strip() != "" for line in lines)


def test_sentences_are_put_together_to_texts(tmp_path):
    file = tmp_path / "xx.txt.xz"
    file.write_bytes(lzma.compress("\n".join(["a bb ccc"] * (TOGETHER + 1)).encode()))
    assert [*texts(file, Words())] == [[1, 2, 3] * TOGETHER, [1, 2, 3]]


@pytest.mark.parametrize("content", [b"", b"no xz", lzma.compress(b"\xff\xfe"), lzma.compress(b"a text")[:-9]])
def test_a_damaged_file_is_told(tmp_path, content):
    file = tmp_path / "xx.txt.xz"
    file.write_bytes(content)
    with pytest.raises(Failure, match="damaged"):
        [*texts(file, Words())]


def test_a_missing_folder_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.speculative.ngram_book.asset", lambda name: tmp_path / name)
    with pytest.raises(Failure, match="missing"):
        languages()
