"""Letters that the font for formulas does not have, Chinese ones above all: laid out as boxes, drawn as text. No Qt.

A box of the letters' width takes part in the layout, in a colour of its own; in the drawing it is found by that and
becomes the letters, which the window then draws with the system's fonts.
"""

from __future__ import annotations

import re
from html import escape

WIDE = r"[\u2E80-\uD7FF\uF900-\U0001D3FF\U0001D800-\U0010FFFF]"
ABOVE, BELOW = 0.88, 0.12  # of such a letter, in font sizes, over and under the line it stands on
UNIT = 0.75  # em of the library to the font's size
MOST = 256
_RUN = re.compile(f"({WIDE}+)")
_SPACE = "&#x000A0;"
_PARTS = re.compile(f"({WIDE}+|{_SPACE})")
_LEAF = re.compile(r"<(mi|mtext|mo|mn|ms)\b([^>]*)>([^<]*)</\1>")
_BOX = re.compile(r'<rect x="([-\d.]+)" y="([-\d.]+)" width="[-\d.]+" height="([-\d.]+)" fill="#fe01([0-9a-f]{2})" ?/>')


def has_letters(tex: str) -> bool:
    return bool(_RUN.search(tex))


def with_boxes(mathml: str) -> tuple[str, list[str]]:
    """The MathML with a box for each run of such letters, and the runs. Raises ValueError where there are too many."""
    letters: list[str] = []

    def boxed(run: str) -> str:
        letters.append(run)
        if len(letters) > MOST:
            raise ValueError("too many letters")
        size = f'width="{len(run) * UNIT}em" height="{ABOVE * UNIT}em" depth="{BELOW * UNIT}em"'
        return f'<mspace {size} mathbackground="#fe01{len(letters) - 1:02x}"/>'

    def leaf(found: re.Match[str]) -> str:
        name, attributes, text = found.groups()
        if not _RUN.search(text):
            return found[0]
        return "<mrow>" + "".join(part(name, attributes, each) for each in _PARTS.split(text) if each) + "</mrow>"

    def part(name: str, attributes: str, text: str) -> str:
        if text == _SPACE:  # of its own: behind a box, the library would paint that black
            return f'<mspace width="{UNIT / 4}em"/>'
        return boxed(text) if _RUN.match(text) else f"<{name}{attributes}>{text}</{name}>"

    return _LEAF.sub(leaf, mathml), letters


def with_letters(svg: str, letters: list[str]) -> str:
    """The drawing with the letters in place of their boxes. Raises ValueError if a box is missing."""

    def text(found: re.Match[str]) -> str:
        left, top, size = (float(number) for number in found.groups()[:3])
        return (
            f'<text x="{left:.2f}" y="{top + ABOVE * size:.2f}" font-size="{size:.2f}" font-family="sans-serif"'
            f' fill="black">{escape(letters[int(found[4], 16)])}</text>'
        )

    drawn, count = _BOX.subn(text, svg)
    if count != len(letters):
        raise ValueError("letters were lost")
    return drawn
