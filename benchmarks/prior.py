"""Make the table of what passes cost before any was timed (`engine.costs.cost_prior`): assets/calibration/prior.json.

    python -m benchmarks.prior --model M [--types Q4_K_M Q8_0 …] [--kinds avx512_vnni avx2 …] [--runs N]

M is quantised into each type, in a temporary folder; the built-in model is measured as it is. Each file is timed with
each library and with the kernels for each kind of processor, in a process of its own; of several runs the fastest pass
counts. That needs llama.cpp with kernels for many processors: the environment that `make test-processors` makes
(`build/processors/bin/python -m benchmarks.prior …`). Rows of other kinds and types in the table stay.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from common.files import write_atomically
from engine.costs.cost_model import Timings
from engine.costs.cost_prior import FILE, PriorRow, main_weight_type, prior_table
from engine.costs.profile import Profile, machine_profile
from engine.loading.options import LoadOptions
from engine.loading.resolve import resolve
from engine.machine import KINDS, PROCESSOR_VARIABLE, cpu_model, processor_kinds
from engine.protocol.requests import BackendName
from models.assets import asset
from models.default import default_model
from models.header import read_header
from models.shapes import shapes_of

TYPES = {
    "F16": 1, "Q4_0": 2, "Q8_0": 7, "Q3_K_M": 12, "Q4_K_M": 15, "Q5_K_M": 17, "Q6_K": 18, "IQ4_NL": 25, "IQ4_XS": 30
}  # fmt: skip
PRETENDED_AS = {"avx2": "haswell", "sse42": "sse42"}
LIBRARIES: dict[str, tuple[BackendName, ...]] = {"sse42": ("llama",)}  # ik_llama.cpp needs AVX2
DIGITS = 4
STORED = ("pass_seconds", "row_seconds", "large_tokens", "large_seconds", "disturbed")  # fields of a row's timings
REPLACEMENT_RUNS = 3  # at most, for runs that other programs disturbed


def main() -> None:
    options = parse()
    if options.one:
        print(msgspec.json.encode(timings_of(*options.one)).decode())
        return
    profile = machine_profile(fresh=True)
    with tempfile.TemporaryDirectory() as folder:
        for path in models(options, Path(folder)):
            write(list(rows_of(path, options, profile)))


def write(rows: list[PriorRow]) -> None:
    """Write the rows into the table, replacing those of the same models."""
    new = {address(row): row for row in (*known_rows(), *rows)}
    write_atomically(asset(FILE), format_rows([new[key] for key in sorted(new)]))
    asset(FILE).chmod(0o644)
    prior_table.cache_clear()  # else the next write would restore this model's old rows
    print(f"{len(rows)} rows, {len(new)} in {asset(FILE)}", flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prior", description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, help="a model whose rows are of multiples of 256 weights")
    parser.add_argument("--types", nargs="*", choices=TYPES, default=list(TYPES))
    kinds = [kind for kind in KINDS if can_compute_as(kind)]
    parser.add_argument("--kinds", nargs="*", choices=kinds, default=kinds)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--one", nargs=3, metavar=("LIBRARY", "MODEL", "THREADS"), help=argparse.SUPPRESS)
    return parser.parse_args()


def can_compute_as(kind: str) -> bool:
    """Return whether this computer can compute as a processor of that kind."""
    return kind in processor_kinds()[:1] or (kind in PRETENDED_AS and kind in processor_kinds())


def models(options: argparse.Namespace, folder: Path) -> Iterator[Path]:
    yield default_model()
    for name in options.types if options.model else ():
        path = folder / f"{name}.gguf"
        quantise(options.model, path, TYPES[name])
        yield path
        path.unlink()


def quantise(source: Path, path: Path, ftype: int) -> None:
    import llama_cpp

    silent = llama_cpp.llama_log_callback(lambda *_: None)
    llama_cpp.llama_log_set(silent, None)
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype, params.allow_requantize = ftype, True
    if llama_cpp.llama_model_quantize(os.fsencode(source), os.fsencode(path), params):
        raise RuntimeError(f"{source} was not quantised into type {ftype}")


def rows_of(path: Path, options: argparse.Namespace, profile: Profile) -> Iterator[PriorRow]:
    header = read_header(path)
    shapes, weights = shapes_of(header), main_weight_type(header)
    for kind in options.kinds:
        for library in LIBRARIES.get(kind, ("llama", "ik")):
            timings = timed_apart(library, path, kind, options)
            sizes = shapes.pass_bytes, shapes.kv_bytes_per_token()
            speeds = round(profile.read_bandwidth_bytes_per_s, -6), options.threads or profile.threads
            yield PriorRow(library, kind, weights, *sizes, timings, cpu_model(), *speeds)
            seconds = timings.pass_seconds[min(timings.pass_seconds)]
            print(
                path.stem, kind, library, *(f"c({k})={seconds[k] / seconds[1]:.2f}" for k in (2, 4, 8, 16)), flush=True
            )


def timed_apart(library: str, path: Path, kind: str, options: argparse.Namespace) -> Timings:
    """Return the fastest passes of several processes; exit if other programs disturbed all of them."""
    environment = {**os.environ, PROCESSOR_VARIABLE: "" if kind in processor_kinds()[:1] else PRETENDED_AS[kind]}
    command = [sys.executable, "-m", "benchmarks.prior", "--one", library, str(path), str(options.threads or 0)]
    runs: list[Timings] = []
    for _ in range(options.runs + REPLACEMENT_RUNS):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        run = msgspec.json.decode(done.stdout, type=Timings)
        runs += [] if run.disturbed else [run]
        if len(runs) == options.runs:
            break
    if not runs:
        sys.exit("Other programs are busy: passes take longer by an unknown amount. Try again when they are not.")
    return fastest(runs)


def fastest(runs: list[Timings]) -> Timings:
    """Return the shortest time for each size and depth; depths that not all runs reached are left out."""
    low, *_ = depths = sorted(set.intersection(*(set(run.pass_seconds) for run in runs)))
    seconds = {d: {k: min(run.pass_seconds[d][k] for run in runs) for k in runs[0].ks} for d in depths}
    best = min(runs, key=lambda run: run.large_seconds / run.large_tokens)
    row = min(run.row_seconds for run in runs)
    return Timings({low: seconds[low]} | seconds, row, best.large_tokens, best.large_seconds)


def timings_of(library: BackendName, model: str, threads: str) -> Timings:
    from engine.commands.calibrate import measure
    from engine.costs.calibration import DEPTHS

    options = LoadOptions(
        Path(model), backend=library, no_other=True, n_ctx=DEPTHS[0] + 64, threads=int(threads) or None
    )
    return measure(resolve(options))


def known_rows() -> tuple[PriorRow, ...]:
    return prior_table() if asset(FILE).exists() else ()


def address(row: PriorRow) -> tuple[str, str, int, int]:
    return row.kind, row.library, row.weights, row.pass_bytes


def format_rows(rows: list[PriorRow]) -> bytes:
    """Format one row a line, numbers with few digits, so that changes are visible in the repository."""
    lines = []
    for row in rows:
        plain = json.loads(msgspec.json.encode(row), parse_float=lambda text: float(f"{float(text):.{DIGITS}g}"))
        plain["timings"] = {name: plain["timings"][name] for name in STORED}
        lines.append(json.dumps(plain))
    return ("[\n" + ",\n".join(lines) + "\n]\n").encode()


if __name__ == "__main__":
    main()
