"""Turns LaTeX into SVG in a process of its own, line by line: `python -m app.services.math_worker`. Knows no Qt.

A formula can be written so that its layout takes for ever or all memory. The window then ends this process, and the
system limits its memory (`worker.py`). Only outlines, and letters that the font lacks, get into the SVG, so that an SVG
can neither load nor run anything.
"""

from __future__ import annotations

import importlib
import re
from html import escape
from typing import Any

import msgspec

from app.services.worker import WorkerResult, serve

EM = 100  # units of the SVG to the font's size
LONGEST_TEX = 4_000
LONGEST_SVG = 400_000
_TAGS = re.compile(r"<([^\s/>]+)")
_ALLOWED = {"svg", "g", "path", "rect", "line", "polyline"}
_VIEW = re.compile(r'viewBox="(\S+) (\S+) (\S+) (\S+)"')
_UNKNOWN = re.compile(r">[^<]*\\[^<]*<")


class Task(msgspec.Struct, frozen=True):
    """One formula to draw."""

    tex: str
    display: bool


class Drawing(WorkerResult, frozen=True):
    """The drawing of one formula; `svg` is "" if it failed.

    Lengths in `svg` are hundredths of the font's size; shapes are black unless the formula names a colour. `ascent` and
    `descent` are the heights above and below the baseline in font sizes, like `width`.
    """

    svg: str = ""
    width: float = 0.0
    ascent: float = 0.0
    descent: float = 0.0


def draw(task: Task) -> Drawing:
    """Draw the formula; a failure is returned as a Drawing with a `problem`."""
    try:
        return _drawing(_svg(task))
    except Exception as error:  # noqa: BLE001  # hostile input to libraries that raise anything
        return Drawing(problem=f"{type(error).__name__}: {error}"[:200])


def _svg(task: Task) -> str:
    import latex2mathml.converter

    ziamath: Any = importlib.import_module("ziamath")  # its type stubs lack the names used here
    if len(task.tex) > LONGEST_TEX:
        raise ValueError("too long")
    # The library prints unknown commands literally; showing the whole source is better than half of it.
    if _UNKNOWN.search(latex2mathml.converter.convert(task.tex)):
        raise ValueError("an unknown command")
    ziamath.config.svg2, ziamath.config.precision = False, 2
    if not _RUN.search(task.tex):
        return _outlines(str(ziamath.Latex(task.tex, size=EM, inline=not task.display).svg()))
    if "\\tag" in task.tex:
        raise ValueError("a number beside letters")
    mathml, letters = with_boxes(importlib.import_module("ziamath.tex").tex2mml(task.tex, inline=not task.display))
    return with_letters(_outlines(str(ziamath.Math(mathml, size=EM).svg())), letters)


def _outlines(svg: str) -> str:
    """Return the SVG unchanged; raise ValueError if it is too large or contains anything but outlines."""
    if len(svg) > LONGEST_SVG:
        raise ValueError("too large")
    if not set(_TAGS.findall(svg)) <= _ALLOWED:
        raise ValueError("not only outlines")
    return svg


def _drawing(svg: str) -> Drawing:
    view = _VIEW.search(svg)
    if view is None:
        raise ValueError("no size")
    _, top, width, height = (float(number) / EM for number in view.groups())
    if not (0 < width < 1_000 and 0 < height < 1_000):
        raise ValueError("no sensible size")
    return Drawing(svg, width, -top, top + height)


# --- letters that the font for formulas lacks, mostly Chinese ones: boxes in the layout ------------------------------
# A box of the letters' width takes part in the layout. Its colour identifies the box in the drawing, where it is
# replaced by the letters, which the window then draws with the system's fonts.

WIDE = r"[\u2E80-\uD7FF\uF900-\U0001D3FF\U0001D800-\U0010FFFF]"
ABOVE, BELOW = 0.88, 0.12  # heights of such a letter above and below the baseline, in font sizes
UNIT = 0.75  # em of the library to the font's size
MOST = 256
_RUN = re.compile(f"({WIDE}+)")
_SPACE = "&#x000A0;"
_PARTS = re.compile(f"({WIDE}+|{_SPACE})")
_LEAF = re.compile(r"<(mi|mtext|mo|mn|ms)\b([^>]*)>([^<]*)</\1>")
_BOX = re.compile(r'<rect x="([-\d.]+)" y="([-\d.]+)" width="[-\d.]+" height="([-\d.]+)" fill="#fe01([0-9a-f]{2})" ?/>')


def with_boxes(mathml: str) -> tuple[str, list[str]]:
    """Replace each run of letters that the font lacks by a box in the MathML; return the MathML and the runs.

    Raises ValueError if there are too many runs.
    """
    letters: list[str] = []

    def boxed(run: str) -> str:
        letters.append(run)
        if len(letters) > MOST:
            raise ValueError("too many letters")
        size = f'width="{len(run) * UNIT}em" height="{ABOVE * UNIT}em" depth="{BELOW * UNIT}em"'
        return f'<mspace {size} mathbackground="#fe01{len(letters) - 1:02x}"/>'

    def leaf(match: re.Match[str]) -> str:
        name, attributes, text = match.groups()
        if not _RUN.search(text):
            return match[0]
        return "<mrow>" + "".join(part(name, attributes, each) for each in _PARTS.split(text) if each) + "</mrow>"

    def part(name: str, attributes: str, text: str) -> str:
        if text == _SPACE:  # an own element: behind a box the library would paint the space black
            return f'<mspace width="{UNIT / 4}em"/>'
        return boxed(text) if _RUN.match(text) else f"<{name}{attributes}>{text}</{name}>"

    return _LEAF.sub(leaf, mathml), letters


def with_letters(svg: str, letters: list[str]) -> str:
    """Replace the boxes in the SVG by their letters; raise ValueError if a box is missing."""

    def text(match: re.Match[str]) -> str:
        left, top, size = (float(number) for number in match.groups()[:3])
        return (
            f'<text x="{left:.2f}" y="{top + ABOVE * size:.2f}" font-size="{size:.2f}" font-family="sans-serif"'
            f' fill="black">{escape(letters[int(match[4], 16)])}</text>'
        )

    drawn, count = _BOX.subn(text, svg)
    if count != len(letters):
        raise ValueError("letters were lost")
    return drawn


# --- the process ------------------------------------------------------------------------------------------------------


def main() -> None:
    serve(Task, draw, Drawing(), lambda: draw(Task("x", False)))


if __name__ == "__main__":
    main()
