"""`/v1/messages`: Anthropic's form of chats, streamed as named events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import msgspec

from engine.api import fields
from engine.api.content import ContentBlock, read_content
from engine.api.errors import ApiError
from engine.api.forms import AnswerForm, sse_event
from engine.api.written import Block, BlockChange
from engine.protocol.events import Event, Finished, PrefillProgress
from engine.protocol.requests import (
    Constraint,
    Count,
    Generate,
    Message,
    StopReason,
    Tool,
    ToolCall,
    ToolChoice,
)

STOPPED: dict[StopReason, str] = {
    "end": "end_turn", "stop": "stop_sequence", "length": "max_tokens", "context": "max_tokens",
    "tool_calls": "tool_use",
}  # fmt: skip


class InputMessage(msgspec.Struct, kw_only=True):
    role: Literal["user", "assistant", "system"]
    content: str | list[ContentBlock]


class InputTool(msgspec.Struct, kw_only=True):
    name: str
    description: str | None = None
    input_schema: fields.RawJson = msgspec.UNSET
    type: str | None = None


class Choice(msgspec.Struct, kw_only=True):
    type: Literal["auto", "any", "tool", "none"]
    name: str = ""
    disable_parallel_tool_use: bool | None = None


class ThinkingConfig(msgspec.Struct, kw_only=True):
    type: Literal["enabled", "disabled", "adaptive"]
    budget_tokens: int | None = None


class OutputFormat(msgspec.Struct, kw_only=True):
    type: Literal["json_schema"]
    schema: msgspec.Raw


class OutputConfig(msgspec.Struct, kw_only=True):
    format: OutputFormat | None = None
    effort: str | None = None


class CountRequest(msgspec.Struct, kw_only=True):
    """Body of a request to count a chat's tokens."""

    messages: list[InputMessage]
    model: str | None = None
    system: str | list[ContentBlock] | None = None
    tools: list[InputTool] | None = None


class MessagesRequest(CountRequest, kw_only=True):
    """Body of a request for a chat's next message."""

    max_tokens: int
    stream: bool | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop_sequences: list[str] | None = None
    tool_choice: Choice | None = None
    thinking: ThinkingConfig | None = None
    output_config: OutputConfig | None = None
    output_format: OutputFormat | None = None
    store: bool | None = None  # not Anthropic's, but the same for all forms of chats


def count_of(body: CountRequest) -> Count:
    """Return the engine's request to count the chat's tokens. Raises ApiError."""
    return Count(0, messages=read_anthropic_messages(body), tools=tools_of(body))


def tools_of(body: CountRequest) -> tuple[Tool, ...]:
    """Return the tools of the client; those that Anthropic itself would run are not there."""
    return tuple(
        Tool(tool.name, tool.description or "", fields.raw_text(tool.input_schema))
        for tool in body.tools or ()
        if tool.type in (None, "custom")
    )


def read_anthropic_messages(body: CountRequest) -> tuple[Message, ...]:
    """Return the messages in the engine's form. Raises ApiError for what no model here can read."""
    if not body.messages:
        raise ApiError(400, "There is no message to answer.", "empty_prompt", "messages")
    system = read_content(body.system, "system", "system")[0] if body.system else ""
    messages = [Message("system", system)] if body.system else []
    for message in body.messages:
        messages += _read_message(message)
    return tuple(messages)


def _read_message(message: InputMessage) -> Iterator[Message]:
    """Yield the results of tools in a message, then the rest of it."""
    blocks = [] if isinstance(message.content, str) else message.content
    results = [block for block in blocks if block.type == "tool_result"]
    for result in results:
        text, pictures = read_content(result.content, "tool", "messages")
        yield Message("tool", text, tool_call_id=result.tool_use_id, pictures=pictures)
    uses = [block for block in blocks if block.type == "tool_use"]
    calls = tuple(ToolCall(use.id, use.name, fields.raw_text(use.input) or "{}") for use in uses)
    thoughts = "\n".join(block.thinking for block in blocks if block.type == "thinking")
    text, pictures = read_content(message.content, message.role, "messages")
    if text or calls or pictures or not results:
        calls = calls if message.role == "assistant" else ()
        yield Message(message.role, text, calls, pictures=pictures, reasoning=thoughts)


KINDS: dict[str, ToolChoice] = {"auto": "auto", "none": "none", "any": "required", "tool": "required"}


class MessagesForm(AnswerForm[MessagesRequest]):
    """The answer in Anthropic's form."""

    prefix, waiting = "msg_", sse_event({"type": "ping"})
    _begun = False

    def requests_of(self, default: Generate) -> list[Generate]:
        body, messages = self.body, read_anthropic_messages(self.body)
        given = {"temperature": body.temperature, "top_p": body.top_p or None, "top_k": body.top_k}
        config, choice = body.output_config or OutputConfig(), body.tool_choice or Choice(type="auto")
        form, thinking = body.output_format or config.format, body.thinking
        on = None if thinking is None or thinking.type == "adaptive" else thinking.type == "enabled"
        budget = thinking.budget_tokens if thinking and on else None
        rule = KINDS[choice.type], choice.name
        tools = fields.tool_fields(tools_of(body), rule, not choice.disable_parallel_tool_use)
        request = fields.chat_request(
            default,
            messages,
            sampling=lambda usual: fields.with_given(usual, given),
            stops=filter(None, body.stop_sequences or ()),
            structured=bool(form or body.tools),
            max_tokens=fields.length_limit(body.max_tokens),
            chat=fields.chat_id(messages, body.store, self.store),
            thinking=fields.thinking_options(default.thinking, config.effort, on, budget),
            constraint=Constraint("json_schema", bytes(form.schema).decode()) if form else None,
            **tools,
        )
        return [request]

    def whole(self) -> dict[str, Any]:
        content = [_content(block) for block in self.written.blocks() if block.text or block.kind == "call"]
        return {**self._message(content, self._usage()), **self._stopped()}

    def pieces(self, event: Event) -> Iterator[bytes]:
        if not self._begun:
            self._begun = True
            prompt, reused = (event.total, event.reused) if isinstance(event, PrefillProgress) else (0, 0)
            yield sse_event({"type": "message_start", "message": self._message([], usage(prompt, reused, 0))})
        for change in self.written.changes(event):
            for made in _block_events(change):
                yield sse_event({**made, "index": change.block.index})
        if isinstance(event, Finished):
            yield sse_event({"type": "message_delta", "delta": self._stopped(), "usage": self._usage()})
            yield sse_event({"type": "message_stop"})

    def error(self, error: ApiError) -> bytes:
        return sse_event(error.as_anthropic)

    def _usage(self) -> dict[str, Any]:
        numbers = self.written.finished.statistics
        return usage(numbers.prompt_tokens, numbers.reused_tokens, numbers.decode_tokens)

    def _stopped(self) -> dict[str, Any]:
        stops = self.body.stop_sequences or []
        reason = "tool_use" if self.written.calls else STOPPED[self.written.finished.statistics.stop_reason]
        if reason == "stop_sequence" and not stops:  # a stop string of the chat template
            reason = "end_turn"
        sequence = stops[0] if reason == "stop_sequence" and len(stops) == 1 else None
        return {"stop_reason": reason, "stop_sequence": sequence}

    def _message(self, content: list[dict[str, Any]], numbers: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": self.id, "type": "message", "role": "assistant", "model": self.model, "content": content,
            "stop_reason": None, "stop_sequence": None, "usage": numbers,
        }  # fmt: skip


def usage(prompt: int, reused: int, written: int) -> dict[str, Any]:
    return {
        "input_tokens": prompt - reused, "cache_creation_input_tokens": 0, "cache_read_input_tokens": reused,
        "output_tokens": written,
    }  # fmt: skip


def _content(block: Block) -> dict[str, Any]:
    match block.kind:
        case "reasoning":
            return {"type": "thinking", "thinking": block.text, "signature": ""}
        case "text":
            return {"type": "text", "text": block.text}
        case "call":
            return {"type": "tool_use", "id": block.call, "name": block.name, "input": arguments_of(block.text)}


def arguments_of(text: str) -> Any:
    """Return a call's arguments as an object; of a call that was cut short, its text under the name `text`."""
    try:
        return msgspec.json.decode(text or "{}")
    except msgspec.DecodeError:
        return {"text": text}


def _block_events(event: BlockChange) -> Iterator[dict[str, Any]]:
    """Yield the stream's events for a change of a block, without the block's number."""
    block = event.block
    if event.change == "open":
        yield {"type": "content_block_start", "content_block": _content(replace(block, text=""))}
    elif event.change == "close":
        if block.kind == "reasoning":  # clients send it back, and nobody checks it here
            yield {"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": ""}}
        yield {"type": "content_block_stop"}
    else:
        deltas = {"reasoning": ("thinking_delta", "thinking"), "text": ("text_delta", "text")}
        kind, name = deltas.get(block.kind, ("input_json_delta", "partial_json"))
        yield {"type": "content_block_delta", "delta": {"type": kind, name: event.text}}
