"""Escaping: keeps the text of control tokens in messages apart from the template's own control tokens.

What a user pastes must not end the user's turn and begin another one: the text of a control token becomes that token
only where the template wrote it. So the characters with which such texts begin and end are replaced in messages, one
for one, by private-use characters before the template sees the messages. Whatever the template cuts, reverses or joins,
each character still shows its origin; afterwards it is replaced back. Only single characters are replaced, so no change
by the template can damage an escape. Knows no template and no tokens.

Marks like <|channel|> and <think> are a token of their own in any text in some vocabularies, although they are no
control tokens. A message's text is cut within them, so that it is tokenized as any other text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, pairwise, repeat

# First and last characters of control tokens' texts, in all vocabularies that come with llama.cpp.
ENDS = "<>[]◁▷"
# Texts like <think>, which templates look for in answers: escaped only if they are control tokens, or no template
# would find them.
TAG = re.compile(r"[<\[◁][^<>\[\]◁▷\s\"'{}]{1,64}[>\]▷]")
PRIVATE = range(0xE000, 0xF900)  # private-use characters, which have no meaning


class ControlTextEscaper:
    """Two-way replacement of the characters of control-token texts by private-use characters, one for one.

    `taken`: texts whose characters must not be used as replacements. `visible`: texts that are never replaced, because
    the template looks for them. `unusual`: control-token texts that do not begin and end with the usual characters; all
    their characters are replaced where such a text occurs.
    """

    def __init__(self, taken: Sequence[str], visible: Iterable[str] = (), unusual: Collection[str] = ()) -> None:
        self._visible = frozenset(visible) - set(unusual)
        free = (char for char in map(chr, PRIVATE) if not any(char in text for text in taken))
        # If all are taken, unescaping changes the text, but no control token of a message becomes real.
        escapes = dict(zip(sorted({*ENDS, *chain(*unusual)}), chain(free, repeat(chr(PRIVATE[0]))), strict=False))
        self._escapes, self._originals = str.maketrans(escapes), {escape: char for char, escape in escapes.items()}
        self._escape_pattern = re.compile(f"[{''.join(self._originals)}]")
        texts = sorted({*unusual, *self._visible}, key=len, reverse=True)
        self._pattern = re.compile("|".join([*map(re.escape, texts), f"[{re.escape(ENDS)}]"]))

    def escape(self, content: str) -> str:
        """Return a message's content for the template, with escaped control-token texts; the length stays the same."""

        def escaped(match: re.Match[str]) -> str:
            return match[0] if match[0] in self._visible else match[0].translate(self._escapes)

        return self._pattern.sub(escaped, content)

    def unescape(self, text: str) -> str:
        """Return the rendered text with the original characters; the length stays the same."""
        return self._escape_pattern.sub(lambda match: self._originals[match[0]], text)


def find_tags(source: str) -> set[str]:
    """Return the texts like `<think>` in a template's source, which it may look for in messages."""
    return set(TAG.findall(source))


def split_by_origin(escaped: str, plain: str, controls: Iterable[str]) -> list[tuple[str, bool]]:
    """Split `plain` into parts, each with a flag whether the texts of control tokens in it are control tokens.

    `escaped` is the same text before unescaping: a control-token text that contains an escaped character comes from a
    message and is plain text. `controls`: the texts of control tokens. The text is cut only next to control tokens of
    the template.
    """
    from_message = bytearray(len(plain))  # 1 in control-token texts that contain a message's characters
    real: list[tuple[int, int]] = []  # start and end of the template's control tokens
    spans = list(_spans(plain, controls))
    for start, end in spans:
        if escaped[start:end] != plain[start:end]:
            from_message[start:end] = b"\1" * (end - start)
    if 1 not in from_message:
        return [(plain, True)]
    taken = from_message.copy()
    for start, end in spans:
        if 1 not in taken[start:end]:
            taken[start:end] = b"\1" * (end - start)
            real.append((start, end))
    parts: list[tuple[str, bool]] = []
    part_start = last_end = 0  # start of the next part with control tokens, and end of the last one of them
    for start, end in [*sorted(real), (len(plain), len(plain))]:
        if from_message.find(1, last_end, start) >= 0:
            parts += [(plain[part_start:last_end], True), (plain[last_end:start], False)]
            part_start = start
        last_end = end
    parts.append((plain[part_start:], True))
    return [part for part in parts if part[0]]


def cut_within(text: str, marks: Collection[str]) -> list[str]:
    """Cut a text behind the first character of each mark in it, so that no part contains one."""
    if not any(mark in text for mark in marks):
        return [text]
    begins = re.compile(f"(?=(?:{'|'.join(map(re.escape, marks))}))")  # finds those that overlap too
    cuts = [match.start() + 1 for match in begins.finditer(text)]
    return [text[start:end] for start, end in pairwise((0, *cuts, len(text)))]


def _spans(text: str, controls: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each occurrence of a control-token text, overlapping ones too, longest texts first."""
    for control in sorted(controls, key=len, reverse=True):
        at = text.find(control)
        while at >= 0:
            yield at, at + len(control)
            at = text.find(control, at + 1)
