"""`/v1/chat/completions`: OpenAI's chat form."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import msgspec

from engine.api import sse
from engine.api.content import ChatMessage, messages_of
from engine.api.errors import ApiError
from engine.api.fields import (
    RawJson,
    SamplingFields,
    TemplateValues,
    chat_id,
    length_limit,
    raw_text,
    thinking_options,
    with_sampling,
    with_tools,
)
from engine.api.numbers import FINISH, timings, usage
from engine.api.written import Written, trimmed
from engine.protocol.events import (
    Event,
    Finished,
    Logprobs,
    Text,
    Thinking,
    TokenLogprob,
    ToolCallArguments,
    ToolCallStarted,
)
from engine.protocol.requests import MOST_TOP_LOGPROBS, Generate, Tool, ToolChoice


class Function(msgspec.Struct, kw_only=True):
    name: str
    description: str | None = None
    parameters: RawJson = msgspec.UNSET


class ChatTool(msgspec.Struct, kw_only=True):
    function: Function
    type: str = "function"


class NamedFunction(msgspec.Struct, kw_only=True):
    name: str


class NamedTool(msgspec.Struct, kw_only=True):
    function: NamedFunction
    type: str = "function"


class ChatRequest(SamplingFields, kw_only=True):
    """Body of a request for a chat's next message."""

    messages: list[ChatMessage]
    max_completion_tokens: int | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    tools: list[ChatTool] | None = None
    tool_choice: str | NamedTool | None = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: str | None = None
    reasoning_budget: int | None = None
    thinking_budget_tokens: int | None = None
    chat_template_kwargs: TemplateValues | None = None


def generate_of(body: ChatRequest, default: Generate, store: bool = False) -> Generate:
    """Return the engine's request; `default` and `store` are what the client leaves open. Raises ApiError."""
    body.check_count()
    messages = messages_of(body.messages)
    constraint = body.constraint()
    values = body.chat_template_kwargs or TemplateValues()
    on = values.enable_thinking if values.thinking is None else values.thinking
    budget = body.thinking_budget_tokens if body.reasoning_budget is None else body.reasoning_budget
    made = replace(
        with_sampling(default, body.sampling, bool(constraint or body.tools)),
        messages=messages,
        max_tokens=length_limit(body.max_completion_tokens, body.max_tokens, default.max_tokens),
        stop=(*default.stop, *body.stops()),
        chat=chat_id(messages, body.store, store),
        continue_last=continues(messages[-1].role, messages[-1].content, len(messages)),
        thinking=thinking_options(default.thinking, body.reasoning_effort or values.reasoning_effort, on, budget),
        constraint=constraint,
        top_logprobs=top_logprobs(body.logprobs, body.top_logprobs),
    )
    choice, name = choice_of(body.tool_choice)
    return with_tools(made, tuple(map(tool_of, body.tools or ())), choice, name, body.parallel_tool_calls)


def continues(role: str, content: str, count: int) -> bool:
    """Return whether the last message is the beginning of the answer, which is to be continued."""
    return role == "assistant" and bool(content.strip()) and count > 1


def top_logprobs(wanted: bool | None, most: int | None) -> int | None:
    if not wanted:
        return None
    if not 0 <= (most or 0) <= MOST_TOP_LOGPROBS:
        raise ApiError(400, f"top_logprobs must lie between 0 and {MOST_TOP_LOGPROBS}.", "bad_value", "top_logprobs")
    return most or 0


def tool_of(tool: ChatTool) -> Tool:
    function = tool.function
    return Tool(function.name, function.description or "", raw_text(function.parameters))


def choice_of(choice: str | NamedTool | None) -> tuple[ToolChoice, str]:
    """Return whether tools must be called, and the only one that may be."""
    match choice:
        case None | "auto":
            return "auto", ""
        case "none":
            return "none", ""
        case "required" | "any":
            return "required", ""
        case NamedTool():
            return "required", choice.function.name
    raise ApiError(400, "tool_choice must be auto, none, required or a function.", "bad_value", "tool_choice")


class ChatForm:
    """The answer in the form of chat completions."""

    def __init__(self, body: ChatRequest, model: str) -> None:
        self.body, self.model = body, model
        self.id, self.created = f"chatcmpl-{uuid.uuid4().hex}", int(time.time())

    def whole(self, written: Written) -> dict[str, Any]:
        """Return the complete answer."""
        end = written.finished
        message: dict[str, Any] = {"role": "assistant", "content": written.text, "refusal": None}
        if written.reasoning:
            message["reasoning_content"] = written.reasoning.strip()
        if written.calls:
            message["content"] = written.text or None
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in written.calls
            ]
        choice = {
            "index": 0,
            "message": message,
            "logprobs": logprobs_of(written.logprobs) if self.body.logprobs else None,
            "finish_reason": "tool_calls" if written.calls else FINISH[end.statistics.stop_reason],
        }
        return {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": usage(end.statistics),
            "timings": timings(end.statistics),
        }

    async def stream(self, events: AsyncIterator[Event | None]) -> AsyncIterator[bytes]:
        """Yield the answer in pieces."""
        yield self._chunk({"role": "assistant", "content": ""})
        called, probabilities = False, list[TokenLogprob]()
        async for event in trimmed(events):
            delta: dict[str, Any] | None = None
            match event:
                case None:
                    yield sse.WAITING
                case Logprobs():
                    probabilities += event.tokens
                case Text():
                    delta = {"content": event.text}
                case Thinking():
                    delta = {"reasoning_content": event.text}
                case ToolCallStarted():
                    called = True
                    function = {"name": event.name, "arguments": ""}
                    call = {"index": event.index, "id": event.call, "type": "function", "function": function}
                    delta = {"tool_calls": [call]}
                case ToolCallArguments():
                    delta = {"tool_calls": [{"index": event.index, "function": {"arguments": event.text}}]}
                case Finished():
                    async for chunk in self._end(event, called, probabilities):
                        yield chunk
            if delta:
                yield self._chunk(delta, logprobs=probabilities)
                probabilities = []

    async def _end(self, end: Finished, called: bool, rest: list[TokenLogprob]) -> AsyncIterator[bytes]:
        numbers = end.statistics
        reason = "tool_calls" if called else FINISH[numbers.stop_reason]
        yield self._chunk({}, reason, rest, timings=timings(numbers))
        if self.body.with_usage:
            usage_chunk = {"choices": [], "usage": usage(numbers), "timings": timings(numbers)}
            yield sse.data({**self._head("chat.completion.chunk"), **usage_chunk})
        yield sse.DONE

    def _chunk(
        self, delta: dict[str, Any], reason: str | None = None, logprobs: list[TokenLogprob] | None = None, **more: Any
    ) -> bytes:
        probabilities = logprobs_of(logprobs) if logprobs else None
        choice = {"index": 0, "delta": delta, "logprobs": probabilities, "finish_reason": reason}
        if self.body.with_usage:
            more["usage"] = None
        return sse.data({**self._head("chat.completion.chunk"), "choices": [choice], **more})

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": self.id, "object": kind, "created": self.created, "model": self.model,
            "system_fingerprint": "chickadee",
        }  # fmt: skip


def logprobs_of(tokens: list[TokenLogprob]) -> dict[str, Any]:
    """Return the probabilities of an answer's tokens."""

    def entry(token: TokenLogprob) -> dict[str, Any]:
        return {"token": token.text, "logprob": token.logprob, "bytes": list(token.bytes)}

    return {
        "content": [{**entry(token), "top_logprobs": list(map(entry, token.top))} for token in tokens],
        "refusal": None,
    }


def error_chunk(error: ApiError) -> bytes:
    """Return the event that ends a stream with an error."""
    return sse.data(error.as_openai)
