"""Messages as OpenAI's clients send them, with content as text or as a list of parts, and as the engine takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from engine.api.errors import ApiError
from engine.api.fields import RawJson
from engine.api.pictures import MOST_PICTURES, picture_of_base64, picture_of_url, refused_picture
from engine.protocol.requests import Message, Picture, Role, ToolCall

PICTURE_PARTS = ("image_url", "input_image", "image")  # of chats, of responses, and of messages
SEEING: tuple[Role, ...] = ("user", "tool")  # whose messages may have pictures


class PictureUrl(msgspec.Struct, kw_only=True):
    url: str


class Part(msgspec.Struct, kw_only=True):
    """Part of a message: text, or a picture as a data URL."""

    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: PictureUrl | str | None = None

    def read_text(self, param: str) -> str | None:
        """Return its text; None for a picture. Raises ApiError."""
        if self.type in ("image_url", "input_image"):
            return None
        if self.type not in ("text", "input_text", "output_text", "refusal"):
            raise unreadable(self.type, param)
        return self.text or self.refusal or ""

    def read_picture(self, param: str) -> Picture:
        """Return its picture. Raises ApiError."""
        url = self.image_url.url if isinstance(self.image_url, PictureUrl) else self.image_url
        return picture_of_url(url or "", param)


class Source(msgspec.Struct, kw_only=True):
    """Source of a picture or document: `type` is base64, text or url."""

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

    def read_text(self, param: str) -> str | None:
        """Return its text; None for pictures, calls, their results and reasoning. Raises ApiError."""
        if self.type == "document" and self.source and self.source.type == "text":
            return self.source.data
        if self.type not in ("text", "image", "tool_use", "tool_result", "thinking", "redacted_thinking"):
            raise unreadable(self.type, param)
        return self.text if self.type == "text" else None

    def read_picture(self, param: str) -> Picture:
        """Return its picture. Raises ApiError."""
        source = self.source or Source()
        if source.type == "base64":
            return picture_of_base64(source.data, param)
        return picture_of_url(source.url, param)


def read_content(
    content: str | Sequence[Part | ContentBlock] | None, role: Role, param: str
) -> tuple[str, tuple[Picture, ...]]:
    """Return text and pictures of a message's content; `param`: its field. Raises ApiError for what no model reads."""
    if content is None or isinstance(content, str):
        return content or "", ()
    text = "\n".join(words for part in content if (words := part.read_text(param)) is not None)
    shown = [part for part in content if part.type in PICTURE_PARTS]
    if shown and role not in SEEING:
        raise ApiError(400, f"A message of the {role} cannot have pictures.", "bad_picture", param)
    if len(shown) > MOST_PICTURES:
        raise refused_picture(f"A message may have up to {MOST_PICTURES} pictures, not {len(shown)}.", param)
    return text, tuple(part.read_picture(param) for part in shown)


def unreadable(kind: str, param: str) -> ApiError:
    """Return the error for a part of a type that no model reads."""
    return ApiError(400, f"Texts and pictures are read here, not {kind!r:.40}.", "unsupported_content", param)


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


def read_chat_messages(messages: list[ChatMessage]) -> tuple[Message, ...]:
    """Return the messages in the engine's form. Raises ApiError for what no model here can read."""
    if not messages:
        raise ApiError(400, "There is no message to answer.", "empty_prompt", "messages")
    return tuple(_read_message(message, f"messages[{index}].content") for index, message in enumerate(messages))


def _read_message(message: ChatMessage, param: str) -> Message:
    role = ROLES[message.role]
    text, pictures = read_content(message.content, role, param)
    calls, reasoning = (message.tool_calls, message.reasoning_content) if role == "assistant" else (None, None)
    return Message(role, text, tuple(map(call_of, calls or ())), message.tool_call_id or "", pictures, reasoning or "")


def call_of(call: CallOfTool) -> ToolCall:
    given = call.function.arguments
    arguments = given if isinstance(given, str) else msgspec.json.encode(given).decode()
    return ToolCall(call.id, call.function.name, arguments)
