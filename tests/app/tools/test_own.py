"""The built-in tools: what the model reads of them, and the results of those that need no window."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from app.tools import own
from app.tools.arguments import read_arguments
from app.tools.own import OwnTool, OwnTools, at_once, calculation, present_time
from app.tools.tool import ToolResult


def test_a_result_comes_later_and_not_after_a_cancel() -> None:
    later: list[Callable[[], object]] = []
    source = OwnTools(OwnTool(own.CALCULATE, at_once(calculation, later.append)))
    results: list[ToolResult] = []
    source.call("calculate", {"expression": "6*7"}, "chat", results.append)
    assert not results
    later.pop()()
    assert results == [ToolResult("6*7 = 42", "= 42")]
    source.call("calculate", {"expression": "6*7"}, "chat", results.append)()
    later.pop()()
    assert len(results) == 1


def test_a_tool_that_is_not_here_is_not_offered() -> None:
    here = [True]
    source = OwnTools(OwnTool(own.CLOCK, at_once(present_time, lambda _: None), lambda: here[0]))
    assert source.tools() == (own.CLOCK,)
    here.clear()
    here.append(False)
    assert source.tools() == ()


def test_failures_are_told_in_words() -> None:
    assert calculation({"expression": "1/0"}).failed
    assert present_time({"timezone": "Nowhere/At all"}).failed
    assert present_time({"timezone": "../../etc/passwd"}).failed
    assert "Asia/Tokyo" not in present_time({"timezone": "Asia/Tokyo"}).text
    assert "UTC+0900" in present_time({"timezone": "Asia/Tokyo"}).text
    assert "UTC" in present_time({}).text


def test_schemas_name_what_is_required() -> None:
    schema = json.loads(own.READ_FILE.parameters)
    assert schema["required"] == ["name"]
    assert set(schema["properties"]) == {"name", "query", "part"}


@pytest.mark.parametrize(
    ("arguments", "schema", "problem"),
    [
        ('{"a": 1.0}', '{"properties": {"a": {"type": "integer"}}}', ""),
        ('{"a": 1.5}', '{"properties": {"a": {"type": "integer"}}}', "a must be of type integer"),
        ('{"a": true}', '{"properties": {"a": {"type": "number"}}}', "a must be of type number"),
        ('{"a": null}', '{"properties": {"a": {"type": ["string", "null"]}}}', ""),
        ('{"a": "c"}', '{"properties": {"a": {"enum": ["b"]}}}', "a must be one of"),
        ('{"a": [1, "x"]}', '{"properties": {"a": {"items": {"type": "integer"}}}}', "a\\[1\\] must be"),
        ('{"a": {"b": 1}}', '{"properties": {"a": {"required": ["c"]}}}', "c is missing"),
        ('{"z": 1}', '{"properties": {}, "additionalProperties": false}', "there is no argument z"),
        ('{"z": 1}', '{"properties": 3, "required": null}', ""),
        ("[" * 100_000, "", "nested too deeply|not valid JSON"),
        ("", "", ""),
    ],
)
def test_arguments_are_checked(arguments: str, schema: str, problem: str) -> None:
    if not problem:
        assert isinstance(read_arguments(arguments, schema), dict)
        return
    with pytest.raises(ValueError, match=problem):
        read_arguments(arguments, schema)
