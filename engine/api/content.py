"""Messages as OpenAI's clients send them, with content as text or as a list of parts, and as the engine takes them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from engine.api.errors import ApiError
from engine.api.pictures import check_count, picture_of_url
from engine.protocol.requests import Message, Picture, Role, ToolCall

TEXT_PARTS = ("text", "input_text", "output_text", "refusal")
PICTURE_PARTS = ("image_url", "input_image")  # of chats, and of responses
SEEING: tuple[Role, ...] = ("user", "tool")  # whose messages may have pictures


class PictureUrl(msgspec.Struct, kw_only=True):
    url: str


class Part(msgspec.Struct, kw_only=True):
    """Part of a message: text, or a picture as a data URL."""

    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: PictureUrl | str | None = None


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
    """Return the messages in the engine's form. Raises ApiError for what no model here can read."""
    if not messages:
        raise ApiError(400, "There is no message to answer.", "empty_prompt", "messages")
    return tuple(
        Message(
            ROLES[message.role],
            text_of(message.content, f"messages[{index}].content"),
            tuple(map(call_of, message.tool_calls or ())) if message.role == "assistant" else (),
            message.tool_call_id or "",
            pictures_of(message.content, ROLES[message.role], f"messages[{index}].content"),
            reasoning=(message.reasoning_content or "") if message.role == "assistant" else "",
        )
        for index, message in enumerate(messages)
    )


def text_of(content: str | list[Part] | None, param: str) -> str:
    """Return the text of a message's content, without its pictures. Raises ApiError for sounds and files."""
    if content is None or isinstance(content, str):
        return content or ""
    for part in content:
        if part.type not in (*TEXT_PARTS, *PICTURE_PARTS):
            raise ApiError(
                400, f"Texts and pictures are read here, not {part.type!r:.40}.", "unsupported_content", param
            )
    return "\n".join(part.text or part.refusal or "" for part in content if part.type in TEXT_PARTS)


def pictures_of(content: str | list[Part] | None, role: Role, param: str) -> tuple[Picture, ...]:
    """Return the pictures of a message's content. Raises ApiError."""
    parts = [] if content is None or isinstance(content, str) else content
    found = [part.image_url for part in parts if part.type in PICTURE_PARTS]
    if found and role not in SEEING:
        raise ApiError(400, f"A message of the {role} cannot have pictures.", "bad_picture", param)
    urls = [image.url if isinstance(image, PictureUrl) else image or "" for image in found]
    return check_count(tuple(picture_of_url(url, param) for url in urls), param)


def call_of(call: CallOfTool) -> ToolCall:
    given = call.function.arguments
    return ToolCall(
        call.id, call.function.name, given if isinstance(given, str) else msgspec.json.encode(given).decode()
    )
