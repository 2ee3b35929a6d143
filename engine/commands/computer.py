"""`python -m engine profile`, `cache` and `phrases`: measured speeds, saved chats and counted phrases on this disk."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from common.byte_sizes import show_bytes
from common.folders import cache_folder
from common.paths import path_of
from common.units import exact_seconds
from engine.commands.terminal import notes_to_stderr
from engine.costs.profile import Product, Profile, machine_profile
from engine.devices.look import look_at_devices
from engine.kv.saved import SavedChats
from engine.loading.device_plan import Devices
from engine.loading.libraries import BACKEND_TITLES, PACKAGES, Backend, backend, default_library, vocabulary
from engine.speculative.ngram_counting import load_or_build_table
from models.default import default_model


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    add_profile(commands)
    add_cache(commands)
    add_phrases(commands)


def add_profile(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("profile", help="measure this computer, or show the measurements")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--fresh", action="store_true", help="measure again (2 to 3 seconds)")
    parser.set_defaults(run=profile)


def profile(options: argparse.Namespace) -> int:
    notes_to_stderr()
    library = backend(default_library())
    measured = machine_profile(options.fresh, product_of(library))
    if not options.json:
        look_at_devices()
    devices = Devices.known()
    shown = asdict(measured) | {"kernels": library.kernels, "build": library.build, "devices": devices.names}
    print(json.dumps(shown) if options.json else table(measured, library, devices))
    return 0


def product_of(library: Backend) -> Product | None:
    """Return the product that the profile times; None without llama.cpp, whose kernels compute it."""
    if library.name != "llama":
        return None
    from engine.runtime.graph.product import packed_product  # this process must not have loaded another library

    return packed_product


def table(profile: Profile, library: Backend, devices: Devices) -> str:
    cores = f"{profile.physical_cores} physical, {profile.performance_cores} fast, {profile.logical_cores} logical"
    by_threads = ", ".join(
        f"{count}: {speed(value)}" for count, value in sorted(profile.read_bandwidth_by_threads.items())
    )
    rows = {
        "processor": profile.cpu,
        "kernels": f"{BACKEND_TITLES[library.name]}'s, {library.kernels}",
        "cores": f"{cores}; {profile.threads} threads used",
        "graphics": ", ".join(devices.names) or "none found",
        "memory": f"{show_bytes(profile.ram_total_bytes)}, {show_bytes(profile.ram_available_bytes)} available",
        "memory reading": f"{speed(profile.read_bandwidth_bytes_per_s)} (threads {by_threads})",
        "float32": f"{profile.flops_f32_per_s / 1e9:,.0f} GFLOP/s",
        "Q4_K product": f"{profile.product_flops_per_s / 1e9:,.0f} GFLOP/s",
        "disk reading": speed(profile.disk_read_bytes_per_s),
        "disk writing": speed(profile.disk_write_bytes_per_s),
        "measured": f"{profile.measured_at}, in {exact_seconds(profile.measuring_seconds)}",
    }
    if devices.refusals:
        rows["not used"] = " ".join(str(refusal.sentence) for refusal in devices.refusals)
    if profile.provisional:
        rows["provisional"] = "other programs were busy, so speeds may be too low; --fresh measures again"
    return "\n".join(f"{name:15} {value}" for name, value in rows.items())


def speed(rate: float | None) -> str:
    return "not measured" if rate is None else f"{show_bytes(int(rate))}/s"


def add_cache(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("cache", help="list or delete cached context")
    parser.add_argument("action", choices=["list", "clear"])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(run=cache)


def cache(options: argparse.Namespace) -> int:
    saved = SavedChats(cache_folder() / "chats")
    if options.action == "clear":
        freed = saved.clear()
        print(json.dumps({"freed_bytes": freed}) if options.json else f"{show_bytes(freed)} freed")
        return 0
    rows: list[dict[str, Any]] = [
        {
            "file": path.stem,
            "tokens": len(record.tokens),
            "bytes": record.kv_bytes,
            "saved_seconds": record.saved_seconds,
            "saved_at": time.strftime("%Y-%m-%d %H:%M", time.localtime(record.saved_at)),
        }
        for path, record in saved.records()
    ]
    if options.json:
        print(json.dumps({"quota_bytes": saved.quota, "chats": rows}))
        return 0
    for row in rows:
        print(
            "{saved_at}  {tokens:7,} tokens  {size:>8}  saves {saved:>7}  {file}".format(
                **row, size=show_bytes(row["bytes"]), saved=str(exact_seconds(row["saved_seconds"]))
            )
        )
    count = "1 chat" if len(rows) == 1 else f"{len(rows)} chats"
    print(f"{count}, {show_bytes(saved.used_bytes)} of {show_bytes(saved.quota)}")
    return 0


def add_phrases(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "phrases", help="count common phrases in a model's tokens, for speculative decoding (10 seconds)"
    )
    parser.add_argument("--model", type=path_of, metavar="PATH", help="GGUF file (default: the built-in model)")
    parser.add_argument(
        "--backend", choices=PACKAGES, default=default_library(), help="the library that splits text into tokens"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a sentence")
    parser.set_defaults(run=phrases)


def phrases(options: argparse.Namespace) -> int:
    notes_to_stderr()
    path: Path = options.model or default_model()
    table = load_or_build_table(path, vocabulary(path, options.backend))
    sizes = {"entries": table.size, "bytes": table.bytes}
    print(json.dumps(sizes) if options.json else "{entries:,} entries, {bytes:,} bytes".format(**sizes))
    return 0
