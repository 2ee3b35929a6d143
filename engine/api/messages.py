"""`/v1/messages`: Anthropic's form of chats, streamed as named events."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any, Literal

import msgspec

from engine.api import sse
from engine.api.chat import continues
from engine.api.errors import ApiError
from engine.api.fields import (
    RawJson,
    chat_id,
    length_limit,
    raw_text,
    thinking_options,
    with_sampling,
    with_tools,
)
from engine.api.pictures import check_count, picture_of_base64, picture_of_url
from engine.api.written import Block, BlockChange, Written, block_changes, blocks_of
from engine.protocol.events import Event, Finished, PrefillProgress, Statistics
from engine.protocol.requests import (
    Constraint,
    Count,
    Generate,
    Message,
    Picture,
    StopReason,
    Tool,
    ToolCall,
    ToolChoice,
)

STOPPED: dict[StopReason, str] = {
    "end": "end_turn", "stop": "stop_sequence", "length": "max_tokens", "context": "max_tokens",
    "tool_calls": "tool_use",
}  # fmt: skip
PING = sse.event({"type": "ping"})


class Source(msgspec.Struct, kw_only=True):
    """What a picture or document is: `type` is base64, text or url."""

    type: str = ""
    data: str = ""
    url: str = ""


class ContentBlock(msgspec.Struct, kw_only=True):
    """Part of a message: text, a picture, a call of a tool, or its result."""

    type: str
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: RawJson = msgspec.UNSET
    tool_use_id: str = ""
    content: str | list[ContentBlock] | None = None
    source: Source | None = None


class InputMessage(msgspec.Struct, kw_only=True):
    role: Literal["user", "assistant", "system"]
    content: str | list[ContentBlock]


class InputTool(msgspec.Struct, kw_only=True):
    name: str
    description: str | None = None
    input_schema: RawJson = msgspec.UNSET
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


def generate_of(body: MessagesRequest, default: Generate, store: bool = False) -> Generate:
    """Return the engine's request, as `engine.api.chat.generate_of` does. Raises ApiError."""
    messages = messages_of(body)
    wanted = {"temperature": body.temperature, "top_p": body.top_p or None, "top_k": body.top_k}
    given: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
    form = body.output_format or (body.output_config.format if body.output_config else None)
    thinking, effort = body.thinking, body.output_config.effort if body.output_config else None
    on = None if thinking is None or thinking.type == "adaptive" else thinking.type == "enabled"
    made = replace(
        with_sampling(default, lambda usual: replace(usual, **given), bool(form or body.tools)),
        messages=messages,
        max_tokens=length_limit(body.max_tokens),
        stop=(*default.stop, *filter(None, body.stop_sequences or ())),
        chat=chat_id(messages, body.store, store),
        continue_last=continues(messages[-1].role, messages[-1].content, len(messages)),
        thinking=thinking_options(default.thinking, effort, on, thinking.budget_tokens if thinking and on else None),
        constraint=Constraint("json_schema", bytes(form.schema).decode()) if form else None,
    )
    choice = body.tool_choice
    parallel = not (choice and choice.disable_parallel_tool_use)
    kinds: dict[str, ToolChoice] = {"auto": "auto", "none": "none", "any": "required", "tool": "required"}
    kind = kinds[choice.type] if choice else "auto"
    return with_tools(made, tools_of(body), kind, choice.name if choice else "", parallel)


def count_of(body: CountRequest) -> Count:
    """Return the engine's request to count the chat's tokens. Raises ApiError."""
    return Count(0, messages=messages_of(body), tools=tools_of(body))


def tools_of(body: CountRequest) -> tuple[Tool, ...]:
    """Return the tools of the client; those that Anthropic itself would run are not there."""
    return tuple(
        Tool(tool.name, tool.description or "", raw_text(tool.input_schema))
        for tool in body.tools or ()
        if tool.type in (None, "custom")
    )


def messages_of(body: CountRequest) -> tuple[Message, ...]:
    """Return the messages in the engine's form. Raises ApiError for what no model here can read."""
    if not body.messages:
        raise ApiError(400, "There is no message to answer.", "empty_prompt", "messages")
    found = [Message("system", text_of(body.system))] if body.system else []
    for message in body.messages:
        found += _messages_of_one(message)
    return tuple(found)


def _messages_of_one(message: InputMessage) -> Iterator[Message]:
    """Yield the results of tools in a message, then the rest of it."""
    blocks = [] if isinstance(message.content, str) else message.content
    for block in blocks:
        if block.type == "tool_result":
            text, pictures = text_of(block.content), pictures_of(block.content)
            yield Message("tool", text, tool_call_id=block.tool_use_id, pictures=pictures)
    calls = tuple(
        ToolCall(block.id, block.name, raw_text(block.input) or "{}") for block in blocks if block.type == "tool_use"
    )
    thoughts = "\n".join(block.thinking for block in blocks if block.type == "thinking")
    text, pictures = text_of(message.content), pictures_of(message.content)
    if pictures and message.role != "user":
        raise ApiError(400, f"A message of the {message.role} cannot have pictures.", "bad_picture", "messages")
    if text or calls or pictures or not any(block.type == "tool_result" for block in blocks):
        calls = calls if message.role == "assistant" else ()
        yield Message(message.role, text, calls, pictures=pictures, reasoning=thoughts)


def text_of(content: str | list[ContentBlock] | None) -> str:
    """Return the text of a message's content, without pictures, calls, their results and reasoning. Raises ApiError."""
    if content is None or isinstance(content, str):
        return content or ""
    texts = []
    for block in content:
        if block.type == "text":
            texts.append(block.text)
        elif block.type == "document" and block.source and block.source.type == "text":
            texts.append(block.source.data)
        elif block.type not in ("image", "tool_use", "tool_result", "thinking", "redacted_thinking"):
            raise ApiError(400, f"Texts and pictures are read here, not {block.type!r:.40}.", "unsupported_content")
    return "\n".join(texts)


def pictures_of(content: str | list[ContentBlock] | None) -> tuple[Picture, ...]:
    """Return the pictures of a message's content, without those in results of tools. Raises ApiError."""
    blocks = [] if content is None or isinstance(content, str) else content
    sources = [block.source or Source() for block in blocks if block.type == "image"]
    return check_count(
        tuple(
            picture_of_base64(source.data, "messages")
            if source.type == "base64"
            else picture_of_url(source.url, "messages")
            for source in sources
        ),
        "messages",
    )


class MessagesForm:
    """The answer in Anthropic's form."""

    def __init__(self, body: MessagesRequest, model: str) -> None:
        self.body, self.model, self.id = body, model, f"msg_{uuid.uuid4().hex}"

    def whole(self, written: Written) -> dict[str, Any]:
        """Return the complete answer."""
        numbers = written.finished.statistics
        content = [_content(block) for block in blocks_of(written) if block.text or block.kind == "call"]
        return {**self._message(content, usage(numbers)), **self._stopped(numbers, bool(written.calls))}

    async def stream(self, events: AsyncIterator[Event | None]) -> AsyncIterator[bytes]:
        """Yield the answer in pieces."""
        begun = called = False
        async for event in block_changes(events):
            if not begun and event is not None:
                begun = True
                total = event.total if isinstance(event, PrefillProgress) else 0
                reused = event.reused if isinstance(event, PrefillProgress) else 0
                start = self._message([], _usage(total, reused, 0))
                yield sse.event({"type": "message_start", "message": start})
            match event:
                case None:
                    yield PING
                case BlockChange():
                    called |= event.block.kind == "call"
                    for made in _block_events(event):
                        yield sse.event({**made, "index": event.block.index})
                case Finished():
                    numbers = event.statistics
                    delta = self._stopped(numbers, called)
                    yield sse.event({"type": "message_delta", "delta": delta, "usage": usage(numbers)})
                    yield sse.event({"type": "message_stop"})

    def _stopped(self, numbers: Statistics, called: bool) -> dict[str, Any]:
        stops = self.body.stop_sequences or []
        reason = "tool_use" if called else STOPPED[numbers.stop_reason]
        if reason == "stop_sequence" and not stops:  # a stop string of the chat template
            reason = "end_turn"
        sequence = stops[0] if reason == "stop_sequence" and len(stops) == 1 else None
        return {"stop_reason": reason, "stop_sequence": sequence}

    def _message(self, content: list[dict[str, Any]], numbers: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": self.id, "type": "message", "role": "assistant", "model": self.model, "content": content,
            "stop_reason": None, "stop_sequence": None, "usage": numbers,
        }  # fmt: skip


def usage(numbers: Statistics) -> dict[str, Any]:
    return _usage(numbers.prompt_tokens, numbers.reused_tokens, numbers.decode_tokens)


def _usage(prompt: int, reused: int, written: int) -> dict[str, Any]:
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
        content = _content(replace(block, text=""))
        yield {"type": "content_block_start", "content_block": content}
    elif event.change == "close":
        if block.kind == "reasoning":  # clients send it back, and nobody checks it here
            yield {"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": ""}}
        yield {"type": "content_block_stop"}
    else:
        deltas = {"reasoning": ("thinking_delta", "thinking"), "text": ("text_delta", "text")}
        kind, name = deltas.get(block.kind, ("input_json_delta", "partial_json"))
        yield {"type": "content_block_delta", "delta": {"type": kind, name: event.text}}


def error_chunk(error: ApiError) -> bytes:
    """Return the event that ends a stream with an error."""
    return sse.event(error.as_anthropic)
