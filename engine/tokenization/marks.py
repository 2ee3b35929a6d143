"""Tells what a message says from what its chat's template says, after both have become one text.

What a user pastes must not be able to end his turn and begin another one: the text of a control token is that token
only where the template wrote it. So the characters that such texts begin and end with are replaced in messages by
others, one by one, before the template sees them. Whatever it cuts out, turns round or puts together, each one shows
where it came from, and afterwards it becomes again what it was. Nothing can be damaged, as there is nothing to find but
single characters. Knows no template and no tokens.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, repeat

# What control tokens' texts begin or end with, in all vocabularies that come with llama.cpp.
ENDS = "<>[]◁▷"
# What templates look for in answers: not replaced where it is no control token, or they would not find it.
TAG = re.compile(r"[<\[◁][^<>\[\]◁▷\s\"'{}]{1,64}[>\]▷]")
PRIVATE = range(0xE000, 0xF900)  # characters without a meaning


class Marks:
    """`mark` and `unmark` replace characters, one for one, by such as are not in the texts `taken`. `visible` texts are
    left alone, `odd` ones replaced wherever they stand."""

    def __init__(self, taken: Sequence[str], visible: Iterable[str] = (), odd: Collection[str] = ()) -> None:
        self._visible = frozenset(visible) - set(odd)
        free = (mark for mark in map(chr, PRIVATE) if not any(mark in text for text in taken))
        # Where all are taken, a text comes out changed, but as a message's all the same.
        marks = dict(zip(sorted({*ENDS, *chain(*odd)}), chain(free, repeat(chr(PRIVATE[0]))), strict=False))
        self._marks, self._plain = str.maketrans(marks), {mark: char for char, mark in marks.items()}
        self._marked = re.compile(f"[{''.join(self._plain)}]")
        texts = sorted({*odd, *self._visible}, key=len, reverse=True)
        self._special = re.compile("|".join([*map(re.escape, texts), f"[{re.escape(ENDS)}]"]))

    def mark(self, content: str) -> str:
        """A message's content as the template gets it; as long as `content`."""
        return self._special.sub(lambda found: self._replaced(found[0]), content)

    def _replaced(self, text: str) -> str:
        return text if text in self._visible else text.translate(self._marks)

    def unmark(self, text: str) -> str:
        """What the template made of marked messages, as it is meant; as long as `text`."""
        return self._marked.sub(lambda found: self._plain[found[0]], text)


def tags(source: str) -> set[str]:
    """What a template might look for in messages, among other things."""
    return set(TAG.findall(source))


def runs(marked: str, plain: str, controls: Iterable[str]) -> list[tuple[str, bool]]:
    """`plain` in parts, and of each: are the texts of `controls` in it control tokens? `marked` is the same text before
    `unmark`: one that has a character of a message in it is none, and parts are only cut beside those that are."""
    said, real = bytearray(len(plain)), list[tuple[int, int]]()  # 1 where a message says a control token's text
    spans = list(_spans(plain, controls))
    for start, end in spans:
        if marked[start:end] != plain[start:end]:
            said[start:end] = b"\1" * (end - start)
    if 1 not in said:
        return [(plain, True)]
    taken = said.copy()
    for start, end in spans:
        if 1 not in taken[start:end]:
            taken[start:end] = b"\1" * (end - start)
            real.append((start, end))
    parts: list[tuple[str, bool]] = []
    begun = done = 0  # where the next part with control tokens begins, and the end of the last of them
    for start, end in [*sorted(real), (len(plain), len(plain))]:
        if said.find(1, done, start) >= 0:
            parts += [(plain[begun:done], True), (plain[done:start], False)]
            begun = start
        done = end
    parts.append((plain[begun:], True))
    return [part for part in parts if part[0]]


def _spans(text: str, controls: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Where they are, overlapping ones too, the longest first."""
    for control in sorted(controls, key=len, reverse=True):
        at = text.find(control)
        while at >= 0:
            yield at, at + len(control)
            at = text.find(control, at + 1)
