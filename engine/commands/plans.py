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

from engine.backend import OtherLibrary, backend
from engine.budget import budget
from engine.choice import choose
from engine.estimated import EstimatedSizes
from engine.machine import default_threads, memory
from engine.plan import Plan, Wish, make_plan
from engine.planner import plan_for
from engine.protocol import BackendWish
from engine.serve import claim_stdout
from models.failures import Failure
from models.header import read_header
from models.verdict import Ask, Verdict, planner_command

MAX_LINE = 1 << 20


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("plans", help="memory plans for other programs: JSON lines in, JSON lines out")
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
    path, draft = Path(ask.path), Path(ask.draft) if ask.draft else None
    library = choose(_wanted(ask.backend), read_header(path), wish.threads, wish.kv_type or "f16").name
    try:
        plan = plan_for(path, wish, backend(library), ask.memory_bytes, ask.freed_bytes, draft)
    except OtherLibrary:
        return _apart(msgspec.structs.replace(ask, backend=library))
    return _verdict(ask, plan, library, True)


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
