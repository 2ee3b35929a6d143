"""`python -m engine plans`: answers questions about memory plans, a line of JSON each, until its input ends.

For whoever shows many models, or one whose options are being chosen: a process a question would take a second each.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import fields
from typing import get_args

import msgspec

from engine.costs.calibrated import timings_with
from engine.loading.first_look import meanwhile
from engine.loading.libraries import PACKAGES, OtherLibrary, backend
from engine.loading.library_choice import choose, ones_and_eights, wish_for
from engine.loading.memory_budget import budget
from engine.loading.memory_estimated import EstimatedSizes
from engine.loading.memory_plan import Plan, Wish, make_plan
from engine.loading.planner import plan_for
from engine.machine import default_threads, memory
from engine.protocol import BackendName, BackendWish, KVModeName, claim_stdout
from engine.rights import add_read
from engine.runtime.kv_mode import EXACT, KVMode, mode_of
from models.failures import Failure
from models.header import Header
from models.identity import file_identity
from models.paths import path_of
from models.validation import checked_header
from models.verdict import Ask, Verdict, planner_command

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
    wish = Wish(ask.threads or default_threads(), ask.n_ctx, ask.kv_type)
    if ask.estimate:
        now = memory()
        limits = budget(now.total, now.available, ask.memory_bytes, ask.freed_bytes)
        return _verdict(ask, make_plan(ask.estimate.name, EstimatedSizes(ask.estimate), limits, wish), "llama", False)
    if ask.path is None:
        return Verdict(id=ask.id, problem="A question names a file or an estimate.")
    path, draft = path_of(ask.path), path_of(ask.draft) if ask.draft else None
    header, mode = checked_header(path), _mode(ask)
    choice = choose(wish_for(_wanted(ask.backend), mode), header, wish.threads, wish.kv_type or "f16")
    if mode != EXACT and choice.name != "graph":
        raise Failure("not_supported", choice.note)
    try:
        library = meanwhile(lambda: backend(choice.name), (path, draft), choice.name)
        freed, flash = ask.freed_bytes, ask.flash_attention
        plan = plan_for(path, wish, library, ask.memory_bytes, freed, draft, mode, flash)
    except OtherLibrary:
        return _apart(msgspec.structs.replace(ask, backend=choice.name))
    verdict = _verdict(ask, plan, choice.name, True)
    return msgspec.structs.replace(verdict, speed=_speed(ask, header, plan, choice.name))


def _mode(ask: Ask) -> KVMode:
    names: tuple[KVModeName, ...] = get_args(KVModeName)
    if ask.kv_mode not in (None, *names):
        raise ValueError(f"There is no way “{ask.kv_mode}” to keep keys and values; there are {', '.join(names)}.")
    return mode_of(next((name for name in names if name == ask.kv_mode), None), ask.kv_share)


def _speed(ask: Ask, header: Header, plan: Plan, library: BackendName) -> float:
    """Of plain decoding in a short chat, if this very way to load was timed here."""
    if library not in PACKAGES or ask.flash_attention == "off":
        return 0.0
    identity = file_identity(header.path, header.data_offset)
    timings = timings_with(PACKAGES[library], identity, plan.threads, plan.kv_type)
    return 1 / ones_and_eights(timings)[0] if timings else 0.0


def _wanted(name: str | None) -> BackendWish | None:
    backends: tuple[BackendWish, ...] = get_args(BackendWish)
    if name not in (None, *backends):
        raise ValueError(f"There is no library “{name}”; there are {', '.join(backends)}.")
    return next((backend for backend in backends if backend == name), None)


def _apart(ask: Ask) -> Verdict:
    """This process holds another library than the one that will load the model."""
    done = subprocess.run(
        planner_command(), input=msgspec.json.encode(ask) + b"\n", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        return msgspec.json.decode(done.stdout, type=Verdict)
    except msgspec.MsgspecError:
        return Verdict(id=ask.id, problem="Whether it fits could not be worked out: the planner ended early.")


def _verdict(ask: Ask, plan: Plan, library: str, exact: bool) -> Verdict:
    shared = {field.name for field in fields(Plan)} & set(Verdict.__struct_fields__)
    return Verdict(id=ask.id, backend=library, exact=exact, **{name: getattr(plan, name) for name in shared})
