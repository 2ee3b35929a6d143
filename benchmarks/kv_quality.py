"""Price and savings of lossy keys and values: perplexity, copying from far back, bytes, decode speed, memory.

    python -m benchmarks.kv_quality --model M [--ways merged:0.25 …] [--windows N] [--only quality|speed] [--json]

Every way computes the same windows of held-out text, prose and code, as one chat each, in a process of its own. The
price is the ratio of perplexities to the exact cache's over the second halves of the windows, with its standard error
over windows. The probe repeats a passage after some thousand tokens of other text: perplexity of its second occurrence.
q8_0 is llama.cpp's cache. For speed and memory all but the last 512 tokens are put into the cache without being
computed, except with q8_0. Heads must have been ranked before (`python -m benchmarks.rank_heads`); a way without a
ranking is named and left out.

All results are stored in the cache folder, so that an interrupted run continues where it was, as long as model, way,
ranking and texts are the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kv_cells import KINDS, Q8, held_out, mode_for
from common.failures import CommandFailure, Failure
from common.files import write_atomically
from common.folders import cache_folder
from engine.machine import default_threads
from engine.runtime.contexts import EXACT
from engine.runtime.graph import modes
from engine.runtime.graph.modes import VERSION
from models.default import default_model
from models.header import read_header
from models.identity import file_identity

EXACT_WAY = "exact"
MODES, SHARES = ("merged", "window", "published"), (0.25, 0.5, 0.75)
WAYS = [*(f"{mode}:{share}" for mode in MODES for share in SHARES), Q8]
Cells = dict[str, dict[str, Any]]


def main() -> None:
    options = parse()
    results = Results(options.model)
    for way in (EXACT_WAY, *options.ways):
        measure(results, way, options)
        if not options.json and EXACT_WAY in results.ways:
            print(table(options.model, results.ways, options.depths), flush=True)
    if options.json:
        print(json.dumps(results.ways))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kv_quality", description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=default_model())
    parser.add_argument("--ways", nargs="+", default=WAYS, metavar="MODE:SHARE", help=f"also {Q8}")
    parser.add_argument("--windows", type=int, default=4, help="of 2,048 tokens each, of either kind of text")
    parser.add_argument("--probes", type=int, default=2, help="passages that come again")
    parser.add_argument("--depths", type=int, nargs="*", default=[2048, 8192, 16384])
    parser.add_argument("--only", choices=("quality", "speed"), help="half of it (speed wants a quiet machine)")
    parser.add_argument("--threads", type=int, default=default_threads())
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def measure(results: Results, way: str, options: argparse.Namespace) -> None:
    """Measure the missing cells of a way; a way that fails is named and left out."""
    quality = [f"{kind}:{i}" for i in range(options.windows) for kind in KINDS]
    quality += [f"probe:{i}" for i in range(options.probes)]
    speed = [[f"speed:{depth}"] for depth in options.depths]  # a process each, because its resident memory is measured
    runs = [*([quality] if options.only != "speed" else []), *(speed if options.only != "quality" else [])]
    try:
        key = results.key(way)
    except Failure as failure:
        print(f"{way} is left out. {failure}", file=sys.stderr)
        return
    results.ways[way] = results.cells(key)
    for cells in runs:
        missing = [cell for cell in cells if cell not in results.ways[way]]
        if missing and not run_cells_process(results, key, way, missing, options):
            print(f"{way} is left out from here on.", file=sys.stderr)
            return


def run_cells_process(results: Results, key: str, way: str, cells: Sequence[str], options: argparse.Namespace) -> bool:
    command = [sys.executable, "-m", "benchmarks.kv_cells", str(options.model), way, str(options.threads), *cells]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        for line in process.stdout:
            found = json.loads(line)
            results.ways[way][found.pop("cell")] = found
            results.store(key, results.ways[way])
            print(f"\r{options.model.name} {way}: {len(results.ways[way])} cells", end="", file=sys.stderr)
    print(file=sys.stderr)
    return process.returncode == 0


class Results:
    """The stored results of a model's `ways`. Raises Failure for a file that is no model."""

    def __init__(self, model: Path) -> None:
        self.ways: dict[str, Cells] = {}
        header = read_header(model)
        self._identity = file_identity(model, header.data_offset)
        self._texts = hashlib.sha256(json.dumps(held_out()).encode()).hexdigest()
        self._model = model

    def key(self, way: str) -> str:
        """Return a hash of everything that a way's numbers depend on. Raises Failure if its heads were not ranked."""
        mode = mode_for(way)
        heads: tuple[modes.Head, ...] = ()
        if mode != EXACT:
            found = modes.load_ranking(self._identity, mode.name)
            if found is None:
                command = f"python -m benchmarks.rank_heads --kv {mode.name} --model {self._model}"
                raise CommandFailure("no_ranking", f"Its heads were not ranked yet. Run: {command}")
            heads = found.least_harmful(mode.share)
        depends_on = (VERSION, self._identity, self._texts, way, heads)
        return hashlib.sha256(repr(depends_on).encode()).hexdigest()[:32]

    def cells(self, key: str) -> Cells:
        path = self._path(key)
        found: Cells = json.loads(path.read_bytes()) if path.exists() else {}
        return found

    def store(self, key: str, cells: Cells) -> None:
        write_atomically(self._path(key), json.dumps(cells).encode())

    def _path(self, key: str) -> Path:
        return cache_folder() / "kv_quality" / f"{key}.json"


def table(model: Path, ways: dict[str, Cells], depths: Sequence[int]) -> str:
    depths = [depth for depth in depths if any(f"speed:{depth}" in cells for cells in ways.values())]
    head = "".join(f"{f'KV {d}':>9}{f'tok/s {d}':>12}{f'RSS {d}':>11}" for d in depths)
    lines = [f"\n{model.name}", "", f"{'':15}{'prose':>16}{'code':>16}{'probe':>8}{'KV':>7}{head}"]
    exact = ways[EXACT_WAY]
    for way, cells in ways.items():
        line = "".join(price(cells, exact, kind) for kind in KINDS)
        line += f"{perplexity(cells, 'probe'):8.2f}{bytes_beside(cells, exact, KINDS):7.2f}"
        lines.append(f"{way:15}{line}{''.join(deep(cells, exact, f'speed:{depth}') for depth in depths)}")
    return "\n".join(lines)


def deep(cells: Cells, exact: Cells, cell: str) -> str:
    if cell not in cells or cell not in exact:
        return f"{'-':>9}{'-':>12}{'-':>11}"
    found = cells[cell]
    return f"{found['kv'] / exact[cell]['kv']:9.2f}{found['speed']:12.1f}{found['rss'] >> 20:7,} MiB"


def of_kind(cells: Cells, kind: str) -> dict[str, float]:
    return {cell: found["loss"] for cell, found in cells.items() if cell.startswith(f"{kind}:")}


def perplexity(cells: Cells, kind: str) -> float:
    return float(np.exp(np.mean(list(of_kind(cells, kind).values()) or [np.nan])))


def bytes_beside(cells: Cells, exact: Cells, kinds: Sequence[str]) -> float:
    """Return the mean share of the exact cache's bytes that this way needs at the end of a window."""
    shares = [cells[cell]["kv"] / exact[cell]["kv"] for kind in kinds for cell in of_kind(cells, kind) if cell in exact]
    return float(np.mean(shares or [np.nan]))


def price(cells: Cells, exact: Cells, kind: str) -> str:
    """Format the ratio of perplexities and its standard error."""
    plain = of_kind(exact, kind)
    differences = np.array([loss - plain[cell] for cell, loss in of_kind(cells, kind).items() if cell in plain])
    if len(differences) < 2:
        return f"{'-':>16}"
    ratio = float(np.exp(differences.mean()))
    return f"{ratio:8.3f} ± {ratio * float(differences.std(ddof=1)) / len(differences) ** 0.5:.3f}"


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        raise SystemExit(str(failure)) from failure
