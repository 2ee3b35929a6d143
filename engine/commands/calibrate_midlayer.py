"""`python -m engine calibrate --midlayer`: after how many layers a model drafts best for itself, and does that pay?"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import msgspec

from engine.commands import calibrate
from engine.costs.calibrated import Key, kept
from engine.costs.cost_model import CostModel, Timings
from engine.loading.library_choice import choose
from engine.machine import default_threads, fingerprint
from engine.runtime.capi.context import ContextOptions
from engine.speculative import exits
from engine.speculative.exits import ExitFound, Exits
from engine.speculative.middle_layer import exit_of
from engine.stop import StopFlag, Stopped
from engine.tokenization.chat_lines import read_chats
from models.default import default_model
from models.failures import Failure
from models.identity import file_identity
from models.paths import shown
from models.shapes import shapes_of
from models.validation import checked_header

N_CTX = 2048  # what was asked, an answer, and room to time passes


def run(options: argparse.Namespace) -> int:
    path = options.model or default_model()
    threads = default_threads() if options.threads is None else options.threads
    if options.tokens < 64:
        raise ValueError("fewer than 64 tokens tell nothing")
    choice = choose("graph", checked_header(path), threads, "f16")
    if choice.name != "graph":
        raise Failure("not_supported", choice.note)
    stop = StopFlag()
    before = signal.signal(signal.SIGINT, lambda _signal, _frame: stop.set())
    try:
        found = measure(path, threads, options.tokens, stop, options.chats)
    except Stopped:
        print("\nchickadee: Stopped.", file=sys.stderr)
        return 2
    finally:
        signal.signal(signal.SIGINT, before)
    exits.keep(found)
    print(json.dumps(report(found)) if options.json else f"{shown(path)}, {threads} threads, {table(found)}")
    return 0


def measure(path: Path, threads: int, tokens: int, stop: StopFlag, chats: Path | None = None) -> Exits:
    """Over answers to what was asked in `chats`, or to our questions. Raises Failure, and Stopped."""
    from engine.runtime.graph.dry import build
    from engine.runtime.graph.model import GraphModel
    from engine.runtime.graph.target import GraphTarget
    from engine.speculative.best_exit import BestExit

    asked = [chat.asked for chat in read_chats(chats)] if chats else []
    header = checked_header(path)
    key = Key(file_identity(path, header.data_offset), threads, "f16", build(), fingerprint())
    costs = CostModel(timings(path, key))
    shapes, layers = shapes_of(header), len(shapes_of(header).layers)
    if layers < 2:
        raise Failure("no_early_exit", f"{shown(path)} has a single layer: none in its middle could draft.")
    tried = sorted({*exits.candidates(layers), *exits.trained(header)})
    with ExitStack() as stack:
        model = stack.enter_context(closing(GraphModel(path, lambda _fraction: not stop.is_set())))
        target = stack.enter_context(closing(GraphTarget(model, ContextOptions(N_CTX, threads), stop)))
        best = BestExit(model, target, [exit_of(shapes, each, layers) for each in tried], costs.c, asked)
        for event in best.measure(key, tokens):
            if isinstance(event, Exits):
                print(file=sys.stderr)
                return event
            print(f"\r{event:4.0%} of the layers of {shown(path)}", end="", file=sys.stderr)
    raise AssertionError("a measurement ends with what was found")


def timings(path: Path, key: Key) -> Timings:
    """What this model's passes take here; measured now if it is not known."""
    if known := kept(key):
        return known.timings
    found = calibrate.measure(
        path, key.threads, "f16", choose("graph", checked_header(path), key.threads, "f16"), False
    )
    if found.disturbed:
        raise Failure(
            "disturbed", "Another program was busy: how long this model's passes take is not known. Run this again."
        )
    return found


def report(found: Exits) -> dict[str, object]:
    """The object that `--json` prints; its fields are an interface."""
    return {
        "tokens": found.tokens,
        "layers": msgspec.to_builtins(found.found),
        "best": found.best.layers,
        "chosen": found.best.layers if found.pays else None,
    }


def table(found: Exits) -> str:
    lines = [
        f"{found.tokens:,} tokens of its own answers",
        "",
        f"{'layers':>6}{'agreement':>11}{'look ahead':>12}{'here':>8}{'ahead':>7}{'laptop':>9}{'ahead':>7}",
        *(_line(each) for each in found.found),
        "",
        "look ahead: a token by these layers, in passes of the whole model; here, laptop: the speed of decoding beside",
        "plain decoding, so many tokens ahead, on this machine and on one that memory bandwidth limits",
        "",
    ]
    best = found.best
    if found.pays:
        lines.append(f"Chosen: {best.layers} layers draft, expected at {best.here.speedup:.2f}× of plain decoding.")
    else:
        lines.append(f"Chosen: none. The best, {best.layers} layers, would run at {best.here.speedup:.2f}×.")
    return "\n".join(lines)


def _line(each: ExitFound) -> str:
    gains = "".join(f"{gain.speedup:{width}.2f}×{gain.ahead:7}" for gain, width in ((each.here, 7), (each.laptop, 8)))
    return f"{each.layers:6}{each.agreement:11.1%}{each.look:12.2f}{gains}"
