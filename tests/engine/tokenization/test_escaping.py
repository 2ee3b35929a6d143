"""Escaping: control tokens come from the template alone, whatever messages contain, and no text changes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from engine.engine import Engine
from engine.protocol.requests import Message
from engine.runtime.capi.vocabulary import CVocabulary
from engine.tokenization.escaping import PRIVATE, ControlTextEscaper, split_by_origin
from engine.tokenization.jinja import compile_template
from engine.tokenization.template import ChatTemplate

# Expressions with which templates cut and join a message's content, {}.
CHANGES = (
    "{}", "{}[:5]", "{}[5:]", "{}[::-1]", "{}[2:-2]", "{} | upper", "{} | lower", "{} | trim", "{} | string",
    "{}.split('</think>')[-1]", "{}.split('|') | join('|')", "{}.split('i') | join", "{}.replace('<think>', '')",
    "{}.replace('x', '')", "({} ~ {})", "{} | list | join", "{} | tojson",
    "{} | tojson(ensure_ascii=true)", "'\ue0f0' ~ {}", "{} ~ '\ue0f17\ue0f0'",
)  # fmt: skip
PIECES = (
    "<|im_end|>", "<|im_start|>", "<|endoftext|>", "<repo_name>", "<|IM_END|>", "<|im_<think>end|>", "<|im_xend|>",
    ">|dne_mi|<", "<think>", "</think>", "<", ">", "|", "im_end", "\ue000", "\ue0f0", "\ue0f1", "\U000f0001",
    "ä", "日本", " ", "\n", "user\n", "x",
)  # fmt: skip
CONTENT = st.lists(st.sampled_from(PIECES) | st.text("aiIx|/[]éß本😀 \t", max_size=3), max_size=12).map("".join)
CHANGE = st.tuples(st.sampled_from(CHANGES), st.sampled_from(CHANGES)).map(
    lambda two: two[1].replace("{}", "(" + two[0].replace("{}", "m.content") + ")")
)


@pytest.fixture(scope="module")
def vocabulary(loaded: Engine) -> CVocabulary:
    return loaded._loaded().model.vocabulary


@pytest.fixture(scope="module")
def template(vocabulary: CVocabulary) -> Iterator[ChatTemplate]:
    template = ChatTemplate("{{ messages }}", vocabulary)
    yield template
    template.close()


def spelled(vocabulary: CVocabulary, tokens: list[int]) -> str:
    return b"".join(vocabulary._render(token, special=True) for token in tokens).decode()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(CONTENT, CHANGE)
@example("hi<|im_end|>there", "m.content[:5]")
@example("hi<|im_end|>there", "m.content | upper")
@example("hi<|im_end|></think>there<|im_end|>", "m.content.split('</think>')[-1]")
@example("<|im_<think>end|>", "m.content.replace('<think>', '')")
@example("hi", "'\ue0f0' ~ m.content")
@example("é<|im_end|>😀", "m.content | tojson(ensure_ascii=true)")
def test_control_tokens_are_the_templates_alone(
    vocabulary: CVocabulary, template: ChatTemplate, content: str, change: str
) -> None:
    source = "<|im_start|>{% for m in messages %}{{ " + change + " }}<|im_end|>{% endfor %}<|im_start|>"
    template._source, template._visible = source, frozenset({"<think>", "</think>"})
    tokens = template.tokens([Message("user", content)])
    controls = [vocabulary.text(token) for token in tokens if vocabulary.is_control(token)]
    assert controls == ["<|im_start|>", "<|im_end|>", "<|im_start|>"]
    assert spelled(vocabulary, tokens) == compile_template(source).render(
        messages=[{"role": "user", "content": content}]
    )


def test_what_a_template_looks_for_it_finds(vocabulary: CVocabulary) -> None:
    source = "{% for m in messages %}{{ m.content.split('</think>')[-1] }}{% endfor %}"
    template = ChatTemplate(source, vocabulary)
    tokens = template.tokens([Message("assistant", "<think>So</think>Yes, a < b.")])
    assert spelled(vocabulary, tokens) == "Yes, a < b."
    assert tokens == vocabulary.tokenize("Yes, a < b.", special=False)
    template.close()


def test_control_tokens_that_look_like_words() -> None:
    """No known vocabulary has such control tokens, but a stranger's file may; they are escaped wherever they occur."""
    escaper = ControlTextEscaper(["an end of the end"], unusual={"end"})
    escaped = escaper.escape("an end")
    assert "end" not in escaped
    assert split_by_origin(f"{escaped}end", "an endend", {"end"}) == [("an end", False), ("end", True)]


def test_where_all_private_characters_are_taken_a_message_stays_one() -> None:
    escaper = ControlTextEscaper(["".join(map(chr, PRIVATE))])
    escaped = escaper.escape("<|im_end|>")
    assert escaped != escaper.unescape(escaped)
    assert "<" not in escaped


def test_a_book_of_control_tokens_is_cut_in_no_time() -> None:
    escaper = ControlTextEscaper([])
    said = escaper.escape("<|im_end|>" * 100_000)
    plain = escaper.unescape(said)
    assert split_by_origin(f"{said}<|im_end|>", f"{plain}<|im_end|>", {"<|im_end|>"}) == [
        (plain, False),
        ("<|im_end|>", True),
    ]
