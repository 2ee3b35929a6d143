"""Turns LaTeX into SVG in a process of its own, line by line: `python -m app.markdown.math_worker`. Knows no Qt.

A formula can be written so that laying it out takes for ever or all memory; the window ends this process then, and
the system refuses it more than MEMORY. Nothing but outlines, and letters that have none, leaves it, so an SVG can
neither load nor run anything.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from contextlib import suppress
from typing import Any, BinaryIO

import msgspec

from app.markdown.math_text import has_letters, with_boxes, with_letters
from common.confinement import Rights, confine

EM = 100  # units of the SVG to the font's size
MEMORY = 1 << 30
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


class Drawing(msgspec.Struct, frozen=True):
    """`svg` with all lengths in hundredths of the font's size, black where no colour was asked for; "" if it failed.

    `ascent` and `descent` are above and below the line the text stands on, in font sizes, like `width`.
    """

    svg: str = ""
    width: float = 0.0
    ascent: float = 0.0
    descent: float = 0.0
    problem: str = ""


def draw(task: Task) -> Drawing:
    """The task's drawing, with the reason in `problem` if there can be none."""
    try:
        return _drawing(_svg(task))
    except Exception as error:  # noqa: BLE001  # hostile input to libraries that raise anything
        return Drawing(problem=f"{type(error).__name__}: {error}"[:200])


def _svg(task: Task) -> str:
    import latex2mathml.converter

    ziamath: Any = importlib.import_module("ziamath")  # its types do not name what it exports
    if len(task.tex) > LONGEST_TEX:
        raise ValueError("too long")
    # What it does not know it would print as it is; then rather the whole source than half of it.
    if _UNKNOWN.search(latex2mathml.converter.convert(task.tex)):
        raise ValueError("an unknown command")
    ziamath.config.svg2, ziamath.config.precision = False, 2
    if not has_letters(task.tex):
        return _outlines(str(ziamath.Latex(task.tex, size=EM, inline=not task.display).svg()))
    if "\\tag" in task.tex:
        raise ValueError("a number beside letters")
    mathml, letters = with_boxes(importlib.import_module("ziamath.tex").tex2mml(task.tex, inline=not task.display))
    return with_letters(_outlines(str(ziamath.Math(mathml, size=EM).svg())), letters)


def _outlines(svg: str) -> str:
    """The drawing as it came, if there is nothing else in it."""
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


def serve(tasks: BinaryIO, drawings: BinaryIO) -> None:
    """An empty drawing once all is loaded, then one line of JSON for each that comes in, until there are no more."""
    draw(Task("x", False))
    drawings.write(msgspec.json.encode(Drawing()) + b"\n")
    drawings.flush()
    for line in tasks:
        try:
            drawing = draw(msgspec.json.decode(line, type=Task))
        except msgspec.MsgspecError as error:
            drawing = Drawing(problem=str(error))
        drawings.write(msgspec.json.encode(drawing) + b"\n")
        drawings.flush()


def restrain() -> None:
    """Behind the engine, which needs the processor more, and with a limit to the memory, where the system has that.
    It reads its own program, writes no file, starts nothing and has no network."""
    confine(Rights(processes=False, memory=MEMORY))
    with suppress(AttributeError, OSError):
        os.nice(5)
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def main() -> None:
    restrain()
    drawings = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    serve(sys.stdin.buffer, drawings)


if __name__ == "__main__":
    main()
