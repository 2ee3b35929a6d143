"""Make the table of what passes cost before any was timed (`engine.costs.cost_prior`): assets/calibration/prior.json.

    python -m benchmarks.prior [--model M] [--types Q4_K_M Q8_0 …] [--pure Q5_0 Q1_0 …] [--kinds avx2 …] [--runs N]

M is quantised into each type, in a temporary folder; the built-in model is measured as it is. `--pure` needs no model
and no quiet computer: passes of random weights, all of one type, are timed in turn with passes of as many weights in
Q4_K, and the ratios make rows from the table's row of Q4_K (`derived`). Each file is timed with
each library and with the kernels for each kind of processor, in a process of its own; of several runs the fastest pass
counts. That needs llama.cpp with kernels for many processors: the environment that `make test-processors` makes
(`build/processors/bin/python -m benchmarks.prior …`). Rows of other kinds and types in the table stay.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from benchmarks.tiny_models import write_tiny_model
from common.files import write_atomically
from common.planning import DEFAULT_KV_TYPE
from engine.costs.cost_model import Timings
from engine.costs.cost_prior import FILE, PriorRow, main_weight_type, prior_table
from engine.costs.profile import Profile, machine_profile
from engine.loading.options import LoadOptions
from engine.loading.resolve import resolve
from engine.machine import KINDS, PROCESSOR_VARIABLE, cpu_model, default_threads, processor_kinds
from engine.protocol.requests import BackendName
from engine.runtime.contexts import ContextOptions
from engine.runtime.graph.product import packed_product
from engine.runtime.ik import needs
from engine.stop import StopFlag
from models.assets import asset
from models.default import default_model
from models.header import read_header
from models.shapes import shapes_of
from models.tensor_types import FILE_TYPES, TENSOR_TYPES, TYPE_NUMBERS

TYPES = {
    "F16": 1, "Q4_0": 2, "Q8_0": 7, "Q3_K_M": 12, "Q4_K_M": 15, "Q5_K_M": 17, "Q6_K": 18, "IQ4_NL": 25, "IQ4_XS": 30
}  # fmt: skip
# Of random weights: as wide as a model of 1 to 2 billion weights, and larger in one bit than the cache of a processor.
PURE = {
    "architecture": "llama", "block_count": 6, "context_length": 8192, "embedding_length": 2048,
    "feed_forward_length": 6144, "attention.head_count": 16, "attention.head_count_kv": 4,
    "attention.key_length": 128, "attention.value_length": 128, "attention.layer_norm_rms_epsilon": 1e-5,
    "rope.dimension_count": 128, "rope.freq_base": 1e6,
}  # fmt: skip
FTYPES = {name: number for number, name in FILE_TYPES.items()}
PRETENDED_AS = {"avx2": "haswell", "sse42": "sse42"}
LIBRARIES: dict[str, tuple[BackendName, ...]] = {"sse42": ("llama",)}  # ik_llama.cpp needs AVX2
DIGITS = 4
STORED = ("pass_seconds", "row_seconds", "large_tokens", "large_seconds", "disturbed")  # fields of a row's timings
RATIO_TOKENS, RATIO_RUNS = (1, 2, 4, 8, 16, 48, 128), 8  # of passes that are timed in turn
REPLACEMENT_RUNS = 3  # at most, for runs that other programs disturbed


def main() -> None:
    options = parse()
    if options.one:
        print(msgspec.json.encode(timings_of(*options.one)).decode())
        return
    if options.ratios:
        print(msgspec.json.encode(ratios_of(*options.ratios)).decode())
        return
    if options.pure:
        with tempfile.TemporaryDirectory() as folder:
            for row in pure_rows(options.pure, Path(folder)):
                write([row])
    if not options.model:
        return
    profile = machine_profile(fresh=True, product=packed_product)
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
    parser.add_argument("--pure", nargs="*", choices=FTYPES, default=[], metavar="TYPE", help=", ".join(FTYPES))
    kinds = [kind for kind in KINDS if can_compute_as(kind)]
    parser.add_argument("--kinds", nargs="*", choices=kinds, default=kinds)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--one", nargs=3, metavar=("LIBRARY", "MODEL", "THREADS"), help=argparse.SUPPRESS)
    parser.add_argument("--ratios", nargs=3, metavar=("LIBRARY", "MODEL", "REFERENCE"), help=argparse.SUPPRESS)
    return parser.parse_args()


def can_compute_as(kind: str) -> bool:
    """Return whether this computer can compute as a processor of that kind."""
    return kind in processor_kinds()[:1] or (kind in PRETENDED_AS and kind in processor_kinds())


def models(options: argparse.Namespace, folder: Path) -> Iterator[Path]:
    yield default_model()
    for name in options.types:
        path = folder / f"{name}.gguf"
        quantise(options.model, path, TYPES[name])
        yield path
        path.unlink()


def pure_rows(names: Sequence[str], folder: Path) -> Iterator[PriorRow]:
    """Yield rows of AVX2's kernels for models that have all of their weights in one type."""
    source, reference = write_tiny_model(folder / "random.gguf", PURE), folder / "reference.gguf"
    quantise(source, reference, FTYPES["Q4_K_S"], pure=True)
    for name in names:
        path = folder / f"{name}.gguf"
        quantise(source, path, FTYPES[name], pure=True)
        for row in known_rows():
            if (row.kind, row.weights) == ("avx2", TYPE_NUMBERS["Q4_K"]) and computes(row.library, path):
                ratios = ratios_apart(row.library, path, reference)
                print(name, row.library, *(f"{k}: {ratio:.2f}" for k, ratio in ratios.items()), flush=True)
                yield derived(row, main_weight_type(read_header(path)), ratios)
        path.unlink()


def computes(library: BackendName, path: Path) -> bool:
    return library != "ik" or needs.refusal(read_header(path), DEFAULT_KV_TYPE) is None


def derived(row: PriorRow, weights: int, ratios: dict[int, float]) -> PriorRow:
    """Return the row of Q4_K with as many weights in another type, whose passes take `ratios` times as long."""
    by = TENSOR_TYPES[weights].bits / TENSOR_TYPES[row.weights].bits

    def seconds_of(tokens: int, seconds: float) -> float:
        return seconds * float(np.interp(np.log(tokens), np.log(list(ratios)), list(ratios.values())))

    timings = row.timings.changed(seconds_of)
    sizes = {name: round(by * getattr(row, name)) for name in ("pass_bytes", "head_bytes")}
    timings = replace(timings, row_seconds=row.timings.row_seconds * ratios[1])
    return msgspec.structs.replace(row, weights=weights, timings=timings, derived=True, product=0.0, **sizes)


def ratios_apart(library: str, path: Path, reference: Path) -> dict[int, float]:
    """Return `ratios_of` from a process with AVX2's kernels."""
    command = [sys.executable, "-m", "benchmarks.prior", "--ratios", library, str(path), str(reference)]
    done = subprocess.run(command, env=environment_of("avx2"), capture_output=True, text=True, check=True)
    return msgspec.json.decode(done.stdout, type=dict[int, float])


def ratios_of(library: BackendName, *paths: str) -> dict[int, float]:
    """Return how many times as long as with the second model passes take with the first one, by their tokens."""
    from engine.loading.libraries import backend

    code, context = (
        backend(library),
        ContextOptions(2 * max(RATIO_TOKENS), default_threads(), n_batch=max(RATIO_TOKENS)),
    )
    with ExitStack() as opened:
        loaded = [opened.enter_context(closing(code.load(Path(path)))) for path in paths]
        targets = [opened.enter_context(closing(code.target(model, context, StopFlag()))) for model in loaded]
        result = {}
        for tokens in RATIO_TOKENS:
            best = [math.inf] * len(targets)
            for _ in range(RATIO_RUNS):
                for i, target in enumerate(targets):
                    started = time.perf_counter()
                    target.forward(list(range(20, 20 + tokens)), 1).row()
                    best[i] = min(best[i], time.perf_counter() - started)
                    target.truncate(0)
            result[tokens] = best[0] / best[1]
        return result


def quantise(source: Path, path: Path, ftype: int, pure: bool = False) -> None:
    import llama_cpp

    silent = llama_cpp.llama_log_callback(lambda *_: None)
    llama_cpp.llama_log_set(silent, None)
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype, params.allow_requantize, params.pure = ftype, True, pure
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
            row = PriorRow(library, kind, weights, *sizes, timings, cpu_model(), *speeds, layers=len(shapes.layers))
            product = round(profile.product_flops_per_s, -6) if kind in processor_kinds()[:1] else 0.0
            yield msgspec.structs.replace(row, head_bytes=shapes.output.pass_bytes, product=product)
            seconds = timings.pass_seconds[min(timings.pass_seconds)]
            print(
                path.stem, kind, library, *(f"c({k})={seconds[k] / seconds[1]:.2f}" for k in (2, 4, 8, 16)), flush=True
            )


def timed_apart(library: str, path: Path, kind: str, options: argparse.Namespace) -> Timings:
    """Return the fastest passes of several processes; exit if other programs disturbed all of them."""
    environment = environment_of(kind)
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


def environment_of(kind: str) -> dict[str, str]:
    """Return the environment in which a process computes with the kernels for that kind of processor."""
    return {**os.environ, PROCESSOR_VARIABLE: "" if kind in processor_kinds()[:1] else PRETENDED_AS[kind]}


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
