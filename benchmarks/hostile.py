"""The longest block of the window's event loop by hostile texts: while they come in, at their end, when opened again.

    python -m benchmarks.hostile [--only NAME …] [--json]

Puts texts that are made to be slow into the real window without an engine. "whole": the text comes in one piece;
"pieces": it comes in pieces of 200 characters; "end": the answer is finished; "open": the stored chat is opened again.
All are the processor time of the longest turn of the event loop in milliseconds, which other programs do not lengthen.
"""

from __future__ import annotations

import random
import time
from dataclasses import astuple, dataclass

from app.services.json_line_process import wait_for_children
from app.services.worker_service import colour_service, math_service
from app.wiring import Chickadee
from benchmarks.command import benchmark_parser, print_json
from benchmarks.turns import Heartbeat, begin_answer, create_application, finish_answer, open_window, wait

LIMIT_MS = 100
SECONDS = 20  # that a text may take to be laid out, in turns
PIECE = 200
PIECES = 150  # at most: the rest of a long text comes before them
REPEATED = (
    "- ", "> ", "* ", "1. ", "# ", "+ - ", "> - ", "[", "![", "[a](", "`", "``", "|", "**", "*a", "_a_", "<b>", "</b>",
    "<details>\n", "$", "\\(", "~", "==a", "&amp;", "\\", "- a\n", "- [ ] a\n", "> a\n", "# a\n", "1. a\n", "***\n",
    "a\n", "a\n\n", "$x$ ", "[^1] ", "http://a.b ", "a@b.c ", "<https://a.b>", "<br>", "`a` ", "**a** ", "[a](b) ",
    "```\na\n```\n", "```\n", "|a|b|\n|-|-|\n|1|2|\n\n", "$$\nx\n$$\n", ": a\n", "a\n: b\n\n", "![a](b)\n\n",
    "\t", "\u200f", "\u202e", "\ue200", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u0e01\u0e33", "漢",
)  # fmt: skip


def texts() -> dict[str, str]:
    """Build the texts by name."""
    numbers = random.Random(1)
    code = "".join(f"def function_{n}(value):\n    return value + {n}  # one more\n\n" for n in range(12))
    letters = "".join(chr(numbers.randrange(0x300, 0x36F)) for _ in range(30_000))
    zalgo = "".join(f"a{letters[at : at + 30]}" for at in range(0, len(letters), 30))
    found = {f"{text!r} × 10,000": text * 10_000 for text in REPEATED}
    return found | {
        "nested list, 200 levels": "".join(f"{'  ' * n}- level {n}\n" for n in range(200)),
        "nested quotations, 500 levels": "".join(f"{'>' * n} level {n}\n" for n in range(500)),
        "brackets, 5,000 deep": "[" * 5_000 + "a" + "](b)" * 5_000,
        "5,000 footnotes": many("a[^{n}] ") + "\n\n" + many("[^{n}]: note {n}\n"),
        "5,000 references": many("[a{n}] ") + "\n\n" + many("[a{n}]: http://a.b/{n}\n"),
        "a dozen code blocks": f"Here:\n\n```python\n{code}```\n\nand\n\n" * 12,
        "code of 20,000 lines": "```python\n" + "x = 1\n" * 20_000 + "```\n",
        "code in 40 languages": "".join(f"```lang{n}\n{code}```\n" for n in range(40)),
        "a line of 1 MB": "word " * 200_000,
        "a word of 1 MB": "x" * 1_000_000,
        "code, a line of 1 MB": "```json\n" + '{"a": [1, 2]}, ' * 66_000 + "\n```\n",
        "table of 3,000 columns": f"{'|a' * 3_000}|\n{'|-' * 3_000}|\n{'|1' * 3_000}|\n",
        "table of 40 columns, 300 rows": f"{'|a' * 40}|\n{'|-' * 40}|\n" + f"{'|some *words*' * 40}|\n" * 300,
        "table of 5,000 rows": "|a|b|\n|-|-|\n" + "|some *words*|`more`|\n" * 5_000,
        "table of long cells": "|a|b|\n|-|-|\n" + f"|{'word ' * 400}|{'word ' * 400}|\n" * 20,
        "40 tables": "|a|b|c|\n|-|-|-|\n|1|2|3|\n|4|5|6|\n\nand\n\n" * 40,
        "zalgo": zalgo,
        "private-use characters": "".join(chr(numbers.randrange(0xE000, 0xF8FF)) for _ in range(20_000)),
        "all of Unicode's beginning": "".join(chr(n) for n in range(0x20, 0x3000) if not 0x2028 <= n <= 0x2029),
        "emoji": "👨‍👩‍👧‍👦🏳️‍🌈" * 2_000,
        "right-to-left and left-to-right": "שלום world مرحبا " * 2_000,
        "emphasis, crossed": "*a **b " * 3_000,
        "formulas, unclosed": "$a \\frac{" * 3_000,
        "formulas, huge": "$$" + "\\frac{1}{" * 200 + "1" + "}" * 200 + "$$\n\n",
        "HTML": "<div style='color:red'><p>a</p></div>\n" * 2_000,
        "details, nested": "<details><summary>a</summary>\n\n" * 500 + "a\n" + "</details>\n" * 500,
        "lists in quotations in lists": "".join(f"- > 1. > - item {n}\n" for n in range(2_000)),
        "escapes": "\\*\\_\\[\\]\\`" * 4_000,
        "entities": "&lt;&#0;&#x10ffff;&nosuch;" * 2_000,
        "blank lines": "\n" * 100_000,
        "thoughts, never closed": "<think>" + "a *b* `c` " * 10_000,
        "thoughts, a hundred": "<think>hm</think> a\n" * 100,
    }  # fmt: skip


def many(form: str) -> str:
    return "".join(form.format(n=n) for n in range(5_000))


@dataclass(frozen=True, slots=True)
class Row:
    """The processor milliseconds of the longest turns of the event loop."""

    whole: float
    pieces: float
    end: float
    open: float


def main() -> None:
    parser = benchmark_parser("hostile", __doc__, models="none")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="words of the names of the texts to measure")
    options = parser.parse_args()
    _application = create_application()
    chosen = {name: text for name, text in texts().items() if not options.only or any(w in name for w in options.only)}
    with open_window(None) as chickadee:
        chickadee.window.resize(1120, 760)
        measure(chickadee, "a *first* text, with `code`\n\n```python\nx = 1\n```\n\n|a|b|\n|-|-|\n|1|2|\n")  # imports
        rows = dict[str, Row]()
        for name, text in chosen.items():
            rows[name] = measure(chickadee, text)
            if not options.json:
                report(name, rows[name], first=len(rows) == 1)
    math_service().close()
    colour_service().close()
    wait_for_children()
    if options.json:
        print_json(rows)


def measure(chickadee: Chickadee, text: str) -> Row:
    chickadee.chats.chat.new()
    begin_answer(chickadee)
    wait(50)
    heartbeat = Heartbeat()
    chickadee.open_chats.current.append_text(text)
    settle(chickadee)
    whole = heartbeat.pop_gaps().own
    finish_answer(chickadee)
    settle(chickadee)
    end = heartbeat.pop_gaps().own
    chickadee.chats.chat.new()
    begin_answer(chickadee)
    settle(chickadee)
    heartbeat.pop_gaps()
    start = max(0, len(text) - PIECE * PIECES)
    chickadee.open_chats.current.append_text(text[:start])
    settle(chickadee)
    heartbeat.pop_gaps()
    for at in range(start, len(text), PIECE):
        chickadee.open_chats.current.append_text(text[at : at + PIECE])
        wait(1)
    settle(chickadee)
    pieces = heartbeat.pop_gaps().own
    finish_answer(chickadee)
    settle(chickadee)
    end = max(end, heartbeat.pop_gaps().own)
    chat = chickadee.open_chats.current.chat.id
    chickadee.chats.chat.new()
    wait(100)
    heartbeat.pop_gaps()
    chickadee.chats.chat.open(chat)
    settle(chickadee)
    opened = heartbeat.pop_gaps().own
    return Row(whole, pieces, end, opened)


def settle(chickadee: Chickadee) -> None:
    """Wait until the answer is laid out, or for SECONDS, and a little longer for what follows."""
    wait(50)
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and not all(view.filled for view in chickadee.window.transcript.views):
        wait(50)
    wait(300)


def report(name: str, row: Row, first: bool) -> None:
    if first:
        print(f"milliseconds of the longest turn of the event loop; the limit is {LIMIT_MS}\n")
        print(f"{'':40}{'whole':>8}{'pieces':>8}{'end':>8}{'open':>8}")
    mark = "  above the limit" if max(astuple(row)) > LIMIT_MS else ""
    print(f"{name[:39]:40}" + "".join(f"{value:8.1f}" for value in astuple(row)) + mark, flush=True)


if __name__ == "__main__":
    main()
