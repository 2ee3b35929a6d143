"""Speed of passes of our own graph beside llama.cpp's: one token, eight with their logits, a prompt, and stopping.

    python -m benchmarks.passes [--model M ...] [--depths 256 4096] [--runs N] [--cpu] [--json]

Both compute in one process with the same ggml, in turn, on the same tokens; the fastest pass of each counts, because
other programs only ever make passes slower. Ratios above 1 mean that our graph is faster. A stop is the longest time
from the request to stop, at several moments of a prompt's pass, to that pass's end. On a machine that is never quiet
`--cpu` computes with one thread and counts its processor time alone.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.commands.terminal import notes_to_stderr
from engine.loading.libraries import backend
from engine.machine import default_threads
from engine.protocol.requests import BackendName
from engine.run_subprocess import start_with_environment
from engine.runtime.contexts import ContextOptions
from engine.runtime.interface import Runtime, prefill
from engine.stop import StopFlag, Stopped
from models.default import default_model

SIDES: tuple[BackendName, ...] = ("llama", "graph")
PROMPT, STOP = "prompt 512", "stop"
KINDS = {"decode": (1, 1), "verify 8": (8, 8), PROMPT: (512, 1)}  # tokens, rows of logits
MOMENTS = (0.2, 0.4, 0.6, 0.8)  # of a prompt's pass
SHORT_PASS_FACTOR = 8  # how many short passes are timed for each long one


@dataclass(frozen=True, slots=True)
class Row:
    """Row of the table: seconds of the fastest pass by llama.cpp and by our graph."""

    model: str
    depth: int
    kind: str
    llama: float
    graph: float


def main() -> None:
    options = parse()
    notes_to_stderr()
    rows = [row for model in options.model for row in compare(model, options)]
    if options.json:
        print(json.dumps([asdict(row) for row in rows]))
        return
    print(f"{'model':44}{'depth':>6}  {'pass':12}{'llama':>10}{'graph':>10}{'ratio':>8}")
    for row in rows:
        times = f"{row.llama * 1e3:8.2f}ms{row.graph * 1e3:8.2f}ms"
        print(f"{row.model:44}{row.depth:6}  {row.kind:12}{times}{row.llama / row.graph:8.3f}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.passes", description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, nargs="+", default=[default_model()])
    parser.add_argument("--depths", type=int, nargs="+", default=[256, 4096])
    parser.add_argument("--threads", type=int, default=default_threads())
    parser.add_argument("--runs", type=int, default=8, help="long passes of each kind; short ones are timed more often")
    parser.add_argument("--cpu", action="store_true", help="processor time of one thread, for a busy machine")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def compare(path: Path, options: argparse.Namespace) -> list[Row]:
    context = ContextOptions(max(options.depths) + 1024, 1 if options.cpu else options.threads)
    clock = time.thread_time if options.cpu else time.perf_counter
    libraries = {name: backend(name) for name in SIDES}
    rows = []
    stops = (StopFlag(), StopFlag())
    with closing(libraries["llama"].load(path)) as a, closing(libraries["graph"].load(path)) as b:
        first, second = (libraries[n].target(m, context, s) for n, m, s in zip(SIDES, (a, b), stops, strict=True))
        with closing(first), closing(second):
            for depth in options.depths:
                for target in (first, second):
                    list(prefill(target, tokens(depth)[target.size :]))
                for kind, (n, wanted) in KINDS.items():
                    runs = options.runs if n > 64 else options.runs * SHORT_PASS_FACTOR
                    times = [timed(target, n, wanted, clock) for _ in range(runs) for target in (first, second)]
                    rows.append(Row(path.name, depth, kind, min(times[::2]), min(times[1::2])))
                if not options.cpu:
                    pairs = zip((first, second), stops, strict=True)
                    a_stop, b_stop = (longest_stop(target, stop, rows[-1].graph) for target, stop in pairs)
                    rows.append(Row(path.name, depth, STOP, a_stop, b_stop))
    return rows


def tokens(count: int) -> list[int]:
    return [300 + i * 37 % 5000 for i in range(count)]


def timed(target: Runtime, n: int, rows: int, clock: Callable[[], float]) -> float:
    """Return the seconds of a pass of `n` tokens, which are removed from the cache afterwards."""
    size, drafted = target.size, tokens(n)
    started = clock()
    float(target.forward(drafted, rows).row()[0])
    elapsed = clock() - started
    target.truncate(size)
    return elapsed


def longest_stop(target: Runtime, stop: StopFlag, seconds: float) -> float:
    """Return the longest seconds from a request to stop to the end of a prompt's pass.

    `seconds` is the time of an undisturbed pass.
    """
    size, longest = target.size, 0.0
    for moment in MOMENTS:
        requested_at: list[float] = []

        def request_stop(requested_at: list[float] = requested_at) -> None:
            requested_at.append(time.perf_counter())
            stop.set()

        timer = threading.Timer(moment * seconds, request_stop)
        timer.start()
        with suppress(Stopped):
            target.forward(tokens(KINDS[PROMPT][0]))
        longest = max(longest, time.perf_counter() - requested_at[0] if requested_at else 0.0)
        timer.join()
        stop.clear()
        target.truncate(size)
    return longest


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        start_with_environment()
        main()
