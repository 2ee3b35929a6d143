"""Speed and energy by the number of threads: tokens per second, and joules or processor seconds per 100 tokens.

    python -m benchmarks.power [--model M] [--backend llama|ik] [--threads N] [--depth N] [--runs N] [--json]

The model is loaded once and computes with 1, 2, … N threads in turn (default: one for each core), so that a machine
that gets faster or slower favours no number. Each run writes some tokens without drafts, and reads a prompt; the
fastest run of each number counts, because other programs only ever make a run slower.

Joules are those of the whole processor, where it has a meter (RAPL) that this user may read; elsewhere the column says
how many seconds all threads together used a core. Those leave out what memory, screen and idle cores need meanwhile.
The last lines say which numbers of threads "Save power" would choose by these measurements.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.commands.terminal import notes_to_stderr
from engine.costs.energy import EnergyMeter
from engine.costs.threads import ThreadCost, power_saving_counts
from engine.loading.options import LoadOptions
from engine.loading.resolve import LoadPlan, resolve
from engine.machine import cpu_model, usable_cores
from engine.run_subprocess import start_with_environment
from engine.runtime.contexts import PROMPT_PASS, ContextOptions, ThreadCounts
from engine.runtime.interface import Runtime, ThreadedRuntime, prefill
from engine.stop import StopFlag
from models.default import default_model

LIBRARIES = ("llama", "ik")


@dataclass(frozen=True, slots=True)
class Run:
    """One run: tokens, wall seconds, processor seconds of all threads together, joules if they can be measured."""

    kind: str
    threads: int
    tokens: int
    seconds: float
    processor_seconds: float
    joules: float | None

    @property
    def speed(self) -> float:
        """Tokens per second."""
        return self.tokens / self.seconds

    @property
    def spent(self) -> float:
        """Joules, or else processor seconds, per 100 tokens."""
        used = self.processor_seconds if self.joules is None else self.joules
        return 100 * used / self.tokens


def main() -> None:
    options = parse()
    notes_to_stderr()
    plan = resolve(LoadOptions(options.model, backend=options.backend, n_ctx=options.depth + 1024, threads=1))
    best: dict[tuple[str, int], Run] = {}
    for run in runs(plan, options):
        old = best.get((run.kind, run.threads))
        best[run.kind, run.threads] = min(filter(None, (old, run)), key=lambda each: each.seconds)
    found = list(best.values())
    saving = chosen(found, options.threads)
    if options.json:
        rows = [asdict(run) | {"speed": run.speed, "per_100_tokens": run.spent} for run in found]
        print(json.dumps({"cpu": cpu_model(), "backend": plan.library.name, "rows": rows, "saving": asdict(saving)}))
        return
    unit = "CPU s" if any(run.joules is None for run in found) else "J"
    print(f"{options.model.name}, {plan.library.name}, {cpu_model()}, {options.depth} tokens in the cache")
    print(f"\n{'threads':>8}{'write tok/s':>14}{unit + '/100':>12}{'read tok/s':>14}{unit + '/100':>12}")
    for threads in range(1, options.threads + 1):
        write, read = best["write", threads], best["read", threads]
        print(f"{threads:8}{write.speed:14.1f}{write.spent:12.2f}{read.speed:14.1f}{read.spent:12.2f}")
    print(f"\nSaving power: {saving.decode} threads for writing, {saving.prompt} for reading")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.power", description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=default_model())
    parser.add_argument("--backend", choices=LIBRARIES, help="the library (default: the one that chats would use)")
    parser.add_argument("--threads", type=int, default=usable_cores(), help="most threads")
    parser.add_argument("--depth", type=int, default=256, help="tokens in the cache before each pass")
    parser.add_argument("--runs", type=int, default=8, help="runs with each number of threads")
    parser.add_argument("--tokens", type=int, default=24, help="tokens to write in a run")
    parser.add_argument("--prompt", type=int, default=128, help="tokens to read in a run")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def runs(plan: LoadPlan, options: argparse.Namespace) -> Iterator[Run]:
    """Load the model and yield the runs, each number of threads in turn."""
    meter, size = EnergyMeter(), max(options.prompt, 64)
    context = ContextOptions(plan.memory.n_ctx, threads=1, n_batch=size, kv_type=plan.memory.kv_type)
    with (
        closing(plan.library.load(plan.headers, lambda _fraction: True)) as model,
        closing(plan.library.target(model, context, StopFlag())) as target,
    ):
        assert isinstance(target, ThreadedRuntime), plan.library.name
        list(prefill(target, tokens(options.depth)))
        for _ in range(options.runs):
            for threads in range(1, options.threads + 1):
                target.use_threads(ThreadCounts(threads, threads))
                target.forward(tokens(1))  # starts the threads
                target.truncate(options.depth)
                yield timed("write", threads, target, [tokens(1)] * options.tokens, meter)
                yield timed("read", threads, target, [tokens(options.prompt)], meter)


def timed(kind: str, threads: int, target: Runtime, passes: Sequence[list[int]], meter: EnergyMeter) -> Run:
    """Run passes of so many tokens, one after the other, and remove their tokens from the cache."""
    depth, energy = target.size, meter.joules()
    started, processor = time.perf_counter(), time.process_time()
    for each in passes:
        list(prefill(target, each))
    seconds, used, after = time.perf_counter() - started, time.process_time() - processor, meter.joules()
    target.truncate(depth)
    joules = None if energy is None or after is None else after - energy
    return Run(kind, threads, sum(map(len, passes)), seconds, used, joules)


def chosen(found: Sequence[Run], most: int) -> ThreadCounts:
    """Return the numbers of threads that save power by these runs, where all `most` threads are the usual number."""
    sizes = {"write": 1, "read": PROMPT_PASS}
    costs = [ThreadCost(sizes[run.kind], run.threads, run.seconds) for run in found]
    return power_saving_counts(costs, ThreadCounts(most, most))


def tokens(count: int) -> list[int]:
    return [300 + i * 37 % 5000 for i in range(count)]


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        start_with_environment()
        main()
