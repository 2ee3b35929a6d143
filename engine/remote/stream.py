"""A server's answer as it arrives: server-sent events, or one JSON object, to pieces of text and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from common.failures import Failure
from common.paths import printable
from common.reasoning import Piece, ReasoningParser, without_thoughts
from engine.remote.failures import error_in_stream, nonsense
from models.servers import host_of

MOST_CALLS = 128  # of tools in one answer; later ones are ignored
LONGEST_EVENT = 4 << 20  # bytes; an event carries a token or a few
EVENT_STREAM = {"Content-Type": "text/event-stream; charset=utf-8-sig"}  # a byte order mark may come first
OPENING, CLOSING = "<think>\n", "\n</think>\n\n"  # around thoughts that a server sends apart from the answer
REASONING_FIELDS = ("reasoning_content", "reasoning")
DONE = "[DONE]"


def event_data(chunks: Iterable[bytes], url: str) -> Iterator[str]:
    """Yield the data of each server-sent event that has some. Raises Failure for a line or an event without end."""
    import httpx
    import httpx_sse

    unread = 0

    def counted() -> Iterator[bytes]:
        nonlocal unread
        for chunk in chunks:
            unread += len(chunk)
            if unread > LONGEST_EVENT:
                raise Failure("refused.server_too_much", host=host_of(url))
            yield chunk
        yield b"\n\n"  # some servers leave out the blank line after the last event

    for event in httpx_sse.EventSource(httpx.Response(200, headers=EVENT_STREAM, content=counted())).iter_sse():
        unread = 0
        if event.data.strip("\n"):  # some servers send empty events while they compute
            yield event.data


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of reading the prompt, in tokens; llama.cpp tells it."""

    done: int
    total: int
    reused: int


@dataclass(frozen=True, slots=True)
class CallPart:
    """Part of a call of a tool. `index`: which of the answer's calls; `name`: empty unless the call begins here."""

    index: int
    id: str
    name: str
    arguments: str


class Echo:
    """Filter for an answer that is continued: llama.cpp sends the beginning, which it was given, once more.

    `repeated`: the number of pieces with nothing but this beginning.
    """

    def __init__(self, begun: str) -> None:
        self.repeated = 0
        self._begun = begun
        self._held = ""
        self._pieces = 0

    def feed(self, text: str) -> str:
        """Return the text that is new; the beginning is held back as long as it may be a repetition."""
        self._held += text
        self._pieces += 1
        if len(self._held) < len(self._begun) and self._begun.startswith(self._held):
            return ""
        return self.close()

    def close(self) -> str:
        """Return what was held back, unless it repeats the whole beginning."""
        held, begun, self._held, self._begun = self._held, self._begun, "", ""
        new = held.removeprefix(begun)
        if new != held:
            self.repeated = self._pieces - bool(new)
        return new


class AnswerReader:
    """Reader of an answer's messages.

    Thoughts that come in a field of their own become text between markers, so a stored answer has the same form
    wherever it was computed. `arrived`: pieces so far, of which `tokens` and `thought_tokens` are about one new token
    each. `calls`: parts of calls of tools that nobody has taken yet. `usage`: the server's own numbers. `finish`: why
    the answer ended, in OpenAI's words; empty before.
    """

    def __init__(self, url: str, key: str, begun: str = "") -> None:
        self.usage: dict[str, Any] = {}
        self.finish = ""
        self.arrived = self.thought_tokens = 0
        self.progress: Progress | None = None
        self.calls: list[CallPart] = []
        self._indices: dict[object, int] = {}  # the answer's calls by the server's numbers
        self._url, self._key = url, key
        self._parser = ReasoningParser()
        self._parser.resume(begun)
        self._thinking = False  # in a field of its own
        self._echo = Echo(without_thoughts(begun))

    @property
    def tokens(self) -> int:
        """Number of pieces with new text; those that may still repeat the beginning are counted too."""
        return self.arrived - self._echo.repeated

    @property
    def has_called(self) -> bool:
        """Whether the answer has a call of a tool."""
        return bool(self._indices)

    @property
    def thinking(self) -> bool:
        """Whether a thought is open."""
        return bool(self._parser.closing)

    def read(self, data: str | bytes) -> list[Piece]:
        """Read one message and return the pieces of the answer whose kind is now certain. Raises Failure."""
        try:
            message: Any = msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise nonsense(self._url) from error
        if not isinstance(message, dict):
            raise nonsense(self._url)
        if message.get("error"):
            raise error_in_stream(self._url, message["error"], self._key)
        self._read_numbers(message)
        choices = message.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        part = choice.get("delta", choice.get("message"))
        pieces = self._read_part(part) if isinstance(part, dict) else []
        if isinstance(choice.get("finish_reason"), str):
            self.finish = choice["finish_reason"]
        return pieces

    def close(self) -> list[Piece]:
        """Return the pieces that were held back, because nothing follows."""
        return [*self._parser.feed(self._echo.close()), *self._parser.close()]

    def _read_part(self, part: dict[str, Any]) -> list[Piece]:
        thought = next((text for name in REASONING_FIELDS if (text := _text(part.get(name)))), "")
        text = _text(part.get("content")) or _text(part.get("refusal"))
        pieces: list[Piece] = []
        if thought and not self._parser.in_text:
            self.arrived += 1
            self.thought_tokens += 1
            pieces += self._parser.feed(thought if self._thinking else OPENING + thought)
            self._thinking = True
        if text:
            self.arrived += 1
            text = self._echo.feed(text)
        if text:
            before = self.thinking
            pieces += self._parser.feed(CLOSING + text if self._thinking else text)
            self._thinking = False
            self.thought_tokens += before and self.thinking
        calls = part.get("tool_calls")
        for number, call in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(call, dict) and isinstance(call.get("function"), dict):
                self._read_call(call.get("index", number), call, call["function"])
        return pieces

    def _read_call(self, number: object, call: dict[str, Any], function: dict[str, Any]) -> None:
        """Keep a part of a call; the first part with another number begins a call, and has its name."""
        arguments, key = function.get("arguments"), number if isinstance(number, int) else str(number)
        written = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments or {}).decode()
        is_new = key not in self._indices
        if is_new and len(self._indices) >= MOST_CALLS:
            return
        index = self._indices.setdefault(key, len(self._indices))
        self.arrived += 1
        name = (_text(function.get("name")) or "?") if is_new else ""
        self.calls.append(CallPart(index, _text(call.get("id")) or f"call_{index}", name, written))

    def _read_numbers(self, message: dict[str, Any]) -> None:
        if isinstance(message.get("usage"), dict):
            self.usage = message["usage"]
        progress = message.get("prompt_progress")
        if isinstance(progress, dict):
            done, total, reused = (_number(progress.get(name)) for name in ("processed", "total", "cache"))
            self.progress = Progress(min(done, total), total, min(reused, total))

    def number(self, *names: str) -> int:
        """Return one of the server's own numbers, like "prompt_tokens"; 0 if it does not tell."""
        value: Any = self.usage
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        return _number(value)


def _text(value: Any) -> str:
    """Return a field's text: some servers send it as a list of parts."""
    if isinstance(value, list):
        value = "".join(text for part in value if isinstance(part, dict) and isinstance(text := part.get("text"), str))
    return printable(value) if isinstance(value, str) else ""


def _number(value: Any) -> int:
    return value if type(value) is int and 0 <= value < 1 << 40 else 0
