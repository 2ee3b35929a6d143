"""Personas are stored by an id, so that they outlive a change of the language; names of earlier versions are known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app import words
from app.settings.resolve import ChatOptions
from app.state.persona import FORMER, SHIPPED, Personas
from app.store.chat_store import ChatStore
from app.words import read_catalogue
from models.assets import asset


@pytest.fixture
def personas(tmp_path: Path) -> Iterator[Personas]:
    store = ChatStore(tmp_path / "library.sqlite3")
    yield Personas(store)
    store.close()


@pytest.fixture
def chinese() -> Iterator[None]:
    words.use(read_catalogue(asset("translations/zh_CN.ts")).translate)
    yield
    words.use(None)


def test_the_former_names_are_those_of_both_languages() -> None:
    translated = read_catalogue(asset("translations/zh_CN.ts")).translate
    for persona in SHIPPED:
        assert persona.former == (persona.name, translated(persona.name))
    assert len(FORMER) == 2 * len(SHIPPED)


@pytest.mark.parametrize("stored", ["built-in:translator", "Translator", "翻译"])
def test_a_stored_persona_is_found_in_every_language(personas: Personas, chinese: None, stored: str) -> None:
    found = personas.find(stored)
    assert found
    assert (found.id, found.name, personas.name_of(stored)) == ("built-in:translator", "翻译", "翻译")
    words.use(None)
    assert personas.name_of(stored) == "Translator"


def test_an_own_persona_comes_before_a_former_name(personas: Personas) -> None:
    assert personas.save("翻译", ChatOptions("", {"answer.top_k": 3})) == "翻译"
    found = personas.find("翻译")
    assert found
    assert found.own
    assert personas.name_of("翻译") == "翻译"
    assert (personas.find("gone"), personas.name_of("gone"), personas.name_of("")) == (None, "gone", "")
    with pytest.raises(ValueError, match="built in"):
        personas.save("built-in:translator", ChatOptions())
