"""Chat template: turns messages into prompt tokens, by the model's own template, or by ChatML if the model has none.

A model's own template is rendered in another process (`engine.tokenization.renderer`); ChatML, which is ours, in this
one.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

from common.failures import Failure
from common.sentences import Sentence
from engine.protocol.events import ThinkingControls
from engine.protocol.requests import Message, ThinkingEffort, ThinkingOptions, Tool
from engine.stop import Stopped
from engine.tokenization.escaping import ControlTextEscaper, find_tags, split_by_origin
from engine.tokenization.jinja import compile_template
from engine.tokenization.renderer import Renderer, RenderError
from engine.tokenization.tokens import ModelVocabulary, common_prefix
from engine.tokenization.tool_formats import (
    PROBE,
    Escape,
    ToolSupport,
    find_tool_support,
    message_values,
    tool_values,
    with_calls_written,
    with_tools_told,
)

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# Markers that open a model's reasoning. Some templates write one at the end of the prompt, so that the answer begins
# inside the reasoning.
OPENINGS = (
    "<think>", "<thinking>", "<thought>", "<reasoning>", "<seed:think>", "[THINK]", "◁think▷", "<|START_THINKING|>",
    "<|channel|>analysis<|message|>", "<|channel>thought",
)  # fmt: skip
CHATML_STOPS = ("<|im_end|>", "<|im_start|>")
MAX_TAGS = 200  # a hostile template may contain any number
# Values with which templates are told whether the model thinks (Qwen3, SmolLM3, Gemma 4 and others; Granite, DeepSeek)
# and how much (gpt-oss).
SWITCHES, EFFORT = ("enable_thinking", "thinking"), "reasoning_effort"
TOOLS = ("tools", "xml_tools")  # how templates are told the tools; the second name is SmolLM3's
EFFORTS: tuple[ThinkingEffort, ...] = ("low", "medium", "high")
NO_CHOICE = ThinkingOptions()


@dataclass(frozen=True, slots=True)
class PromptOptions:
    """What a prompt holds besides messages: what the user chose about reasoning, and the tools that may be called."""

    thinking: ThinkingOptions = NO_CHOICE
    tools: tuple[Tool, ...] = ()


AS_DEFAULT = PromptOptions()


def never_stopped() -> bool:
    """Return False: a `stopped` callback that never stops."""
    return False


class ChatTemplate:
    """A model's chat template with its vocabulary.

    `kind`: whose template it is. `stops`: strings that end an answer besides the vocabulary's end tokens. `notes`: what
    the user should know about the template. `thinking`: what it lets the user choose about the model's reasoning.
    """

    def __init__(self, source: str, vocabulary: ModelVocabulary, stopped: Callable[[], bool] = never_stopped) -> None:
        """Compile the template `source` (empty: use ChatML). Raises Stopped if `stopped` returns True meanwhile."""
        self.vocabulary = vocabulary
        self.kind: Literal["model", "chatml"] = "chatml"
        self.notes: tuple[Sentence, ...] = ()
        self.stops: tuple[str, ...] = CHATML_STOPS
        self._source = CHATML
        self._renderer = Renderer()
        weakref.finalize(self, self._renderer.close)
        self._visible: frozenset[str] = frozenset()
        self.thinking = ThinkingControls()
        self._tool_support: ToolSupport | None = None  # not known yet
        if not source:
            self.notes = (Sentence.of("template.missing"),)
            return
        try:
            self._renderer.check(source, stopped)
            self.kind, self.stops, self._source = "model", (), source
            found = sorted(find_tags(source))[:MAX_TAGS]
            self._visible = frozenset(
                tag for tag in found if not self._control_texts(vocabulary.tokenize(tag, special=True))
            )
        except RenderError as error:
            self.notes = (Sentence.of("template.damaged", reason=str(error) or Sentence.of("template.limits")),)
        self.thinking = self._find_controls(stopped)

    def _find_controls(self, stopped: Callable[[], bool]) -> ThinkingControls:
        """Return the template's choices about reasoning, found by rendering it with each of them. Raises Stopped."""
        if not any(name in self._source for name in (*SWITCHES, EFFORT)):
            return ThinkingControls()

        def render(values: dict[str, Any]) -> str | None:
            try:
                return self._format((Message("user", "Hello"),), stopped, values)
            except RenderError as error:
                if error.problem == "endless":
                    raise
                return None  # Mistral's templates refuse some efforts

        try:
            usual = render({})
            on, off = (render(dict.fromkeys(SWITCHES, value)) for value in (True, False))
            texts = {effort: render({EFFORT: effort}) for effort in EFFORTS}
        except RenderError:
            return ThinkingControls()
        efforts = tuple(effort for effort, text in texts.items() if text is not None)
        if len({texts[effort] for effort in efforts}) < max(2, len(efforts)):
            efforts = ()
        switch = on is not None and off is not None and on != off
        return ThinkingControls(
            switch=switch,
            default=switch and usual != off,
            efforts=efforts,
            default_effort=next((effort for effort in efforts if texts[effort] == usual), "auto"),
        )

    def _values_of(self, thinking: ThinkingOptions) -> dict[str, Any]:
        """Return the values that tell the template what the user chose about the model's reasoning."""
        values: dict[str, Any] = {}
        if self.thinking.switch and thinking.mode != "auto":
            values |= dict.fromkeys(SWITCHES, thinking.mode == "on")
        if thinking.effort in self.thinking.efforts:
            values[EFFORT] = thinking.effort
        return values

    def tool_support(self, stopped: Callable[[], bool] = never_stopped) -> ToolSupport:
        """Return what the template does with tools, found by rendering it with some. Raises Stopped."""
        if self._tool_support is None:
            self._tool_support = self._find_tool_support(stopped)
        return self._tool_support

    def _find_tool_support(self, stopped: Callable[[], bool]) -> ToolSupport:
        if self.kind == "chatml":
            return ToolSupport()

        def render(messages: Sequence[Message]) -> str:
            with suppress(RenderError):
                return self._format(messages, stopped, dict.fromkeys(TOOLS, tool_values((PROBE,), str)))
            return ""

        def has_token(text: str) -> bool:
            tokens = self.vocabulary.tokenize(text, special=True)
            return len(tokens) == 1 and self.vocabulary.is_control(tokens[0])

        return find_tool_support(self._source, has_token, render)

    def thought_openings(self, thinking: ThinkingOptions) -> list[int]:
        """Return the tokens with which the model may begin to think by itself."""
        if thinking.mode == "off" or not (thinking.mode == "on" or self.thinking.thinks):
            return []
        found = [self.vocabulary.tokenize(marker, special=True) for marker in OPENINGS if marker in self._source]
        return [tokens[0] for tokens in found if len(tokens) == 1 or self.vocabulary.is_control(tokens[0])]

    def close(self) -> None:
        """End the template's process and free its memory; the next use starts it again."""
        self._renderer.close()

    def tokens(
        self,
        messages: Sequence[Message],
        continue_last: bool = False,
        max_tokens: int | None = None,
        stopped: Callable[[], bool] = never_stopped,
        options: PromptOptions = AS_DEFAULT,
    ) -> list[int]:
        """Return the prompt that requests the answer to the last message.

        `continue_last`: the last message is the beginning of that answer. `max_tokens`: a longer prompt may be cut
        anywhere beyond this number. Raises Failure if the template refuses the messages or a tool is none, and Stopped
        soon after `stopped` returns True.
        """
        unusual: set[str] = set()
        others = texts_beside(messages, options.tools)
        while True:
            escaper = ControlTextEscaper(
                [self._source, *(m.content for m in messages), *others], self._visible, unusual
            )
            escaped = [replace(m, content=escaper.escape(m.content)) for m in messages]
            answered = escaped[:-1] if continue_last else escaped
            prompt = self._render(answered, stopped, options, escaper.escape) + (
                escaped[-1].content if continue_last else ""
            )
            tokens, control_texts = self._tokenize_escaped(prompt, escaper, max_tokens, stopped)
            texts = [*(message.content for message in escaped), *map(escaper.escape, others)]
            unescaped = {control for control in control_texts if any(control in text for text in texts)}
            if unescaped <= unusual:
                return tokens
            unusual |= unescaped

    def _tokenize_escaped(
        self, escaped: str, escaper: ControlTextEscaper, max_tokens: int | None, stopped: Callable[[], bool]
    ) -> tuple[list[int], set[str]]:
        """Return the tokens of an escaped prompt, and the texts of the control tokens among them.

        None of these control tokens contains a character of a message.
        """
        if self.vocabulary.adds_bos and self.vocabulary.bos_text:
            escaped = escaped.removeprefix(self.vocabulary.bos_text)
        plain, control_texts = escaper.unescape(escaped), set[str]()
        while True:
            parts = split_by_origin(escaped, plain, control_texts)
            tokens = self._checked(self._tokens_of(parts, max_tokens, stopped))
            control_texts |= self._control_texts(tokens)
            if split_by_origin(escaped, plain, control_texts) == parts:
                return tokens, control_texts

    def _tokens_of(
        self, parts: Iterable[tuple[str, bool]], max_tokens: int | None, stopped: Callable[[], bool]
    ) -> list[int]:
        tokens: list[int] = []
        for part, special in parts:
            for piece_tokens in self.vocabulary.tokenize_pieces(part, special, self.vocabulary.adds_bos and not tokens):
                if stopped():
                    raise Stopped
                tokens += piece_tokens
                if max_tokens is not None and len(tokens) > max_tokens:
                    return tokens
        return tokens

    def _control_texts(self, tokens: Iterable[int]) -> set[str]:
        texts = {self.vocabulary.text(token) for token in set(tokens) if self.vocabulary.is_control(token)}
        return texts - {""}

    def _checked(self, tokens: list[int]) -> list[int]:
        """Return `tokens`, or raise Failure if there are none or the model has no such tokens."""
        if len(tokens) <= self.vocabulary.adds_bos:
            raise Failure("template.empty")
        if min(tokens) < 0 or max(tokens) >= self.vocabulary.n_tokens:
            raise Failure("template.unknown_tokens")
        return tokens

    def certain_tokens(
        self,
        messages: Sequence[Message],
        max_tokens: int | None = None,
        stopped: Callable[[], bool] = never_stopped,
        options: PromptOptions = AS_DEFAULT,
    ) -> list[int]:
        """Return the beginning of the next prompt that does not depend on what the user will write.

        `max_tokens`, `stopped`, `options` and exceptions are those of `tokens`.
        """
        *before, last = messages or [Message("user", "")]
        stable = before if last.role == "user" else [*before, last]
        typed_text = last.content if last.role == "user" else ""
        a, b = (
            self.tokens([*stable, Message("user", typed_text + end)], False, max_tokens, stopped, options)
            for end in ("a", "0")
        )
        certain = a[: common_prefix(a, b)]
        while certain and self.vocabulary.text(certain[-1])[-1:].isspace():
            certain.pop()  # blanks may merge with the user's blanks into another token
        return certain

    def _render(
        self, messages: Sequence[Message], stopped: Callable[[], bool], options: PromptOptions, escape: Escape
    ) -> str:
        chosen = self._values_of(options.thinking)
        if options.tools or any(message.tool_calls or message.role == "tool" for message in messages):
            support = self.tool_support(stopped)
            if not support.writes:
                messages = with_calls_written(messages, support.format, escape)
            if options.tools and support.tells:
                chosen |= dict.fromkeys(TOOLS, tool_values(options.tools, escape))
            elif options.tools:
                messages = with_tools_told(messages, options.tools, escape)
        try:
            return self._format(messages, stopped, chosen, escape)
        except RenderError as error:
            if error.problem == "endless":
                raise Failure("template.endless") from error
            # Some templates have no system role, or require alternating roles.
            with suppress(RenderError):
                return self._format(with_alternating_roles(messages), stopped, chosen, escape)
            raise Failure("template.refuses", reason=error) from error

    def _format(
        self, messages: Sequence[Message], stopped: Callable[[], bool], chosen: dict[str, Any], escape: Escape = str
    ) -> str:
        values: dict[str, Any] = {
            "messages": message_values(messages, escape),
            "bos_token": self.vocabulary.bos_text,
            "eos_token": self.vocabulary.eos_text,
            "add_generation_prompt": True,
            **chosen,
        }
        if self.kind == "chatml":
            return compile_template(CHATML).render(values)
        return self._renderer.render(self._source, values, stopped)


def texts_beside(messages: Sequence[Message], tools: Sequence[Tool]) -> list[str]:
    """Return the texts of a prompt that strangers wrote, besides the contents of its messages."""
    calls = [text for message in messages for call in message.tool_calls for text in (call.name, call.arguments)]
    return [*calls, *(text for tool in tools for text in (tool.description, tool.parameters))]


def with_alternating_roles(messages: Sequence[Message]) -> list[Message]:
    """Return the chat for a strict template: no system role, and no two messages of one role in a row.

    System text becomes part of the first question, and neighbouring messages of one role are joined.
    """
    joined: list[Message] = []
    for message in messages:
        role = "user" if message.role == "system" else message.role
        if joined and joined[-1].role == role and role != "tool" and not message.tool_calls:
            joined[-1] = replace(joined[-1], content=f"{joined[-1].content}\n\n{message.content}")
        else:
            joined.append(replace(message, role=role))
    return joined
