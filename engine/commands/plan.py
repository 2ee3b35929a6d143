"""`python -m engine plan`: would a model fit into memory, and how would it be loaded?"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import get_args

from common.byte_sizes import parse_bytes, show_bytes
from engine.commands.chat import add_flash_attention, add_kv_mode
from engine.commands.notes import notes_to_stderr
from engine.loading.libraries import SHOWN
from engine.loading.memory_plan import MemoryPlan
from engine.loading.options import LoadOptions
from engine.loading.resolve import resolve
from engine.loading.sizes import DRAFT
from engine.protocol import BackendName, BackendWish
from engine.runtime.kv_mode import mode_of
from engine.runtime.sizes import KVType
from models.default import default_model
from models.paths import path_of, shown

NAMES = {
    "weights_mapped": "weights, mapped file",
    "weights_read": "weights, read",
    "weights_repacked": "weights, repacked",
    "kv": "keys and values",
    "kv_compressed": "… of heads that keep less",
    "compute": "computing",
    "output": "logits",
    "vocabulary": "vocabulary",
    "phrases": "usual phrases",
    "runtime": "program",
}
VERDICTS = {"fits": "fits", "tight": "fits, but tight", "no": "does not fit"}


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("plan", help="would a model fit into memory, and how would it be loaded?")
    parser.add_argument(
        "model", type=path_of, nargs="?", metavar="MODEL", help="GGUF file (default: the built-in model)"
    )
    parser.add_argument(
        "--draft-model", type=path_of, metavar="PATH", help="GGUF file of a draft model, to be loaded too"
    )
    parser.add_argument("--memory", metavar="SIZE", help="plan for this much memory, like 4GiB (default: what is free)")
    parser.add_argument("--ctx", type=int, metavar="N", help="context in tokens (default: what fits, up to 32768)")
    parser.add_argument(
        "--kv-type", choices=get_args(KVType), help="how keys and values are stored (default: f16, q8_0)"
    )
    parser.add_argument("--threads", type=int, metavar="N", help="threads (default: physical cores)")
    parser.add_argument(
        "--backend", choices=get_args(BackendWish), help="the library that computes (default: auto, the faster one)"
    )
    add_kv_mode(parser)
    add_flash_attention(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """0 also when the model does not fit: that is an answer."""
    notes_to_stderr()
    plan = resolve(
        LoadOptions(
            options.model or default_model(),
            options.draft_model,
            backend=options.backend,
            n_ctx=options.ctx,
            kv_type=options.kv_type,
            kv_mode=mode_of(options.kv, options.kv_share),
            flash_attention=options.flash_attention,
            threads=options.threads,
            memory_bytes=None if options.memory is None else parse_bytes(options.memory),
        )
    )
    path, memory, name = plan.options.path, plan.memory, plan.choice.name
    print(json.dumps(memory.as_json(), ensure_ascii=False) if options.json else table(path, memory, name))
    return 0


def table(path: Path, plan: MemoryPlan, library: BackendName) -> str:
    rows = [(shown_name(name), show_bytes(size)) for name, size in plan.parts.items() if size]
    rows += [("total", show_bytes(plan.total_bytes)), ("available", show_bytes(plan.available_bytes))]
    loading = [
        ("library", SHOWN[library]),
        ("context", f"{plan.n_ctx:,} tokens (at most {plan.max_n_ctx:,} would fit)"),
        ("keys and values as", plan.kv_type),
        ("repacking", "on" if plan.repack else "off"),
        ("file", "mapped" if plan.mmap else "read"),
        ("batch", f"{plan.n_batch} tokens"),
        ("threads", str(plan.threads)),
    ]
    lines = [f"{shown(path)}: {VERDICTS[plan.verdict]}", ""]
    width = max(22, *(len(name) for name, _ in rows))
    lines += [f"  {name:{width}} {size:>10}" for name, size in rows]
    lines += ["", *(f"  {name:{width}} {value}" for name, value in loading), "", *plan.reasons]
    return "\n".join(lines)


def shown_name(part: str) -> str:
    return f"draft model: {NAMES[part.removeprefix(DRAFT)]}" if part.startswith(DRAFT) else NAMES[part]
