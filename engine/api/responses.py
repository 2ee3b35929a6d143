"""`/v1/responses`: OpenAI's newer form, without a memory: each request brings the whole chat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import msgspec

from engine.api import fields
from engine.api.chat import choice_of as choice_of_chat
from engine.api.content import Part, read_content
from engine.api.errors import ApiError
from engine.api.forms import AnswerForm, sse_event
from engine.api.numbers import timings
from engine.api.written import Block, BlockChange, BlockKind
from engine.protocol.events import Event, Finished, Statistics
from engine.protocol.requests import Generate, Message, Role, Tool, ToolCall, ToolChoice

ROLES: dict[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


class InputItem(msgspec.Struct, kw_only=True):
    """Message, call of a tool, or result of a call."""

    type: str = "message"
    role: str = ""
    content: str | list[Part] | None = None
    call_id: str = ""
    name: str = ""
    arguments: str = "{}"
    output: str | list[Part] | None = None


class ResponseTool(msgspec.Struct, kw_only=True, omit_defaults=True):
    type: str
    name: str = ""
    description: str | None = None
    parameters: fields.RawJson = msgspec.UNSET
    strict: bool | None = None


class NamedTool(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The tool that must be called; of the type allowed_tools, those that may be, or by the `mode` must."""

    type: str
    name: str = ""
    mode: Literal["auto", "required"] | None = None
    tools: list[ResponseTool] | None = None


class TextFormat(fields.ResponseFormat, kw_only=True, omit_defaults=True):
    name: str | None = None
    description: str | None = None
    strict: bool | None = None


class TextConfig(msgspec.Struct, kw_only=True):
    format: TextFormat | None = None


class Reasoning(msgspec.Struct, kw_only=True):
    effort: str | None = None


class ResponsesRequest(fields.SamplingFields, kw_only=True):
    """Body of a request for a response."""

    input: str | list[InputItem]
    instructions: str | None = None
    max_output_tokens: int | None = None
    text: TextConfig | None = None
    reasoning: Reasoning | None = None
    tools: list[ResponseTool] | None = None
    tool_choice: str | NamedTool | None = None
    parallel_tool_calls: bool | None = None
    previous_response_id: str | None = None
    metadata: dict[str, Any] | None = None


def tools_of(body: ResponsesRequest) -> tuple[Tool, ...]:
    """Return the client's own tools that may be called; those that OpenAI itself would run are not there."""
    choice = body.tool_choice
    allowed = choice.tools if isinstance(choice, NamedTool) and choice.type == "allowed_tools" else None
    names = None if allowed is None else {tool.name for tool in allowed}
    return tuple(
        Tool(tool.name, tool.description or "", fields.raw_text(tool.parameters))
        for tool in body.tools or ()
        if tool.type == "function" and (names is None or tool.name in names)
    )


def choice_of(choice: str | NamedTool | None) -> tuple[ToolChoice, str]:
    """Return whether tools must be called, and the only one that may be. Raises ApiError."""
    if not isinstance(choice, NamedTool):
        return choice_of_chat(choice)
    if choice.type == "allowed_tools":
        return choice.mode or "auto", ""
    return "required", choice.name or choice.type


def read_input(body: ResponsesRequest) -> tuple[Message, ...]:
    """Return the chat in the engine's form. Raises ApiError for what no model here can read."""
    messages = [Message("system", body.instructions)] if body.instructions else []
    if isinstance(body.input, str):
        messages.append(Message("user", body.input))
    else:
        for index, item in enumerate(body.input):
            _add_item(messages, item, f"input[{index}]")
    if not messages:
        raise ApiError(400, "There is no message to answer.", "empty_prompt", "input")
    return tuple(messages)


def _add_item(messages: list[Message], item: InputItem, param: str) -> None:
    """Append what an item says; calls in a row belong to one message."""
    match item.type:
        case "message":
            if item.role not in ROLES:
                raise ApiError(400, f"A message's role must not be {item.role!r:.40}.", "bad_value", f"{param}.role")
            role = ROLES[item.role]
            text, pictures = read_content(item.content, role, param)
            messages.append(Message(role, text, pictures=pictures))
        case "function_call":
            call = ToolCall(item.call_id, item.name, item.arguments)
            if messages and messages[-1].role == "assistant":
                messages[-1] = replace(messages[-1], tool_calls=(*messages[-1].tool_calls, call))
            else:
                messages.append(Message("assistant", "", (call,)))
        case "function_call_output":
            text, pictures = read_content(item.output, "tool", param)
            messages.append(Message("tool", text, (), item.call_id, pictures))
        case "reasoning":
            pass  # chat templates leave earlier reasoning out
        case "item_reference":
            sentence = "Nothing is kept here, so earlier items must be sent whole: give your client “store”: false."
            raise ApiError(400, sentence, "unsupported", param)
        case _:
            raise ApiError(400, f"An input item must not be {item.type!r:.40}.", "unsupported_content", param)


# Of each kind of block: the prefix of its item's id, the type of the item, and that of what grows in it.
ITEMS: dict[BlockKind, tuple[str, str, str]] = {
    "reasoning": ("rs", "reasoning", "reasoning_text"), "text": ("msg", "message", "output_text"),
    "call": ("fc", "function_call", "function_call_arguments"),
}  # fmt: skip


def item_of(block: Block, done: bool = True) -> dict[str, Any]:
    """Return a block as an item of the output, complete or as it begins."""
    prefix, kind, _ = ITEMS[block.kind]
    item = {"id": f"{prefix}_{block.id}", "type": kind, "status": "completed" if done else "in_progress"}
    if block.kind == "call":
        return item | {"call_id": block.call, "name": block.name, "arguments": block.text if done else ""}
    about: dict[str, Any] = {"role": "assistant"} if block.kind == "text" else {"summary": []}
    return item | about | {"content": [part_of(block, block.text)] if done else []}


def part_of(block: Block, text: str) -> dict[str, Any]:
    part: dict[str, Any] = {"type": ITEMS[block.kind][2], "text": text}
    return part | ({"annotations": [], "logprobs": []} if block.kind == "text" else {})


class ResponsesForm(AnswerForm[ResponsesRequest]):
    """The answer in the form of responses."""

    prefix = "resp_"
    _number = -1  # of the stream's last event

    def requests_of(self, default: Generate) -> list[Generate]:
        body = self.body
        if body.previous_response_id:
            sentence = "Responses are not kept here: send the whole chat as input."
            raise ApiError(400, sentence, "unsupported", "previous_response_id")
        messages = read_input(body)
        form = body.text.format if body.text else None
        constraint = fields.constraint_of(form) if form else body.constraint()
        effort = body.reasoning.effort if body.reasoning else None
        tools = fields.tool_fields(tools_of(body), choice_of(body.tool_choice), body.parallel_tool_calls is not False)
        request = fields.chat_request(
            default,
            messages,
            sampling=body.sampling,
            stops=body.stops(),
            structured=bool(constraint or body.tools),
            max_tokens=fields.length_limit(body.max_output_tokens, default.max_tokens),
            chat=fields.chat_id(messages, body.store, self.store),
            thinking=fields.thinking_options(default.thinking, effort, None, None),
            constraint=constraint,
            **tools,
        )
        return [request]

    def whole(self) -> dict[str, Any]:
        return self._response(self.written.blocks(), self.written.finished.statistics)

    def begin(self) -> Iterator[bytes]:
        for name in ("created", "in_progress"):
            yield self._event(f"response.{name}", response=self._response())

    def pieces(self, event: Event) -> Iterator[bytes]:
        for change in self.written.changes(event):
            for name, more in _item_events(change):
                yield self._event(f"response.{name}", output_index=change.block.index, **more)
        if isinstance(event, Finished):
            response = self._response(self.written.streamed, event.statistics)
            yield self._event(f"response.{response['status']}", response=response)

    def error(self, error: ApiError) -> bytes:
        failed = self._response() | {"status": "failed"}
        failed["error"] = {"code": error.code or error.kind, "message": error.message}
        return self._event("response.failed", response=failed)

    def _event(self, kind: str, **more: Any) -> bytes:
        self._number += 1
        return sse_event({"type": kind, "sequence_number": self._number, **more})

    def _response(self, blocks: Sequence[Block] = (), numbers: Statistics | None = None) -> dict[str, Any]:
        """Return the response; `blocks` and `numbers` are those of a complete one."""
        cut = numbers is not None and numbers.stop_reason in ("length", "context")
        body = self.body
        response = {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": "in_progress" if numbers is None else "incomplete" if cut else "completed",
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "instructions": body.instructions,
            "max_output_tokens": body.max_output_tokens,
            "model": self.model,
            "output": [item_of(block) for block in blocks],
            "parallel_tool_calls": body.parallel_tool_calls is not False,
            "previous_response_id": None,
            "reasoning": {"effort": body.reasoning.effort if body.reasoning else None, "summary": None},
            "store": False,
            "temperature": body.temperature,
            # Structs as they came: what encodes the response also encodes the JSON that they keep as it is.
            "text": {"format": body.text.format if body.text and body.text.format else {"type": "text"}},
            "tool_choice": body.tool_choice or "auto",
            "tools": body.tools or [],
            "top_p": body.top_p,
            "truncation": "disabled",
            "usage": usage(numbers) if numbers else None,
            "user": body.user,
            "metadata": body.metadata or {},
        }
        return response | ({"timings": timings(numbers)} if numbers else {})


def usage(numbers: Statistics) -> dict[str, Any]:
    return {
        "input_tokens": numbers.prompt_tokens,
        "input_tokens_details": {"cached_tokens": numbers.reused_tokens},
        "output_tokens": numbers.decode_tokens,
        "output_tokens_details": {"reasoning_tokens": numbers.thinking_tokens},
        "total_tokens": numbers.prompt_tokens + numbers.decode_tokens,
    }


def _item_events(event: BlockChange) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the names and fields of the stream's events for a change of an item."""
    block, kind = event.block, ITEMS[event.block.kind][2]
    item = item_of(block, done=event.change == "close")
    is_call, part = block.kind == "call", {"item_id": item["id"], "content_index": 0}
    where = {"item_id": item["id"]} if is_call else part
    more: dict[str, Any] = {"logprobs": []} if block.kind == "text" else {}
    if event.change == "open":
        yield "output_item.added", {"item": item}
        if not is_call:
            yield "content_part.added", {**part, "part": part_of(block, "")}
    elif event.change == "grow":
        yield f"{kind}.delta", {**where, "delta": event.text, **more}
    else:
        whole = {"arguments": block.text, "name": block.name} if is_call else {"text": block.text}
        yield f"{kind}.done", {**where, **whole, **more}
        if not is_call:
            yield "content_part.done", {**part, "part": part_of(block, block.text)}
        yield "output_item.done", {"item": item}
