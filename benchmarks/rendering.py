"""The longest frame while text of one kind streams in at 100 tokens a second, and its share of the processor.

    python -m benchmarks.rendering [--seconds S] [--only KIND …] [--json]

Streams into the real window without an engine: first the beginning of each text in one piece, then its last part as an
engine writes it, so that the window is measured with the whole text in it. A turn of the event loop is what a click
would have waited for; "own" is its processor time, "join" the longest turn after the text's end.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

from app.services.worker_service import math_service
from benchmarks.command import benchmark_parser, print_json
from benchmarks.turns import Heartbeat, begin_answer, create_application, finish_answer, open_window, wait

TOKEN = 4  # characters
TOKEN_MS = 10
LIMIT_MS = 16
AFTER_MS = 1_500
SENTENCE = "The *quick* brown fox jumps over the `lazy` dog, and **nobody** at all is surprised by it. "
FORMULA = r"$x_{%d} = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}$"
CODE = "def function_%d(value: int) -> str:\n    return f'{value:,}' + \"text\"  # a comment on it\n\n"


def texts() -> dict[str, str]:
    """Build one text of each kind."""
    rows = "\n".join(f"| {n} | some words in a cell | **bold** and `code` | {n * 1.5} |" for n in range(100))
    long_list = "\n".join(f"- item {n} with some words and **bold**\n  - below it" for n in range(200))
    code = "".join(CODE % n for n in range(167))
    return {
        "prose": "\n\n".join(SENTENCE * 5 for _ in range(40)),
        "one paragraph of 20,000 characters": (SENTENCE * 250)[:20_000],
        "one word of 20,000 characters": "x" * 20_000,
        "list of 400 items": long_list,
        "table of 100 rows": f"| n | words | markup | number |\n|---|---|---|--:|\n{rows}",
        "code of 500 lines": f"```python\n{code}\n```",
        "code, one line of 20,000 characters": "```json\n" + '{"key": [1, 2, 3]}, ' * 1_000,
        "200 formulas in lines": "\n\n".join(f"So {FORMULA % n} and {FORMULA % -n} hold." for n in range(100)),
        "100 displayed formulas": "\n\n".join(f"$$\n\\sum_{{i=1}}^{{{n}}} i^2\n$$\n\nSo it is." for n in range(100)),
        "thoughts, folded": "<think>" + SENTENCE * 150,
    }


@dataclass(frozen=True, slots=True)
class Row:
    """Milliseconds, and the share of one processor."""

    p99: float
    max: float
    own: float
    join: float
    share: float


def main() -> None:
    parser = benchmark_parser("rendering", __doc__, models="none")
    parser.add_argument("--seconds", type=float, default=5, help="how long each text streams")
    parser.add_argument("--only", nargs="*", metavar="KIND", help="words of the kinds to measure")
    options = parser.parse_args()
    _application = create_application()
    kinds = {kind: text for kind, text in texts().items() if not options.only or any(w in kind for w in options.only)}
    rows = {kind: measure(text, options.seconds) for kind, text in kinds.items()}
    math_service().close()
    report(options, rows)


def measure(text: str, seconds: float) -> Row:
    streamed = int(seconds * 1000 / TOKEN_MS) * TOKEN
    start = max(0, len(text) - streamed)
    with open_window(None) as chickadee:
        chickadee.window.resize(1120, 760)
        conversation = chickadee.open_chats.current
        begin_answer(chickadee)
        conversation.append_text(text[:start])
        wait(1_500)  # laid out, coloured, formulas drawn
        heartbeat, cpu, since = Heartbeat(), time.process_time(), time.perf_counter()
        for at in range(start, len(text), TOKEN):
            conversation.append_text(text[at : at + TOKEN])
            due = since + (at + TOKEN - start) / TOKEN * TOKEN_MS / 1000
            wait(max(0, round((due - time.perf_counter()) * 1000)))
        share = (time.process_time() - cpu) / (time.perf_counter() - since)
        gaps = heartbeat.pop_gaps()
        finish_answer(chickadee)
        wait(AFTER_MS)
        return Row(gaps.p99, gaps.max, gaps.own, heartbeat.pop_gaps().own, share)


def report(options: argparse.Namespace, rows: dict[str, Row]) -> None:
    if options.json:
        print_json(rows)
        return
    print(f"milliseconds of a turn of the event loop at {1000 // TOKEN_MS} tokens a second; the limit is {LIMIT_MS}\n")
    print(f"{'':36}{'p99':>8}{'max':>8}{'own':>8}{'join':>8}{'CPU':>8}")
    for kind, row in rows.items():
        print(f"{kind:36}{row.p99:8.1f}{row.max:8.1f}{row.own:8.1f}{row.join:8.1f}{row.share:8.0%}")


if __name__ == "__main__":
    main()
