"""`python -m engine phrases`: count common phrases in a model's tokens, once, for drafting."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from common.paths import path_of
from engine.commands.terminal import notes_to_stderr
from engine.loading.libraries import PACKAGES, default_library, vocabulary
from engine.speculative.ngram_counting import load_or_build_table
from models.default import default_model


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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
