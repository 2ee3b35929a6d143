"""Chat template: turns messages into prompt tokens, by the model's own template, or by ChatML if the model has none.

A model's own template is rendered in another process (`engine.tokenization.renderer`); ChatML, which is ours, in this
one.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

from common.failures import Failure
from common.sentences import Sentence
from engine.protocol.events import ThinkingControls
from engine.protocol.requests import Message, Picture, ThinkingEffort, ThinkingOptions, Tool
from engine.stop import Stopped
from engine.tokenization.escaping import ControlTextEscaper, cut_within, find_tags, split_by_origin
from engine.tokenization.jinja import compile_template
from engine.tokenization.pictures import text_tokens
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
CHANNEL = "<|channel|>"  # gpt-oss's, which llama.cpp does not take for a control token
CHATML_NAME = "chatml"  # in place of a template: the name that llama.cpp has for it
PROBED_QUESTION = Message("user", "probe of questions")
CHATML_STOPS = ("<|im_end|>", "<|im_start|>")
MAX_TAGS = 200  # a hostile template may contain any number
# Values with which templates are told whether the model thinks (Qwen3, SmolLM3, Gemma 4 and others; Granite, DeepSeek)
# and how much (gpt-oss).
SWITCHES, EFFORT = ("enable_thinking", "thinking"), "reasoning_effort"
TOOLS = ("tools", "xml_tools")  # how templates are told the tools; the second name is SmolLM3's
EFFORTS: tuple[ThinkingEffort, ...] = ("low", "medium", "high")
NO_CHOICE = ThinkingOptions()


def never_stopped() -> bool:
    """Return False: a `stopped` callback that never stops."""
    return False


@dataclass(frozen=True, slots=True)
class PromptOptions:
    """Options of a prompt besides its messages: what the user chose about reasoning, and the tools that may be called.

    `see`: returns the tokens that stand for each of the prompt's pictures; None: messages must have no pictures.
    `max_tokens`: a longer prompt may be cut anywhere beyond this number. `stopped`: returns whether to stop.
    """

    thinking: ThinkingOptions = NO_CHOICE
    tools: tuple[Tool, ...] = ()
    see: Callable[[Sequence[Picture]], list[list[int]]] | None = None
    max_tokens: int | None = None
    stopped: Callable[[], bool] = never_stopped


AS_DEFAULT = PromptOptions()


class ChatTemplate:
    """A model's chat template with its vocabulary.

    `kind`: whose template it is. `stops`: strings that end an answer besides the vocabulary's end tokens. `notes`: what
    the user should know about the template. `thinking`: what it lets the user choose about the model's reasoning.
    """

    def __init__(
        self,
        source: str,
        vocabulary: ModelVocabulary,
        stopped: Callable[[], bool] = never_stopped,
        renderer: Renderer | None = None,
    ) -> None:
        """Compile the template `source` (empty: use ChatML). Raises Stopped if `stopped` returns True meanwhile.

        `renderer`: one that was started already.
        """
        self.vocabulary = vocabulary
        self.kind: Literal["model", "chatml"] = "chatml"
        self.notes: tuple[Sentence, ...] = ()
        self.stops: tuple[str, ...] = CHATML_STOPS
        self._source = CHATML
        self._in_parts = False  # whether the template takes a message's content as a list of parts, as SmolVLM's does
        self._renderer = renderer or Renderer()
        weakref.finalize(self, self._renderer.close)
        self._visible: frozenset[str] = frozenset()
        self._marks = self._find_marks()
        self.thinking = ThinkingControls()
        self._tool_support: ToolSupport | None = ToolSupport()
        if not source.strip():
            self.notes = (Sentence.of("template.missing"),)
        elif source.strip() == CHATML_NAME:
            pass
        elif problem := self._find_problem(source, stopped):
            self.notes = (Sentence.of("template.damaged", reason=problem),)
        else:
            self._use(source, stopped)

    def _use(self, source: str, stopped: Callable[[], bool]) -> None:
        """Render prompts by the model's own template. Raises Stopped."""
        self.kind, self.stops, self._source = "model", (), source
        self._tool_support = None  # not known yet
        tags = sorted(find_tags(source))[:MAX_TAGS]
        self._visible = frozenset(
            tag for tag in tags if not self._control_texts(self.vocabulary.tokenize(tag, special=True))
        )
        self._marks = self._find_marks()
        self.thinking = self._find_controls(stopped)

    def _find_problem(self, source: str, stopped: Callable[[], bool]) -> str | Sentence | None:
        """Return what is wrong with the model's own template, found by rendering a question. Raises Stopped."""
        problem: Sentence | None = None
        try:
            if self._keeps_question(source, stopped):
                return None
            problem = Sentence.of("template.no_question")
        except RenderError as error:
            if error.problem != "refuses":  # one that refuses may accept other chats
                return str(error) or Sentence.of("template.limits")
        self._in_parts = True
        with suppress(RenderError):
            if self._keeps_question(source, stopped):
                return None
        self._in_parts = False
        return problem

    def _keeps_question(self, source: str, stopped: Callable[[], bool]) -> bool:
        values = self._values_of_chat((PROBED_QUESTION,))
        return PROBED_QUESTION.content in self._renderer.render(source, values, stopped)

    def _find_marks(self) -> frozenset[str]:
        """Return the texts in the template's source that become a token of their own in any text.

        llama.cpp calls such tokens user-defined. Among them are `<|channel|>` of gpt-oss and `<think>` of Qwen.
        """
        tags, vocabulary = sorted(find_tags(self._source))[:MAX_TAGS], self.vocabulary
        return frozenset(tag for tag in tags if tag in map(vocabulary.text, vocabulary.tokenize(tag, special=False)))

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
        if self._tool_support is not None:
            return self._tool_support

        def render(messages: Sequence[Message]) -> str:
            with suppress(RenderError):
                return self._format(messages, stopped, dict.fromkeys(TOOLS, tool_values((PROBE,), str)))
            return ""

        def has_token(text: str) -> bool:
            tokens = self.vocabulary.tokenize(text, special=True)
            return len(tokens) == 1 and self.vocabulary.is_control(tokens[0])

        self._tool_support = find_tool_support(self._source, has_token, render)
        return self._tool_support

    def thought_openings(self, thinking: ThinkingOptions) -> list[int]:
        """Return the tokens with which the model may begin to think by itself."""
        if thinking.mode == "off" or not (thinking.mode == "on" or self.thinking.thinks):
            return []
        openings = [self.vocabulary.tokenize(marker, special=True) for marker in OPENINGS if marker in self._source]
        return [
            tokens[0]
            for tokens in openings
            if len(tokens) == 1 or self.vocabulary.is_control(tokens[0]) or self.vocabulary.text(tokens[0]) == CHANNEL
        ]

    def close(self) -> None:
        """End the template's process and free its memory; the next use starts it again."""
        self._renderer.close()

    def tokens(
        self, messages: Sequence[Message], options: PromptOptions = AS_DEFAULT, continue_last: bool = False
    ) -> list[int]:
        """Return the prompt that requests the answer to the last message.

        `continue_last`: the last message is the beginning of that answer. Raises Failure if the template refuses the
        messages or a tool is none, and Stopped soon after `options.stopped` returns True.
        """
        unusual: set[str] = set()
        others = texts_beside(messages, options.tools)
        pictures = _Pictures.of(messages, options, (self._source, *others))
        while True:
            taken = [self._source, *(m.content for m in messages), *others]
            escaper = ControlTextEscaper(taken, self._visible - self._marks, unusual)
            # Templates look for marks in answers, to leave out thoughts. Nobody else's text has any.
            of_answer = ControlTextEscaper(taken, self._visible, unusual)
            escapers = {message.role: escaper for message in messages} | {"assistant": of_answer}
            escaped = [replace(m, content=pictures.marked(m, escapers[m.role].escape(m.content))) for m in messages]
            answered = escaped[:-1] if continue_last else escaped
            prompt = self._render(answered, options, escaper.escape) + (escaped[-1].content if continue_last else "")
            pictures.check(prompt)
            tokens, control_texts = self._tokenize_escaped(prompt, escaper, pictures, options)
            texts = [*(message.content for message in escaped), *map(escaper.escape, others)]
            unescaped = {control for control in control_texts if any(control in text for text in texts)}
            if unescaped <= unusual:
                return tokens
            unusual |= unescaped

    def _tokenize_escaped(
        self, escaped: str, escaper: ControlTextEscaper, pictures: _Pictures, options: PromptOptions
    ) -> tuple[list[int], set[str]]:
        """Return the tokens of an escaped prompt, and the texts of the control tokens among them.

        None of these control tokens contains a character of a message, nor does any mark, except for those of answers.
        """
        if self.vocabulary.adds_bos and self.vocabulary.bos_text:
            escaped = escaped.removeprefix(self.vocabulary.bos_text)
        plain = escaper.unescape(escaped)
        parts, control_texts = [(plain, True)], set[str]()  # whole at first, to find all control tokens
        while True:
            tokens = self._checked(self._tokens_of(pictures.split(parts), options))
            control_texts |= self._control_texts(tokens)
            before, parts = parts, split_by_origin(escaped, plain, control_texts | self._marks)
            if parts == before:
                return tokens, control_texts

    def _tokens_of(self, parts: Iterable[tuple[str, bool, list[int]]], options: PromptOptions) -> list[int]:
        tokens: list[int] = []
        for part, special, seen in parts:
            tokens += seen
            for text in (part,) if special else cut_within(part, self._marks):
                add_bos = self.vocabulary.adds_bos and not tokens
                for piece_tokens in self.vocabulary.tokenize_pieces(text, special, add_bos):
                    if options.stopped():
                        raise Stopped
                    tokens += piece_tokens
                    if options.max_tokens is not None and len(tokens) > options.max_tokens:
                        return tokens
        return tokens

    def _control_texts(self, tokens: Iterable[int]) -> set[str]:
        shown = set(text_tokens(list(tokens)))
        texts = {self.vocabulary.text(token) for token in shown if self.vocabulary.is_control(token)}
        return texts - {""}

    def _checked(self, tokens: list[int]) -> list[int]:
        """Return `tokens`, or raise Failure if there are none or the model has no such tokens."""
        if len(tokens) <= self.vocabulary.adds_bos:
            raise Failure("template.empty")
        if max(tokens) >= self.vocabulary.n_tokens:  # negative ones stand for pictures
            raise Failure("template.unknown_tokens")
        return tokens

    def certain_tokens(self, messages: Sequence[Message], options: PromptOptions = AS_DEFAULT) -> list[int]:
        """Return the beginning of the next prompt that does not depend on what the user will write.

        Raises what `tokens` raises.
        """
        *before, last = messages or [Message("user", "")]
        stable, typed = (before, last) if last.role == "user" else ([*before, last], Message("user", ""))
        a, b = (self.tokens([*stable, replace(typed, content=typed.content + end)], options) for end in ("a", "0"))
        certain = a[: common_prefix(a, b)]
        while certain and self.vocabulary.text(certain[-1])[-1:].isspace():
            certain.pop()  # blanks may merge with the user's blanks into another token
        return certain

    def _render(self, messages: Sequence[Message], options: PromptOptions, escape: Escape) -> str:
        chosen, stopped = self._values_of(options.thinking), options.stopped
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
            for keeps_system in (True, False):
                with suppress(RenderError):
                    strict = with_alternating_roles(messages, keeps_system)
                    return self._format(strict, stopped, chosen, escape)
            raise Failure("template.refuses", reason=error) from error

    def _format(
        self, messages: Sequence[Message], stopped: Callable[[], bool], chosen: dict[str, Any], escape: Escape = str
    ) -> str:
        values = self._values_of_chat(messages, escape) | chosen
        if self.kind == "chatml":
            return compile_template(CHATML).render(values)
        return self._renderer.render(self._source, values, stopped)

    def _values_of_chat(self, messages: Sequence[Message], escape: Escape = str) -> dict[str, Any]:
        listed = message_values(messages, escape)
        if self._in_parts:
            listed = [value | {"content": [{"type": "text", "text": value["content"]}]} for value in listed]
        return {
            "messages": listed,
            "bos_token": self.vocabulary.bos_text,
            "eos_token": self.vocabulary.eos_text,
            "add_generation_prompt": True,
        }


MARKERS = range(0xF0000, 0xFFFFE)  # private-use characters that no escape is made of (`escaping.PRIVATE`)


@dataclass(frozen=True, slots=True)
class _Pictures:
    """The pictures of a prompt, in the order of its messages.

    A template sees a picture as one character, `marker`, in front of the message's text. Model makers' own notations
    for pictures differ; libmtmd knows them and puts the tokens around each picture.
    """

    marker: str
    tokens: tuple[list[int], ...]

    @classmethod
    def of(cls, messages: Sequence[Message], options: PromptOptions, others: Iterable[str]) -> _Pictures:
        """Return the messages' pictures, marked by a character that occurs in no text."""
        shown = [picture for message in messages for picture in message.pictures]
        if shown and not options.see:
            raise Failure("no_vision.model")
        texts = [*others, *(message.content for message in messages)]
        marker = next(char for char in map(chr, MARKERS) if not any(char in text for text in texts)) if shown else ""
        return cls(marker, tuple(options.see(shown)) if options.see else ())

    def marked(self, message: Message, content: str) -> str:
        """Return a message's content with its pictures in front."""
        return self.marker * len(message.pictures) + content

    def check(self, prompt: str) -> None:
        """Raise Failure unless the template has kept each picture once."""
        if self.tokens and prompt.count(self.marker) != len(self.tokens):
            raise Failure("template.pictures")

    def split(self, parts: Iterable[tuple[str, bool]]) -> Iterator[tuple[str, bool, list[int]]]:
        """Yield the parts of a prompt, cut at its pictures, with the tokens of the picture before each, if any."""
        waiting = iter(self.tokens)
        for part, special in parts:
            first, *rest = part.split(self.marker) if self.tokens else (part,)
            yield first, special, []
            for text in rest:
                yield text, special, next(waiting)


def texts_beside(messages: Sequence[Message], tools: Sequence[Tool]) -> list[str]:
    """Return the texts that messages and tools bring into a prompt besides the messages' contents.

    They are tool calls, thoughts, and the tools' descriptions and parameters.
    """
    calls = [text for message in messages for call in message.tool_calls for text in (call.name, call.arguments)]
    thoughts = [message.reasoning for message in messages if message.reasoning]
    return [*calls, *thoughts, *(text for tool in tools for text in (tool.description, tool.parameters))]


def with_alternating_roles(messages: Sequence[Message], keeps_system: bool) -> list[Message]:
    """Return the chat for a strict template: the user begins it, and no two messages of one role are in a row.

    An empty question comes before an answer that begins the chat. Neighbouring messages of one role are joined. System
    text becomes part of a question; `keeps_system`: except for that in front.
    """
    joined: list[Message] = []
    for message in messages:
        in_front = not joined or joined[-1].role == "system"
        role = "user" if message.role == "system" and not (keeps_system and in_front) else message.role
        if role == "assistant" and in_front:
            joined.append(Message("user", ""))
        last = joined[-1] if joined else None
        if last and last.role == role and role != "tool" and not (last.tool_calls or message.tool_calls):
            joined[-1] = replace(last, content=f"{last.content}\n\n{message.content}")
        else:
            joined.append(replace(message, role=role))
    return joined
