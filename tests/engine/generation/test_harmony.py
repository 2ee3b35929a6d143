"""gpt-oss's notation: its published examples, in pieces of any size, and answers that only look like it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.reasoning import Piece, ReasoningParser
from engine.generation.constraint import AnswerStart, GrammarCompiler, constraint_for
from engine.generation.harmony import HarmonyReader, reader_for
from engine.protocol.requests import Generate, Message, Tool, ToolCall
from engine.tokenization.template import ChatTemplate, PromptOptions
from engine.tokenization.tool_formats import HARMONY
from tests.engine.fake_runtime import FakeVocabulary

SCHEMA = '{"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]}'
WEATHER = Tool("get_current_weather", "Tell the weather.", SCHEMA)
FILE = Tool("generate_file")
ROME = '{"location":"Rome"}'
THOUGHT = "<|channel|>analysis<|message|>Need to use function get_current_weather.<|end|>"
# The template of gpt-oss, as far as it writes messages.
TEMPLATE = (
    "{% if tools %}<|start|>developer<|message|># Tools\n{% for tool in tools %}type {{ tool.function.name }} = "
    "{% endfor %}<|end|>{% endif %}{% for m in messages %}{% if m.tool_calls %}{% if m.content and m.thinking %}"
    "{{ raise_exception('not both') }}{% endif %}"
    "{% if m.thinking %}<|start|>assistant<|channel|>analysis<|message|>{{ m.thinking }}<|end|>{% endif %}"
    "<|start|>assistant to=functions.{{ m.tool_calls[0].function.name }}<|channel|>commentary json<|message|>"
    "{{ m.tool_calls[0].function.arguments | tojson }}<|call|>{% elif m.role == 'tool' %}<|start|>functions "
    "to=assistant<|channel|>commentary<|message|>{{ m.content | tojson }}<|end|>{% else %}<|start|>{{ m.role }}"
    "<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}<|start|>assistant"
)


def read(text: str, step: int = 1, certain: bool = False) -> list[tuple[str, str]]:
    """Return the parts of an answer that comes `step` characters at a time, as events carry them."""
    parser, reader = ReasoningParser(), HarmonyReader((WEATHER, FILE), lambda: certain)
    parts: list[tuple[str, str]] = []

    def add(pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            if piece.kind == "text":
                parts.extend((each.kind, each.text) for each in reader.feed(piece.text))
            elif piece.kind == "thought":
                parts.append(("thought", piece.text))

    for at in range(0, len(text), step):
        add(parser.feed(text[at : at + step]))
    add(parser.close())
    parts.extend((each.kind, each.text) for each in reader.close())
    return [(kind, "".join(text for _, text in group)) for kind, group in groupby(parts, lambda part: part[0])]


@pytest.mark.parametrize("step", [1, 3, 7, 1000])
@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            '<|channel|>analysis<|message|>User asks: "What is 2 + 2?" Simple arithmetic.<|end|>'
            "<|start|>assistant<|channel|>final<|message|>2 + 2 = 4.<|return|>",
            [("thought", 'User asks: "What is 2 + 2?" Simple arithmetic.'), ("text", "2 + 2 = 4.")],
        ),
        (
            f"{THOUGHT}<|start|>assistant<|channel|>commentary to=functions.get_current_weather <|constrain|>json"
            f"<|message|>{ROME}<|call|>",
            [
                ("thought", "Need to use function get_current_weather."),
                ("started", WEATHER.name),
                ("arguments", ROME),
            ],
        ),
        (
            f"{THOUGHT}<|start|>assistant to=functions.get_current_weather<|channel|>commentary json<|message|>{ROME}",
            [
                ("thought", "Need to use function get_current_weather."),
                ("started", WEATHER.name),
                ("arguments", ROME),
            ],
        ),
        (
            "<|channel|>analysis<|message|>A long chain of thought<|end|><|start|>assistant<|channel|>commentary"
            "<|message|>**Action plan**:\n1. Generate an HTML file<|end|><|start|>assistant<|channel|>commentary "
            'to=functions.generate_file <|constrain|>json<|message|>{"path": "index.html"}<|call|>',
            [
                ("thought", "A long chain of thought"),
                ("text", "**Action plan**:\n1. Generate an HTML file"),
                ("started", FILE.name),
                ("arguments", '{"path": "index.html"}'),
            ],
        ),
        (
            "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>analysis<|message|>Hm."
            "<|end|><|start|>assistant<|channel|>final<|message|>Sunny.",
            [("text", "I look."), ("thought", "Hm."), ("text", "Sunny.")],
        ),
        (
            f" to=functions.get_current_weather<|channel|>commentary json<|message|>{ROME}<|call|>",
            [("started", WEATHER.name), ("arguments", ROME)],
        ),
        (
            f"<|channel|>commentary to=functions.get_current_weather <|constrain|>json<|message|>{ROME}",
            [("started", WEATHER.name), ("arguments", ROME)],
        ),
        ("<|channel|>final<|message|>Sunny.", [("text", "Sunny.")]),
    ],
)
def test_published_examples(text, parts, step):
    assert read(text, step) == parts


def test_arguments_are_streamed_where_a_grammar_makes_sure_of_them():
    reader = HarmonyReader((WEATHER,), lambda: True)
    reader.feed(" to=functions.get_current_weather<|channel|>commentary json<|message|>")
    assert [piece.text for piece in reader.feed('{"loca')] == [WEATHER.name, '{"loca']
    assert [piece.text for piece in reader.feed('tion":')] == ['tion":']


@pytest.mark.parametrize(
    "text",
    [
        "to=functions.get_current_weather is how a call is written.",
        "functions.get_current_weather returns the weather.",
        "functions.nobody<|message|>{}",
        "functions.get_current_weather<|message|>{nonsense",
        "functions.get_current_weather<|message|>[1]",
        "functions." + "x" * 5000,
        "<|channel|>",
        "to",
        "A plain answer.",
    ],
)
@pytest.mark.parametrize("step", [1, 1000])
def test_what_is_no_call_is_text(text, step):
    assert read(text, step) == [("text", text)]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from([
            "<|start|>", "assistant", "<|channel|>", "analysis", "commentary", "final", " to=", "functions.",
            "generate_file", "<|constrain|>", "json", "<|message|>", "{}", '{"a": 1}', "<|end|>", "<|call|>", " ", "x",
        ])
    )
)  # fmt: skip
def test_any_order_is_read_alike_at_once_and_in_pieces(parts):
    text = "".join(parts)
    assert read(text, 1) == read(text, len(text) or 1)


@pytest.mark.parametrize(
    "start",
    [
        " to=functions.get_current_weather<|channel|>commentary json<|message|>",
        "<|channel|>commentary to=functions.get_current_weather <|constrain|>json<|message|>",
        f"{THOUGHT}<|start|>assistant<|channel|>commentary to=functions.get_current_weather json<|message|>",
        f"{THOUGHT}<|start|>assistant to=functions.get_current_weather<|channel|>commentary json<|message|>",
    ],
)
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_the_arguments_of_a_call_fit_its_schema(start, choice):
    request = Generate(1, (Message("user", "?"),), tools=(WEATHER,), tool_choice=choice)
    mask = constraint_for(request, HARMONY, GrammarCompiler(FakeVocabulary()), AnswerStart("", "", [ord("<")]))
    assert mask is not None
    for token in start.encode():
        allowed = mask.allowed()
        assert allowed is None or allowed[token]
        mask.advance(token)
    assert mask.holds
    for token in b'{"location":':
        allowed = mask.allowed()
        assert allowed is not None
        assert allowed[token]
        mask.advance(token)
    allowed = mask.allowed()
    assert allowed is not None
    assert not allowed[ord("1")]


def test_the_template_is_told_tools_calls_and_thoughts(engine):
    template = ChatTemplate(TEMPLATE, engine._loaded().model.vocabulary)
    support = template.tool_support()
    assert (support.format, support.tells, support.writes) == (HARMONY, True, True)
    chat = (
        Message("user", "How is it in Rome?"),
        Message("assistant", "", (ToolCall("1", WEATHER.name, ROME),), reasoning="I must look <|end|>."),
        Message("tool", "blue", tool_call_id="1"),
    )
    tokens = template.tokens(chat, options=PromptOptions(tools=(WEATHER,)))
    prompt = "".join(map(template.vocabulary.text, tokens))
    assert "type get_current_weather = " in prompt
    call = f"to=functions.{WEATHER.name}<|channel|>commentary json<|message|>{json.dumps(json.loads(ROME))}<|call|>"
    assert f"<|message|>I must look <|end|>.<|end|><|start|>assistant {call}" in prompt
    template.close()


def test_other_notations_have_the_other_reader():
    assert isinstance(reader_for(HARMONY, (FILE,), lambda: False), HarmonyReader)
