"""Footnotes: each mark `[^1]` becomes a raised number, and the definitions move to the text's end. No Qt.

A mark without a definition stays as it was written. A label of fewer than three letters is never a footnote's: `[^a-z]`
is more often a character class.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

FOOTNOTE_LABEL = re.compile(r"\d{1,3}|[^\W\d_]{3}[\w-]{0,40}")  # a number, or a word of three letters or more
_NOTE = rf"\[\^({FOOTNOTE_LABEL.pattern})\]"
_NOTE_HEAD = re.compile(rf"^[ \t]*{_NOTE}:[ \t]*")
_NOTE_MARK = re.compile(rf"\\.|(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)|{_NOTE}", re.DOTALL)
_MARK_BEGUN = re.compile(r"\[(\^[\w-]{0,43})?$")
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass
class Footnotes:
    """The footnotes of one text.

    `labels` are those that the text defines anywhere, as far as is known. Marks are numbered in the order in which
    `with_numbers` is given them; a label that is a number keeps it. `notes` has the definitions so far, `numbers` the
    numbers, both by label; `last` is the last number that a word got.
    """

    labels: frozenset[str] = frozenset()
    notes: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)
    last: int = 0

    def copy(self) -> Footnotes:
        return Footnotes(self.labels, dict(self.notes), dict(self.numbers), self.last)

    def renumbered(self, labels: frozenset[str]) -> Footnotes:
        """Return footnotes with the same definitions that know these labels and have numbered no mark yet."""
        return Footnotes(labels, dict(self.notes))

    def define(self, label: str, lines: list[str]) -> None:
        """Add the lines of a footnote's definition."""
        text = "\n".join([_NOTE_HEAD.sub("", lines[0]), *(re.sub("^(?: {1,4}|\t)", "", line) for line in lines[1:])])
        self.notes[label] = f"{self.notes[label]}\n{text}" if label in self.notes else text

    def with_numbers(self, text: str, is_open: bool = False) -> str:
        """Replace each footnote mark by its raised number; hide a mark that is being written at the text's end."""
        if "[^" in text and self.labels:
            text = _NOTE_MARK.sub(self._raised_or_same, text)
        return _MARK_BEGUN.sub("", text) if is_open else text

    def to_markdown(self) -> str:
        """Return all definitions so far as markdown, or "" if there are none."""
        if not self.notes:
            return ""
        texts = [(label, self.with_numbers(text.strip())) for label, text in self.notes.items()]
        return "\n\n".join(["---", *(f"{self._number(label)} {text}" for label, text in texts)])

    def _raised_or_same(self, match: re.Match[str]) -> str:
        return self._number(match[2]) if match[2] in self.labels else match[0]

    def _number(self, label: str) -> str:
        """Return the label's raised number; a word gets the next number that is no label itself."""
        if label not in self.numbers:
            self.numbers[label] = (label.lstrip("0") or "0") if label.isdigit() else self._next_number()
        return self.numbers[label].translate(_RAISED)

    def _next_number(self) -> str:
        self.last += 1
        while {f"{self.last}", f"{self.last:02}", f"{self.last:03}"} & self.labels:
            self.last += 1
        return str(self.last)
