"""Decode speed with drafts of every kind, by kind of prompt, and of llama-server's kinds of drafting beside it.

    python -m benchmarks.drafting [--model M] [--draft-model D] [--server PATH] [--backend auto|llama|ik|graph]
                                  [--native PYTHON] [--tokens N] [--chats FILE] [--prompts N] [--rounds N]
                                  [--ways W …] [--json]

After a calibration, every way gives greedy answers of at most N tokens to the prompt set (`benchmarks.prompts`). The
ways are interleaved prompt by prompt, in a random order. Speeds are of decoding alone: tokens over seconds, both summed
over a kind's prompts; ratios are to plain decoding of our own engine. A kind's ratio varies by several per cent from
run to run, even where nothing is drafted: `--rounds N` answers the whole set N times and counts all answers together,
with the lowest and highest ratio of a single round below. `--backend auto`, as in the window: the library that is
faster on this machine. `--native` is the Python of another checkout set up with `make setup NATIVE=1`: plain and
automatic drafting with its build of ik_llama.cpp beside ours.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import exp, log
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.command import benchmark_parser, print_json
from benchmarks.peers import LlamaServer, OurEngine, Run, environment
from benchmarks.prompts import Prompt, prompts, read_prompts
from engine.loading.libraries import BACKENDS, SHARED_LIBRARY
from engine.machine import default_threads
from engine.protocol.requests import BackendName, DraftMode, Lookup
from engine.run_subprocess import set_environment

COPYING_KINDS = ("summary", "question", "editing", "rewriting", "follow-up")  # answers that repeat what was said
OUR_MODES: tuple[DraftMode, ...] = ("off", "history-published", "history", "phrases", "auto")
OUR_MODES_ITSELF: tuple[DraftMode, ...] = ("mtp",)
OUR_MODES_WITH_MODEL: tuple[DraftMode, ...] = ("model-published", "model")
OUR_MODES_ON_GRAPH: tuple[DraftMode, ...] = ("midlayer-published", "midlayer")
SERVER_MODES = {
    "server": (),
    "server ngram-simple": ("--spec-type", "ngram-simple"),
    "server default": ("--spec-default",),
}
PLAIN = "off"
UNTIMED = "The model's passes could not be timed: see above."

NATIVE_PLAIN = "native plain"
NATIVE_MODES: dict[str, DraftMode] = {NATIVE_PLAIN: "off", "native auto": "auto"}

Way = partial[Run]  # called with the messages, and with `max_tokens` to override the limit


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to one prompt by one way to draft."""

    category: str
    way: str
    run: Run
    round: int = 0


def main() -> None:
    options = parse()
    threads = options.threads or default_threads()
    chosen = selected(read_prompts(options.chats) if options.chats else prompts(), options.prompts, options.only)
    libraries: tuple[BackendName, ...] = ("llama", "ik") if options.backend == "auto" else (options.backend,)
    if not [library for library in libraries if prepare(options.model, threads, library)]:
        raise SystemExit(UNTIMED)
    with contextlib.ExitStack() as stack:
        ours = stack.enter_context(OurEngine(options.model, options.ctx, threads, options.draft_model, options.backend))
        options.backend = ours.model.backend
        ways = our_ways(ours, options) | native_ways(stack, options, threads) | server_ways(stack, options, threads)
        ways = {name: way for name, way in ways.items() if name == PLAIN or not options.ways or name in options.ways}
        for ask in ways.values():
            ask(prompts()[0].messages)  # warm-up, not counted
        answers = []
        whole, dice = list(product(range(options.rounds), chosen)), random.Random(options.rounds)
        for number, (turn, prompt) in enumerate(whole, 1):
            print(f"\r{number} of {len(whole)}: {prompt.category:20}", end="", file=sys.stderr, flush=True)
            for way in (
                PLAIN,
                NATIVE_PLAIN,
            ):  # so that all ways of one engine use the same keys and values of the prompt
                if way in ways:
                    ways[way](prompt.messages, max_tokens=1)
            for way in dice.sample(list(ways), len(ways)):
                answer = ways[way](prompt.messages)
                answers.append(Answer(prompt.category, way, answer, turn))
    print(file=sys.stderr)
    report(options, threads, list(ways), answers)


def parse() -> argparse.Namespace:
    parser = benchmark_parser("drafting", __doc__)
    parser.add_argument("--draft-model", type=Path, help="small model with the same vocabulary")
    parser.add_argument("--server", type=Path, help="llama-server to compare with")
    parser.add_argument(
        "--backend", choices=("auto", *BACKENDS), default="auto", help="the library that our engine computes with"
    )
    parser.add_argument("--native", type=Path, metavar="PYTHON", help="of a checkout set up with NATIVE=1")
    parser.add_argument("--ctx", type=int, default=4096)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--tokens", type=int, default=128, help="longest answer")
    parser.add_argument("--prompts", type=int, help="prompts of each kind (default: all)")
    parser.add_argument(
        "--chats", type=Path, help="of these chats, one a line as for training (default: our prompt set)"
    )
    parser.add_argument("--rounds", type=int, default=1, help="answer everything so many times")
    parser.add_argument("--only", nargs="+", metavar="KIND", help="these kinds of prompts only")
    parser.add_argument("--ways", nargs="+", metavar="WAY", help="these beside plain decoding only, named as printed")
    parser.add_argument("--n", type=int, default=4, help="inputs of a pass, published history form")
    parser.add_argument("--m", type=int, default=1, help="sequences of a pass, published history form")
    return parser.parse_args()


def prepare(
    model: Path, threads: int, library: BackendName, python: Path | None = None, cache: Path | None = None
) -> bool:
    """Do what the window's engine does in idle time: time the model's passes and count its n-grams.

    Returns False if one of the two commands fails.
    """
    engine = [str(python or sys.executable), "-m", "engine"]
    commands = (
        [*engine, "calibrate", "--backend", library, "--model", str(model), "--threads", str(threads)],
        [*engine, "phrases", "--backend", SHARED_LIBRARY.get(library, library), "--model", str(model)],
    )
    return all(
        subprocess.run(command, stdout=subprocess.DEVNULL, env=environment(cache)).returncode == 0
        for command in commands
    )


def our_ways(engine: OurEngine, options: argparse.Namespace) -> dict[str, Way]:
    modes = (*OUR_MODES, *(OUR_MODES_ITSELF if engine.model.drafts_itself else ()))
    modes = (*modes, *(OUR_MODES_WITH_MODEL if options.draft_model else ()))
    modes = (*modes, *(OUR_MODES_ON_GRAPH if options.backend == "graph" else ()))
    lookup = Lookup(m=options.m, n=options.n)
    return {mode: partial(engine.run, max_tokens=options.tokens, draft=mode, lookup=lookup) for mode in modes}


def native_ways(stack: contextlib.ExitStack, options: argparse.Namespace, threads: int) -> dict[str, Way]:
    if not options.native:
        return {}
    cache = Path(stack.enter_context(TemporaryDirectory()))
    if not prepare(options.model, threads, "ik", options.native, cache):
        raise SystemExit(UNTIMED)
    engine = OurEngine(options.model, options.ctx, threads, None, "ik", python=options.native, cache=cache)
    stack.enter_context(engine)
    return {name: partial(engine.run, max_tokens=options.tokens, draft=draft) for name, draft in NATIVE_MODES.items()}


def server_ways(stack: contextlib.ExitStack, options: argparse.Namespace, threads: int) -> dict[str, Way]:
    if not options.server:
        return {}
    kinds = dict(SERVER_MODES)
    if options.draft_model:
        kinds["server draft model"] = ("--spec-type", "draft-simple", "-md", str(options.draft_model))
    servers = {
        name: stack.enter_context(LlamaServer(options.server, options.model, options.ctx, threads, extra))
        for name, extra in kinds.items()
        if not options.ways or name in options.ways
    }
    return {name: partial(server.run, max_tokens=options.tokens) for name, server in servers.items()}


def selected(every: Iterable[Prompt], each: int | None, kinds: list[str] | None) -> list[Prompt]:
    """Return the first `each` prompts of each kind; exit if there are none."""
    seen: dict[str, int] = {}
    chosen = []
    for prompt in every:
        seen[prompt.category] = seen.get(prompt.category, 0) + 1
        if (each is None or seen[prompt.category] <= each) and (not kinds or prompt.category in kinds):
            chosen.append(prompt)
    if not chosen:
        raise SystemExit(f"There are no such prompts; the kinds are {', '.join(seen)}.")
    return chosen


def tokens_per_second(answers: Iterable[Answer]) -> float:
    """Return the speed of all passes after the prompt's pass, which gives the first token."""
    runs = [answer.run for answer in answers]
    return sum(run.decode_tokens for run in runs) / sum(run.decode_seconds for run in runs)


def geometric_mean(numbers: Iterable[float]) -> float:
    logs = [log(number) for number in numbers]
    return exp(sum(logs) / len(logs))


def report(options: argparse.Namespace, threads: int, ways: list[str], answers: list[Answer]) -> None:
    categories = list(dict.fromkeys(answer.category for answer in answers))
    speeds = {
        way: {c: tokens_per_second(a for a in answers if a.way == way and a.category == c) for c in categories}
        for way in ways
    }
    ratios = {way: {c: speeds[way][c] / speeds[PLAIN][c] for c in categories} for way in ways}
    rounds = ratios_of_rounds(ways, categories, answers)
    means = {way: {"all": geometric_mean(ratios[way].values())} for way in ways}
    copying = [c for c in categories if c in COPYING_KINDS]
    if copying:
        for way in ways:
            means[way]["copying"] = geometric_mean(ratios[way][c] for c in copying)
    drafts = {
        way: {"drafted": sum(a.run.drafted for a in own), "accepted": sum(a.run.accepted for a in own)}
        for way in ways
        if (own := [a for a in answers if a.way == way])
    }
    if options.json:
        print_json(
            {"tokens_per_s": speeds, "ratios": ratios, "geometric_means": means, "drafts": drafts, "rounds": rounds}
        )
        return
    print(
        f"{options.model.name}, {options.backend}, {threads} threads; decoding, tokens per second and ratio to plain\n"
    )
    print(f"{'':22}" + "".join(f"{category:>15}" for category in categories) + f"{'all':>8}{'copying':>9}")
    for way in ways:
        cells = "".join(f"{speeds[way][c]:8.1f} {ratios[way][c]:5.2f}×" for c in categories)
        print(f"{'plain' if way == PLAIN else way:22}{cells}", end="")
        print("".join(f"{mean:7.2f}×" for mean in means[way].values()))
        if options.rounds > 1:
            print(" " * 22 + "".join(f"{min(rounds[way][c]):9.2f}–{max(rounds[way][c]):.2f}×" for c in categories))
    print("\ndrafted and accepted tokens: ", end="")
    print("; ".join(f"{way} {d['drafted']:,}/{d['accepted']:,}" for way, d in drafts.items() if d["drafted"]))
    same = equal_answers(answers)
    print("answers equal to plain: " + "; ".join(f"{way} {equal} of {count}" for way, (equal, count) in same.items()))


def ratios_of_rounds(
    ways: list[str], categories: list[str], answers: list[Answer]
) -> dict[str, dict[str, list[float]]]:
    """Return, by way and kind of prompt, the ratio to plain decoding in each single round."""
    turns = range(1 + max(answer.round for answer in answers))

    def speed(way: str, category: str, turn: int) -> float:
        return tokens_per_second(a for a in answers if (a.way, a.category, a.round) == (way, category, turn))

    return {way: {c: [speed(way, c, t) / speed(PLAIN, c, t) for t in turns] for c in categories} for way in ways}


def equal_answers(answers: list[Answer]) -> dict[str, tuple[int, int]]:
    """Count for each of our ways the answers whose text equals the plain one's, and all answers.

    A near-tie may go either way, because passes of many tokens add in another order than those of one.
    """
    plain = [a for a in answers if a.way == PLAIN]
    result = {}
    for way in dict.fromkeys(a.way for a in answers if not a.way.startswith("server") and a.way != PLAIN):
        own = [a for a in answers if a.way == way]
        result[way] = sum(a.run.text == p.run.text for a, p in zip(own, plain, strict=True)), len(own)
    return result


if __name__ == "__main__":
    set_environment()
    main()
