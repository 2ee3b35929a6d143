"""Speed of a fresh installation's first answers, beside an engine that has timed everything.

    python -m benchmarks.first_answer [--model M] [--server PATH] [--answers N] [--tokens N] [--rounds N] [--threads N]

Each round starts two engines as the window does: one with an empty cache folder, the other with a folder that has the
machine's profile, both libraries' calibrations and n-gram tables. Both get the same questions, in turn; the engine that
is not answering is stopped (SIGSTOP), so that it cannot use idle time: the fresh engine measures between its questions
alone. Ratios are of tokens per second, medians over the rounds. `--server`: llama-server answers too, without drafting.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

from benchmarks.drafting import prepare
from benchmarks.peers import LlamaServer, OurEngine, Run
from benchmarks.prompts import Prompt, prompts
from engine.machine import cpu_model, default_threads, processor_kinds
from engine.runtime.ik import needs
from models.default import default_model
from models.header import read_header

FRESH, STEADY, SERVER = "fresh", "steady", "server"
REPORTED_ANSWERS = (1, 2, 5)
PAUSE = 2.0  # seconds of idle time between questions: one until the engine notices, one to begin idle work

Engine = OurEngine | LlamaServer


def main() -> None:
    options = parse()
    threads = options.threads or default_threads()
    print(f"{options.model.name} on {cpu_model()} ({(*processor_kinds(), 'of another kind')[0]}), {threads} threads")
    speeds: dict[tuple[str, int], list[tuple[float, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as calibrated_cache:
        for library in ("llama", *(("ik",) if needs.refusal(read_header(options.model)) is None else ())):
            if not prepare(options.model, threads, library, cache=Path(calibrated_cache)):
                raise SystemExit("The model's passes could not be timed: see above.")
        for number in range(options.rounds):
            for (name, answer), pair in one_round(options, threads, Path(calibrated_cache), number).items():
                speeds[name, answer].append(pair)
    report(speeds, options.answers)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_answer", description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=default_model())
    parser.add_argument("--server", type=Path, help="llama-server to compare with")
    parser.add_argument("--answers", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=96, help="longest answer")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int)
    return parser.parse_args()


def one_round(
    options: argparse.Namespace, threads: int, calibrated_cache: Path, number: int
) -> dict[tuple[str, int], tuple[float, float]]:
    """Return tokens per second of prompt and of answer by (side, number of the answer)."""
    found = {}
    with contextlib.ExitStack() as stack:
        fresh = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sides: dict[str, Engine] = {
            name: start_stopped(stack, options, threads, cache)
            for name, cache in ((FRESH, fresh), (STEADY, calibrated_cache))
        }
        if options.server:
            sides[SERVER] = stack.enter_context(LlamaServer(options.server, options.model, 4096, threads))
        backends = {name: side.model.backend for name, side in sides.items() if isinstance(side, OurEngine)}
        print(f"round {number + 1}:", ", ".join(f"{name} with {backend}" for name, backend in backends.items()))
        for answer, prompt in enumerate(questions(options.answers, number), 1):
            for name, side in sorted(sides.items(), key=lambda pair: hash((pair[0], answer, number))):
                found[name, answer] = measure_answer(side, prompt, options.tokens)
    return found


def start_stopped(stack: contextlib.ExitStack, options: argparse.Namespace, threads: int, cache: Path) -> OurEngine:
    """Start an engine as the window does and stop it (SIGSTOP); it is continued before its process is ended."""
    engine = stack.enter_context(OurEngine(options.model, 4096, threads, backend="auto", cache=cache))
    stack.callback(engine.process.send_signal, signal.SIGCONT)
    engine.process.send_signal(signal.SIGSTOP)
    return engine


def questions(count: int, number: int) -> list[Prompt]:
    """Return `count` prompts of different kinds; each round begins with other kinds and takes other prompts."""
    kinds: dict[str, list[Prompt]] = defaultdict(list)
    for prompt in prompts():
        kinds[prompt.category].append(prompt)
    mixed = [of_kind[number % len(of_kind)] for of_kind in kinds.values()]
    start = number * count
    return [(mixed * 2)[(start + i) % len(mixed)] for i in range(count)]


def measure_answer(side: Engine, prompt: Prompt, tokens: int) -> tuple[float, float]:
    """Return tokens per second of prompt and of answer, measured while the other engines are stopped."""
    if isinstance(side, LlamaServer):
        return speeds_of(side.run(prompt.messages, tokens))
    side.process.send_signal(signal.SIGCONT)
    try:
        run = side.run(prompt.messages, tokens, draft="auto")
        time.sleep(PAUSE)
    finally:
        side.process.send_signal(signal.SIGSTOP)
    return speeds_of(run)


def speeds_of(run: Run) -> tuple[float, float]:
    return run.prompt_tokens / max(run.prompt_seconds, 1e-9), run.decode_tokens / max(run.decode_seconds, 1e-9)


def report(speeds: dict[tuple[str, int], list[tuple[float, float]]], answers: int) -> None:
    print(f"\n{'answer':>6}{'side':>8}{'prompt':>10}{'decode':>10}   against {STEADY}: prompt, decode")
    for answer in (number for number in REPORTED_ANSWERS if number <= answers):
        steady = speeds[STEADY, answer]
        for name in dict.fromkeys(name for name, _ in speeds):
            own = speeds[name, answer]
            medians = [median(pair[i] for pair in own) for i in (0, 1)]
            ratios = [median(a[i] / b[i] for a, b in zip(own, steady, strict=True)) for i in (0, 1)]
            print(f"{answer:6}{name:>8}{medians[0]:10.1f}{medians[1]:10.1f}   {ratios[0]:.2f}×, {ratios[1]:.2f}×")


if __name__ == "__main__":
    main()
