"""Decode speed of the three KV policies at several depths, on the calibrated model.

    python -m benchmarks.kv_policy [--model M] [--depths 128 1024 4096] [--tokens N] [--runs N] [--json]

The engine is calibrated first if it is not yet. Runs of the three policies are interleaved; ratios are against
`always`, run by run, so that a drifting machine favours none.
"""

from __future__ import annotations

import argparse
import json
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.decode import prompt
from engine.engine import Engine
from engine.protocol.events import Finished, Statistics
from engine.protocol.requests import Generate, KVPolicy, Load, Message, Prepare, Sampling
from engine.run_subprocess import set_environment
from models.default import default_model

POLICIES: tuple[KVPolicy, ...] = ("always", "published", "measured")
GREEDY = Sampling(temperature=0, repeat_penalty=1)
WORDS_PER_TOKEN = 0.6  # of the benchmark's notes


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kv_policy", description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=default_model())
    parser.add_argument("--depths", type=int, nargs="+", default=[128, 1024, 4096])
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with closing(Engine()) as engine:
        engine.load(Load(0, str(options.model), n_ctx=max(options.depths) + 1024))
        calibrate(engine)
        rows = [measure(engine, depth, options) for depth in options.depths]
    if options.json:
        print(json.dumps(rows))
        return
    print(f"{options.model.name}, {options.runs} runs of {options.tokens} tokens; tokens per second\n")
    print(f"{'depth':>6}{'policy':>11}{'best':>8}{'median':>8}{'ratio':>8}{'recomputed':>12}{'s recomputing':>15}")
    for row in rows:
        for name in POLICIES:
            r = row[name]
            print(
                f"{row['depth']:6}{name:>11}{r['best']:8.1f}{r['median']:8.1f}{r['ratio']:8.3f}"
                f"{r['recomputed_tokens']:12}{r['recompute_seconds']:15.2f}"
            )


def calibrate(engine: Engine) -> None:
    """Ask for a first answer and then give idle time, in which the engine measures what it does not know yet."""
    answer(engine, (Message("user", "Hello."),), "always", 4)
    for _ in range(4):
        engine.idle()


def measure(engine: Engine, depth: int, options: argparse.Namespace) -> dict[str, Any]:
    chat = tuple(prompt(1, int(depth * WORDS_PER_TOKEN)))
    list(engine.prepare(Prepare(1, chat)))
    runs: dict[KVPolicy, list[Statistics]] = {name: [] for name in POLICIES}
    for number in range(options.runs):
        for name in POLICIES if number % 2 else reversed(POLICIES):
            runs[name].append(answer(engine, chat, name, options.tokens))
    rates = {name: [s.decode_tokens / s.decode_seconds for s in series] for name, series in runs.items()}
    row: dict[str, Any] = {"depth": runs["always"][0].prompt_tokens}
    for name in POLICIES:
        row[name] = {
            "best": max(rates[name]),
            "median": median(rates[name]),
            "ratio": median(a / b for a, b in zip(rates[name], rates["always"], strict=True)),
            "recomputed_tokens": runs[name][0].recomputed_tokens,
            "recompute_seconds": median(s.recompute_seconds for s in runs[name]),
        }
    return row


def answer(engine: Engine, chat: tuple[Message, ...], policy: KVPolicy, tokens: int) -> Statistics:
    events = list(engine.generate(Generate(2, chat, GREEDY, tokens, kv_policy=policy, draft="off")))
    finished = events[-1]
    assert isinstance(finished, Finished)
    return finished.statistics


if __name__ == "__main__":
    set_environment()
    main()
