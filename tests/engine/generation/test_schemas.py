"""JSON schemas: what they accept, which keywords are refused by name, and that no schema takes long or crashes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from common.failures import Failure
from engine.generation.constraint import AnswerStart, GrammarCompiler, constraint_for, refusal_of
from engine.generation.grammars import json_rule
from engine.generation.schemas import SchemaError, compilable
from engine.protocol.requests import Constraint, Generate, Message
from engine.tokenization.tool_formats import HERMES
from tests.engine.fake_runtime import END, FakeVocabulary

COMPILER = GrammarCompiler(FakeVocabulary())
SIZE = {"properties": {"size": {"type": "integer"}}, "required": ["size"]}
NAME = {"properties": {"name": {"type": "string"}}, "required": ["name"]}
KIND = {"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]}
TREE = {"type": "object", "properties": {"left": {"anyOf": [{"type": "string"}, {"$ref": "#"}]}}}
DEEP = {"$ref": "#/$defs/0"} | {
    "$defs": {str(i): {"$ref": f"#/$defs/{i + 1}"} for i in range(3000)} | {"3000": {"type": "null"}}
}


def accepts(schema: Any, text: str) -> bool:
    """Return whether a whole answer by a schema may be this text."""
    request = Generate(1, (Message("user", "x"),), constraint=Constraint("json_schema", json.dumps(schema)))
    mask = constraint_for(request, HERMES, COMPILER, AnswerStart())
    assert mask
    tokens = list(text.encode())
    if mask.count_allowed(tokens) < len(tokens):
        return False
    for token in tokens:
        mask.advance(token)
    allowed = mask.allowed()
    return allowed is not None and bool(allowed[END])


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        (True, ["1", '"a"'], []),
        ({"properties": {"a": {}}}, ['{"a":1}', "{}"], ['"a"', "1", '{"b":1}']),
        ({"type": "object", "required": ["a", "b"], "properties": {"a": {}}}, ['{"a":1,"b":2}'], ['{"a":1}']),
        (KIND | {"anyOf": [SIZE, NAME]}, ['{"kind":"a","size":1}', '{"kind":"a","name":"b"}'], ['{"kind":"a"}']),
        (KIND | {"anyOf": [SIZE, NAME]}, [], ['{"kind":"a","size":1,"x":1}']),
        ({"allOf": [{"$ref": "#/$defs/a"}, SIZE], "$defs": {"a": KIND}}, ['{"kind":"a","size":1}'], ['{"kind":"a"}']),
        ({"$ref": "#/$defs/a", "description": "x", "$defs": {"a": KIND}}, ['{"kind":"a"}'], ['{"kind":"a","b":1}']),
        (KIND | {"if": {"required": ["size"]}, "then": SIZE}, ['{"kind":"a","size":1}'], ["{}"]),
        (KIND | {"minProperties": 2}, ['{"kind":"a","b":1}'], []),
        (KIND | {"additionalProperties": True}, ['{"kind":"a","b":1}'], []),
        ({"anyOf": [KIND, {"type": "null"}]}, ["null", '{"kind":"a"}'], ['{"kind":"a","b":1}']),
        (TREE, ['{"left":{"left":"a"}}'], ['{"left":1}']),
        ({"properties": {"a": {"type": "null"}, "b": {"$ref": "#/properties/a"}}}, ['{"b":null}'], ['{"b":1}']),
        ({"$id": "urn:x", "$ref": "urn:x#/$defs/a~1b", "$defs": {"a/b": {"const": 1}}}, ["1"], ["2"]),
        ({"$ref": "#here", "$defs": {"a": {"$anchor": "here", "const": 1}}}, ["1"], ["2"]),
        ({"type": "string", "minLength": 2.0}, ['"ab"'], ['"a"']),
        ({"type": "integer"}, ["-9007199254740991", "0"], ["9007199254740992", "00", "1.5"]),
        ({"type": "integer", "minimum": 10**17}, [str(10**17)], ["1"]),
        ({"type": "integer", "enum": [10**17]}, [str(10**17)], ["1"]),
        ({"type": "integer", "exclusiveMinimum": 5}, ["6", "9007199254740991"], ["5", "9007199254740992"]),
        ({"type": "integer", "multipleOf": 7}, ["14", "-7"], ["15"]),
        ({"multipleOf": 0.01}, ["0.25", '"a"'], ["0.255"]),
        ({"uniqueItems": True, "not": {}, "items": {"type": "null"}}, ["[null,null]"], ["[1]"]),
        (DEEP, ["null"], ["1"]),
    ],
)  # fmt: skip
def test_answers_fit_their_schema(schema: Any, right: list[str], wrong: list[str]) -> None:
    assert [text for text in right if not accepts(schema, text)] == []
    assert [text for text in wrong if accepts(schema, text)] == []


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ({"type": "integer", "multipleOf": 9999991}, "“multipleOf” of “a.b” cannot be enforced: the number has"),
        ({"multipleOf": 0.1234567}, "“multipleOf” of “a.b”"),
        ({"allOf": [{"multipleOf": 97}, {"multipleOf": 101}]}, "“multipleOf” of “a.b”"),
        ({"type": "string", "pattern": "^(?!x)a"}, "“pattern” of “a.b” cannot be enforced: regex parse error: look"),
        ({"type": "string", "maxLength": 10**10}, "“maxLength” of “a.b”"),
        ({"type": "any"}, "“type” of “a.b” cannot be enforced: Invalid type: any"),
        ({"const": -(2**63)}, "“const” of “a.b” cannot be enforced: a number has more than 18 digits"),
        ({"type": "integer", "minimum": -1e30, "maximum": -1e30}, "“minimum” of “a.b”"),
        ({"$ref": "#/$defs/none"}, "“$ref” of “a.b” cannot be enforced: '#/$defs/none' leads to nothing"),
        ({"patternProperties": {f"^{i}_.*x$": {} for i in range(100)}}, "“patternProperties” of “a.b”"),
        ({"required": [str(i) for i in range(3000)]}, "“required” of “a.b”"),
        ({"$id": "http://localhost/b", "type": "null"}, "“$id” of “a.b”"),
    ],
)  # fmt: skip
def test_a_keyword_that_cannot_be_enforced_is_refused_by_name_and_left_out_of_a_tool(part: Any, sentence: str) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "object", "properties": {"b": part, "c": {"type": "null"}}}},
    }
    with pytest.raises(Failure) as raised:
        accepts(schema, "{}")
    assert raised.value.code == "bad_constraint"
    assert sentence in str(raised.value)
    matcher = COMPILER.matcher(f"start: {json_rule(schema, refusal=refusal_of)}\n")
    assert matcher.advance_text('{"a":{"c":null}}')
    assert not COMPILER.matcher(f"start: {json_rule(schema, refusal=refusal_of)}\n").advance_text('{"a":{"c":1')


def test_divisors_are_counted_together() -> None:
    """One is compiled in a moment, a hundred are not."""
    schema = {"type": "array", "prefixItems": [{"type": "integer", "multipleOf": 9973 - i} for i in range(100)]}
    with pytest.raises(SchemaError, match="multipleOf"):
        compilable(schema)


@pytest.mark.parametrize(
    "schema", [{"properties": {"a": 5}}, {"allOf": 5}, {"anyOf": [3], "required": [[]]}, {"$ref": 7}]
)
def test_a_tool_whose_schema_is_none_takes_anything(schema: dict[str, Any]) -> None:
    rule = json_rule(schema | {"type": "object"}, refusal=refusal_of)
    assert COMPILER.matcher(f"start: {rule}\n").advance_text('{"b":[1]}')
