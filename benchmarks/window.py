"""The longest time the window does not react: while a model loads, an answer streams, and the answer is read ahead.

    python -m benchmarks.window [--model M] [--tokens N] [--messages N] [--json] [--why]

Opens the real window with the real engine on a folder of its own, and asks for an answer with headings, lists, code and
a table. A timer that fires every millisecond records how late it is: that is how long a click would have waited. "Own"
is the longest processor time of one turn: where it is far below max, other programs kept the window from running.

Then, without the engine, a chat of many messages: the time from the click to its painted end, the time of a step of the
wheel (scrolling, making what comes into view, painting), up, down and by the scroll bar's ends, the gaps while an
answer comes in at 100 tokens a second below that chat, and the chat's memory.

--why tells what the longest turns were busy with; watching makes them longer.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from PySide6.QtWidgets import QApplication

from app.folders import open_folders
from app.store.chat_store import ChatStore
from app.wiring import Chickadee
from benchmarks.culprits import Culprits
from benchmarks.long_chat import LongChat, measure_long_chat, report_long_chat, store_long_chat
from benchmarks.turns import Gaps, Heartbeat, wait, wait_until
from models.default import default_model

QUESTION = (
    "Explain insertion sort, merge sort and quick sort. For each: a heading, a nested list of its steps, a Python code "
    "block with comments. End with a table that compares their best, average and worst time."
)
LIMIT_MS = 50
AFTER_MS = 1500  # in this time prose is laid out and the chat is read ahead
PATIENCE = 300


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.window", description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=default_model())
    parser.add_argument("--tokens", type=int, default=500, help="length of the answer at most")
    parser.add_argument("--messages", type=int, default=2000, help="length of the long chat")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--why", action="store_true", help="what the longest turns were busy with")
    options = parser.parse_args()
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    application = QApplication(sys.argv[:1])
    application.setStyle("Fusion")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CHICKADEE_CACHE_DIR"] = folder
        folders = open_folders(Path(folder))
        store = ChatStore(folders.store)
        chat = store_long_chat(store, options.messages)
        store.close()
        chickadee = Chickadee(folders, options.model.absolute(), max_tokens=options.tokens)
        culprits = Culprits() if options.why else None
        try:
            chickadee.window.show()
            gaps, characters = measure(chickadee, culprits)
            long = measure_long_chat(chickadee, chat, options.messages, culprits)
        finally:
            chickadee.window.close()
    report(options, gaps, characters, long)
    if culprits is not None:
        culprits.report()


def measure(chickadee: Chickadee, culprits: Culprits | None) -> tuple[dict[str, Gaps], int]:
    engine, conversation = chickadee.engine, chickadee.open_chats.current
    wait(200)  # the first frame is not measured here
    heartbeat = Heartbeat("loading", culprits)
    chickadee.start()
    wait_until(lambda: engine.state.phase == "ready")
    gaps = {"loading": heartbeat.pop_gaps()}
    heartbeat.what = "sending"  # the first message replaces the welcome page
    chickadee.chats.drafts.send(QUESTION)
    wait(100)
    gaps["sending"] = heartbeat.pop_gaps()
    heartbeat.what = "streaming"
    wait_until(lambda: not conversation.busy)
    gaps["streaming"] = heartbeat.pop_gaps()
    heartbeat.what = "afterwards"
    wait(AFTER_MS)
    gaps["afterwards"] = heartbeat.pop_gaps()
    return gaps, len(conversation.messages[-1].content)


def report(options: argparse.Namespace, gaps: dict[str, Gaps], characters: int, long: LongChat) -> None:
    if options.json:
        print(json.dumps({name: asdict(row) for name, row in gaps.items()} | {"long_chat": asdict(long)}))
        return
    print(f"{options.model.name}, an answer of {characters:,} characters")
    print("milliseconds between turns of the event loop\n")
    print(f"{'':12}{'turns':>8}{'p50':>8}{'p99':>8}{'max':>8}{'own':>8}{'limit':>8}")
    for name, row in gaps.items():
        print(f"{name:12}{row.count:8}{row.p50:8.1f}{row.p99:8.1f}{row.max:8.1f}{row.own:8.1f}{LIMIT_MS:8}")
    report_long_chat(long)


if __name__ == "__main__":
    main()
