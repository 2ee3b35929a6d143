"""A server's answer as it arrives: server-sent events, or one JSON object, to pieces of text and numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from common.failures import Failure
from common.paths import printable
from common.reasoning import Piece, ReasoningParser, without_thoughts
from engine.remote.failures import error_in_stream, nonsense
from models.servers import host_of

LONGEST_LINE = 4 << 20  # bytes; a line carries a token or a few
OPENING, CLOSING = "<think>\n", "\n</think>\n\n"  # around thoughts that a server sends apart from the answer
REASONING_FIELDS = ("reasoning_content", "reasoning")
DONE = b"[DONE]"
LINE_END = re.compile(rb"\r\n|\n|\r")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def messages_of(chunks: Iterable[bytes], url: str) -> Iterator[bytes]:
    """Yield the data of each server-sent event that has some (WHATWG HTML, section 9.2).

    Raises Failure for a line or an event without end.
    """
    data: list[bytes] = []
    size = 0
    for line in _lines(chunks, url):
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
            size += len(line)
            if size > LONGEST_LINE:
                raise Failure("refused.server_too_much", host=host_of(url))
        elif not line:
            yield from _event(data)
            data, size = [], 0
    yield from _event(data)


def _event(data: list[bytes]) -> Iterator[bytes]:
    if any(data):  # some servers send empty events while they compute
        yield b"\n".join(data)


def _lines(chunks: Iterable[bytes], url: str) -> Iterator[bytes]:
    """Yield the lines of a stream, which end with CR LF, LF or CR, without the byte order mark before the first one."""
    mark, rest, ends_with_cr = BYTE_ORDER_MARK, bytearray(), False
    for chunk in chunks:
        text = chunk.removeprefix(b"\n") if ends_with_cr else chunk
        ends_with_cr = text.endswith(b"\r")
        *ended, last = LINE_END.split(text)  # only the new part is searched
        for line in ended:
            yield (bytes(rest) + line).removeprefix(mark)
            mark = b""
            rest.clear()
        rest += last
        if len(rest) > LONGEST_LINE:
            raise Failure("refused.server_too_much", host=host_of(url))
    if rest:
        yield bytes(rest).removeprefix(mark)


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of reading the prompt, in tokens; llama.cpp tells it."""

    done: int
    total: int
    reused: int


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
    each. `usage`: the server's own numbers. `finish`: why the answer ended, in OpenAI's words; empty before.
    """

    def __init__(self, url: str, key: str, begun: str = "") -> None:
        self.usage: dict[str, Any] = {}
        self.finish = ""
        self.arrived = self.thought_tokens = 0
        self.progress: Progress | None = None
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
    def thinking(self) -> bool:
        """Whether a thought is open."""
        return bool(self._parser.closing)

    def read(self, data: bytes) -> list[Piece]:
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
        return pieces

    def _read_numbers(self, message: dict[str, Any]) -> None:
        if isinstance(message.get("usage"), dict):
            self.usage = message["usage"]
        progress = message.get("prompt_progress")
        if isinstance(progress, dict):
            done, total, reused = (_number(progress.get(name)) for name in ("processed", "total", "cache"))
            self.progress = Progress(min(done, total), total, min(reused, total))

    def number(self, *names: str) -> int:
        """Return one of the server's own numbers, like "prompt_tokens"; 0 if it does not tell."""
        found: Any = self.usage
        for name in names:
            found = found.get(name) if isinstance(found, dict) else None
        return _number(found)


def _text(value: Any) -> str:
    """Return a field's text: some servers send it as a list of parts."""
    if isinstance(value, list):
        value = "".join(text for part in value if isinstance(part, dict) and isinstance(text := part.get("text"), str))
    return printable(value) if isinstance(value, str) else ""


def _number(value: Any) -> int:
    return value if type(value) is int and 0 <= value < 1 << 40 else 0
