"""Speed beside other programs: the engine with all threads, and giving way, beside busy loops.

    python -m benchmarks.busy [--model M] [--server PATH] [--backend llama] [--loops 0 1 2 4] [--runs 3]
    python -m benchmarks.busy --before SECONDS [--model M] [--backend llama] [--runs 3]

`fixed` uses one thread for each performance core whatever else runs, and so does llama-server here; `gives way` is the
engine's default, which uses fewer threads while other programs keep cores busy (`engine.runtime.capi.context`). For
each number of loops the sides run one after the other.

`--before` measures what a load leaves behind: prompts after SECONDS beside two busy loops, which have ended, against
prompts after as long a silence, in turn. The ratio of the speeds should be 1.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.decode import prompt, speed
from benchmarks.peers import LlamaServer, OurEngine
from engine.machine import default_threads
from engine.run_subprocess import set_environment
from models.default import default_model

CTX = 2048
LOOP = "while True: pass"
PROMPT_WORDS = 400


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.busy", description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=default_model())
    parser.add_argument("--server", type=Path, help="llama-server to compare with")
    parser.add_argument("--backend", choices=["llama", "ik"], default="llama")
    parser.add_argument("--loops", type=int, nargs="+", default=[0, 1, 2, 4], help="busy loops beside the engine")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--before", type=float, metavar="SECONDS", help="load before the prompts instead of beside them"
    )
    options = parser.parse_args()
    if options.before:
        measure_behind_load(options)
        return
    model, threads = options.model, default_threads()
    ways: dict[str, Callable[[], OurEngine | LlamaServer]] = {
        "fixed": lambda: OurEngine(model, CTX, threads, backend=options.backend),
        "gives way": lambda: OurEngine(model, CTX, None, backend=options.backend),
    }
    if options.server:
        ways["llama-server"] = lambda: LlamaServer(options.server, model, CTX, threads)
    print(f"{model.name}, {options.backend}; tokens per second, median of {options.runs}\n")
    print(f"{'loops':5}  {'':12}{'prompt':>9}{'decode':>9}")
    for loops in options.loops:
        for name, start in ways.items():
            measure(name, start, loops, options.runs)


def measure(name: str, start: Callable[[], OurEngine | LlamaServer], loops: int, runs: int) -> None:
    with start() as peer:
        busy = [subprocess.Popen([sys.executable, "-c", LOOP]) for _ in range(loops)]
        try:
            measured = speed([peer.run(prompt(number, 80), 48) for number in range(1, runs + 1)])
        finally:
            for process in busy:
                process.kill()
                process.wait()
    print(f"{loops:5}  {name:12}{measured.prompt_median:9.1f}{measured.decode_median:9.1f}", flush=True)


def measure_behind_load(options: argparse.Namespace) -> None:
    """Print the prompt speeds after a load and after silence, and the ratio of their medians."""
    found: dict[str, list[float]] = {"silence": [], "load": []}
    with OurEngine(options.model, CTX, None, backend=options.backend) as engine:
        engine.run(prompt(0, PROMPT_WORDS), 8)  # warm-up, not counted
        engine.settle()
        for number in range(1, 2 * options.runs + 1):
            before = "load" if number % 2 else "silence"
            busy = [subprocess.Popen([sys.executable, "-c", LOOP]) for _ in range(2 if before == "load" else 0)]
            time.sleep(options.before)
            for process in busy:
                process.kill()
                process.wait()
            run = engine.run(prompt(number, PROMPT_WORDS), 2)
            found[before].append(run.prompt_tokens / run.prompt_seconds)
            print(f"after {before:8}{found[before][-1]:9.1f} tokens/s", flush=True)
    print(f"median after a load / after silence: {median(found['load']) / median(found['silence']):.3f}")


if __name__ == "__main__":
    set_environment()
    main()
