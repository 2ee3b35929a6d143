"""`python -m training.plot LOG.jsonl OUT.svg`: a training's log as a picture."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.failures import CommandFailure, Failure
from training.log import read_log

WIDTH, HEIGHT = 640, 190  # pixels of one diagram, margins included
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 30, 30
LEARNED, HELD_OUT = "#9ab8cf", "#b5541c"
INK, GRID = "#555555", "#dddddd"
SMOOTHED = 10  # steps over which the mean is drawn

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Diagram:
    """Lines over the number of steps: `learned` of the batches, and `held_out` of chats that are not learned."""

    title: str
    learned: Points
    held_out: Points
    label: Callable[[float], str]
    from_zero: bool = True


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m training.plot", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("log", type=Path, help="…log.jsonl, that a training has written")
    parser.add_argument("out", type=Path, help="SVG file to write")
    given = parser.parse_args(arguments)
    try:
        given.out.write_text(picture(diagrams(read_log(given.log))), encoding="utf-8")
    except (Failure, OSError) as error:
        print(f"plot: {error}", file=sys.stderr)
        return 1
    return 0


def diagrams(entries: Sequence[dict[str, Any]]) -> list[Diagram]:
    """Return the diagrams of a log. Raises Failure for a log without steps."""
    steps = [entry for entry in entries if entry["kind"] == "step"]
    judged = [entry for entry in entries if entry["kind"] == "judgement"]
    if not steps:
        raise CommandFailure("bad_log", "The log has no steps to draw yet.")
    layer = next((f"layer {entry['layer']}" for entry in entries if entry["kind"] == "began"), "the layer")
    drawn = [
        Diagram(
            f"Tokens that {layer} says as the last one",
            smooth(_points(steps, "agreement")),
            _points(judged, "agreement"),
            "{:.0%}".format,
        ),
        Diagram(
            "Last layer: KL to the model before, nats",
            smooth(_points(steps, "drift")),
            _points(judged, "drift"),
            "{:.3g}".format,
        ),
        Diagram(
            "Last layer on kept chats: KL to the model before, nats",
            smooth(_points(steps, "kept")),
            _points(judged, "kept"),
            "{:.3g}".format,
        ),
        Diagram(
            "Last layer: perplexity of the answers", [], _points(judged, "perplexity"), "{:.3g}".format, from_zero=False
        ),
    ]
    return [each for each in drawn if each.learned or each.held_out]


def _points(rows: Sequence[dict[str, Any]], name: str) -> Points:
    return [(row["number"], row[name]) for row in rows if row.get(name) is not None]


def ladder(low: float, high: float) -> list[float]:
    """Return four to eight evenly spaced round numbers that span `low` to `high`."""
    room = (high - low) or 1.0
    power = 10.0 ** math.floor(math.log10(room / 4))
    rung = next(power * times for times in (1, 2, 2.5, 5, 10) if room / (power * times) <= 6)
    first, last = math.floor(low / rung), math.ceil(high / rung)
    return [rung * i for i in range(first, max(last, first + 1) + 1)]


def smooth(points: Points) -> list[tuple[float, float]]:
    """Return the mean of each point and the SMOOTHED - 1 points before it."""
    near = [points[max(0, i - SMOOTHED + 1) : i + 1] for i in range(len(points))]
    return [(group[-1][0], sum(y for _, y in group) / len(group)) for group in near]


def picture(drawn: Sequence[Diagram]) -> str:
    height = HEIGHT * len(drawn)
    right = max(x for each in drawn for x, _ in [*each.learned, *each.held_out]) or 1
    parts = [svg for i, each in enumerate(drawn) for svg in _diagram(each, right, i * HEIGHT)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="sans-serif" font-size="12" fill="{INK}">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _diagram(drawn: Diagram, right: float, top: int) -> list[str]:
    values = [y for _, y in [*drawn.learned, *drawn.held_out]]
    low = 0.0 if drawn.from_zero else min(values)
    rungs = ladder(low, max(values))
    low, high = rungs[0], rungs[-1]

    def place(x: float, y: float) -> tuple[float, float]:
        across = LEFT + x / right * (WIDTH - LEFT - RIGHT)
        return across, top + TOP + (high - y) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [f'<text x="{LEFT}" y="{top + 18}" font-weight="bold">{drawn.title}</text>']
    for value in rungs:
        _, y = place(0, value)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{GRID}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{drawn.label(value)}</text>')
    for step in ladder(0, right):
        if step <= right:
            x, y = place(step, low)
            parts.append(f'<text x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle">{step:.0f}</text>')
    parts.append(f'<text x="{LEFT - 6}" y="{place(0, low)[1] + 16:.1f}" text-anchor="end">step</text>')
    for line, colour, width in ((drawn.learned, LEARNED, 1.5), (drawn.held_out, HELD_OUT, 2.5)):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in line))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>')
    parts += [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{HELD_OUT}"/>'
        for x, y in (place(*point) for point in drawn.held_out)
    ]
    keys = [(HELD_OUT, "held-out chats")] + ([(LEARNED, "learned chats")] if drawn.learned else [])
    for i, (colour, name) in enumerate(keys):
        parts.append(
            f'<text x="{WIDTH - RIGHT - 110 * i}" y="{top + 18}" text-anchor="end" fill="{colour}">{name}</text>'
        )
    return parts


if __name__ == "__main__":
    sys.exit(main())
