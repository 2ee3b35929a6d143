"""`python -m engine plans`: answers questions about memory plans, a line of JSON each, until its input ends.

For whoever shows many models, or one whose options are being chosen: a process a question would take a second each.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_args

import msgspec

from common.planning import Ask, Estimate, Verdict, engine_command
from engine.costs.calibrated import timings_with
from engine.loading.libraries import PACKAGES, OtherLibrary
from engine.loading.library_choice import ones_and_eights
from engine.loading.memory_plan import MemoryPlan
from engine.loading.options import LoadOptions
from engine.loading.resolve import LoadPlan, Surroundings, planned_estimate, resolve
from engine.protocol import BackendWish, KVModeName, claim_stdout
from engine.rights import add_read
from engine.runtime.kv_mode import KVMode, mode_of
from models.failures import Failure
from models.identity import file_identity
from models.paths import path_of

MAX_LINE = 1 << 20


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("plans", help="memory plans for other programs: JSON lines in, JSON lines out")
    add_read(parser)
    parser.set_defaults(run=run)


def run(_options: argparse.Namespace) -> int:
    output = claim_stdout()
    try:
        while line := sys.stdin.buffer.readline(MAX_LINE):
            output.write(msgspec.json.encode(answer(line)) + b"\n")
            output.flush()
    except BrokenPipeError:  # who asked is gone
        return 0
    return 0


def answer(line: bytes) -> Verdict:
    """Never raises: what cannot be planned is a verdict with a problem."""
    try:
        ask = msgspec.json.decode(line, type=Ask)
    except (msgspec.MsgspecError, RecursionError) as error:
        return Verdict(problem=f"The planner did not understand a question: {error}.")
    try:
        return _planned(ask)
    except (Failure, ValueError) as error:
        return Verdict(id=ask.id, problem=str(error))


def _planned(ask: Ask) -> Verdict:
    if ask.estimate:
        return _estimated(ask, ask.estimate)
    if ask.path is None:
        return Verdict(id=ask.id, problem="A question names a file or an estimate.")
    options = _options(ask, path_of(ask.path))
    try:
        plan = resolve(options, Surroundings(ask.freed_bytes))
    except OtherLibrary as other:
        return _apart(msgspec.structs.replace(ask, backend=other.wanted))
    verdict = _verdict(ask, plan.memory, plan.choice.name)
    return msgspec.structs.replace(verdict, exact=True, speed=_speed(plan))


def _estimated(ask: Ask, model: Estimate) -> Verdict:
    """Of what is asked only what a model that is not here can have."""
    options = LoadOptions(
        Path(model.name),
        n_ctx=ask.n_ctx,
        kv_type=ask.kv_type,
        threads=ask.threads or None,
        memory_bytes=ask.memory_bytes,
    )
    return _verdict(ask, planned_estimate(model, options, ask.freed_bytes), "llama")


def _options(ask: Ask, path: Path) -> LoadOptions:
    return LoadOptions(
        path,
        path_of(ask.draft) if ask.draft else None,
        backend=_backend(ask.backend),
        n_ctx=ask.n_ctx,
        kv_type=ask.kv_type,
        kv_mode=_kv_mode(ask.kv_mode, ask.kv_share),
        flash_attention=ask.flash_attention,
        threads=ask.threads or None,
        memory_bytes=ask.memory_bytes,
    )


def _backend(name: str | None) -> BackendWish | None:
    """Raises ValueError for a name that is no library's."""
    backends: tuple[BackendWish, ...] = get_args(BackendWish)
    if name not in (None, *backends):
        raise ValueError(f"There is no library “{name}”; there are {', '.join(backends)}.")
    return next((backend for backend in backends if backend == name), None)


def _kv_mode(name: str | None, share: float | None) -> KVMode:
    """Raises ValueError for a name that is no way to keep keys and values."""
    names: tuple[KVModeName, ...] = get_args(KVModeName)
    if name not in (None, *names):
        raise ValueError(f"There is no way “{name}” to keep keys and values; there are {', '.join(names)}.")
    return mode_of(next((known for known in names if known == name), None), share)


def _speed(plan: LoadPlan) -> float:
    """Of plain decoding in a short chat, if this very way to load was timed here."""
    library, memory = plan.choice.name, plan.memory
    if library not in PACKAGES or plan.options.flash_attention == "off":
        return 0.0
    identity = file_identity(plan.header.path, plan.header.data_offset)
    timings = timings_with(PACKAGES[library], identity, memory.threads, memory.kv_type)
    return 1 / ones_and_eights(timings)[0] if timings else 0.0


def _apart(ask: Ask) -> Verdict:
    """This process holds another library than the one that will load the model."""
    done = subprocess.run(
        engine_command("plans"),
        input=msgspec.json.encode(ask) + b"\n",
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        return msgspec.json.decode(done.stdout, type=Verdict)
    except msgspec.MsgspecError:
        return Verdict(id=ask.id, problem="Whether it fits could not be worked out: the planner ended early.")


def _verdict(ask: Ask, plan: MemoryPlan, library: str) -> Verdict:
    shared = {field.name for field in fields(MemoryPlan)} & set(Verdict.__struct_fields__)
    return Verdict(id=ask.id, backend=library, **{name: getattr(plan, name) for name in shared})
