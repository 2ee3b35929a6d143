"""`python -m engine phrases`: count what usually comes next in a model's tokens, for drafting."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from engine.commands.terminal import notes_to_stderr
from engine.loading.libraries import PACKAGES, vocabulary
from engine.speculative.ngram_book import made
from models.default import default_model
from models.paths import path_of


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("phrases", help="count usual phrases in a model's tokens, for drafting (10 seconds)")
    parser.add_argument("--model", type=path_of, metavar="PATH", help="GGUF file (default: the built-in model)")
    parser.add_argument("--backend", choices=PACKAGES, default="llama", help="the library that splits text into tokens")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a sentence")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    notes_to_stderr()
    path: Path = options.model or default_model()
    table = made(path, vocabulary(path, options.backend))
    found = {"entries": len(table.entries.keys), "bytes": table.bytes}
    print(json.dumps(found) if options.json else "{entries:,} entries, {bytes:,} bytes".format(**found))
    return 0
