"""`python -m engine profile`: what this machine has and how fast it is."""

from __future__ import annotations

import argparse
import json

from engine.commands.terminal import notes_to_stderr
from engine.costs.profile import Profile, machine_profile
from engine.loading.libraries import backend


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("profile", help="measure this machine, or show what was measured")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--fresh", action="store_true", help="measure again (2 to 3 seconds)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    notes_to_stderr()
    profile = machine_profile(options.fresh)
    library = backend("llama")
    shown = profile.as_json() | {"kernels": library.kernels, "build": library.build}
    print(json.dumps(shown) if options.json else table(profile, library.kernels))
    return 0


def table(profile: Profile, kernels: str) -> str:
    cores = f"{profile.physical_cores} physical, {profile.performance_cores} fast, {profile.logical_cores} logical"
    by_threads = ", ".join(
        f"{count}: {speed(value)}" for count, value in sorted(profile.read_bandwidth_by_threads.items())
    )
    rows = {
        "processor": profile.cpu,
        "kernels": f"llama.cpp's, {kernels}",
        "cores": f"{cores}; {profile.threads} threads used",
        "memory": f"{gib(profile.ram_total_bytes)}, {gib(profile.ram_available_bytes)} available",
        "memory reading": f"{speed(profile.read_bandwidth_bytes_per_s)} (threads {by_threads})",
        "float32": f"{profile.flops_f32_per_s / 1e9:,.0f} GFLOP/s",
        "disk reading": speed(profile.disk_read_bytes_per_s),
        "disk writing": speed(profile.disk_write_bytes_per_s),
        "measured": f"{profile.measured_at}, in {profile.measuring_seconds:.1f} s",
    }
    if profile.provisional:
        rows["provisional"] = "other programs were busy, so speeds may be too low; --fresh measures again"
    return "\n".join(f"{name:15} {value}" for name, value in rows.items())


def gib(size: int) -> str:
    return f"{size / 2**30:,.1f} GiB"


def speed(rate: float | None) -> str:
    return "not measured" if rate is None else f"{rate / 1e9:,.2f} GB/s"
