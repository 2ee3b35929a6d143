"""Messages as OpenAI's clients send them, with content as text or as a list of parts, and as the engine takes them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from engine.api.errors import ApiError
from engine.protocol.requests import Message, Role, ToolCall

TEXT_PARTS = ("text", "input_text", "output_text", "refusal")


class Part(msgspec.Struct, kw_only=True):
    """Part of a message. Only text can be read."""

    type: str
    text: str | None = None
    refusal: str | None = None


class CalledFunction(msgspec.Struct, kw_only=True):
    name: str
    arguments: str | dict[str, Any] = "{}"


class CallOfTool(msgspec.Struct, kw_only=True):
    function: CalledFunction
    id: str = ""
    type: str = "function"


class ChatMessage(msgspec.Struct, kw_only=True):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None
    tool_calls: list[CallOfTool] | None = None
    tool_call_id: str | None = None
    reasoning_content: str | None = None


ROLES: dict[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant",
    "tool": "tool", "function": "tool",
}  # fmt: skip


def messages_of(messages: list[ChatMessage]) -> tuple[Message, ...]:
    """Return the messages in the engine's form. Raises ApiError for what a model of text cannot read."""
    if not messages:
        raise ApiError(400, "There is no message to answer.", "empty_prompt", "messages")
    return tuple(
        Message(
            ROLES[message.role],
            text_of(message.content, f"messages[{index}].content"),
            tuple(map(call_of, message.tool_calls or ())) if message.role == "assistant" else (),
            message.tool_call_id or "",
            reasoning=(message.reasoning_content or "") if message.role == "assistant" else "",
        )
        for index, message in enumerate(messages)
    )


def text_of(content: str | list[Part] | None, param: str) -> str:
    """Return the text of a message's content. Raises ApiError for images, sounds and files."""
    if content is None or isinstance(content, str):
        return content or ""
    for part in content:
        if part.type not in TEXT_PARTS:
            raise ApiError(400, f"This model reads text only, not {part.type!r:.40}.", "unsupported_content", param)
    return "\n".join(part.text or part.refusal or "" for part in content)


def call_of(call: CallOfTool) -> ToolCall:
    given = call.function.arguments
    return ToolCall(
        call.id, call.function.name, given if isinstance(given, str) else msgspec.json.encode(given).decode()
    )
