"""Cells of `benchmarks.kv_quality`: measurements of one way to keep keys and values, in a process of its own.

    python -m benchmarks.kv_cells MODEL WAY THREADS [KIND:WINDOW | probe:N | speed:DEPTH …]

prints one JSON object a line, {"cell": …, …}, as soon as the cell is measured. `loss` is the mean of -log p over the
second half of a window's tokens, or over a repeated passage.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import numpy as np

from common.failures import CommandFailure, Failure
from engine.commands.terminal import notes_to_stderr
from engine.loading.libraries import Backend, backend
from engine.machine import resident_bytes
from engine.protocol.requests import KVModeName
from engine.run_subprocess import start_with_environment
from engine.runtime.capi.model import CModel
from engine.runtime.contexts import EXACT, ContextOptions, KVMode, make_kv_mode
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.runtime import GraphRuntime
from engine.runtime.interface import Row, Runtime, prefill
from engine.stop import StopFlag

ROOT = Path(__file__).parent.parent
KINDS = ("prose", "code")
WINDOW, PASS = 2048, 64  # tokens
PASSAGE, FILLER, UNANNOUNCED = 128, 1664, 16  # tokens of the probe
COMPUTED = 512  # tokens at the end of a deep cache that are computed: the most of one prefill pass
Q8 = "q8_0"


class FilledRuntime(GraphRuntime):
    """A runtime with a filled cache whose tokens were never computed, for measuring speed and memory alone.

    These do not depend on the values of the keys and values.
    """

    def fill(self, tokens: Sequence[int]) -> None:
        """Put tokens into the cache without computing them."""
        for begin in range(0, len(tokens), PASS):
            part = tokens[begin : begin + PASS]
            self.kv.begin_pass(part, self._size)
            self._size += len(part)
        for cells in self.kv.layers:  # untouched pages would take no memory and no time to read
            for rows in cells.rows:
                rows[:] = 0
        self._rebuild_passes()


def main() -> None:
    notes_to_stderr()
    path, way, threads, *cells = sys.argv[1:]
    parent = os.getppid()
    library = backend("llama" if way == Q8 else "graph")
    with closing(library.load(Path(path))) as model:
        for cell in cells:
            if os.getppid() != parent:  # the parent process was killed
                return
            what, _, number = cell.partition(":")
            measure = {"speed": speed, "probe": probe}.get(what, perplexity)
            found = measure(library, model, way, int(threads), what, int(number))
            print(json.dumps({"cell": cell} | found), flush=True)


def mode_for(way: str) -> KVMode:
    name, _, share = way.partition(":")
    if name in ("exact", Q8):
        return EXACT
    known = next((known for known in get_args(KVModeName) if known == name), None)
    if known is None:
        raise CommandFailure("bad_option", f"There is no way to keep keys and values called {way}.")
    return make_kv_mode(known, float(share) if share else None)


def options_for(way: str, n_ctx: int, threads: int) -> ContextOptions:
    return ContextOptions(n_ctx, threads, kv_type="q8_0" if way == Q8 else "f16", kv_mode=mode_for(way))


# --- quality ---


def perplexity(library: Backend, model: CModel, way: str, threads: int, kind: str, number: int) -> dict[str, Any]:
    with closing(library.target(model, options_for(way, WINDOW, threads), StopFlag())) as target:
        loss = losses(target, window(model, kind, number), WINDOW // 2)
        return {"loss": float(np.mean(loss)), "kv": kv_bytes(target)}


def probe(library: Backend, model: CModel, way: str, threads: int, _what: str, number: int) -> dict[str, Any]:
    """Measure the loss of a passage that is repeated after FILLER tokens of other text.

    The repeated passage's first UNANNOUNCED tokens do not count, because nothing announces the repetition.
    """
    tokens = window(model, "prose", number)
    text = [*tokens[: PASSAGE + FILLER], *tokens[:PASSAGE]]
    with closing(library.target(model, options_for(way, WINDOW, threads), StopFlag())) as target:
        return {"loss": float(np.mean(losses(target, text, PASSAGE + FILLER + UNANNOUNCED)))}


def losses(target: Runtime, tokens: list[int], first: int) -> list[float]:
    """Return the loss of each token from index `first` on, with all tokens read in passes as a prompt is."""
    found = []
    for begin in range(0, len(tokens) - 1, PASS):
        part = tokens[begin : min(begin + PASS, len(tokens) - 1)]
        wanted = [i for i in range(begin + 1, begin + 1 + len(part)) if i >= first]
        logits = target.forward(part, max(1, len(wanted)))
        found += [loss_of(logits.row(row), tokens[i]) for row, i in enumerate(wanted)]
    return found


def loss_of(logits: Row, token: int) -> float:
    top = float(logits.max())
    return top + float(np.log(np.exp(logits - top).sum(dtype=np.float64))) - float(logits[token])


def held_out() -> dict[str, str]:
    """Return texts by kind, on none of which heads were ranked.

    Prose: tales and manuals of our own and the beginning of a story by Conan Doyle (1891). Code: old versions of our
    own files. The texts never change, so that numbers can be compared.
    """
    return {kind: (ROOT / "benchmarks/held_out" / f"{kind}.txt").read_text("utf-8") for kind in KINDS}


def window(model: CModel, kind: str, number: int) -> list[int]:
    tokens = model.vocabulary.tokenize(held_out()[kind], special=False)
    if (number + 1) * WINDOW > len(tokens):
        raise CommandFailure("bad_option", f"There are only {len(tokens) // WINDOW} windows of {kind} to measure.")
    return tokens[number * WINDOW : (number + 1) * WINDOW]


# --- speed and memory ---


def speed(library: Backend, model: CModel, way: str, threads: int, _what: str, depth: int) -> dict[str, Any]:
    """Measure tokens/s of the fastest of some one-token passes, bytes of keys and values, and resident memory."""
    text = (window(model, "prose", 0) * (1 + depth // WINDOW))[:depth]
    options, stop = options_for(way, depth + 256, threads), StopFlag()
    if isinstance(model, GraphModel):
        filled = FilledRuntime(model, options, stop)
        filled.fill(text[:-COMPUTED])
        target: Runtime = filled
    else:
        target = library.target(model, options, stop)
    with closing(target):
        list(prefill(target, text[target.size :]))
        found = {"speed": decode_speed(target)}
        return found | {"kv": kv_bytes(target), "rss": resident_bytes()}


def kv_bytes(target: Runtime) -> int:
    """Return the bytes of the cached entries, without the room for more."""
    groups = target.head_groups
    return sum(group.bytes * group.entries // group.capacity for group in groups) or target.state_bytes


def decode_speed(target: Runtime, count: int = 24) -> float:
    best = float("inf")
    for _ in range(count):
        started = time.perf_counter()
        float(target.forward([300]).row()[0])
        best = min(best, time.perf_counter() - started)
    return 1 / best


if __name__ == "__main__":
    try:
        start_with_environment()
        main()
    except Failure as failure:
        raise SystemExit(str(failure)) from failure
