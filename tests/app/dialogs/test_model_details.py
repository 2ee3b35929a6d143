"""The card of a model: what to expect of it in chats with tools."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from app.dialogs.model_details import details_of
from models.choices import Choice
from models.collection import describe_model
from models.default import default_model
from models.facts import facts_of
from models.header import read_header


def test_the_card_says_what_to_expect_of_tools() -> None:
    model = describe_model(Path(default_model()))
    facts = model.facts
    assert facts

    def words(**values: Any) -> str:
        changed = replace(model, facts=replace(facts, **values))
        return dict(details_of(Choice(None, changed), None))["Tools"]

    assert words() == "It is small: expect many wrong calls."
    assert words(parameters=7 * 10**9, tools=True) == "trained to use them"
    assert words(parameters=7 * 10**9, tools=False) == "It was not trained with tools: expect some wrong calls."


def test_a_template_with_tools_is_known() -> None:
    header = read_header(Path(default_model()))
    assert not facts_of((header,)).tools
    told = replace(
        header, metadata={**header.metadata, "tokenizer.chat_template": "{% if tools %}{{ tools }}{% endif %}"}
    )
    assert facts_of((told,)).tools
