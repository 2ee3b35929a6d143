"""`python -m engine calibrate`: time a model's passes of different sizes on this machine."""

from __future__ import annotations

import argparse
import errno
import json
import math
import os
import shutil
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from common.byte_sizes import show_bytes
from common.failures import Failure
from common.paths import display_name, path_of
from common.planning import DEFAULT_KV_TYPE, KVType
from common.units import speed
from engine.commands.options import add_option
from engine.commands.terminal import notes_to_stderr, on_ctrl_c
from engine.costs.calibration import DEPTHS
from engine.costs.cost_model import CostModel, Timings, nt, roofline_seconds
from engine.costs.cost_prior import scale_to_all_layers
from engine.costs.measurements import (
    CalibrationKey,
    new_calibration,
    store_calibration,
    stored_calibration,
)
from engine.costs.profile import Profile, machine_profile
from engine.loading.crash_mark import CrashWatch
from engine.loading.device_choice import OFF
from engine.loading.libraries import BACKENDS, default_library
from engine.loading.library_choice import identity_of, trial_folder
from engine.loading.memory_search import MemoryPlan
from engine.loading.options import LoadOptions
from engine.loading.resolve import LoadEnvironment, LoadPlan, resolve
from engine.machine import fingerprint
from engine.protocol.settings import AUTO
from engine.runtime.contexts import ContextOptions
from engine.stop import StopFlag, Stopped
from models.default import default_model
from models.fewer_layers import selectable_layers, write_with_fewer_layers
from models.header import Header
from models.shapes import Shapes, shapes_of

FEWEST_LAYERS = 4  # with fewer layers the output head weighs too much


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("calibrate", help="time a model's passes on this machine (7 seconds)")
    parser.add_argument("--model", type=path_of, metavar="PATH", help="GGUF file (default: the built-in model)")
    add_option(parser, "engine.threads")
    add_option(parser, "engine.flash_attention")
    add_option(parser, "engine.device")
    parser.add_argument(
        "--device-layers", type=int, metavar="N", help="layers on the device; 0: prompts alone (default: what is best)"
    )
    parser.add_argument("--backend", choices=BACKENDS, help="the library that runs the model (default: llama)")
    parser.add_argument(
        "--kv-type", choices=get_args(KVType), default=DEFAULT_KV_TYPE, help="precision of the KV cache"
    )
    parser.add_argument(
        "--spare",
        action="store_true",
        help="only if it is not known yet, and with some of the model's layers where there is no memory for all",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    notes_to_stderr()
    watch = CrashWatch()
    plan = resolve(options_of(options), LoadEnvironment(crashes=watch))
    shapes, profile = shapes_of(plan.header), machine_profile()
    try:
        timings = measure(plan, options.spare)
    except Stopped:
        print("chickadee: Stopped.", file=sys.stderr)
        return 2
    finally:
        watch.watch(None)
    if timings.disturbed:
        print(
            "chickadee: The times are too long because another program was busy. Run this again later.", file=sys.stderr
        )
    result = report(timings, profile, shapes)
    if options.json:
        print(json.dumps(result))
    else:
        print(f"{display_name(plan.options.path)}, {plan.memory.threads} threads\n\n{table(result, timings, shapes)}")
    return int(options.spare and timings.disturbed)


def options_of(options: argparse.Namespace) -> LoadOptions:
    return LoadOptions(
        options.model or default_model(),
        backend=options.backend or default_library(),
        no_other=True,
        n_ctx=DEPTHS[0] + 64,
        kv_type=options.kv_type,
        threads=options.threads,
        flash_attention=options.flash_attention or "auto",
        device=options.device or (OFF if options.device_layers is None else AUTO),
        placed_layers=options.device_layers,
    )


def measure(plan: LoadPlan, spare: bool = False) -> Timings:
    """Load the model in the fastest way, time its passes and store the result. Raises Failure, and Stopped on Ctrl-C.

    `spare`: return a stored result if there is one, and time only some of the model's layers if not all fit into
    memory.
    """
    identity, kv_type, options = identity_of(plan.header), plan.memory.kv_type, plan.options
    way = options.way + plan.placement.suffix
    key = CalibrationKey(identity, options.key_threads, kv_type, plan.library.build, fingerprint(), way)
    known = stored_calibration(key, by_part=True) if spare else None
    if known:
        return known.timings
    by_part = spare and plan.memory.verdict != "fits"
    timings = time_part(plan) if by_part else time_passes(plan)
    store_calibration(key, timings, by_part)
    return timings


def time_passes(plan: LoadPlan) -> Timings:
    """Load the model and time its passes. Raises Failure, and Stopped on Ctrl-C."""
    stop, library, memory = StopFlag(), plan.library, plan.memory
    placed = {"placement": plan.placement} if plan.placement.device else {}
    context = ContextOptions(
        n_ctx=memory.n_ctx,
        threads=memory.threads,
        kv_type=memory.kv_type,
        flash_attention=plan.options.flash_attention,
    )
    with (
        on_ctrl_c(lambda _signal, _frame: stop.set()),
        closing(library.load(plan.headers, lambda _fraction: not stop.is_set(), **placed)) as model,
        closing(library.target(model, context, stop)) as target,
    ):
        return next(filter(None, new_calibration(target, plan.options.key_threads, memory.threads).run()))


def time_part(plan: LoadPlan) -> Timings:
    """Estimate the whole model's timings from those of a copy with a third of its layers, or fewer if memory is short.

    Raises as `time_passes` does, and Failure if too few layers fit.
    """
    whole = shapes_of(plan.header)
    layers = layers_that_fit(plan.memory, whole, selectable_layers(plan.header))
    if layers < FEWEST_LAYERS:
        raise Failure("out_of_memory.plan", reasons=plan.memory.reasons[0])
    with trial_folder() as folder:
        part = resolve(replace(plan.options, path=write_shortened_copy(plan.header, layers, folder)))
        if part.memory.verdict != "fits":
            raise Failure("out_of_memory.plan", reasons=part.memory.reasons[0])
        return scale_to_all_layers(time_passes(part), shapes_of(part.header), whole)


def write_shortened_copy(header: Header, layers: int, folder: Path) -> Path:
    """Write a copy of the model with `layers` of its layers, spread evenly over the model.

    Raises Failure if the disk has no room for the copy.
    """
    path = folder / "shortened.gguf"
    try:
        if shutil.disk_usage(folder).free < 2 * header.file_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_with_fewer_layers(header, layers, path)
    except OSError as error:
        raise Failure("unwritable.results", str(error), folder=folder, reason=error.strerror) from error
    return path


def layers_that_fit(memory: MemoryPlan, shapes: Shapes, layers: int) -> int:
    """Return a third of `layers`, which is enough to estimate the whole, or fewer if those do not fit."""
    each = sum(layer.pass_bytes for layer in shapes.layers) / max(1, layers)
    over = memory.total_bytes - memory.available_bytes
    return min(-(-layers // 3), layers - math.ceil(over / each)) if each else 0


def report(timings: Timings, profile: Profile, shapes: Shapes) -> dict[str, Any]:
    """Return the object that `--json` prints; its fields are an interface."""
    return {
        "pass_seconds": timings.pass_seconds,
        "c": {k: seconds / timings.shallow[1] for k, seconds in timings.shallow.items()},
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
    roofline = result["roofline_seconds"]
    times_roofline = timings.shallow[1] / roofline
    lines += [
        "",
        f"nt published {result['nt_published']:.1f}, measured {result['nt_measured']}: tokens in the time of one",
        f"weights {show_bytes(result['weight_bytes'])}, read in {roofline * 1e3:.1f} ms at this memory's speed",
        f"a pass reads {show_bytes(int(shapes.pass_bytes))} of them; one token takes {times_roofline:.2f} × that time",
        f"prompts {speed(timings.prompt_speed)} in passes of {timings.large_tokens}",
    ]
    return "\n".join(lines)
