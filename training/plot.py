"""`python -m training.plot LOG.jsonl OUT.svg`: a training's log as a picture."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.failures import Failure
from training.log import read

WIDTH, HEIGHT = 640, 190  # of one diagram, in pixels, with its margins
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 30, 30
LEARNED, HELD_OUT = "#9ab8cf", "#b5541c"
INK, GRID = "#555555", "#dddddd"
SMOOTHED = 10  # steps, whose mean is drawn

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Diagram:
    """Lines over the number of steps: `learned`, of the batches, and `held_out`, of chats that are not learned."""

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
        given.out.write_text(picture(diagrams(read(given.log))), encoding="utf-8")
    except (Failure, OSError) as error:
        print(f"plot: {error}", file=sys.stderr)
        return 1
    return 0


def diagrams(entries: Sequence[dict[str, Any]]) -> list[Diagram]:
    """Raises Failure for a log without steps."""
    steps = [entry for entry in entries if entry["kind"] == "step"]
    judged = [entry for entry in entries if entry["kind"] == "judgement"]
    if not steps:
        raise Failure("bad_log", "The log has no steps to draw yet.")
    layer = next((f"layer {entry['layer']}" for entry in entries if entry["kind"] == "began"), "the layer")
    found = [
        Diagram(
            f"Tokens of which {layer} says what the last layer says",
            smooth(_of(steps, "agreement")),
            _of(judged, "agreement"),
            "{:.0%}".format,
        ),
        Diagram(
            "Last layer: KL divergence from the model before, nats a token",
            smooth(_of(steps, "drift")),
            _of(judged, "drift"),
            "{:.3g}".format,
        ),
        Diagram("Last layer: perplexity", [], _of(judged, "perplexity"), "{:.3g}".format, from_zero=False),
    ]
    return [each for each in found if each.learned or each.held_out]


def _of(rows: Sequence[dict[str, Any]], name: str) -> Points:
    return [(row["number"], row[name]) for row in rows if row.get(name) is not None]


def smooth(points: Points) -> list[tuple[float, float]]:
    """The mean of each point and of those shortly before it."""
    near = [points[max(0, i - SMOOTHED + 1) : i + 1] for i in range(len(points))]
    return [(group[-1][0], sum(y for _, y in group) / len(group)) for group in near]


def picture(drawn: Sequence[Diagram]) -> str:
    height = HEIGHT * len(drawn)
    parts = [svg for i, each in enumerate(drawn) for svg in _diagram(each, i * HEIGHT)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="sans-serif" font-size="12" fill="{INK}">\n<rect width="100%" height="100%" fill="#ffffff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _diagram(drawn: Diagram, top: int) -> list[str]:
    points = [*drawn.learned, *drawn.held_out]
    right = max(x for x, _ in points) or 1
    low, high = (f(y for _, y in points) for f in (min, max))
    low = 0.0 if drawn.from_zero else low
    room = (high - low) * 0.1 or 1.0
    low, high = low if drawn.from_zero else low - room, high + room

    def place(x: float, y: float) -> tuple[float, float]:
        across = LEFT + x / right * (WIDTH - LEFT - RIGHT)
        return across, top + TOP + (high - y) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [f'<text x="{LEFT}" y="{top + 18}" font-weight="bold">{drawn.title}</text>']
    for i in range(5):
        value = low + (high - low) * i / 4
        _, y = place(0, value)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{GRID}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{drawn.label(value)}</text>')
    for i in range(5):
        x, y = place(right * i / 4, low)
        parts.append(f'<text x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle">{right * i / 4:.0f}</text>')
    for line, colour, width in ((drawn.learned, LEARNED, 1.5), (drawn.held_out, HELD_OUT, 2.5)):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in line))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>')
    keys = [(HELD_OUT, "held-out chats")] + ([(LEARNED, "learned chats")] if drawn.learned else [])
    for i, (colour, name) in enumerate(keys):
        parts.append(
            f'<text x="{WIDTH - RIGHT - 110 * i}" y="{top + 18}" text-anchor="end" fill="{colour}">{name}</text>'
        )
    return parts


if __name__ == "__main__":
    sys.exit(main())
