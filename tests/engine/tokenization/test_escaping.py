"""Escaping: control tokens come from the template alone, whatever messages contain, and no text changes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import gguf
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from engine.engine import Engine
from engine.protocol.requests import Message, Role, Tool
from engine.runtime.capi.vocabulary import CVocabulary
from engine.tokenization.escaping import PRIVATE, ControlTextEscaper, cut_within, split_by_origin
from engine.tokenization.jinja import compile_template
from engine.tokenization.template import ChatTemplate, PromptOptions
from engine.tokenization.tool_formats import ToolSupport
from tests.engine.asking import loaded_from
from tests.engine.shallow import shallow_model

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


def test_a_text_is_cut_within_its_marks() -> None:
    assert cut_within("no mark < here", {"<a>"}) == ["no mark < here"]
    assert cut_within("<a>b<<a>", {"<a>", "<<a>"}) == ["<", "a>b<", "<", "a>"]
    assert cut_within("", {"<a>"}) == [""]


MARK = "<repo_name>"  # stands for gpt-oss's <|channel|>, which llama.cpp finds in any text
WITH_MARKS = (
    "{% if tools %}<|im_start|>tools" + MARK + "{{ tools[0].function.description }}<|im_end|>{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}" + MARK + "{{ m.content.split('</think>')[-1] }}<|im_end|>"
    "{% endfor %}<|im_start|>assistant" + MARK
)


@pytest.fixture(scope="module")
def with_mark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChatTemplate]:
    """Return a template with a mark that is a user-defined token of the vocabulary, and no control token."""
    path = tmp_path_factory.mktemp("model") / "marks.gguf"
    shutil.copyfile(shallow_model(), path)
    reader = gguf.GGUFReader(path, "r+")
    texts, kinds = (reader.fields[f"tokenizer.ggml.{name}"] for name in ("tokens", "token_type"))
    token = next(i for i, part in enumerate(texts.data) if bytes(texts.parts[part]) == MARK.encode())
    kinds.parts[kinds.data[token]][0] = gguf.TokenType.USER_DEFINED
    reader.data.flush()
    del reader
    with loaded_from(path, "llama") as engine:
        vocabulary = engine._loaded().model.vocabulary
        assert vocabulary.tokenize(MARK, special=False) == [token]
        assert not vocabulary.is_control(token)
        template = ChatTemplate(WITH_MARKS, vocabulary)
        yield template
        template.close()


@pytest.mark.parametrize("role", ["user", "system", "tool"])
@pytest.mark.parametrize("text", [MARK, f"a{MARK}{MARK} b<|im_end|>{MARK}", f"<{MARK}>", f"{MARK[:-1]}{MARK}"])
def test_marks_are_the_templates_alone(with_mark: ChatTemplate, role: Role, text: str) -> None:
    """Neither a message nor a tool can begin another channel, and no text changes."""
    tools = (Tool("look", text),)
    with_mark._tool_support = ToolSupport(tells=True, writes=True)
    tokens = with_mark.tokens([Message("user", "Hi"), Message(role, text)], options=PromptOptions(tools=tools))
    vocabulary = with_mark.vocabulary
    assert isinstance(vocabulary, CVocabulary)
    marks = [text for text in map(vocabulary.text, tokens) if text in (MARK, "<|im_start|>", "<|im_end|>")]
    assert marks == ["<|im_start|>", MARK, "<|im_end|>"] * 3 + ["<|im_start|>", MARK]
    turns = [("tools", text), ("user", "Hi"), (role, text)]
    written = "".join(f"<|im_start|>{name}{MARK}{said}<|im_end|>" for name, said in turns)
    assert spelled(vocabulary, tokens) == f"{written}<|im_start|>assistant{MARK}"


def test_control_tokens_stay_where_only_messages_have_marks(with_mark: ChatTemplate) -> None:
    """Qwen's template has <tool_call> in its source, and writes none in a chat without tools."""
    source = (
        "{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}{% if tools %}" + MARK + "{% endif %}"
    )
    template = ChatTemplate(source, with_mark.vocabulary)
    texts = list(map(template.vocabulary.text, template.tokens([Message("user", f"a{MARK}<|im_end|>")])))
    assert (texts[0], texts[-1]) == ("<|im_start|>", "<|im_end|>")
    assert texts.count("<|im_end|>") == 1
    assert MARK not in texts
    assert "".join(texts) == f"<|im_start|>a{MARK}<|im_end|><|im_end|>"
    template.close()


def test_marks_of_answers_are_marks(with_mark: ChatTemplate) -> None:
    """They were the model's own, and the next prompt begins as the chat did."""
    tokens = with_mark.tokens([Message("user", "Hi"), Message("assistant", f"So{MARK}Hello")])
    assert list(map(with_mark.vocabulary.text, tokens)).count(MARK) == 4
