"""`python -m engine calibrate`: how long passes of a model take on this machine."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

from engine.commands.notes import notes_to_stderr
from engine.costs.calibrated import Key, keep, kept
from engine.costs.calibration import DEPTHS, Calibration
from engine.costs.cost_model import CostModel, Timings, nt, roofline_seconds
from engine.costs.profile import Profile, machine_profile
from engine.loading.crash_mark import CrashWatch
from engine.loading.first_look import looked_at
from engine.loading.libraries import NAMES, Backend, backend
from engine.loading.library_choice import Choice, choose
from engine.loading.memory_plan import Wish
from engine.loading.planner import plan_for
from engine.machine import default_threads, fingerprint
from engine.protocol import BackendName
from engine.runtime.capi.context import ContextOptions
from engine.runtime.sizes import KVType
from engine.stop import StopFlag, Stopped
from models.default import default_model
from models.failures import Failure
from models.identity import file_identity
from models.paths import path_of, shown
from models.shapes import Shapes, shapes_of
from models.validation import checked_header

TOKENS = 768  # of the model's own answers; from so many on another layer is hardly ever found best


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("calibrate", help="time a model's passes on this machine (7 seconds)")
    parser.add_argument("--model", type=path_of, metavar="PATH", help="GGUF file (default: the built-in model)")
    parser.add_argument("--threads", type=int, metavar="N", help="threads (default: physical cores)")
    parser.add_argument(
        "--backend", choices=NAMES, help="the library that computes (default: llama, with --midlayer graph)"
    )
    parser.add_argument("--kv-type", choices=get_args(KVType), default="f16", help="how keys and values are stored")
    parser.add_argument(
        "--spare",
        action="store_true",
        help="only if it is not known yet and the computer has room for the model beside all that runs",
    )
    parser.add_argument(
        "--midlayer",
        action="store_true",
        help="which of the model's layers drafts best for it, and whether that pays: for --draft midlayer (a minute)",
    )
    parser.add_argument(
        "--tokens", type=int, default=TOKENS, help=f"with --midlayer: tokens of the model's answers (default: {TOKENS})"
    )
    parser.add_argument(
        "--chats",
        type=Path,
        metavar="FILE",
        help="with --midlayer: answer what these chats asked, one a line as for training (default: our questions)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    notes_to_stderr()
    if options.midlayer:
        return layers(options)
    if options.chats:
        raise ValueError("--chats goes with --midlayer")
    threads = default_threads() if options.threads is None else options.threads
    if threads < 1:
        raise ValueError("--threads must be at least 1")
    path = options.model or default_model()
    header = checked_header(path)
    shapes, profile = shapes_of(header), machine_profile()
    wish: BackendName = options.backend or "llama"
    choice = choose(wish, header, threads, options.kv_type)
    if choice.name != wish:
        raise Failure("no_backend", choice.note)
    try:
        timings = measure(path, threads, options.kv_type, choice, options.spare)
    except Stopped:
        print("chickadee: Stopped.", file=sys.stderr)
        return 2
    if timings.disturbed:
        print("chickadee: Another program was busy, the times are too long. Run this again later.", file=sys.stderr)
    result = report(timings, profile, shapes)
    if options.json:
        print(json.dumps(result))
    else:
        print(f"{shown(path)}, {threads} threads\n\n{table(result, timings, shapes)}")
    return int(options.spare and timings.disturbed)


def layers(options: argparse.Namespace) -> int:
    from engine.commands import calibrate_midlayer

    if options.backend not in (None, "graph"):
        raise ValueError(f"a layer can draft only where our own graph computes, not {options.backend}")
    if options.kv_type != "f16" or options.spare:
        raise ValueError("--midlayer goes with keys and values in f16, and not with --spare")
    return calibrate_midlayer.run(options)


def measure(path: Path, threads: int, kv_type: KVType, choice: Choice, spare: bool) -> Timings:
    """Load the model, time its passes and keep the result. Raises Failure, and Stopped on Ctrl-C."""
    watch, stop = CrashWatch(), StopFlag()
    header = checked_header(path)
    looked_at((path,), choice.name)
    watch.watch(choice.mark)
    library = backend(choice.name)
    key = Key(file_identity(path, header.data_offset), threads, kv_type, library.build, fingerprint())
    before = signal.signal(signal.SIGINT, lambda _signal, _frame: stop.set())
    try:
        known = kept(key) if spare else None
        if known:
            return known.timings
        n_ctx = min(DEPTHS[0] + 64, header.n_ctx_train or DEPTHS[0])
        if spare:
            check_room(path, Wish(threads, n_ctx, kv_type), library)
        with closing(library.load(path, lambda _fraction: not stop.is_set())) as model:
            options = ContextOptions(n_ctx=n_ctx, threads=threads, kv_type=kv_type)
            with closing(library.target(model, options, stop)) as target:
                timings = next(event for event in Calibration(target, threads).run() if isinstance(event, Timings))
        keep(key, timings)
        return timings
    finally:
        signal.signal(signal.SIGINT, before)
        watch.watch(None)


def check_room(path: Path, wish: Wish, library: Backend) -> None:
    """Raises Failure where the model cannot be loaded once more as it is loaded best."""
    plan = plan_for(path, wish, library)
    if plan.verdict != "fits":
        raise Failure("out_of_memory", plan.reasons[0])


def report(timings: Timings, profile: Profile, shapes: Shapes) -> dict[str, Any]:
    """The object that `--json` prints; its fields are an interface."""
    shallow = timings.pass_seconds[min(timings.pass_seconds)]
    return {
        "pass_seconds": timings.pass_seconds,
        "c": {k: seconds / shallow[1] for k, seconds in shallow.items()},
        "nt_published": nt(profile, shapes),
        "nt_measured": CostModel(timings).nt_measured,
        "weight_bytes": shapes.weight_bytes,
        "roofline_seconds": roofline_seconds(profile, shapes.weight_bytes),
    }


def table(result: dict[str, Any], timings: Timings, shapes: Shapes) -> str:
    depths = list(timings.pass_seconds)
    lines = ["tokens" + "".join(f"{f'depth {depth}':>14}" for depth in depths) + f"{'c':>8}"]
    for k in timings.ks:
        times = "".join(f"{timings.pass_seconds[depth][k] * 1e3:11.1f} ms" for depth in depths)
        lines.append(f"{k:6}{times}{result['c'][k]:8.2f}")
    rate = timings.large_tokens / timings.large_seconds
    one = timings.pass_seconds[depths[0]][1]
    roofline = result["roofline_seconds"]
    lines += [
        "",
        f"nt published {result['nt_published']:.1f}, measured {result['nt_measured']}: tokens in the time of one",
        f"weights {result['weight_bytes'] / 1e9:.2f} GB, read in {roofline * 1e3:.1f} ms at this memory's speed",
        f"a pass reads {shapes.pass_bytes / 1e9:.2f} GB of them; one token takes {one / roofline:.2f} × that time",
        f"prompts {rate:,.0f} tokens/s in passes of {timings.large_tokens}",
    ]
    return "\n".join(lines)
