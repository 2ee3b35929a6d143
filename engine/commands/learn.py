"""`python -m engine phrases` and `rank-heads`: learn facts of a model once and store them.

`phrases` counts common phrases in the model's tokens, for drafting; `rank-heads` finds which of its attention heads can
keep fewer keys and values, for `--kv`.
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

from common.paths import display_name, path_of
from engine.commands.options import add_option
from engine.commands.terminal import notes_to_stderr
from engine.loading.libraries import PACKAGES, default_library, vocabulary
from engine.loading.options import LoadOptions
from engine.loading.resolve import LoadPlan, resolve
from engine.protocol.requests import KVModeName
from engine.speculative.ngram_counting import load_or_build_table
from engine.stop import StopFlag, Stopped
from models.default import default_model

MODES = tuple(name for name in get_args(KVModeName) if name != "exact")
CALIBRATION_TOKENS = 8192  # of the calibration texts, half prose and half code; prices are measured on other tokens
PUBLISHED_TOKENS = 1024  # for `published`, which reads token by token and keeps less from the first token on


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    add_phrases(commands)
    add_rank_heads(commands)


def add_phrases(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "phrases", help="count common phrases in a model's tokens, for speculative decoding (10 seconds)"
    )
    parser.add_argument("--model", type=path_of, metavar="PATH", help="GGUF file (default: the built-in model)")
    parser.add_argument(
        "--backend", choices=PACKAGES, default=default_library(), help="the library that splits text into tokens"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a sentence")
    parser.set_defaults(run=phrases)


def phrases(options: argparse.Namespace) -> int:
    notes_to_stderr()
    path: Path = options.model or default_model()
    table = load_or_build_table(path, vocabulary(path, options.backend))
    found = {"entries": len(table.entries.keys), "bytes": table.bytes}
    print(json.dumps(found) if options.json else "{entries:,} entries, {bytes:,} bytes".format(**found))
    return 0


def add_rank_heads(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("rank-heads", help="rank a model's attention heads for compression (minutes)")
    parser.add_argument("--model", type=path_of, metavar="PATH", help="GGUF file (default: the built-in model)")
    parser.add_argument("--kv", choices=MODES, default="merged", help="for this form of compression (default: merged)")
    parser.add_argument(
        "--tokens", type=int, help=f"calibration tokens (default: {CALIBRATION_TOKENS}, published {PUBLISHED_TOKENS})"
    )
    add_option(parser, "engine.threads")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=rank_heads)


def rank_heads(options: argparse.Namespace) -> int:
    notes_to_stderr()
    if options.tokens is None:
        options.tokens = PUBLISHED_TOKENS if options.kv == "published" else CALIBRATION_TOKENS
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
    from engine.runtime.graph.modes import Ranking, store_ranking
    from engine.runtime.graph.ranker import Ranker, calibration_texts

    path = plan.options.path
    with closing(GraphModel(plan.headers, lambda _fraction: not stop.is_set())) as model:
        gives_way = options.threads is None
        ranker = Ranker(model, options.kv, plan.memory.threads, stop, gives_way)
        found, started = None, time.monotonic()
        for event in ranker.rank(*calibration_texts(model.vocabulary, options.tokens)):
            if isinstance(event, Ranking):
                found = event
            else:
                print(
                    f"\r{event:4.0%} of the heads of {display_name(path)}, --kv {options.kv}", end="", file=sys.stderr
                )
    print(file=sys.stderr)
    assert found
    store_ranking(found)
    if options.json:
        print(json.dumps(msgspec.to_builtins(found)))
        return 0
    seconds = time.monotonic() - started
    heads = f"{len(found.heads)} heads ranked over {found.tokens:,} tokens"
    print(f"{display_name(path)}, --kv {found.mode}: {heads} in {seconds:,.0f} seconds\n")
    print("share of heads  perplexity  entries kept")
    for price in found.prices:
        print(f"{price.share:14.0%}{price.ratio:11.3f}×{price.entries:13.0%}")
    return 0
