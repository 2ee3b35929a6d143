"""`python -m engine plan`: tell whether a model fits into memory, and how it would be loaded.

`python -m engine plans` answers such questions of other programs, a line of JSON each, until its input ends. A program
that shows many models, or one whose options are being chosen, cannot wait a second for a process each.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from contextlib import closing
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import TypeVar, get_args

import msgspec

from common.byte_sizes import show_bytes
from common.failures import Failure
from common.paths import display_name, path_of, path_text
from common.planning import DEFAULT_KV_TYPE, Ask, Computer, Estimate, Verdict
from common.sentences import Sentence
from engine.base import OtherLibrary
from engine.commands.options import add_options, request_fields
from engine.commands.terminal import notes_to_stderr
from engine.costs.cost_prior import (
    ModelTraits,
    corrected,
    predict_speed,
    speed_of,
    this_computer,
    traits_of_estimate,
)
from engine.costs.disk_reads import DiskReads
from engine.costs.measurements import SLOW_DISK, timings_of_package
from engine.costs.profile import stored_profile
from engine.loading.device_choice import Decision
from engine.loading.first_look import TO_LIST
from engine.loading.from_disk import expect_from_disk
from engine.loading.libraries import BACKEND_TITLES, PACKAGES
from engine.loading.library_choice import identity_of
from engine.loading.memory_search import MemoryPlan
from engine.loading.options import LoadOptions
from engine.loading.resolve import LoadEnvironment, LoadPlan, planned_estimate, resolve
from engine.loading.sizes import DRAFT_PREFIX
from engine.machine import lower_priority
from engine.protocol.lines import claim_stdout
from engine.protocol.requests import BackendName, BackendWish, KVModeName, Load
from engine.protocol.settings import filled
from engine.rights import add_read_option
from engine.runtime.contexts import make_kv_mode
from models.default import default_model
from models.header import read_header
from models.planner import PlannerClient
from models.split import whole_header

log = logging.getLogger("engine.plan")
Name = TypeVar("Name", bound=str)

REPORTED = (
    "verdict", "total_bytes", "available_bytes", "parts", "n_ctx", "max_n_ctx", "kv_type", "repack", "checkpoints",
    "threads",
)  # fmt: skip
MAX_LINE = 1 << 20  # bytes of a question
NICE = 7  # below the engine's: an answer comes before the judgement of other models
PART_TITLES = {
    "weights_mapped": "weights, mapped file",
    "weights_read": "weights, read",
    "weights_repacked": "weights, repacked",
    "kv": "KV cache",
    "kv_compressed": "KV cache, compressed heads",
    "snapshots": "snapshots for drafts",
    "checkpoints": "checkpoints",
    "kept_chats": "other chats, kept ready",
    "own_layers": "own draft layers",
    "own_layers_cache": "cache of own draft layers",
    "device_weights": "weights, graphics processor",
    "device_kv": "KV cache, graphics processor",
    "device_compute": "buffers, graphics processor",
    "compute": "compute buffers",
    "output": "logits",
    "projector": "projector for pictures",
    "projector_compute": "buffers for pictures",
    "vocabulary": "vocabulary",
    "phrases": "common phrases",
    "runtime": "program",
    "grammars": "table for answers in a form",
    "api": "local API, its process",
}
VERDICTS = {
    "fits": "fits",
    "tight": "fits, but tight",
    "disk": "larger than the memory, read from the disk",
    "no": "does not fit",
}


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("plan", help="would a model fit into memory, and how would it be loaded?")
    parser.add_argument(
        "model", type=path_of, nargs="?", metavar="MODEL", help="GGUF file (default: the built-in model)"
    )
    add_options(parser, "load")
    parser.add_argument("--api", action="store_true", help="plan for the local API too (`engine api`)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=run)
    plans = commands.add_parser("plans", help="memory plans for other programs: JSON lines in, JSON lines out")
    add_read_option(plans)
    plans.set_defaults(run=answer_all)


def run(options: argparse.Namespace) -> int:
    """Print the plan and return 0, also if the model does not fit: that is an answer."""
    notes_to_stderr()
    request = Load(0, path_text(options.model or default_model()), api="on" if options.api else "off")
    plan = resolve(LoadOptions.of(filled(request, request_fields(options, "load"))))
    path, memory, name = plan.options.path, plan.memory, plan.choice.name
    if memory.verdict == "disk":
        expected = expect_from_disk(plan.headers, memory, _this_computer()).sentence(display_name(path))
        memory = replace(memory, reasons=(*memory.reasons, expected))
    decided = plan.decision
    if options.json:
        print(json.dumps(report(memory, decided), ensure_ascii=False))
    else:
        print(table(path, memory, name, decided))
    return 0


def report(plan: MemoryPlan, decided: Decision) -> dict[str, object]:
    """Return the object that `--json` prints; its fields are an interface."""
    device = {"name": decided.device, "parts": decided.parts, "reason": str(decided.reason)}
    placement = {"way": decided.placement.way, "layers": decided.placement.layers}
    reasons = {"reasons": list(map(str, plan.reasons)), "device": device | placement}
    return {name: getattr(plan, name) for name in REPORTED} | reasons


def table(path: Path, plan: MemoryPlan, library: BackendName, decided: Decision) -> str:
    rows = [(part_title(name), show_bytes(size)) for name, size in plan.parts.items() if size]
    rows += [("total", show_bytes(plan.total_bytes)), ("available", show_bytes(plan.available_bytes))]
    most = plan.max_n_ctx
    loading = [
        ("backend", BACKEND_TITLES[library]),
        ("graphics processor", decided.device or "not used"),
        ("context", f"{plan.n_ctx:,} tokens" + (f" (at most {most:,} would fit)" if most else "")),
        ("KV cache precision", plan.kv_type),
        ("repacking", "on" if plan.repack else "off"),
        ("file", "mapped" if plan.mmap else "read"),
        ("batch", f"{plan.n_batch} tokens"),
        ("threads", str(plan.threads)),
    ]
    loading += [("checkpoints", str(plan.checkpoints))] if plan.checkpoints else []
    lines = [f"{display_name(path)}: {VERDICTS[plan.verdict]}", ""]
    width = max(22, *(len(name) for name, _ in rows))
    lines += [f"  {name:{width}} {size:>10}" for name, size in rows]
    lines += ["", *(f"  {name:{width}} {value}" for name, value in loading), "", *map(str, plan.reasons)]
    return "\n".join(lines)


def part_title(part: str) -> str:
    title = PART_TITLES[part.removeprefix(DRAFT_PREFIX)]
    return f"draft model: {title}" if part.startswith(DRAFT_PREFIX) else title


# --- plans, for other programs ---


def answer_all(_options: argparse.Namespace) -> int:
    lower_priority(NICE)
    output = claim_stdout()
    with closing(PlannerClient()) as other:
        try:
            while line := sys.stdin.buffer.readline(MAX_LINE):
                output.write(msgspec.json.encode(answer(line, other)) + b"\n")
                output.flush()
        except BrokenPipeError:  # the program that asks has ended
            return 0
    return 0


def answer(line: bytes, other: PlannerClient) -> Verdict:
    """Return the verdict on one line of input.

    Raises nothing: a model that cannot be planned gets a verdict with a problem.
    """
    try:
        ask = msgspec.json.decode(line, type=Ask)
    except (msgspec.MsgspecError, RecursionError) as error:
        return Verdict(problem=Sentence.of("planner.not_understood", reason=error))
    try:
        return _planned(ask, other)
    except Failure as failure:
        return Verdict(id=ask.id, problem=failure.sentence)
    except ValueError as error:
        return Verdict(id=ask.id, problem=Sentence.plain(str(error)))


def _planned(ask: Ask, other: PlannerClient) -> Verdict:
    if ask.estimate:
        return _estimated(ask, ask.estimate)
    if ask.path is None:
        return Verdict(id=ask.id, problem=Sentence.of("planner.no_model"))
    options = _options(ask, path_of(ask.path))
    try:
        plan = resolve(options, LoadEnvironment(ask.freed_bytes, patience=TO_LIST))
    except OtherLibrary as other_library:
        return other.ask(msgspec.structs.replace(ask, backend=other_library.wanted))
    verdict = _verdict(ask, plan.memory, plan.choice.name, ModelTraits.of(whole_header(plan.headers)))
    if plan.memory.verdict == "disk":
        speed = expect_from_disk(plan.headers, plan.memory, ask.computer or _this_computer()).speed
        return msgspec.structs.replace(
            verdict, exact=True, predicted_speed=speed.decode, predicted_prompt_speed=speed.prompt
        )
    return msgspec.structs.replace(verdict, exact=True, speed=_speed(plan))


def _estimated(ask: Ask, model: Estimate) -> Verdict:
    """Plan a model that is not downloaded yet, with only those options that apply to an estimate."""
    of_files = {"draft": None, "backend": None, "kv_mode": None, "kv_share": None, "flash_attention": "auto"}
    options = _options(msgspec.structs.replace(ask, **of_files), Path(model.name))
    plan = planned_estimate(model, options, ask.freed_bytes, ask.computer)
    return _verdict(ask, plan, "llama", traits_of_estimate(model))


def _options(ask: Ask, path: Path) -> LoadOptions:
    return LoadOptions(
        path,
        path_of(ask.draft) if ask.draft else None,
        backend=_known(ask.backend, get_args(BackendWish), "backend “{}”"),
        n_ctx=ask.n_ctx,
        kv_type=ask.kv_type,
        kv_mode=make_kv_mode(
            _known(ask.kv_mode, get_args(KVModeName), "way “{}” to keep keys and values"), ask.kv_share
        ),
        flash_attention=ask.flash_attention,
        device=ask.device,
        threads=ask.threads or None,
        memory_bytes=ask.memory_bytes,
        api=ask.api == "on",
    )


def _known(name: str | None, names: tuple[Name, ...], title: str) -> Name | None:
    """Return the name if it is one of `names`, or None. Raises ValueError for another one."""
    if name not in (None, *names):
        raise ValueError(f"There is no {title.format(name)}; there are {', '.join(names)}.")
    return next((known for known in names if known == name), None)


def _this_computer() -> Computer:
    """Return this computer, corrected by the built-in model's timings if there are some."""
    computer = this_computer()
    model, identity = _built_in()
    if model is None:
        return computer
    stored = [timings_of_package(package, identity, 0, DEFAULT_KV_TYPE) for package in PACKAGES.values()]
    measured = max((speed_of(timings) for timings in stored if timings), key=lambda speed: speed.decode, default=None)
    predicted = predict_speed(model, DEFAULT_KV_TYPE, computer)
    return corrected(computer, predicted, measured) if measured and predicted else computer


@cache
def _built_in() -> tuple[ModelTraits | None, str]:
    """Return traits and identity of the built-in model; no traits if the installation lacks it."""
    try:
        header = read_header(default_model())
    except Failure:
        return None, ""
    return ModelTraits.of(header), identity_of(header)


def _speed(plan: LoadPlan) -> float:
    """Return tokens/s of plain decoding in a short chat, if exactly this way to load was timed here, else 0."""
    library, memory = plan.choice.name, plan.memory
    if library not in PACKAGES:
        return 0.0
    timings = timings_of_package(
        PACKAGES[library], identity_of(plan.header), plan.options.key_threads, memory.kv_type, plan.options.way
    )
    return 1 / timings.shallow[1] if timings else 0.0


def _verdict(ask: Ask, plan: MemoryPlan, library: str, model: ModelTraits | None) -> Verdict:
    shared = {field.name for field in fields(MemoryPlan)} & set(Verdict.__struct_fields__)
    speed = predict_speed(model, plan.kv_type, ask.computer or _this_computer()) if model else None
    if ask.estimate and model and plan.verdict == "disk":
        profile = stored_profile()
        disk = (profile and profile.disk_read_bytes_per_s) or SLOW_DISK
        speed = DiskReads(model.reads, plan.page_cache_bytes, disk).speed(speed)
    return Verdict(
        id=ask.id,
        backend=library,
        predicted_speed=speed.decode if speed else 0.0,
        predicted_prompt_speed=speed.prompt if speed else 0.0,
        **{name: getattr(plan, name) for name in shared},
    )
