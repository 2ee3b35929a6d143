"""`python -m engine phrases`: count what usually comes next in a model's tokens, for drafting."""

from __future__ import annotations

import argparse
import json
from contextlib import closing
from pathlib import Path

from engine.backend import PACKAGES, Backend, backend
from engine.draft.phrase_counts import counted
from engine.draft.phrase_file import keep_phrases, kept_phrases
from engine.draft.phrase_table import PhraseTable
from engine.notes import notes_to_stderr
from engine.words.sentences import languages, texts
from models.default import default_model
from models.failures import Failure
from models.header import read_header
from models.identity import file_identity


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("phrases", help="count usual phrases in a model's tokens, for drafting (10 seconds)")
    parser.add_argument("--model", type=Path, metavar="PATH", help="GGUF file (default: the built-in model)")
    parser.add_argument("--backend", choices=PACKAGES, default="llama", help="the library that splits text into tokens")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a sentence")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    notes_to_stderr()
    path: Path = options.model or default_model()
    identity = file_identity(path, read_header(path).data_offset)
    table = kept_phrases(identity) or count(path, identity, backend(options.backend))
    found = {"entries": len(table.entries.keys), "bytes": table.bytes}
    print(json.dumps(found) if options.json else "{entries:,} entries, {bytes:,} bytes".format(**found))
    return 0


def count(path: Path, identity: str, library: Backend) -> PhraseTable:
    """For the model at `path`, and keep it. Raises Failure."""
    with closing(library.load(path, dry=True)) as model:
        vocabulary = model.vocabulary
        table = counted((texts(file, vocabulary) for file in languages()), vocabulary.n_tokens)
    try:
        keep_phrases(identity, table)
    except OSError as error:
        raise Failure("unwritable", f"The table of usual phrases cannot be kept: {error.strerror}.") from error
    return table
