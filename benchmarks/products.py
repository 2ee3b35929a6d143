"""Speed of passes of ik_llama.cpp with our own matrix products and with its own.

    python -m benchmarks.products --model M [--tokens 1 2 4 8 16 128] [--threads N] [--runs N] [--json]

Both run in one process on the same weights, in turn; milliseconds of the fastest pass, and of the median. Passes of up
to 64 tokens compute logits for every token, longer ones only for the last, as prompts are read.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from contextlib import closing, suppress
from ctypes import CDLL
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from engine.commands.terminal import notes_to_stderr
from engine.loading.libraries import backend
from engine.machine import default_threads
from engine.run_subprocess import start_with_environment
from engine.runtime.contexts import ContextOptions
from engine.runtime.ik.library import native
from engine.runtime.ik.runtime import PROMPT_PASS
from engine.runtime.interface import Runtime, prefill
from engine.stop import StopFlag

DEPTH = 16  # tokens before each pass
MOST_WITH_LOGITS = 64


@dataclass(frozen=True, slots=True)
class Row:
    """Seconds of passes of `tokens`, in the order in which they ran."""

    tokens: int
    theirs: list[float]
    ours: list[float]

    def __str__(self) -> str:
        times = [1e3 * of(side) for of in (min, median) for side in (self.theirs, self.ours)]
        return "{:6}{:10.1f}{:8.1f}{:7.2f}×{:12.1f}{:8.1f}{:7.2f}×".format(
            self.tokens, *times[:2], times[0] / times[1], *times[2:], times[2] / times[3]
        )


def main() -> None:
    options = parse()
    notes_to_stderr()
    library = backend("ik")
    own = native()
    if own is None or not own.products:
        sys.exit(
            "This computer has none of our products: they are for Linux on x86 with AVX2, and set-up compiles them."
        )
    most = max(MOST_WITH_LOGITS, *options.tokens)
    context = ContextOptions(n_ctx=DEPTH + most, n_batch=most, threads=options.threads)
    model = library.load(
        options.model, rough=False
    )  # ik_llama.cpp's own products cannot read weights laid out for the rough output head
    with closing(model), closing(library.target(model, context, StopFlag())) as target:
        list(prefill(target, list(range(300, 300 + DEPTH))))
        rows = [compared(target, own.code, tokens, options.runs) for tokens in options.tokens]
    if options.json:
        print(json.dumps([asdict(row) for row in rows]))
        return
    print(own.products.name, "products")
    print("tokens   fastest: theirs  ours             median: theirs  ours")
    for row in rows:
        print(row)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.products", description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--tokens", type=int, nargs="+", default=[1, 2, 4, 8, 16, 128])
    parser.add_argument("--threads", type=int, default=default_threads())
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not 0 < min(options.tokens) <= max(options.tokens) <= PROMPT_PASS:
        parser.error(f"--tokens: the library's passes have 1 to {PROMPT_PASS} tokens")
    return options


def compared(target: Runtime, products: CDLL, tokens: int, runs: int) -> Row:
    row = Row(tokens, [], [])
    for _ in range(runs):
        for ours, seconds in ((False, row.theirs), (True, row.ours)):
            products.chickadee_products_replace(ours)
            seconds.append(timed(target, tokens))
    return row


def timed(target: Runtime, tokens: int) -> float:
    """Return the seconds of a pass, whose tokens are removed from the cache afterwards."""
    started = time.perf_counter()
    float(target.forward(list(range(1000, 1000 + tokens)), tokens if tokens <= MOST_WITH_LOGITS else 1).row()[0])
    elapsed = time.perf_counter() - started
    target.truncate(DEPTH)
    return elapsed


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        start_with_environment()
        main()
