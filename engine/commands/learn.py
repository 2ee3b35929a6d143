"""`python -m engine phrases` and `rank-heads`: what is found out of a model once, and kept.

`phrases` counts what usually comes next in its tokens, for drafting; `rank-heads` finds which of its heads can keep
fewer keys and values, for `--kv`.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import get_args

import msgspec

from common.paths import path_of, shown
from engine.commands.options import add_option
from engine.commands.terminal import notes_to_stderr
from engine.loading.libraries import PACKAGES, usual, vocabulary
from engine.loading.options import LoadOptions
from engine.loading.resolve import LoadPlan, resolve
from engine.protocol import KVModeName
from engine.speculative.ngram_book import made
from engine.stop import StopFlag, Stopped
from models.default import default_model

MODES = tuple(name for name in get_args(KVModeName) if name != "exact")
TOKENS = 8192  # of the calibration texts, half prose and half code; the prices are found on others
FEWER = 1024  # for `published`, which reads token by token, and whose heads keep less from the beginning


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    add_phrases(commands)
    add_rank_heads(commands)


def add_phrases(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "phrases", help="count common phrases in a model's tokens, for speculative decoding (10 seconds)"
    )
    parser.add_argument("--model", type=path_of, metavar="PATH", help="GGUF file (default: the built-in model)")
    parser.add_argument("--backend", choices=PACKAGES, default=usual(), help="the library that splits text into tokens")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a sentence")
    parser.set_defaults(run=phrases)


def phrases(options: argparse.Namespace) -> int:
    notes_to_stderr()
    path: Path = options.model or default_model()
    table = made(path, vocabulary(path, options.backend))
    found = {"entries": len(table.entries.keys), "bytes": table.bytes}
    print(json.dumps(found) if options.json else "{entries:,} entries, {bytes:,} bytes".format(**found))
    return 0


def add_rank_heads(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("rank-heads", help="rank a model's attention heads for compression (minutes)")
    parser.add_argument("--model", type=path_of, metavar="PATH", help="GGUF file (default: the built-in model)")
    parser.add_argument("--kv", choices=MODES, default="merged", help="for this form of compression (default: merged)")
    parser.add_argument("--tokens", type=int, help=f"calibration tokens (default: {TOKENS}, published {FEWER})")
    add_option(parser, "engine.threads")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=rank_heads)


def rank_heads(options: argparse.Namespace) -> int:
    notes_to_stderr()
    if options.tokens is None:
        options.tokens = FEWER if options.kv == "published" else TOKENS
    if options.tokens < 512:
        raise ValueError("fewer than 512 calibration tokens are too few to measure")
    path = options.model or default_model()
    plan = resolve(LoadOptions(path, backend="graph", no_other=True, threads=options.threads))
    stop = StopFlag()
    before = signal.signal(signal.SIGINT, lambda _signal, _frame: stop.set())
    try:
        return rank(plan, options, stop)
    except Stopped:
        print("\nchickadee: Stopped.", file=sys.stderr)
        return 2
    finally:
        signal.signal(signal.SIGINT, before)


def rank(plan: LoadPlan, options: argparse.Namespace, stop: StopFlag) -> int:
    from engine.runtime.graph.model import GraphModel
    from engine.runtime.graph.modes import Ranking, keep
    from engine.runtime.graph.ranker import Ranker, tokens_of

    path = plan.options.path
    with closing(GraphModel(plan.headers, lambda _fraction: not stop.is_set())) as model:
        gives_way = options.threads is None
        ranker = Ranker(model, options.kv, plan.memory.threads, stop, gives_way)
        found, started = None, time.monotonic()
        for event in ranker.rank(*tokens_of(model.vocabulary, options.tokens)):
            if isinstance(event, Ranking):
                found = event
            else:
                print(f"\r{event:4.0%} of the heads of {shown(path)}, --kv {options.kv}", end="", file=sys.stderr)
    print(file=sys.stderr)
    assert found
    keep(found)
    if options.json:
        print(json.dumps(msgspec.to_builtins(found)))
        return 0
    seconds = time.monotonic() - started
    heads = f"{len(found.heads)} heads ranked over {found.tokens:,} tokens"
    print(f"{shown(path)}, --kv {found.mode}: {heads} in {seconds:,.0f} seconds\n")
    print("share of heads  perplexity  entries kept")
    for price in found.prices:
        print(f"{price.share:14.0%}{price.ratio:11.3f}×{price.entries:13.0%}")
    return 0
