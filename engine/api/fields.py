"""Fields that several endpoints share, in the form of OpenAI's API, and how they become fields of a Generate.

Fields that nobody here knows are ignored, as clients expect. Those of llama.cpp's server are known too where they mean
the same (`grammar`, `top_k`, `min_p`, `repeat_penalty`, …).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any, Literal

import msgspec

from engine.api.errors import ApiError
from engine.protocol.requests import (
    MOST_SEED,
    MOST_TOP_LOGPROBS,
    Constraint,
    Generate,
    Message,
    Sampling,
    ThinkingEffort,
    ThinkingOptions,
    Tool,
    ToolChoice,
)

MOST_STOPS = 64
LEAST_TOP_P = 1e-6  # for 0, which some clients send to have the likeliest token
EFFORTS: dict[str, ThinkingEffort] = {
    "minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high",
}  # fmt: skip
RawJson = msgspec.Raw | msgspec.UnsetType  # JSON that is handed on as it is


def raw_text(raw: RawJson) -> str:
    """Return JSON as text; "" for a field that is missing or null."""
    text = "" if raw is msgspec.UNSET else bytes(raw).decode()
    return "" if text == "null" else text


class StreamOptions(msgspec.Struct, kw_only=True):
    include_usage: bool | None = None


class JsonSchema(msgspec.Struct, kw_only=True):
    name: str | None = None
    schema: RawJson = msgspec.UNSET
    strict: bool | None = None


class ResponseFormat(msgspec.Struct, kw_only=True):
    """Form of the answer. `schema` beside the type is llama.cpp's and the Responses API's way to give it."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None
    schema: RawJson = msgspec.UNSET


class TemplateValues(msgspec.Struct, kw_only=True):
    enable_thinking: bool | None = None
    thinking: bool | None = None
    reasoning_effort: str | None = None


class SamplingFields(msgspec.Struct, kw_only=True):
    """Fields that say how tokens are chosen, when an answer ends, and what is told of it."""

    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    repeat_penalty: float | None = None
    repeat_last_n: int | None = None
    seed: int | None = None
    logit_bias: dict[str, float] | list[tuple[int, float]] | None = None
    n: int | None = None
    stop: str | list[str] | None = None
    max_tokens: int | None = None
    user: str | None = None
    store: bool | None = None
    grammar: str | None = None
    json_schema: RawJson = msgspec.UNSET
    response_format: ResponseFormat | None = None

    @property
    def with_usage(self) -> bool:
        """Whether a stream ends with the numbers of tokens."""
        return bool(self.stream_options and self.stream_options.include_usage)

    def sampling(self, default: Sampling) -> Sampling:
        """Return how tokens are chosen: what the request says, else the default."""
        given: dict[str, Any] = {option.name: getattr(self, option.name) for option in fields(Sampling)}
        given["logit_bias"] = self._biases() or None
        if self.top_p is not None:
            given["top_p"] = max(self.top_p, LEAST_TOP_P)
        if self.top_k is not None:
            given["top_k"] = max(self.top_k, 0)
        if self.seed is not None:
            given["seed"] = None if self.seed < 0 else self.seed % (MOST_SEED + 1)
        return with_given(default, given)

    def _biases(self) -> tuple[tuple[int, float], ...]:
        pairs = self.logit_bias.items() if isinstance(self.logit_bias, dict) else self.logit_bias or ()
        try:
            return tuple((int(token), bias) for token, bias in pairs)
        except ValueError as error:
            raise ApiError(400, "logit_bias takes token ids as its keys.", "bad_value", "logit_bias") from error

    def stops(self) -> tuple[str, ...]:
        """Return the strings that end the answer. Raises ApiError."""
        stops = (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())
        if len(stops) > MOST_STOPS:
            raise ApiError(400, f"stop takes up to {MOST_STOPS} strings.", "bad_value", "stop")
        return tuple(filter(None, stops))

    def constraint(self) -> Constraint | None:
        """Return the form that the answer must have. Raises ApiError if the request gives two."""
        of_format = constraint_of(self.response_format)
        if schema := raw_text(self.json_schema):
            of_llama: Constraint | None = Constraint("json_schema", schema)
        else:
            of_llama = Constraint("grammar", self.grammar) if self.grammar else None
        if of_format and of_llama:
            raise ApiError(400, "Give either response_format or a grammar, not both.", "bad_value", "response_format")
        return of_format or of_llama

    def text_request(self, default: Generate, limit: int | None, top_logprobs: int | None) -> Generate:
        """Return the engine's request to continue a text, without the text. Raises ApiError."""
        return replace(
            default,
            sampling=self.sampling(default.sampling),
            max_tokens=limit,
            stop=self.stops(),
            constraint=self.constraint(),
            top_logprobs=top_logprobs,
        )


def with_given(default: Sampling, given: dict[str, Any]) -> Sampling:
    """Return the default with the options that are given; those that are None are left open."""
    return replace(default, **{name: value for name, value in given.items() if value is not None})


def constraint_of(form: ResponseFormat | None) -> Constraint | None:
    """Return the form that `response_format` asks for. Raises ApiError if its schema is missing."""
    if form is None or form.type == "text":
        return None
    if schema := raw_text(form.json_schema.schema if form.json_schema else form.schema):
        return Constraint("json_schema", schema)
    if form.type == "json_schema":
        raise ApiError(400, "response_format lacks the schema.", "bad_value", "response_format.json_schema")
    return Constraint("json_object")


def check_single(name: str, count: int | None) -> None:
    """Raise ApiError if the field `name` asks for more than one answer."""
    if count not in (None, 1):
        raise ApiError(400, f"Only one answer can be computed at a time: {name} must be 1.", "bad_value", name)


def check_top_logprobs(name: str, count: int | None) -> None:
    """Raise ApiError if the field `name` asks for the probabilities of fewer tokens than none, or of too many."""
    if count is not None and not 0 <= count <= MOST_TOP_LOGPROBS:
        raise ApiError(400, f"{name} must lie between 0 and {MOST_TOP_LOGPROBS}.", "bad_value", name)


def length_limit(*given: int | None) -> int | None:
    """Return the longest answer in tokens: the first number that is given; None, or one below 0: no limit."""
    limit = next((number for number in given if number is not None), None)
    return None if limit is None or limit < 0 else limit


def thinking_options(
    default: ThinkingOptions, effort: str | None, on: bool | None, budget: int | None
) -> ThinkingOptions:
    """Return whether and how much to think: `effort` and `on` as requests name them, `budget` in tokens (0: off)."""
    options = default
    if effort:
        if effort == "none":
            on = False
        elif effort in EFFORTS:
            options = replace(options, effort=EFFORTS[effort], mode="on")
        else:
            raise ApiError(400, f"reasoning_effort must not be {effort!r:.40}.", "bad_value", "reasoning_effort")
    if budget is not None and budget >= 0:
        on = budget > 0 if on is None else on
        options = replace(options, budget=budget)
    return options if on is None else replace(options, mode="on" if on else "off")


def chat_id(messages: tuple[Message, ...], store: bool | None, usual: bool) -> str:
    """Return the id under which a chat's keys and values may be saved, so that its next request finds them.

    A client sends no id, but a chat begins with the same messages each time. Empty unless the request says
    `"store": true`, or says nothing where `usual` is True: nothing of the chat is kept on disk.
    """
    if not (usual if store is None else store):
        return ""
    questions = [index for index, message in enumerate(messages) if message.role == "user"]
    start = messages[: questions[0] + 1] if questions else messages
    return "api-" + hashlib.sha256(repr(start).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def chat_request(
    default: Generate,
    messages: tuple[Message, ...],
    *,
    sampling: Callable[[Sampling], Sampling],
    stops: Iterable[str],
    structured: bool,
    **more: Any,
) -> Generate:
    """Return the engine's request to answer a chat; `more` are further fields of Generate.

    `sampling` changes the default's. `structured`: whether the answer has a form or may call tools; such answers repeat
    quotes and names by nature, so the defaults for them have no penalty.
    """

    def changed(usual: Sampling) -> Sampling:
        return sampling(replace(usual, repeat_penalty=1.0, presence_penalty=0.0) if structured else usual)

    thinking, last = default.sampling_thinking, messages[-1]
    return replace(
        default,
        messages=messages,
        sampling=changed(default.sampling),
        sampling_thinking=thinking and changed(thinking),
        stop=(*default.stop, *stops),
        continue_last=last.role == "assistant" and bool(last.content.strip()) and len(messages) > 1,
        **more,
    )


def tool_fields(tools: tuple[Tool, ...], choice: tuple[ToolChoice, str], parallel: bool) -> dict[str, Any]:
    """Return the fields of Generate for tools; `choice`: whether one must be called, and the only one that may be.

    Raises ApiError if it is not among the tools.
    """
    rule, name = choice
    if name and name not in {tool.name for tool in tools}:
        raise ApiError(400, f"tool_choice names {name!r:.80}, which is no tool of this request.", "bad_value", "tools")
    if rule == "required" and not tools:
        raise ApiError(400, "tool_choice asks for a call, and there are no tools.", "bad_value", "tool_choice")
    return {"tools": tools, "tool_choice": rule, "tool": name, "parallel_tool_calls": parallel}
