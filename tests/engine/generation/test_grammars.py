"""Grammars of tool calls: the reader understands whatever they accept, and the tools accept the arguments."""

from __future__ import annotations

import json

import pytest

from common.failures import Failure
from engine.generation.constraint import AnswerStart, GrammarCompiler, constraint_for
from engine.generation.grammars import answer_grammar, answer_rule, calls_grammar, spell
from engine.generation.tool_calls import ToolCallReader
from engine.protocol.requests import Generate, Tool
from engine.tokenization.tool_formats import FORMATS, LFM
from tests.engine.fake_runtime import END, FakeVocabulary

NOTATIONS = {form.name: form for form in (*FORMATS, LFM)}
SCHEMA = {
    "type": "object",
    "properties": {
        "note": {"type": "string"},
        "unit": {"type": "string", "enum": ["C", "F"]},
        "days": {"type": "integer"},
        "place": {"$ref": "#/$defs/Place"},
        "exact": {"type": "boolean"},
        "share": {"type": "number"},
    },
    "required": ["place", "unit"],
    "$defs": {"Place": {"type": "string", "maxLength": 9}},
}
TOOLS = (Tool("look", "", json.dumps(SCHEMA)), Tool("wait"))
COMPILER = GrammarCompiler(FakeVocabulary())
PLAIN = {"unit": "C", "place": "Rome"}
FULL = {**PLAIN, "note": "a <b> {c}", "days": 3, "exact": True, "share": 0.5}
TAGS = '<parameter=unit>\nC\n</parameter>\n<parameter=place>\n"Rome"\n</parameter>\n'
MARKED = 'unit:<|"|>C<|"|>,place:<|"|>Rome<|"|>'
WRITTEN = {  # arguments with the required properties, with more, and of a tool without parameters
    "json": (json.dumps(PLAIN), json.dumps({"note": "a <b> {c}", "unit": "C", "days": 3, "place": "Rome"}), "{}"),
    "xml": (
        TAGS,
        f"{TAGS}<parameter=note>\na <b> {{c}}\n</parameter>\n<parameter=days>\n3\n</parameter>\n",
        "",
    ),
    "python": ('unit="C", place="Rome"', 'unit="C", place="Rome", note="a <b> {c}", days=3', ""),
    "gemma": (MARKED, f'{MARKED},note:<|"|>a {{c}}<|"|>,days:3,exact:true,share:0.5', ""),
}


@pytest.mark.parametrize("notation", sorted(NOTATIONS))
def test_calls_that_the_grammar_accepts_are_read(notation):
    form = NOTATIONS[notation]
    plain, full, nothing = WRITTEN[form.arguments]
    calls = [("look", plain), ("look", full), ("wait", nothing)][: 3 if form.more is not None else 1]
    parts = [form.lead + name + form.middle + arguments + form.after for name, arguments in calls]
    text = form.opening + form.first + (form.more or "").join(parts) + form.end
    matcher = COMPILER.matcher(calls_grammar(form, TOOLS, FakeVocabulary(), parallel=True))
    assert matcher.advance_text(text)
    assert matcher.allowed()[END]
    reader = ToolCallReader(form, TOOLS, lambda: True)
    pieces = [*reader.feed(text), *reader.close()]
    assert [piece.text for piece in pieces if piece.kind == "started"] == [name for name, _ in calls]
    arguments = [json.loads(piece.text) for piece in pieces if piece.kind == "arguments"]
    assert arguments[0] == PLAIN
    assert all(FULL | values == FULL | {"note": values.get("note", FULL["note"])} for values in arguments)


@pytest.mark.parametrize("notation", sorted(NOTATIONS))
def test_calls_that_no_tool_accepts_are_forbidden(notation):
    form = NOTATIONS[notation]
    grammar = calls_grammar(form, TOOLS, FakeVocabulary(), parallel=False)
    begin = form.opening + form.first + form.lead
    assert COMPILER.matcher(grammar).advance_text(begin + "look" + form.middle)
    assert not COMPILER.matcher(grammar).advance_text(begin + "other")
    wait = COMPILER.matcher(grammar)
    assert wait.advance_text(begin + "wait" + form.middle + WRITTEN[form.arguments][2] + form.after + form.end)
    if form.more:
        assert not wait.advance_text(form.more)


def test_a_grammar_begins_behind_the_opening():
    request = Generate(1, (), tools=TOOLS)
    grammar = answer_grammar(request, NOTATIONS["hermes"], FakeVocabulary())
    assert COMPILER.matcher(grammar).advance_text('\n{"name": "wait", "arguments": {}}\n</tool_call>')


def test_an_answer_by_a_schema_or_calls():
    answer = answer_rule('{"type": "object", "properties": {"a": {"type": "integer"}}}')
    grammar = calls_grammar(NOTATIONS["hermes"], TOOLS, FakeVocabulary(), parallel=True, answer=answer)
    for text in ('{"a": 3}', '<tool_call>\n{"name": "wait", "arguments": {}}\n</tool_call>'):
        matcher = COMPILER.matcher(grammar)
        assert matcher.advance_text(text)
        assert matcher.allowed()[END]
    assert not COMPILER.matcher(grammar).advance_text("Hello")


def test_markers_that_are_control_tokens_are_those_tokens():
    class Marked(FakeVocabulary):
        def tokenize(self, text: str, special: bool) -> list[int]:
            return [END] if special and text == "[TOOL_CALLS]" else super().tokenize(text, special)

    assert spell('[TOOL_CALLS][{"a', Marked()) == f'<[{END}]> "[{{\\"a"'
    assert spell("[TOOL_CALLS]", FakeVocabulary()) == '"[TOOL_CALLS]"'
    assert spell("", Marked()) == '""'


@pytest.mark.parametrize("notation", sorted(NOTATIONS))
def test_a_grammar_grows_with_its_tools_and_no_faster(notation):
    def size(count: int) -> int:
        properties = {f"property_{i}": {"type": "string"} for i in range(count)}
        tool = Tool("f", "", json.dumps({"properties": properties}))
        return len(calls_grammar(NOTATIONS[notation], (tool,), FakeVocabulary(), True))

    assert size(400) < 4.5 * size(100)
    with pytest.raises(Failure, match="parameters may have"):
        size(9000)


@pytest.mark.parametrize("notation", sorted(NOTATIONS))
def test_references_to_any_part_of_the_parameters_are_followed(notation):
    form = NOTATIONS[notation]
    tree = {"properties": {"left": {"anyOf": [{"type": "string"}, {"$ref": "#/properties/tree"}]}}}
    tool = Tool("f", "", json.dumps({"type": "object", "properties": {"tree": tree}, "required": ["tree"]}))
    written = {
        "json": '{"tree": {"left": {"left": "a"}}}',
        "xml": '<parameter=tree>\n{"left": {"left": "a"}}\n</parameter>\n',
        "python": 'tree={"left": {"left": "a"}}',
        "gemma": 'tree:{left:{left:<|"|>a<|"|>}}',
    }
    call = form.opening + form.first + form.lead + "f" + form.middle + written[form.arguments] + form.after
    matcher = COMPILER.matcher(calls_grammar(form, (tool,), FakeVocabulary(), parallel=False))
    assert matcher.advance_text(call + form.end)


@pytest.mark.parametrize("notation", sorted(NOTATIONS))
def test_a_tool_that_cannot_be_compiled_leaves_the_others_as_they_are(notation):
    form = NOTATIONS[notation]
    bad = {
        "to": {"type": "string", "pattern": "^(?!\\.)[a-z]+$"},
        "any": {"type": "any"},
        "no": {"$ref": "#/$defs/none"},
        "all": {"type": "array", "uniqueItems": True, "maxItems": -1},
    }
    tools = (Tool("bad", "", json.dumps({"properties": bad, "required": ["any", "missing"]})), *TOOLS)
    request = Generate(1, (), tools=tools, tool_choice="required")
    plain, _, nothing = WRITTEN[form.arguments]
    any_value = {
        "json": '{"to": ".", "any": {"a": 1}, "missing": 1}',
        "xml": '<parameter=any>\n{"a": 1}\n</parameter>\n',
        "python": 'any={"a": 1}',
        "gemma": "any:{a:1}",
    }
    for name, arguments in (("bad", any_value[form.arguments]), ("look", plain), ("wait", nothing)):
        mask = constraint_for(request, form, COMPILER, AnswerStart())
        assert mask
        text = form.opening + form.first + form.lead + name + form.middle + arguments + form.after + form.end
        assert mask.count_allowed(list(text.encode())) == len(text)
    mask = constraint_for(request, form, COMPILER, AnswerStart())
    assert mask
    text = form.opening + form.first + form.lead + "look" + form.middle + plain.replace("C", "K", 1)
    assert mask.count_allowed(list(text.encode())) < len(text)


@pytest.mark.parametrize(
    "parameters",
    [
        "{",
        "[]",
        '{"properties": []}',
        '{"a": 1e999}',
        '{"items":' * 300 + "{}" + "}" * 300,
        '{"items":' * 3000 + "{}" + "}" * 3000,
    ],
)
def test_wrong_parameters_are_refused_with_the_name_of_the_tool(parameters):
    with pytest.raises(Failure, match="The parameters of the tool “bad” cannot be used") as raised:
        calls_grammar(NOTATIONS["hermes"], (Tool("bad", "", parameters),), FakeVocabulary(), True)
    assert raised.value.code == "bad_tools"
