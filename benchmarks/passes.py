"""Speed of passes that are computed in two ways, in turn on the same tokens.

    python -m benchmarks.passes graph [--model M …] [--depths 256 4096] [--tokens 1 8 512] [--threads N] [--runs N]
    python -m benchmarks.passes products|low-bits|head --model M [--depths 16] [--tokens 1 2 4 8 16 128] …

`graph`: llama.cpp and our own graph. `products`: ik_llama.cpp's matrix products and ours, with the whole output head.
`low-bits`: llama.cpp's products of Q1_0, Q2_0, TQ1_0 and TQ2_0 and ours.
`head`: ik_llama.cpp with all of the output head and with its upper bits (docs/output-head.md). Passes of up to 64
tokens compute logits for every token, longer ones only for the last, as prompts are read. A ratio above 1 means that
the second way is faster; other programs only ever make passes slower, so that the fastest pass says most.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.command import benchmark_parser, print_json
from engine.commands.terminal import notes_to_stderr
from engine.loading.libraries import backend
from engine.machine import default_threads
from engine.run_subprocess import start_with_environment
from engine.runtime.capi.own_code import ProductSet
from engine.runtime.contexts import ContextOptions
from engine.runtime.ik.library import native
from engine.runtime.ik.runtime import IkModel, IkRuntime
from engine.runtime.interface import Runtime, prefill
from engine.runtime.llama.library import native as llama_native
from engine.stop import StopFlag

MOST_WITH_LOGITS = 64  # tokens
LONGEST = {"graph": 512, "products": 128, "low-bits": 512, "head": 128}  # tokens of a pass of these libraries
TOKENS = {"graph": [1, 8, 512], "products": [1, 2, 4, 8, 16, 128], "low-bits": [1, 8, 64], "head": [1, 2, 3, 4]}

RunPass = Callable[[list[int], int], object]  # computes tokens, with so many rows of logits


@dataclass(frozen=True, slots=True)
class Way:
    """One of the two ways: its name, the runtime whose cache it uses, and the pass itself."""

    name: str
    target: Runtime
    run: RunPass


@dataclass(frozen=True, slots=True)
class Row:
    """Seconds of passes of `tokens` behind `depth` tokens, by way, in the order in which they ran."""

    model: str
    depth: int
    tokens: int
    seconds: dict[str, list[float]]

    def __str__(self) -> str:
        first, second = self.seconds.values()
        cells = (
            f"{1e3 * of(first):14.1f}{1e3 * of(second):14.1f}{of(first) / of(second):8.3f}×" for of in (min, median)
        )
        return f"{self.model:44.44}{self.depth:6}{self.tokens:8}{''.join(cells)}"


def main() -> None:
    options = parse()
    notes_to_stderr()
    rows = []
    for model in options.model:
        with OPENED[options.ways](model, context_of(options)) as ways:
            rows += [compare(ways, model, depth, n, options.runs) for depth in options.depths for n in options.tokens]
    if options.json:
        print_json(rows)
        return
    names = "".join(f"{name:>14}" for name in rows[0].seconds)
    print(f"milliseconds: the fastest pass, then the median\n{'model':44}{'depth':>6}{'tokens':>8}{names}{'':9}{names}")
    for row in rows:
        print(row)


def parse() -> argparse.Namespace:
    parser = benchmark_parser("passes", __doc__, models="many")
    parser.add_argument("ways", choices=OPENED)
    parser.add_argument("--depths", type=int, nargs="+", default=[16], help="tokens in the cache before each pass")
    parser.add_argument("--tokens", type=int, nargs="+", help="tokens of a pass")
    parser.add_argument("--threads", type=int, default=default_threads())
    parser.add_argument("--runs", type=int, default=16)
    options = parser.parse_args()
    options.tokens = options.tokens or TOKENS[options.ways]
    if not 0 < min(options.tokens) <= max(options.tokens) <= LONGEST[options.ways]:
        parser.error(f"--tokens: passes have 1 to {LONGEST[options.ways]} tokens")
    return options


def context_of(options: argparse.Namespace) -> ContextOptions:
    most = max(MOST_WITH_LOGITS, *options.tokens)
    return ContextOptions(max(options.depths) + most, n_batch=most, threads=options.threads)


@contextmanager
def open_graph(path: Path, context: ContextOptions) -> Iterator[list[Way]]:
    """Load the model with llama.cpp and with our own graph."""
    llama, graph = backend("llama"), backend("graph")
    with (
        closing(llama.load(path)) as plain,
        closing(graph.load(path)) as own,
        closing(llama.target(plain, context, StopFlag())) as theirs,
        closing(graph.target(own, context, StopFlag())) as ours,
    ):
        yield [Way(name, target, reading(target)) for name, target in (("llama.cpp", theirs), ("graph", ours))]


@contextmanager
def open_products(path: Path, context: ContextOptions) -> Iterator[list[Way]]:
    """Load the model with ik_llama.cpp, whose products cannot read weights laid out for the rough output head."""
    library, own = backend("ik"), native()
    with (
        closing(library.load(path, rough=False)) as model,
        closing(library.target(model, context, StopFlag())) as target,
    ):
        yield with_products(target, own.products if own else None, own and own.code.chickadee_products_replace)


@contextmanager
def open_low_bits(path: Path, context: ContextOptions) -> Iterator[list[Way]]:
    """Load the model with llama.cpp."""
    library, own = backend("llama"), llama_native()
    with closing(library.load(path)) as model, closing(library.target(model, context, StopFlag())) as target:
        yield with_products(target, own.products if own else None, own and own.code.chickadee_llama_replace)


def with_products(target: Runtime, products: ProductSet | None, replace: Any) -> list[Way]:
    """Return passes with the library's products and with ours, which `replace(True)` lets compute."""
    if products is None:
        sys.exit(
            "This computer has none of our products: they are for Linux on x86 with AVX2, and set-up compiles them."
        )
    run = reading(target)

    def computed(ours: bool) -> RunPass:
        return lambda tokens, rows: (replace(ours), run(tokens, rows))

    return [Way("theirs", target, computed(False)), Way(products.name, target, computed(True))]


@contextmanager
def open_head(path: Path, context: ContextOptions) -> Iterator[list[Way]]:
    """Load the model with ik_llama.cpp, and with its output head laid out so that its upper bits can be read alone."""
    with closing(IkModel(path)) as model, closing(IkRuntime(model, context, StopFlag())) as target:
        if model.head is None:
            sys.exit("This model's output head is not of the type Q6_K, or this computer has none of our products.")

        def with_head(whole: bool) -> RunPass:
            return lambda tokens, rows: target.forward(tokens, rows, whole_rows=whole)

        yield [Way("whole", target, with_head(True)), Way("upper bits", target, with_head(False))]


OPENED = {"graph": open_graph, "products": open_products, "low-bits": open_low_bits, "head": open_head}


def reading(target: Runtime) -> RunPass:
    """Return a pass that ends when its logits can be read."""
    return lambda tokens, rows: float(target.forward(tokens, rows).row()[0])


def compare(ways: Sequence[Way], model: Path, depth: int, count: int, runs: int) -> Row:
    """Time passes of `count` tokens behind `depth` tokens, whose tokens are removed from the cache afterwards."""
    row = Row(model.name, depth, count, {way.name: [] for way in ways})
    for way in ways:
        list(prefill(way.target, token_ids(depth)[way.target.size :]))
    for _ in range(runs):
        for way in ways:
            started = time.perf_counter()
            way.run(token_ids(count), count if count <= MOST_WITH_LOGITS else 1)
            row.seconds[way.name].append(time.perf_counter() - started)
            way.target.truncate(depth)
    return row


def token_ids(count: int) -> list[int]:
    return [300 + i * 37 % 5000 for i in range(count)]


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        start_with_environment()
        main()
