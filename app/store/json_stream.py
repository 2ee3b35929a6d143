"""Reads a JSON file of any size one element at a time. Knows nothing of the content.

The file's outermost value is an array or an object. Only brackets and strings are parsed to find the end of an element,
so that a wrong or hostile file takes no more memory than its longest element may have.

ijson, which is faster, was not used: for 100 kB of nothing but `[` it takes 4 GB, and it does not say where a file is
damaged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import IO, Any

CHUNK = 1 << 18
LONGEST = 64 << 20  # bytes of one element
DEEPEST = 200
_SPACE = re.compile(rb"[ \t\r\n]*")
_NO_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)  # and whole strings
_DEEPER = {b"[": 1, b"{": 1, b"]": -1, b"}": -1}
_SCALAR = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[^\s"\[\]{},:]+', re.DOTALL)
_BOM = b"\xef\xbb\xbf"


class NotJson(ValueError):
    """A syntax error; `str()` says what is wrong and `at` is the byte position."""

    def __init__(self, problem: str, at: int) -> None:
        super().__init__(problem)
        self.at = at


class JsonStream:
    """A JSON file that is read element by element; `done` is how many bytes were read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._data = b""
        self._at = 0
        self._before = 0  # bytes of the file before _data
        self._ended = False

    @property
    def done(self) -> int:
        return self._before + self._at

    def elements(self) -> Iterator[tuple[str, Any]]:
        """Yield (key, element) pairs; raise NotJson or OSError.

        The elements of an outer array have the key "". Of an outer object each value comes with its key, and if the
        value is an array, each of its elements comes with that key.
        """
        if self._peek() == b"\xef":
            self._at += len(_BOM)
        opening = self._peek()
        if opening == b"[":
            yield from (("", element) for element in self._array())
        elif opening == b"{":
            yield from self._object()
        else:
            raise self._wrong("neither a list nor an object")
        if self._peek(may_end=True):
            raise self._wrong("something follows the end")

    def _object(self) -> Iterator[tuple[str, Any]]:
        self._at += 1
        while self._peek() != b"}":
            key = self._value()
            if not isinstance(key, str) or self._peek() != b":":
                raise self._wrong("a name and a colon are missing")
            self._at += 1
            if self._peek() == b"[":
                yield from ((key, element) for element in self._array())
            else:
                yield key, self._value()
            self._comma(b"}")
        self._at += 1

    def _array(self) -> Iterator[Any]:
        self._at += 1
        while self._peek() != b"]":
            yield self._value()
            self._comma(b"]")
        self._at += 1

    def _comma(self, end: bytes) -> None:
        if self._peek() == b",":
            self._at += 1
            if self._peek() == end:
                raise self._wrong("a comma before the end")
        elif self._peek() != end:
            raise self._wrong("a comma is missing")

    def _value(self) -> Any:
        opening = self._peek()
        end = self._bracket_end() if opening in (b"[", b"{") else self._scalar_end()
        raw, start = self._data[self._at : end], self.done
        self._at = end
        try:
            return json.loads(raw)
        except (ValueError, RecursionError) as error:
            problem = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            at = error.pos if isinstance(error, json.JSONDecodeError) else 0
            raise NotJson(problem, start + at) from error

    def _bracket_end(self) -> int:
        depth, place = 0, 0  # `place` counts from self._at
        while True:
            skipped = _NO_BRACKET.match(self._data, self._at + place)
            place = (skipped.end() if skipped else self._at + place) - self._at
            change = _DEEPER.get(self._data[self._at + place : self._at + place + 1])
            if change is None:  # the end of the data read so far, maybe within a string
                self._more()
                continue
            place, depth = place + 1, depth + change
            if depth > DEEPEST:
                raise self._wrong("nested too deeply")
            if not depth:
                return self._at + place

    def _scalar_end(self) -> int:
        while True:
            match = _SCALAR.match(self._data, self._at)
            if match is not None and (match.end() < len(self._data) or self._ended):
                return match.end()
            if match is None and self._data[self._at : self._at + 1] != b'"':
                raise self._wrong("a value is missing")
            self._more()

    def _peek(self, may_end: bool = False) -> bytes:
        """Return the next byte that is not blank, without consuming it; b"" at the end if `may_end`.

        Raises NotJson after LONGEST blanks: a small zip file can hold gigabytes of them.
        """
        start = self.done
        while True:
            match = _SPACE.match(self._data, self._at)
            self._at = match.end() if match else self._at
            if self.done - start > LONGEST:
                raise self._wrong("one entry is too large")
            if self._at < len(self._data):
                return self._data[self._at : self._at + 1]
            if may_end and not self._read():
                return b""
            if not may_end:
                self._more()

    def _more(self) -> None:
        if len(self._data) - self._at > LONGEST:
            raise self._wrong("one entry is too large")
        if not self._read():
            raise self._wrong("the file ends in the middle")

    def _read(self) -> bool:
        """Read a chunk as long as the element so far; return False at the end of the file.

        So no byte is copied more than a few times.
        """
        piece = self._file.read(max(CHUNK, len(self._data) - self._at))
        self._ended = not piece
        self._before += self._at
        self._data = self._data[self._at :] + piece
        self._at = 0
        return bool(piece)

    def _wrong(self, problem: str) -> NotJson:
        return NotJson(problem, self.done)
