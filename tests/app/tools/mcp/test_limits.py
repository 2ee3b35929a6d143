"""What is taken over of a server's tools."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.tools.mcp.limits import MOST_DESCRIPTION, MOST_NAME, MOST_TOOLS, cut_text, is_shallow, tool_from, tools_within
from tests.app.store.any_json import JSON


def described(name: str = "greet", **values: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, **values}


def nested(depth: int) -> dict[str, Any]:
    return {"x": nested(depth - 1)} if depth else {}


def test_a_tool_keeps_its_words_and_parameters() -> None:
    schema = {"properties": {"name": {"type": "string"}}}
    tool = tool_from(
        described(description="Greets.", inputSchema=schema, annotations={"title": "Greet", "readOnlyHint": True})
    )
    assert tool is not None
    assert (tool.title, tool.description, tool.says_reads) == ("Greet", "Greets.", True)
    assert json.loads(tool.parameters) == {"type": "object", **schema}


@pytest.mark.parametrize("name", ["", "two words", "n" * (MOST_NAME + 1), "<tool_call>", "имя", "a\nb"])
def test_a_name_that_a_model_could_not_write_is_left_out(name: str) -> None:
    assert tool_from(described(name)) is None


@pytest.mark.parametrize("schema", [None, [], {"type": "string"}, {"x": nested(30)}, {"x": "y" * 20_000}])
def test_parameters_that_cannot_be_used_are_left_out(schema: object) -> None:
    assert tool_from(described(inputSchema=schema)) is None


def test_of_two_tools_with_a_name_the_first_counts_and_there_are_not_too_many() -> None:
    first, *_ = tools_within([described(description="first"), described(description="second")])[0]
    assert first.description == "first"
    tools, left_out = tools_within([described(f"tool_{number}") for number in range(MOST_TOOLS + 5)])
    assert len(tools) == MOST_TOOLS
    assert left_out == tuple(f"tool_{MOST_TOOLS + number}" for number in range(5))


def test_a_long_description_says_that_it_was_cut() -> None:
    tool = tool_from(described(description="x" * 10_000))
    assert tool is not None
    assert len(tool.description) == MOST_DESCRIPTION
    assert tool.description.endswith("…")


@given(st.text(), st.integers(1, 20))
def test_a_cut_text_can_be_shown_and_stored(text: str, most: int) -> None:
    cut = cut_text(text, most)
    assert len(cut) <= most
    cut.encode()
    assert "\0" not in cut


@given(st.dictionaries(st.sampled_from(["name", "title", "description", "inputSchema", "annotations"]), JSON))
def test_any_description_of_a_tool_is_taken_or_left_out(table: dict[str, Any]) -> None:
    tools, left_out = tools_within([table])
    assert len(tools) + len(left_out) == 1


def test_depth_counts_tables_and_lists() -> None:
    assert is_shallow(nested(3), 4)
    assert not is_shallow(nested(4), 4)
    assert not is_shallow([[[[["deep"]]]]], 4)
