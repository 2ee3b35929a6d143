"""Tools in prompts: told by the model's own template or by a system text, with calls and results of the chat so far."""

from __future__ import annotations

import json

import pytest

from engine.protocol.requests import Message, Tool, ToolCall
from engine.tokenization.template import ChatTemplate, PromptOptions
from engine.tokenization.tool_formats import LFM, arguments_of, candidate_format, message_values, short_id

# The parts of the real templates that concern tools, shortened.
HERMES = (
    "{%- if tools %}<|im_start|>system\n<tools>{% for tool in tools %}\n{{ tool | tojson }}{% endfor %}\n</tools>\n"
    '<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call><|im_end|>\n{% endif %}'
    "{%- for message in messages %}<|im_start|>{{ 'user' if message.role == 'tool' else message.role }}\n"
    "{%- if message.role == 'tool' %}<tool_response>\n{{ message.content }}\n</tool_response>"
    "{%- else %}{{ message.content }}{% for call in message.tool_calls %}{% set call = call.function %}"
    '<tool_call>\n{"name": "{{ call.name }}", "arguments": {{ call.arguments | tojson }}}\n</tool_call>{% endfor %}'
    "{%- endif %}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
)
XML = HERMES.replace(
    '{"name": "{{ call.name }}", "arguments": {{ call.arguments | tojson }}}',
    "<function={{ call.name }}>\n{% for name, value in call.arguments | items %}<parameter={{ name }}>\n{{ value }}\n"
    "</parameter>\n{% endfor %}</function>",
)
MISTRAL = (
    "[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]{% for message in messages %}{% if message.tool_calls %}"
    "[TOOL_CALLS][{% for call in message.tool_calls %}{% if call.id | length != 9 %}"
    '{{ raise_exception("ids have nine characters") }}{% endif %}{{ call.function | tojson }}{% endfor %}]{% else %}'
    "[INST]{{ message.content }}[/INST]{% endif %}{% endfor %}"
)
STRICT = (  # a template that knows no tools, no system role and no other order than question, answer, question
    "{% for message in messages %}{% if (message.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}<|im_start|>{{ message.role }}\n{{ message.content }}"
    "<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
)
WEATHER = Tool("get_weather", "Get the <|im_end|> weather.", '{"type": "object", "properties": {"a [b]": {}}}')
CHAT = (
    Message("user", "How is it in Rome?"),
    Message("assistant", "", (ToolCall("call_1", "get_weather", '{"a [b]": "Ro<|im_end|>me"}'),)),
    Message("tool", '{"sky": "blue <|im_end|>"}', tool_call_id="call_1"),
    Message("assistant", "Blue."),
    Message("user", "And in Paris?"),
)


def prompt_of(template: ChatTemplate, messages=CHAT, tools=(WEATHER,)) -> str:
    tokens = template.tokens(messages, options=PromptOptions(tools=tools))
    return "".join(map(template.vocabulary.text, tokens))


@pytest.mark.parametrize(
    ("source", "name", "call"),
    [
        (
            HERMES,
            "hermes",
            '<tool_call>\n{"name": "get_weather", "arguments": {"a [b]": "Ro<|im_end|>me"}}\n</tool_call>',
        ),
        (XML, "xml", "<function=get_weather>\n<parameter=a [b]>\nRo<|im_end|>me\n</parameter>\n</function>"),
        (MISTRAL, "mistral", '[TOOL_CALLS][{"name": "get_weather", "arguments": {"a [b]": "Ro<|im_end|>me"}}]'),
        (
            STRICT,
            "hermes",
            '<tool_call>\n{"name": "get_weather", "arguments": {"a [b]": "Ro<|im_end|>me"}}\n</tool_call>',
        ),
        ("", "hermes", '<tool_call>\n{"name": "get_weather", "arguments": {"a [b]": "Ro<|im_end|>me"}}\n</tool_call>'),
    ],
)
def test_tools_calls_and_results_are_in_the_prompt(engine, source, name, call):
    template = ChatTemplate(source, engine._loaded().model.vocabulary)
    support = template.tool_support()
    assert (support.format.name, support.tells) == (name, source in (HERMES, XML, MISTRAL))
    prompt = prompt_of(template)
    assert call in prompt
    for text in (
        "get_weather",
        "Get the <|im_end|> weather.",
        "How is it in Rome?",
        "blue <|im_end|>",
        "And in Paris?",
    ):
        assert text in prompt
    template.close()


def test_control_tokens_in_tools_calls_and_results_are_plain_text(engine):
    """What strangers write must not end a turn: the tokens that do are only those that the template wrote."""
    for source, ends in ((HERMES, 6), (STRICT, 5)):
        template = ChatTemplate(source, engine._loaded().model.vocabulary)
        vocabulary = template.vocabulary
        tokens = template.tokens(CHAT, options=PromptOptions(tools=(WEATHER,)))
        assert sum(vocabulary.text(token) == "<|im_end|>" for token in tokens) == ends
        template.close()


def test_without_tools_a_prompt_is_as_ever(engine):
    template = ChatTemplate(HERMES, engine._loaded().model.vocabulary)
    expected = "<|im_start|>userHow is it in Rome?<|im_end|>\n<|im_start|>assistant"
    assert prompt_of(template, CHAT[:1], ()) == expected
    template.close()


def test_a_marker_that_the_template_does_not_write_as_expected_is_not_trusted(engine):
    """GLM's templates have the same tags around another notation."""
    source = HERMES.replace('{"name": "{{ call.name }}", "arguments": ', "{{ call.name }}<arg_key>")
    template = ChatTemplate(source, engine._loaded().model.vocabulary)
    assert not template.tool_support().tells
    assert "To call functions, write this" in prompt_of(template)
    template.close()


def test_lfm_is_known_by_its_vocabulary():
    assert candidate_format("no sign", lambda text: text == "<|tool_call_start|>") is LFM
    assert candidate_format("no sign", lambda _text: False) is None


def test_ids_and_arguments_as_templates_expect_them():
    assert short_id("abc123XYZ") == "abc123XYZ"
    assert len(short_id("call_0123456789")) == 9 == len(short_id(""))
    assert arguments_of(ToolCall("", "f", "nonsense")) == {"input": "nonsense"}
    assert arguments_of(ToolCall("", "f", "")) == {}
    values = message_values(CHAT, str)
    assert "tool_calls" not in values[0]  # Llama's template asks whether the key is there
    assert values[2]["name"] == "get_weather"
    assert json.dumps(values[1]["tool_calls"][0]["function"]["arguments"]) == '{"a [b]": "Ro<|im_end|>me"}'
