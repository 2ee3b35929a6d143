"""Cuts a streamed answer into sentences, worded as a screen reader should say them: without marks, code only named."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.markdown.blocks import SENTENCE_END
from app.markdown.document import plain_text
from app.markdown.grammar import FENCE, TABLE_RULE, split_cells
from app.words import tr

LONG = 400  # characters after which a text without a sentence's end is cut at the next blank
_END = re.compile(rf"\n|{SENTENCE_END.pattern}")
_LINE_END = re.compile(r"\n")
_BLANK = re.compile(r"[ \t]+")
_BLOCK_MARK = re.compile(r"^(?:[ \t]*(?:[-*+>]|\d{1,9}[.)]|#{1,6})[ \t]+)+(?:\[[ xX]\][ \t]+)?")
_NOTE = re.compile(r"\[\^[\w-]+\]:?[ \t]*")


class SpokenText:
    """A streamed text: `feed` and `close` return the sentences that are complete and were not returned yet."""

    def __init__(self) -> None:
        self._rest = ""
        self._fence = ""  # the mark that closes the open code
        self._at_line_start = True

    def feed(self, piece: str) -> list[str]:
        self._rest += piece
        return [words for part in self._parts() if (words := self._spoken(part))]

    def close(self) -> list[str]:
        rest, self._rest = self._rest, ""
        words = self._spoken(rest)
        return [words] if words else []

    def _parts(self) -> Iterator[str]:
        while (end := self._next_end()) > 0:
            part, self._rest = self._rest[:end], self._rest[end:]
            yield part

    def _next_end(self) -> int:
        is_code = bool(self._fence) or (self._at_line_start and self._rest.lstrip()[:1] in ("`", "~"))
        match = (_LINE_END if is_code else _END).search(self._rest)
        if match is None and not is_code and len(self._rest) > LONG:
            match = _BLANK.search(self._rest, LONG)
        return match.end() if match else 0

    def _spoken(self, part: str) -> str:
        line, starts_line = part.strip(), self._at_line_start
        self._at_line_start = part.endswith("\n")
        if self._fence:
            if line.startswith(self._fence) and set(line) == {self._fence[0]}:
                self._fence = ""
            return ""
        if starts_line and (opening := FENCE.match(line)):
            self._fence = opening[1]
            return tr("Code block.")
        if not line or (starts_line and TABLE_RULE.match(line)):
            return ""
        is_row = starts_line and line.startswith("|")
        text = ", ".join(split_cells(line)) if is_row else _BLOCK_MARK.sub("", line) if starts_line else line
        return " ".join(plain_text(_NOTE.sub("", text)).split())
