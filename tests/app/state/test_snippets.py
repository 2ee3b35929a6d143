"""Prompt snippets are kept in a private file, follow the language until they are changed, and survive bad files."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import words
from app.state.placeholders import variables_of
from app.state.snippets import SHIPPED, Snippets
from app.store.snippet_json import MOST_SNIPPETS, MOST_TEXT
from app.words import read_catalogue
from common.failures import Failure
from models.assets import asset


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "snippets.json"


@pytest.fixture
def chinese() -> Iterator[None]:
    words.use(read_catalogue(asset("translations/zh_CN.ts")).translate)
    yield
    words.use(None)


def names(snippets: Snippets) -> list[str]:
    return [snippet.name for snippet in snippets.all()]


def content(*entries: object, **more: object) -> str:
    return json.dumps({"format": "chickadee-snippets", "version": 1, "snippets": list(entries)} | more)


def test_five_come_with_the_program_and_no_file_until_the_first_change(path: Path) -> None:
    snippets = Snippets(path)
    assert len(snippets.all()) == len(SHIPPED) == 5
    assert not path.exists()
    place = snippets.add("  Mine\n ", "Hello {{date}}\r\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 or os.name == "nt"
    assert [(each.name, each.text) for each in Snippets(path).all()][place] == ("Mine", "Hello {{date}}")


def test_a_built_in_snippet_follows_the_language_until_it_is_changed(path: Path, chinese: None) -> None:
    snippets = Snippets(path)
    snippets.change(0, "Mine", "text")
    words.use(None)
    again = Snippets(path)
    assert names(again)[:2] == ["Mine", "Correct my text"]
    again.change(1, "Correct my text", SHIPPED["correct"][1] + "\n")
    assert again.all()[1].built_in == "correct"
    assert again.restore_built_in() == 1
    assert names(again)[-1] == "Translate"


def test_the_variables_of_the_built_in_ones_are_the_same_in_both_languages(chinese: None) -> None:
    for _, text in SHIPPED.values():
        here, english = variables_of(words.tr(text)), variables_of(text)
        assert [each.name for each in here if each.known] == [each.name for each in english if each.known]
        assert len(here) == len(english)


def test_a_change_is_undone(path: Path) -> None:
    snippets = Snippets(path)
    before = snippets.entries
    assert snippets.remove(2).name == "Summarize"
    assert len(Snippets(path).all()) == 4
    snippets.put_back(before)
    assert names(Snippets(path)) == names(Snippets(path.with_name("none.json")))


@pytest.mark.parametrize(("name", "text"), [(" \n", "text"), ("name", " \n "), ("name", "x" * (MOST_TEXT + 1))])
def test_a_bad_snippet_gets_a_sentence_and_changes_nothing(path: Path, name: str, text: str) -> None:
    snippets = Snippets(path)
    with pytest.raises(ValueError, match=r"\.$"):
        snippets.add(name, text)
    assert not path.exists()


BAD = {
    "no JSON": (b"{", "damaged"),
    "no text": (b"\xff\xfe\x00", "damaged"),
    "deep": (b"[" * 200_000, "no prompt snippets"),
    "deep inside": (b'{"format": "chickadee-snippets", "x": ' + b"[" * 200_000, "damaged"),
    "an end within": (content({"name": "a", "text": "b"}).encode()[:-3], "damaged"),
    "a list": (b"[]", "no prompt snippets"),
    "a number": (b"1" * 5000, "no prompt snippets"),
    "another format": (content(format="chickadee-chats").encode(), "no prompt snippets"),
    "wrong types": (content({"name": 1, "text": []}).encode(), "no prompt snippets"),
    "null": (content(None).encode(), "no prompt snippets"),
    "newer": (content(version=2).encode(), "newer version"),
    "no name": (
        content({"name": "a", "text": "b"}, {"name": "\u0000 ", "text": "b"}).encode(),
        "snippet 2 has no name",
    ),
    "long": (content({"name": "a", "text": "b" * (MOST_TEXT + 1)}).encode(), "more than 20,000 characters"),
    "many": (content(*[{"name": "a", "text": "b"}] * (MOST_SNIPPETS + 1)).encode(), "too many snippets"),
    "large": (b" " * 8_000_001, "too large"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_is_refused_with_a_sentence_and_adds_nothing(path: Path, tmp_path: Path, what: str) -> None:
    raw, words_of_it = BAD[what]
    bad = tmp_path / "bad.json"
    bad.write_bytes(raw)
    snippets = Snippets(path)
    with pytest.raises(Failure, match=words_of_it) as failure:
        snippets.import_file(bad)
    assert "bad.json" in str(failure.value)
    assert not path.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes are of POSIX")
def test_a_pipe_or_a_missing_file_is_refused_at_once(path: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    for name in ("pipe.json", "missing.json", "folder"):
        (tmp_path / "folder").mkdir(exist_ok=True)
        with pytest.raises(Failure, match="cannot be read"):
            Snippets(path).import_file(tmp_path / name)


def test_hostile_characters_are_taken_out(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_text(content({"name": "a\u0000b\nc" + "d" * 99, "text": "x\r\ny\u0000", "more": 1}))
    snippets = Snippets(path)
    assert snippets.import_file(file) == 1
    assert (snippets.all()[-1].name, snippets.all()[-1].text) == ("ab c" + "d" * 56, "x\ny")


def test_what_is_exported_comes_back_once(path: Path, tmp_path: Path) -> None:
    first = Snippets(path)
    first.add("Mine", "text")
    file = tmp_path / "out.json"
    assert first.export_file(file) == 6
    assert b"built_in" not in file.read_bytes()
    other = Snippets(tmp_path / "other.json")
    other.add("Mine", "another text")
    assert other.import_file(file) == 1
    assert names(other)[-2:] == ["Mine", "Mine (2)"]
    assert other.import_file(file) == 0


def test_a_damaged_own_file_is_told_of_and_kept(path: Path) -> None:
    path.write_bytes(b"{]")
    snippets = Snippets(path)
    assert len(snippets.all()) == 5
    assert str(snippets.problem).startswith("snippets.json is damaged")
    snippets.add("Mine", "text")
    assert snippets.problem is None
    assert [each.read_bytes() for each in path.parent.glob("snippets-*.json")] == [b"{]"]


def test_an_own_file_that_cannot_be_read_is_never_replaced(path: Path) -> None:
    path.mkdir()
    snippets = Snippets(path)
    assert len(snippets.all()) == 5
    with pytest.raises(Failure, match="cannot be saved"):
        snippets.add("Mine", "text")
    assert path.is_dir()
