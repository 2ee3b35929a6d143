"""The longest time the window does not react: while a model loads, an answer streams, and the answer is read ahead.

    python -m benchmarks.window [--model M] [--tokens N] [--messages N] [--json]

Opens the real window with the real engine on a folder of its own, and asks for an answer with headings, lists, code and
a table. A timer that fires every millisecond records how late it is: that is how long a click would have waited. "Own"
is the longest processor time of one turn: where it is far below max, other programs kept the window from running.

Then, without the engine, a chat of many messages: the time from the click to its painted end, the time of a step of the
wheel (scrolling, making what comes into view, painting), up, down and by the scroll bar's ends, the gaps while an
answer comes in at 100 tokens a second below that chat, and the chat's memory.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import psutil
from PySide6.QtCore import QPoint, QPointF, Qt, QTimer
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication

from app.folders import Folders
from app.store.chat import Chat, ChatMessage
from app.store.chat_store import ChatStore
from app.wiring import Chickadee
from benchmarks.command import benchmark_parser, print_json
from benchmarks.turns import Gaps, Heartbeat, create_application, open_window, wait, wait_until
from engine.protocol.events import Statistics

QUESTION = (
    "Explain insertion sort, merge sort and quick sort. For each: a heading, a nested list of its steps, a Python code "
    "block with comments. End with a table that compares their best, average and worst time."
)
LIMIT_MS = 50
AFTER_MS = 1500  # in this time prose is laid out and the chat is read ahead
OPEN_LIMIT_MS, FRAME_LIMIT_MS = 300, 1000 / 60
WHEEL = 120  # one notch
STEPS = 400
TOKENS_PER_SECOND = 100
PROSE = (
    "The black-capped chickadee is a small songbird that lives in **deciduous and mixed forests**. It hides seeds in "
    "thousands of places and finds them again: its hippocampus grows in autumn. Its call has a grammar of its own, and "
    "more notes at its end for a more dangerous hawk.\n\n"
)
LIST = "1. It looks for food.\n2. It stores the food:\n   - under bark,\n   - in moss.\n3. It comes back in winter.\n\n"
CODE = "```python\ndef cache(seeds: list[str]) -> set[int]:\n    return {hash(seed) % 997 for seed in seeds}\n```\n\n"
TABLE = "| bird | mass | winters |\n|---|---:|---|\n| chickadee | 12 g | here |\n| warbler | 9 g | in the south |\n\n"


@dataclass(frozen=True, slots=True)
class Frames:
    """Milliseconds of single steps of scrolling, painting included; `own`: the longest one's processor time."""

    count: int
    p50: float
    p99: float
    max: float
    own: float
    late: int  # longer than a sixtieth of a second


@dataclass(frozen=True, slots=True)
class LongChat:
    """The measurements of one long chat.

    `open_ms`: from the call until the end of the chat is painted, `open_own_ms` of it processor time; `again_ms`: the
    second time. `views`: how many messages are widgets after opening, `most_views` at most.
    """

    messages: int
    open_ms: float
    open_own_ms: float
    again_ms: float
    views: int
    most_views: int
    up: Frames
    down: Frames
    start_ms: float
    end_ms: float
    streaming: Gaps
    megabytes: float


def main() -> None:
    parser = benchmark_parser("window", __doc__)
    parser.add_argument("--tokens", type=int, default=500, help="length of the answer at most")
    parser.add_argument("--messages", type=int, default=2000, help="length of the long chat")
    options = parser.parse_args()
    _application = create_application()
    chat = Chat("A long chat")

    def store_chat(folders: Folders) -> None:
        store = ChatStore(folders.store)
        store_long_chat(store, chat, options.messages)
        store.close()

    with open_window(options.model, store_chat, max_tokens=options.tokens) as chickadee:
        gaps, characters = measure_answer(chickadee)
        long = measure_long_chat(chickadee, chat, options.messages)
    report(options, gaps, characters, long)


def measure_answer(chickadee: Chickadee) -> tuple[dict[str, Gaps], int]:
    engine, conversation = chickadee.engine, chickadee.open_chats.current
    wait(200)  # the first frame is not measured here
    heartbeat = Heartbeat()
    chickadee.start()
    wait_until(lambda: engine.state.phase == "ready")
    gaps = {"loading": heartbeat.pop_gaps()}
    chickadee.chats.drafts.send(QUESTION)  # the first message replaces the welcome page
    wait(100)
    gaps["sending"] = heartbeat.pop_gaps()
    wait_until(lambda: not conversation.busy)
    gaps["streaming"] = heartbeat.pop_gaps()
    wait(AFTER_MS)
    gaps["afterwards"] = heartbeat.pop_gaps()
    return gaps, len(conversation.messages[-1].content)


def measure_long_chat(chickadee: Chickadee, chat: Chat, count: int) -> LongChat:
    """Measure a chat that `store_long_chat` stored before the window was made."""
    empty = chickadee.open_chats.current.chat.id
    process = psutil.Process()
    before = process.memory_info().rss
    started_own = time.thread_time()
    opened = timed(chickadee, lambda: chickadee.chats.chat.open(chat.id))
    opened_own = (time.thread_time() - started_own) * 1000
    wait(300)
    transcript = chickadee.window.transcript
    views = len(transcript.views)
    up, most_up = scroll(chickadee, WHEEL)
    down, most_down = scroll(chickadee, -WHEEL)
    start, end = timed(chickadee, transcript.to_start), timed(chickadee, transcript.to_end)
    wait(300)
    megabytes = (process.memory_info().rss - before) / 1e6
    streaming = stream(chickadee)
    chickadee.chats.chat.open(empty)
    wait(100)
    again = timed(chickadee, lambda: chickadee.chats.chat.open(chat.id))
    most = max(views, most_up, most_down)
    return LongChat(count, opened, opened_own, again, views, most, up, down, start, end, streaming, megabytes)


def store_long_chat(store: ChatStore, chat: Chat, count: int) -> None:
    """Fill and store a chat with questions of one or more lines and answers of every kind and length."""
    messages = list[ChatMessage]()
    for number in range(count):
        parent = messages[-1].id if messages else None
        if number % 2:
            text = PROSE * (1 + number % 5) + (LIST, CODE, TABLE, PROSE)[number // 2 % 4]
            messages.append(ChatMessage(chat.id, parent, "assistant", text, stop_reason="end", model="m"))
        else:
            text = f"Question {number}: " + "and what does it do then? " * (1 + number % 7)
            messages.append(ChatMessage(chat.id, parent, "user", text, stop_reason="end"))
    store.save(replace(chat, leaf_id=messages[-1].id), messages)


def timed(chickadee: Chickadee, work: Callable[[], object]) -> float:
    """Return the milliseconds until `work` is done and everything in view is painted."""
    started = time.perf_counter()
    work()
    QApplication.processEvents()
    while not chickadee.window.transcript.whole:
        QApplication.processEvents()
    QApplication.processEvents()
    return (time.perf_counter() - started) * 1000


def scroll(chickadee: Chickadee, delta: int) -> tuple[Frames, int]:
    """Turn the wheel by one notch a frame, at a screen's rate.

    Returns the steps' times and the highest number of views.
    """
    transcript = chickadee.window.transcript
    port = transcript.viewport()
    centre = QPointF(port.rect().center())
    took, most, own = list[float](), 0, 0.0
    for _ in range(STEPS):
        event = QWheelEvent(
            centre, port.mapToGlobal(centre), QPoint(), QPoint(0, delta), Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        started, started_own = time.perf_counter(), time.thread_time()
        QApplication.sendEvent(port, event)
        QApplication.processEvents()
        took.append((time.perf_counter() - started) * 1000)
        own = max(own, (time.thread_time() - started_own) * 1000)
        most = max(most, len(transcript.views))
        wait(max(1, round(FRAME_LIMIT_MS - took[-1])))
    ordered = sorted(took)
    late = sum(frame > FRAME_LIMIT_MS for frame in took)
    return Frames(len(took), ordered[len(took) // 2], ordered[int(len(took) * 0.99)], ordered[-1], own, late), most


def stream(chickadee: Chickadee) -> Gaps:
    """Stream an answer with every kind of block, four characters every 10 ms; return the event loop's gaps."""
    conversation = chickadee.open_chats.current
    conversation.send("And now?")
    conversation.begin_answer("m")
    text = (PROSE + LIST + CODE + TABLE) * 2
    pieces = [text[at : at + 4] for at in range(0, len(text), 4)]
    heartbeat = Heartbeat()
    timer = QTimer(timerType=Qt.TimerType.PreciseTimer)
    timer.timeout.connect(lambda: conversation.append_text(pieces.pop(0)) if pieces else None)
    timer.start(1000 // TOKENS_PER_SECOND)
    wait_until(lambda: not pieces)
    gaps = heartbeat.pop_gaps()
    timer.stop()
    conversation.finish_answer(Statistics(10, 0, 0.1, len(text) // 4, 5.0, 10, "end", 10, 4096))
    wait(200)
    return gaps


def report(options: argparse.Namespace, gaps: dict[str, Gaps], characters: int, long: LongChat) -> None:
    if options.json:
        print_json({**gaps, "long_chat": long})
        return
    print(f"{options.model.name}, an answer of {characters:,} characters")
    print("milliseconds between turns of the event loop\n")
    print(f"{'':12}{'turns':>8}{'p50':>8}{'p99':>8}{'max':>8}{'own':>8}{'limit':>8}")
    for name, row in gaps.items():
        print(f"{name:12}{row.count:8}{row.p50:8.1f}{row.p99:8.1f}{row.max:8.1f}{row.own:8.1f}{LIMIT_MS:8}")
    report_long_chat(long)


def report_long_chat(long: LongChat) -> None:
    print(f"\na chat of {long.messages:,} messages, {long.megabytes:.0f} MB; {long.most_views} of them widgets at most")
    opened = f"opened in {long.open_ms:.0f} ms (own {long.open_own_ms:.0f}), again in {long.again_ms:.0f} ms"
    print(f"{opened}; limit {OPEN_LIMIT_MS} ms")
    print(f"to its beginning {long.start_ms:.0f} ms, to its end {long.end_ms:.0f} ms")
    print(f"\n{'wheel':12}{'steps':>8}{'p50':>8}{'p99':>8}{'max':>8}{'own':>8}{'late':>8}{'limit':>8}")
    for name, frames in (("up", long.up), ("down", long.down)):
        print(
            f"{name:12}{frames.count:8}{frames.p50:8.1f}{frames.p99:8.1f}{frames.max:8.1f}{frames.own:8.1f}"
            f"{frames.late:8}{FRAME_LIMIT_MS:8.1f}"
        )
    gaps = long.streaming
    print(f"\n{TOKENS_PER_SECOND} tokens a second: p50 {gaps.p50:.1f}, p99 {gaps.p99:.1f}, max {gaps.max:.1f}, "
          f"own {gaps.own:.1f} ms between turns")  # fmt: skip


if __name__ == "__main__":
    main()
