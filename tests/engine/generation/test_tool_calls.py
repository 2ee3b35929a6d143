"""Tool calls in an answer's text: in every notation, in pieces of any size, and from hostile models."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.generation.tool_calls import ToolCallReader
from engine.protocol.events import WRITTEN, ToolCallArguments, ToolCallStarted
from engine.protocol.requests import Generate, Message, Tool, ToolCall
from engine.tokenization.tool_formats import FORMATS, LFM
from tests.engine.asking import GREEDY

NOTATIONS = {form.name: form for form in (*FORMATS, LFM)}
F = Tool("f", "", '{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}')
TOOLS = (F, Tool("g"))


def read(notation: str, text: str, step: int = 1, certain: bool = False) -> list[tuple[str, str]]:
    """Return the pieces of a text that comes `step` characters at a time, neighbours of one kind joined."""
    reader = ToolCallReader(NOTATIONS[notation], TOOLS, lambda: certain)
    pieces = [piece for at in range(0, len(text), step) for piece in reader.feed(text[at : at + step])]
    parts: list[tuple[str, str]] = []
    for piece in (*pieces, *reader.close()):
        if parts and parts[-1][0] == piece.kind and piece.kind != "started":
            parts[-1] = (piece.kind, parts[-1][1] + piece.text)
        else:
            parts.append((piece.kind, piece.text))
    return parts


def calls_of(pieces: list[tuple[str, str]]) -> list[tuple[str, object]]:
    """Return the calls' names and arguments; assert that there is no text."""
    assert [kind for kind, _ in pieces] == ["started", "arguments"] * (len(pieces) // 2)
    return [(pieces[i][1], json.loads(pieces[i + 1][1])) for i in range(0, len(pieces), 2)]


@pytest.mark.parametrize("step", [1, 3, 7, 1000])
@pytest.mark.parametrize(
    ("notation", "text"),
    [
        (
            "hermes",
            '<tool_call>\n{"name": "f", "arguments": {"a": "x}\\"", "b": 1}}\n</tool_call>\n'
            '<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>',
        ),
        (
            "hermes",
            '<tool_call>{"arguments":{"a":"x}\\"","b":1},"name":"f"}</tool_call><tool_call>{"name":"g"}</tool_call>',
        ),
        ("hermes", '```json\n{"name": "f", "arguments": {"a": "x}\\"", "b": 1}}\n{"name": "g", "arguments": {}}\n```'),
        (
            "mistral",
            '[TOOL_CALLS][{"name": "f", "arguments": {"a": "x}\\"", "b": 1}}, {"name": "g", "arguments": {}}]',
        ),
        ("ministral", '[TOOL_CALLS]f[ARGS]{"a": "x}\\"", "b": 1}[TOOL_CALLS]g[ARGS]{}'),
        (
            "granite",
            '<|tool_call|>[{"name": "f", "arguments": {"a": "x}\\"", "b": 1}},{"name": "g", "arguments": {}}]',
        ),
        ("lfm", "<|tool_call_start|>[f(a='x}\"', b=1), g()]<|tool_call_end|>"),
        ("lfm", '<|tool_call_start|>[f("x}\\"", 1), g()]<|tool_call_end|>'),
        (
            "xml",
            '<tool_call>\n<function=f>\n<parameter=a>\nx}"\n</parameter>\n<parameter=b>\n1\n</parameter>\n</function>\n'
            "</tool_call>\n<tool_call>\n<function=g>\n</function>\n</tool_call>",
        ),
        ("gemma", '<|tool_call>call:f{a:<|"|>x}"<|"|>,b:1}<tool_call|><|tool_call>call:g{}<tool_call|>'),
    ],
)
def test_calls_in_every_notation(notation, text, step):
    assert calls_of(read(notation, text, step)) == [("f", {"a": 'x}"', "b": 1}), ("g", {})]


@pytest.mark.parametrize(
    ("notation", "text", "end"),
    [
        ("hermes", '<tool_call>\n{"name": "g", "arguments": {}}', "\n</tool_call>"),
        ("mistral", '[TOOL_CALLS][{"name": "g", "arguments": {}}', "]"),
        ("granite", '<|tool_call|>[{"name": "g", "arguments": {}}', "]"),
        ("lfm", "<|tool_call_start|>[g()", "]<|tool_call_end|>"),
        ("xml", "<tool_call>\n<function=g>\n</function>", "\n</tool_call>"),
        ("gemma", "<|tool_call>call:g{}", "<tool_call|>"),
    ],
)
def test_an_answer_that_is_cut_off_behind_a_call_has_no_text(notation, text, end):
    for length in range(len(end) + 1):
        assert calls_of(read(notation, text + end[:length])) == [("g", {})]


def test_llama_calls_with_its_whole_answer():
    call = '{"name": "f", "parameters": {"a": "1"}}'
    assert calls_of(read("llama", call)) == [("f", {"a": "1"})]
    assert read("llama", "Hello " + call) == [("text", "Hello " + call)]


def test_text_before_and_behind_calls_is_kept():
    call = '<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>'
    assert read("hermes", f"I see.\n\n{call}\n\nDone.") == [
        ("text", "I see.\n\n"), ("started", "g"), ("arguments", "{}"), ("text", "\n\nDone."),
    ]  # fmt: skip
    assert read("hermes", f"\n\n{call}\n\n") == [("started", "g"), ("arguments", "{}")]


@pytest.mark.parametrize(
    ("notation", "text"),
    [
        ("hermes", '<tool_call>\n{"name": "nobody", "arguments": {}}\n</tool_call>'),
        ("hermes", '<tool_call>\n{"name": "f", "arguments": {"a": nonsense}}\n</tool_call>'),
        ("hermes", '<tool_call>\n{"name": "f", "arguments": {"a": '),
        ("hermes", '<tool_call>\n{"name": "f", "arguments": [1]}\n</tool_call>'),
        ("hermes", "a <tool_ b <tool_call"),
        ("hermes", '{"name": "Bob", "age": 3}'),
        ("hermes", "```python\nprint('a text that is longer than any beginning of a call')\n```"),
        ("hermes", '{"name": "f", "arguments": {"a": 1'),
        ("llama", '{"x": 1} and more'),
        ("llama", '{"name": "f", "parameters": {"a": 1'),
        ("mistral", '[TOOL_CALLS][{"name": "f"'),
        ("ministral", "[TOOL_CALLS]f[ARGS]nothing"),
        ("lfm", "<|tool_call_start|>[f(a=open('/etc/passwd'))]<|tool_call_end|>"),
        ("lfm", "<|tool_call_start|>[f(a={1, 2})]<|tool_call_end|>"),
        ("lfm", "<|tool_call_start|>[f(a=" + "(" * 4000),
        ("lfm", "<|tool_call_start|>[f(a=" + "-" * 4000 + "1)]"),
        ("gemma", "<|tool_call>call:f{a:b c}<tool_call|>"),
        ("hermes", '<tool_call>{"name": "f", "arguments": {"a": ' + "[" * 4000),
    ],
)
def test_what_only_looks_like_a_call_is_text(notation, text):
    assert read(notation, text) == [("text", text)]
    assert read(notation, text, 1000) == [("text", text)]


def test_calls_without_an_opening_may_be_followed_by_text_or_be_cut_short():
    call = '{"name": "g", "arguments": {}}'
    told = [("started", "g"), ("arguments", "{}")]
    assert read("hermes", f"{call}\n{call}\n{call[:20]}") == [*told, *told]
    assert read("hermes", f"```json\n{call}\n```\nI call it.") == [*told, ("text", "I call it.")]
    assert read("hermes", f"{{{call}") == read("hermes", f"{{{call}}}\n") == told  # two braces, closed once or twice
    assert read("hermes", f"{call}\n</tool_call>\n<tool_call>\n{call}\n</tool_call>") == [*told, *told]
    assert read("hermes", f'{call}\n{{"name": "Bob"}}') == [*told, ("text", '{"name": "Bob"}')]


@pytest.mark.parametrize("length", [200_000])
def test_an_endless_call_is_text(length):
    for opening in ('<tool_call>{"name": "f", "arguments": {"a": "', "<tool_call>", '{"name": "'):
        text = opening + "x" * length
        assert read("hermes", text, 5000) == [("text", text)]


def test_arguments_are_streamed_where_a_grammar_makes_them_certain():
    text = '<tool_call>\n{"name": "f", "arguments": {"a": "one", "b": 1}}\n</tool_call>'
    reader = ToolCallReader(NOTATIONS["hermes"], TOOLS, lambda: True)
    pieces = [piece for char in text for piece in reader.feed(char)]
    assert [piece.kind for piece in pieces][:3] == ["started", "arguments", "arguments"]
    assert "".join(piece.text for piece in pieces if piece.kind == "arguments") == '{"a": "one", "b": 1}'
    cut = read("hermes", text[: text.index("on") + 2], certain=True)
    assert cut == [("started", "f"), ("arguments", '{"a": "on')]


HOSTILE = st.text(st.sampled_from("<tool_call>/{}[]()\"\\:,=\n '`fgn0_|"), max_size=60)


@given(st.sampled_from(sorted(NOTATIONS)), st.lists(HOSTILE, max_size=4), st.integers(1, 9), st.booleans())
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_without_an_exception(notation, texts, step, certain):
    """Whatever comes, no character of an answer without a call is lost."""
    form = NOTATIONS[notation]
    heads = ("", form.opening, form.opening + form.first + form.lead + "f" + form.middle)
    text = "".join(head + text for head, text in zip((*heads, *heads), texts, strict=False))
    pieces = read(notation, text, step, certain)
    if all(kind == "text" for kind, _ in pieces) and text.strip():
        assert "".join(text for _, text in pieces) == text


WEATHER = Tool(
    "get_weather",
    "Get the weather.",
    json.dumps({"type": "object", "properties": {"city": {"type": "string", "maxLength": 12}}, "required": ["city"]}),
)
TIME = Tool("get_time", "Get the time.", '{"type": "object", "properties": {"zone": {"enum": ["CET", "UTC"]}}}')
CHAT = (
    Message("user", "What is the weather in Rome?"),
    Message("assistant", "", (ToolCall("call_1", "get_weather", '{"city": "Rome"}'),)),
    Message("tool", '{"sky": "blue"}', tool_call_id="call_1"),
    Message("user", "And in Paris?"),
)


@pytest.mark.parametrize("tool", ["", "get_time"])
def test_a_required_call_of_the_real_model(whole, tool):
    request = Generate(
        1, CHAT, GREEDY, 60, tools=(WEATHER, TIME), tool_choice="required", tool=tool, parallel_tool_calls=False
    )
    events = list(whole.generate(request))
    started = [event for event in events if isinstance(event, ToolCallStarted)]
    arguments = json.loads("".join(event.text for event in events if isinstance(event, ToolCallArguments)))
    assert len(started) == 1
    assert started[0].name in ("get_weather", "get_time") if not tool else started[0].name == tool
    assert set(arguments) <= {"city", "zone"}
    assert not [event for event in events if isinstance(event, WRITTEN) and event.text.strip()]
    assert events[-1].statistics.stop_reason == "tool_calls"


def test_a_model_with_tools_may_answer_without_a_call(whole):
    events = list(whole.generate(Generate(1, CHAT[:1], GREEDY, 8, tools=(WEATHER,), tool_choice="none")))
    assert any(isinstance(event, WRITTEN) for event in events)
    assert events[-1].statistics.stop_reason in ("end", "length")
