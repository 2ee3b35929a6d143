"""Wake-ups per second of the idle window and the idle engine: what they cost a battery while nobody uses them.

    python -m benchmarks.idle [--model M] [--seconds N] [--json]

Opens the real window with the real engine on a folder of its own and asks for one answer. When the work in idle time is
done, it counts for a minute how often the threads of each process were woken (`voluntary_ctxt_switches` in
`/proc/PID/task/TID/status`, Linux only). The goal is at most one wake-up a second in each process. On a busy computer
the engine waits for a quiet minute before its last work; after ten minutes it is counted as it is.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from app.wiring import Chickadee
from benchmarks.command import benchmark_parser, print_json
from benchmarks.turns import create_application, open_window, wait, wait_until

QUESTION = "Name three birds that stay in winter."
TOKENS = 60
LOOK_SECONDS = 15  # the idle work is done when the engine sleeps for so long
PATIENCE_SECONDS = 600
GOAL = 1.0  # wake-ups per second
Counts = dict[str, int]  # wake-ups so far, by thread: "id name"


@dataclass(frozen=True, slots=True)
class Wakeups:
    """Wake-ups per second of a process, and of those of its threads that woke."""

    process: str
    per_second: float
    threads: dict[str, float]


def main() -> None:
    parser = benchmark_parser("idle", __doc__)
    parser.add_argument("--seconds", type=int, default=60, help="how long wake-ups are counted")
    options = parser.parse_args()
    if sys.platform != "linux":
        raise SystemExit("only Linux counts the wake-ups of threads")
    _application = create_application()
    with open_window(options.model, max_tokens=TOKENS) as chickadee:
        settled, wakeups = measure(chickadee, options.seconds)
    report(options, settled, wakeups)


def measure(chickadee: Chickadee, seconds: int) -> tuple[float, list[Wakeups]]:
    """Return the seconds until the idle work was done, and the wake-ups of window and engine from then on."""
    chickadee.start()
    wait_until(lambda: chickadee.engine.state.phase == "ready")
    chickadee.chats.drafts.send(QUESTION)
    wait_until(lambda: not chickadee.open_chats.current.busy)
    processes = {"window": os.getpid(), "engine": chickadee.process.pid}
    answered = time.monotonic()
    while count_wakeups({"engine": chickadee.process.pid}, LOOK_SECONDS)[0].threads:
        if time.monotonic() - answered > PATIENCE_SECONDS:
            break
    return time.monotonic() - answered, count_wakeups(processes, seconds)


def count_wakeups(processes: dict[str, int], seconds: int) -> list[Wakeups]:
    """Count the wake-ups of each process, by name and id, while the window's event loop runs for `seconds`."""
    before = {name: read_counts(pid) for name, pid in processes.items()}
    wait(seconds * 1000)
    wakeups = []
    for name, pid in processes.items():
        counts = {thread: count - before[name].get(thread, 0) for thread, count in read_counts(pid).items()}
        threads = {thread: count / seconds for thread, count in counts.items() if count}
        wakeups.append(Wakeups(name, sum(threads.values()), threads))
    return wakeups


def read_counts(pid: int) -> Counts:
    """Return how often each thread of the process was woken so far."""
    counts = {}
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:  # the thread has ended
            continue
        counts[f"{status.parent.name} {fields['Name'].strip()}"] = int(fields["voluntary_ctxt_switches"])
    return counts


def report(options: argparse.Namespace, settled: float, wakeups: list[Wakeups]) -> None:
    if options.json:
        print_json({"settled_after": round(settled), **{each.process: each for each in wakeups}})
        return
    print(f"{options.model.name}: idle work was done {settled:.0f} s after the answer; then {options.seconds} s\n")
    print(f"{'':8}{'wake-ups/s':>12}{'goal':>8}")
    for each in wakeups:
        print(f"{each.process:8}{each.per_second:12.2f}{GOAL:8.0f}")
        for thread, per_second in sorted(each.threads.items(), key=lambda pair: -pair[1]):
            print(f"  thread {thread}: {per_second:.2f}")


if __name__ == "__main__":
    main()
