"""`/v1/chat/completions`: OpenAI's chat form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from engine.api import fields
from engine.api.content import ChatMessage, read_chat_messages
from engine.api.errors import ApiError
from engine.api.forms import OpenAIForm
from engine.api.numbers import timings
from engine.protocol.events import (
    Event,
    Finished,
    Text,
    Thinking,
    TokenLogprob,
    ToolCallArguments,
    ToolCallStarted,
)
from engine.protocol.requests import Generate, Tool, ToolChoice


class Function(msgspec.Struct, kw_only=True):
    name: str
    description: str | None = None
    parameters: fields.RawJson = msgspec.UNSET


class ChatTool(msgspec.Struct, kw_only=True):
    function: Function
    type: str = "function"


class ChatRequest(fields.SamplingFields, kw_only=True):
    """Body of a request for a chat's next message."""

    messages: list[ChatMessage]
    max_completion_tokens: int | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    tools: list[ChatTool] | None = None
    tool_choice: str | ChatTool | None = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: str | None = None
    reasoning_budget: int | None = None
    thinking_budget_tokens: int | None = None
    chat_template_kwargs: fields.TemplateValues | None = None


RULES: dict[str, ToolChoice] = {"auto": "auto", "none": "none", "required": "required", "any": "required"}


def tools_of(body: ChatRequest) -> tuple[Tool, ...]:
    functions = [tool.function for tool in body.tools or ()]
    return tuple(Tool(each.name, each.description or "", fields.raw_text(each.parameters)) for each in functions)


def choice_of(choice: str | ChatTool | None) -> tuple[ToolChoice, str]:
    """Return whether tools must be called, and the only one that may be. Raises ApiError."""
    if isinstance(choice, ChatTool):
        return "required", choice.function.name
    rule = RULES.get("auto" if choice is None else choice)
    if rule is None:
        raise ApiError(400, "tool_choice must be auto, none, required or a function.", "bad_value", "tool_choice")
    return rule, ""


class ChatForm(OpenAIForm[ChatRequest]):
    """The answer in the form of chat completions."""

    prefix = "chatcmpl-"
    kind, chunk_kind = "chat.completion", "chat.completion.chunk"

    def requests_of(self, default: Generate) -> list[Generate]:
        body = self.body
        fields.check_single("n", body.n)
        if body.logprobs:
            fields.check_top_logprobs("top_logprobs", body.top_logprobs)
        messages, constraint = read_chat_messages(body.messages), body.constraint()
        values = body.chat_template_kwargs or fields.TemplateValues()
        effort = body.reasoning_effort or values.reasoning_effort
        on = values.enable_thinking if values.thinking is None else values.thinking
        budget = body.thinking_budget_tokens if body.reasoning_budget is None else body.reasoning_budget
        tools = fields.tool_fields(tools_of(body), choice_of(body.tool_choice), body.parallel_tool_calls is not False)
        request = fields.chat_request(
            default,
            messages,
            sampling=body.sampling,
            stops=body.stops(),
            structured=bool(constraint or body.tools),
            max_tokens=fields.length_limit(body.max_completion_tokens, body.max_tokens, default.max_tokens),
            chat=fields.chat_id(messages, body.store, self.store),
            thinking=fields.thinking_options(default.thinking, effort, on, budget),
            constraint=constraint,
            top_logprobs=body.top_logprobs or 0 if body.logprobs else None,
            **tools,
        )
        return [request]

    def whole(self) -> dict[str, Any]:
        written = self.written
        message: dict[str, Any] = {"role": "assistant", "content": written.text, "refusal": None}
        if written.reasoning:
            message["reasoning_content"] = written.reasoning.strip()
        if written.calls:
            message["content"] = written.text or None
            message["tool_calls"] = [
                {"id": call.call, "type": "function", "function": {"name": call.name, "arguments": call.text}}
                for call in written.calls
            ]
        logprobs = logprobs_of(written.logprobs) if self.body.logprobs else None
        reason = self.finish_reason(written.finished)
        return self.choices([{"index": 0, "message": message, "logprobs": logprobs, "finish_reason": reason}])

    def begin(self) -> Iterator[bytes]:
        yield self._delta({"role": "assistant", "content": ""})

    def pieces(self, event: Event) -> Iterator[bytes]:
        match event:
            case Text():
                yield self._delta({"content": event.text})
            case Thinking():
                yield self._delta({"reasoning_content": event.text})
            case ToolCallStarted():
                function = {"name": event.name, "arguments": ""}
                call = {"index": event.index, "id": event.call, "type": "function", "function": function}
                yield self._delta({"tool_calls": [call]})
            case ToolCallArguments():
                yield self._delta({"tool_calls": [{"index": event.index, "function": {"arguments": event.text}}]})
            case Finished():
                yield self._delta({}, event)

    def usage(self) -> dict[str, Any]:
        return {**super().usage(), "timings": timings(self.written.finished.statistics)}

    def _delta(self, delta: dict[str, Any], end: Finished | None = None) -> bytes:
        tokens = self.written.take_logprobs()
        logprobs = logprobs_of(tokens) if tokens else None
        choice = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": self.finish_reason(end)}
        return self.chunk(choice, end)


def logprobs_of(tokens: list[TokenLogprob]) -> dict[str, Any]:
    """Return the probabilities of an answer's tokens."""

    def entry(token: TokenLogprob) -> dict[str, Any]:
        return {"token": token.text, "logprob": token.logprob, "bytes": list(token.bytes)}

    return {
        "content": [{**entry(token), "top_logprobs": list(map(entry, token.top))} for token in tokens],
        "refusal": None,
    }
