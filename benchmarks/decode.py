"""Prefill and decode speed of our engine, and of llama-server on the same file beside it.

    python -m benchmarks.decode --model M [--backend llama ik] [--native PYTHON] [--server PATH_TO_LLAMA_SERVER]
                                [--program build/dist/chickadee/chickadee-engine] [--starts N] [--runs N]

`--native` is the Python of another checkout set up with `make setup NATIVE=1` (`.venv/bin/python` there): its build of
ik_llama.cpp runs beside ours. `--program` is a packaged engine, whose kernels are for many processors; the ratio of it
is to the first of the others.

Runs are interleaved, ours and theirs in turn on the same prompts, so that a machine whose speed drifts does not favour
one side. Both sides are started several times: where a process happens to lie in memory makes it up to 3 % faster or
slower for its whole life. Both re-use the few tokens before the prompt that all chats share, which are not counted.
Minimum and median are of times, so the minimum is the fastest run; ratios above 1 mean that our engine is faster.
"""

from __future__ import annotations

import argparse
import contextlib
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.command import benchmark_parser, print_json
from benchmarks.peers import LlamaServer, OurEngine, Run
from engine.loading.libraries import BACKENDS
from engine.machine import default_threads
from engine.protocol.requests import BackendName, Message
from engine.run_subprocess import set_environment

SERVER = "llama-server"
NATIVE, PACKAGED = "chickadee native", "chickadee packaged"
SUBJECTS = ["rivers", "bridges", "harbours", "orchards", "winters", "maps", "clocks", "markets", "trains", "gardens"]


@dataclass(frozen=True, slots=True)
class Speed:
    """Speeds in tokens per second: best and median run."""

    prompt_best: float
    prompt_median: float
    decode_best: float
    decode_median: float


def main() -> None:
    options = parse()
    threads = options.threads or default_threads()
    ours: dict[str, BackendName] = {f"chickadee {name}": name for name in options.backend}
    if options.native:
        ours[NATIVE] = "ik"
    if options.program:
        ours[PACKAGED] = options.backend[0]
    names = [*ours, SERVER] if options.server else [*ours]
    runs: dict[str, list[Run]] = {name: [] for name in names}
    rss: dict[str, int] = {}
    for start in range(options.starts):
        with contextlib.ExitStack() as stack:
            sides: dict[str, OurEngine | LlamaServer] = {}
            for name, backend in ours.items():
                python = options.native if name == NATIVE else None
                cache = Path(stack.enter_context(TemporaryDirectory())) if python else None
                program = options.program if name == PACKAGED else None
                engine = OurEngine(options.model, options.ctx, threads, None, backend, program, python, cache)
                sides[name] = stack.enter_context(engine)
                engine.run(prompt(0, options.prompt_words), 8)  # warm-up, not counted
                engine.settle()
            if options.server:
                peer = LlamaServer(options.server, options.model, options.ctx, threads)
                sides[SERVER] = stack.enter_context(peer)
                peer.run(prompt(0, options.prompt_words), 8)
            for number in range(1, options.runs + 1):
                words = prompt(start * options.runs + number, options.prompt_words)
                for name in names if number % 2 else reversed(names):
                    runs[name].append(sides[name].run(words, options.tokens))
            rss = {name: side.rss_bytes() for name, side in sides.items()}
    report(options, threads, runs, rss)


def parse() -> argparse.Namespace:
    parser = benchmark_parser("decode", __doc__)
    parser.add_argument(
        "--backend", nargs="+", choices=BACKENDS, default=["llama"], help="our libraries (default: llama)"
    )
    parser.add_argument("--native", type=Path, metavar="PYTHON", help="of a checkout set up with NATIVE=1")
    parser.add_argument("--program", type=Path, help="the packaged engine to compare with")
    parser.add_argument("--server", type=Path, help="llama-server to compare with")
    parser.add_argument("--ctx", type=int, default=4096)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--starts", type=int, default=3, help="how often both sides are started")
    parser.add_argument("--runs", type=int, default=3, help="counted runs of each side after each start")
    parser.add_argument("--tokens", type=int, default=128, help="tokens to decode in each run")
    parser.add_argument("--prompt-words", type=int, default=600)
    return parser.parse_args()


def prompt(number: int, words: int) -> list[Message]:
    """Build long notes and a request for a long answer.

    The notes differ for each `number`, so that no cached tokens can be re-used.
    """
    sentences = []
    for i in range(words // 9 + 1):
        subject = SUBJECTS[(number * 3 + i * 7) % len(SUBJECTS)]
        sentences.append(f"Note {number * 1000 + i}: the old {subject} were described again.")
    sentences.append("Repeat all of these notes, word for word.")
    return [Message("user", " ".join(sentences))]


def speed(runs: list[Run]) -> Speed:
    prompts = [run.prompt_tokens / run.prompt_seconds for run in runs]
    decodes = [run.decode_tokens / run.decode_seconds for run in runs]
    return Speed(max(prompts), median(prompts), max(decodes), median(decodes))


def ratios(ours: list[Run], theirs: list[Run]) -> Speed:
    """Return our speeds over theirs: of the best runs, and the median of the ratios pair by pair."""
    pairs = [(speed([a]), speed([b])) for a, b in zip(ours, theirs, strict=True)]
    a, b = speed(ours), speed(theirs)
    return Speed(
        prompt_best=a.prompt_best / b.prompt_best,
        prompt_median=median(x.prompt_best / y.prompt_best for x, y in pairs),
        decode_best=a.decode_best / b.decode_best,
        decode_median=median(x.decode_best / y.decode_best for x, y in pairs),
    )


def report(options: argparse.Namespace, threads: int, runs: dict[str, list[Run]], rss: dict[str, int]) -> None:
    speeds = {name: speed(side) for name, side in runs.items()}
    ours = [name for name in runs if name != SERVER]
    if SERVER in runs:
        speeds |= {f"ratio {name.split()[-1]}": ratios(runs[name], runs[SERVER]) for name in ours}
    if PACKAGED in runs:
        speeds["ratio of packaged"] = ratios(runs[PACKAGED], runs[ours[0]])
    if options.json:
        print_json({"speeds": speeds, "rss_bytes": rss})
        return
    read, written = runs[ours[0]][0].prompt_tokens, runs[ours[0]][0].decode_tokens
    many = f"{options.starts} starts of {options.runs} runs"
    print(f"{options.model.name}, {threads} threads, context {options.ctx}, {many}")
    print(f"{read} tokens read, {written} decoded; tokens per second\n")
    print(f"{'':20}{'prompt best':>12}{'median':>9}{'decode best':>13}{'median':>9}{'RSS':>10}")
    for name, s in speeds.items():
        memory = f"{rss[name] / 2**20:,.0f} MiB" if name in rss else ""
        digits = 3 if name.startswith("ratio") else 1
        values = f"{s.prompt_best:12.{digits}f}{s.prompt_median:9.{digits}f}"
        values += f"{s.decode_best:13.{digits}f}{s.decode_median:9.{digits}f}"
        print(f"{name:20}{values}{memory:>10}")


if __name__ == "__main__":
    set_environment()
    main()
