"""Speed of the packaged engine, with kernels for many processors, beside the one compiled for this very processor.

    python -m benchmarks.variants [--program build/dist/chickadee/chickadee-engine] [--model M] [--starts N] [--runs N]

Both compute with llama.cpp, in turn on the same prompts, and are started several times, as in benchmarks.decode. Ratios
are packaged over compiled: above 1 the packaged one is faster.
"""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path

from benchmarks.decode import prompt, ratios, speed
from benchmarks.peers import OurEngine, Run
from engine.machine import default_threads
from engine.run_subprocess import set_environment
from models.default import default_model

PROGRAM = Path("build/dist/chickadee/chickadee-engine")
NAMES = ("compiled here", "packaged")


def main() -> None:
    options = parse()
    runs: dict[str, list[Run]] = {name: [] for name in NAMES}
    kernels = {}
    for start in range(options.starts):
        with contextlib.ExitStack() as stack:
            sides = {}
            for name, program in zip(NAMES, (None, options.program), strict=True):
                engine = OurEngine(options.model, options.ctx, options.threads, program=program)
                sides[name] = stack.enter_context(engine)
                engine.run(prompt(0, options.prompt_words), 8)  # warm-up, not counted
                engine.settle()
                kernels[name] = engine.model.kernels
            for number in range(1, options.runs + 1):
                words = prompt(start * options.runs + number, options.prompt_words)
                for name in NAMES if number % 2 else reversed(NAMES):
                    runs[name].append(sides[name].run(words, options.tokens))
    report(options, runs, kernels)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.variants", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--program", type=Path, default=PROGRAM, help="the packaged engine (default: of make package)")
    parser.add_argument("--model", type=Path, default=default_model())
    parser.add_argument("--ctx", type=int, default=4096)
    parser.add_argument("--threads", type=int, default=default_threads())
    parser.add_argument("--starts", type=int, default=3, help="how often both sides are started")
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each side after each start")
    parser.add_argument("--tokens", type=int, default=128, help="tokens to decode in each run")
    parser.add_argument("--prompt-words", type=int, default=300)
    return parser.parse_args()


def report(options: argparse.Namespace, runs: dict[str, list[Run]], kernels: dict[str, str]) -> None:
    many = f"{options.starts} starts of {options.runs} runs"
    print(f"{options.model.name}, {options.threads} threads, {many}; tokens per second\n")
    print(f"{'':28}{'prompt best':>12}{'median':>9}{'decode best':>13}{'median':>9}")
    compiled, packaged = (runs[name] for name in NAMES)
    rows = {f"{name} ({kernels[name]})": speed(side) for name, side in runs.items()}
    rows["ratio"] = ratios(packaged, compiled)
    for name, s in rows.items():
        digits = 3 if name == "ratio" else 1
        values = f"{s.prompt_best:12.{digits}f}{s.prompt_median:9.{digits}f}"
        print(f"{name:28}{values}{s.decode_best:13.{digits}f}{s.decode_median:9.{digits}f}")


if __name__ == "__main__":
    set_environment()
    main()
