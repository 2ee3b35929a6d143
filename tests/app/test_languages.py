"""Languages: nothing is left untranslated, and the running window changes from one to the other at once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.catalogue import ENGINE, WINDOW, Catalogue, read_catalogue, read_contexts
from app.languages import best_of
from app.resources import asset

CHINESE = asset("translations/zh_CN.ts")


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return read_catalogue(CHINESE)


def written(folder: Path, **contexts: dict[str, str]) -> Catalogue:
    parts = []
    for name, entries in contexts.items():
        messages = "".join(
            f"<message><source>{one}</source><translation>{other}</translation></message>"
            for one, other in entries.items()
        )
        parts.append(f"<context><name>{name}</name>{messages}</context>")
    path = folder / "xx.ts"
    path.write_text(f"<TS>{''.join(parts)}</TS>", encoding="utf-8")
    return read_catalogue(path)


def test_words_without_a_translation_stay_english(tmp_path: Path) -> None:
    some = written(tmp_path, Chickadee={"Copy": "复制", "Delete": ""})
    assert [some.translate(text) for text in ("Copy", "Delete", "Other")] == ["复制", "Delete", "Other"]


def test_what_is_put_into_a_sentence_is_found_again(tmp_path: Path) -> None:
    some = written(
        tmp_path,
        Engine={
            "{1} cannot be read: {2}.": "无法读取 {1}：{2}。",
            "{1} is {2}.": "{1}是{2}。",
            "up to {1} would fit": "最多可容纳 {1}",
            "Try again.": "请重试。",
        },
    )
    assert some.sentence("a b.gguf cannot be read: No such file.") == "无法读取 a b.gguf：No such file。"
    assert (
        some.sentence("x cannot be read: up to 2,048 would fit. Try again.") == "无法读取 x：最多可容纳 2,048。请重试。"
    )
    assert some.sentence("Nobody knows this sentence") == "Nobody knows this sentence"
    assert some.sentence("Try again. Nobody knows this") == "Try again. Nobody knows this"
    assert some.sentence("") == ""


@pytest.mark.parametrize(
    ("preferred", "language"),
    [
        (["zh-Hans-CN", "zh", "en"], "zh_CN"),
        (["zh_CN"], "zh_CN"),
        (["zh-SG"], "zh_CN"),
        (["zh-TW", "en-US"], "en"),
        (["de-DE", "zh-CN"], "zh_CN"),
        (["en-GB", "zh-CN"], "en"),
        (["fr"], "en"),
        ([], "en"),
    ],
)
def test_the_systems_language_is_taken_where_there_is_one(preferred: list[str], language: str) -> None:
    assert best_of(preferred) == language


def test_each_translation_has_the_names_of_its_english() -> None:
    contexts = read_contexts(CHINESE)
    assert set(contexts) == {WINDOW, ENGINE}
    for entries in contexts.values():
        for source, said in entries.items():
            if said:
                assert set(re.findall(r"\{(\w+)", said)) == set(re.findall(r"\{(\w+)", source)), source
