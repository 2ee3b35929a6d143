"""Footnotes: `[^1]` becomes a raised number, and what `[^1]: …` says is taken out of the text, for its end. No Qt.

A text shows its footnotes while it streams, before it is known which are explained, so a number is always taken for
one; a word of less than three letters is not: `[^a-z]` is more often a set of characters.
"""

from __future__ import annotations

import re

_LABEL = r"\[\^(\d{1,3}|[^\W\d_]{3}[\w-]{0,40})\]"
_DEFINITION = re.compile(rf"^ {{0,3}}{_LABEL}:[ \t]*")
_REFERENCE = re.compile(rf"\\.|(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)|{_LABEL}", re.DOTALL)
_BEGUN = re.compile(r"\[(\^[\w-]{0,43})?$")
_OTHER = re.compile(r"^ {0,3}([#>|]|[-*+][ \t]|\d{1,9}[.)][ \t]|\$\$|\\\[)")
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Footnotes:
    """Those of one text. The lines of a note are taken with `take`; `listed` is all of them, as markdown."""

    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}
        self._notes: dict[str, list[str]] = {}
        self._last: list[str] | None = None  # the note that may go on
        self._blank = False

    def belongs(self, line: str) -> bool:
        """Is `line` a note's beginning, or does it go on with one?"""
        if _DEFINITION.match(line):
            return True
        if self._last is None or not line.strip():
            return False
        return line.startswith(("  ", "\t")) or not (self._blank or _OTHER.match(line))

    def take(self, line: str) -> None:
        """A line that belongs."""
        definition = _DEFINITION.match(line)
        if definition:
            _number(definition[1], self._numbers)
            self._last = self._notes.setdefault(definition[1], [])
            line = line[definition.end() :]
        if self._last is not None:
            self._last += ["", line.strip()] if self._blank and self._last and not definition else [line.strip()]
        self._blank = False

    def pause(self, line: str) -> None:
        """A line that does not belong: a blank one, or the end of the notes here."""
        self._blank = not line.strip()
        if not self._blank:
            self._last = None

    def marked(self, text: str, is_open: bool = False) -> str:
        """The text with a raised number for each mark; one that is just being written at its end is not shown."""
        if "[" not in text:
            return text
        # Numbers are given for good only where the text is: what is open may turn out to be code.
        text = _marked(text, dict(self._numbers) if is_open else self._numbers)
        return _BEGUN.sub("", text) if is_open else text

    def listed(self, rest: str = "") -> str:
        """The notes so far, with the line that is being written; empty where there are none."""
        notes = {label: list(lines) for label, lines in self._notes.items()}
        begun = _DEFINITION.match(rest)
        if begun:
            notes.setdefault(begun[1], []).append(rest[begun.end() :])
        elif rest and notes and self._last is not None:
            list(notes.values())[-1].append(rest.strip())
        if not notes:
            return ""
        numbers = dict(self._numbers)
        texts = {label: "\n".join(lines).strip() for label, lines in notes.items()}
        return "\n\n".join(["---", *(f"{_number(label, numbers)} {_marked(texts[label], numbers)}" for label in texts)])


def _marked(text: str, numbers: dict[str, str]) -> str:
    return _REFERENCE.sub(lambda found: _number(found[2], numbers) if found[2] else found[0], text)


def _number(label: str, numbers: dict[str, str]) -> str:
    """The label's number, raised; a word's is the next that is free."""
    if label not in numbers:
        free = (str(number) for number in range(1, 10_000) if str(number) not in numbers.values())
        numbers[label] = label.lstrip("0") or "0" if label.isdigit() else next(free, label)
    return numbers[label].translate(_RAISED)
