"""How the engine shares the processor with other programs: speed beside busy loops, by OpenMP's spin count.

    python -m benchmarks.busy [--model M] [--loops 0 1 2] [--spins 300000 60000]

300000 is libgomp's own default; the engine sets 60000.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.decode import prompt, speed
from benchmarks.peers import OurEngine
from models.default import default_model


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.busy", description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=default_model())
    parser.add_argument("--loops", type=int, nargs="+", default=[0, 1, 2], help="busy loops beside the engine")
    parser.add_argument("--spins", type=int, nargs="+", default=[300_000, 60_000])
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    print(f"{options.model.name}; tokens per second, median of {options.runs}\n\nloops    spin     prompt   decode")
    for loops in options.loops:
        for spin in options.spins:
            measure(options, loops, spin)


def measure(options: argparse.Namespace, loops: int, spin: int) -> None:
    os.environ["GOMP_SPINCOUNT"] = str(spin)
    with OurEngine(options.model, 2048, None) as engine:
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
        try:
            runs = [engine.run(prompt(number, 80), 48) for number in range(1, options.runs + 1)]
        finally:
            for process in busy:
                process.kill()
                process.wait()
    s = speed(runs)
    print(f"{loops:5}{spin:8}{s.prompt_median:11.1f}{s.decode_median:9.1f}", flush=True)


if __name__ == "__main__":
    main()
