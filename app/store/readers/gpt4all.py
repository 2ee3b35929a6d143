"""GPT4All: one `gpt4all-*.chat` for each chat, written by Qt's QDataStream in versions 1 to 12.

Numbers are big-endian. A text is its length in bytes (0xFFFFFFFF for none) and UTF-16; a list is its length and its
items. The fields are those that GPT4All 3.10 reads, with the versions from which on they are there.
"""

from __future__ import annotations

import struct

from app.store.readers.neutral import ImportedConversation, Turn, thought

MAGIC, NEWEST = 0xF5D553CC, 12
NONE = 0xFFFFFFFF
MOST_ITEMS = 1_000_000
DEEPEST = 20
QSTRING = 10  # QVariant's number of this type
ROLES = {"Prompt: ": "user", "Response: ": "assistant"}


class NewerVersion(ValueError):
    """The file is from a version of GPT4All that came after this module."""


def conversation_of(raw: bytes) -> ImportedConversation:
    """Return the chat in the bytes of a file; raise ValueError if they are none, NewerVersion if they are too new."""
    stream = _Stream(raw)
    if stream.number("I") != MAGIC:
        raise ValueError("it does not begin like a chat of GPT4All")
    version = stream.number("i")
    if version > NEWEST:
        raise NewerVersion(f"version {version}")
    if version < 1:
        raise ValueError(f"version {version}")
    created, id, title = stream.number("q"), stream.text(), stream.text()
    stream.text()  # the user's name
    model = stream.text()
    if version >= 3:
        stream.texts()  # collections of documents
    if version < 11:
        _skip_model_state(stream, version)
    turns = [_turn(stream, version, number, model) for number in range(stream.count("i"))]
    time = float(created) if 0 <= created < 1 << 40 else None
    return ImportedConversation("gpt4all", f"gpt4all/{id}", title, turns, time)


def _turn(stream: _Stream, version: int, number: int, model: str) -> Turn:
    if version < 12:
        stream.number("i")  # a number of the item
    name, value = stream.text(), stream.text()
    if version < 10:
        stream.text()  # the prompt again
    newer = stream.text()
    stream.number("?")  # whether it is the current answer
    stopped = stream.number("?")
    stream.skip(2)  # thumbs up, thumbs down
    if version >= 11 and name == "Response: ":
        stream.number("?")  # whether it is an error
    if version >= 8:
        for _ in range(stream.count("q")):
            stream.skip_texts(7)
            stream.skip(12)  # page and lines
    elif version >= 3:
        stream.text()
        stream.texts()
    files = []
    if version >= 10:
        for _ in range(stream.count("q")):
            address = stream.data().decode("utf-8", "replace")
            stream.data()
            files.append(f"[{address.rsplit('/', 1)[-1]}]")
    took: list[float] = []
    below = _sub_items(stream, took, DEEPEST) if version >= 12 else ""
    words = value if not below else below if value.strip() in below else below + value
    return Turn(
        str(number),
        str(number - 1) if number else None,
        ROLES.get(name, ""),
        "\n\n".join((*files, newer or words)),
        None,
        model,
        "cancelled" if stopped else "end",
        sum(took) if took else None,
    )


def _sub_items(stream: _Stream, took: list[float], depth: int) -> str:
    """Return the thoughts and texts of an answer's parts; the calls of tools are left out."""
    if not depth:
        raise ValueError("nested too deeply")
    pieces = []
    for _ in range(stream.count("q")):
        name, value = stream.text(), stream.text()
        if name == "ToolCall: ":
            _skip_tool_call(stream)
        if name == "Think: ":
            took.append(stream.number("i") / 1000)
            pieces.append(thought(value))
        elif name in ("Text: ", "Response: ") and value.strip():
            pieces.append(value + "\n\n")
        pieces.append(_sub_items(stream, took, depth - 1))
    return "".join(pieces)


def _skip_tool_call(stream: _Stream) -> None:
    stream.text()
    for _ in range(stream.count("q")):
        stream.text()
        stream.number("i")
        if stream.number("I") != QSTRING:
            raise ValueError("a tool's parameter is no text")
        stream.skip(1)
        stream.text()
    stream.text()
    stream.number("i")
    stream.text()


def _skip_model_state(stream: _Stream, version: int) -> None:
    """Skip what versions before 11 stored of the model: its cache, which nothing here can use."""
    has_cache = bool(stream.number("?")) if version >= 6 else True
    if version >= 2:
        stream.skip(8)  # kind of model, version of the state
    stream.skip_texts(2)
    stream.skip(4)  # tokens
    if not has_cache:
        return
    stream.skip((4 if version < 4 else 0) + 4 + (4 if version >= 7 else 0))
    if version < 9:
        stream.skip(stream.number("Q") * 4)  # logits
    stream.skip(stream.number("Q") * 4)  # tokens
    stream.data()


class _Stream:
    """A reader of QDataStream's format; everything that reaches beyond the end raises ValueError."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0

    def skip(self, size: int) -> bytes:
        """Return the next bytes and go on behind them."""
        if not 0 <= size <= len(self._raw) - self._at:
            raise ValueError("the file ends too early")
        self._at += size
        return self._raw[self._at - size : self._at]

    def number(self, kind: str) -> int:
        """Return a number of this kind, a letter of `struct`."""
        return int(struct.unpack(f">{kind}", self.skip(struct.calcsize(f">{kind}")))[0])

    def count(self, kind: str) -> int:
        """Return the length of a list."""
        count = self.number(kind)
        if not 0 <= count <= MOST_ITEMS:
            raise ValueError("a list is too long")
        return count

    def data(self) -> bytes:
        size = self.number("I")
        return b"" if size == NONE else self.skip(size)

    def text(self) -> str:
        return self.data().decode("utf-16-be", "replace")

    def texts(self) -> list[str]:
        return [self.text() for _ in range(self.count("I"))]

    def skip_texts(self, count: int) -> None:
        for _ in range(count):
            self.data()
