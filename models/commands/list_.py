"""`python -m models list`: the models on this computer, or those of the catalogue."""

from __future__ import annotations

import argparse

from common.byte_sizes import show_bytes
from common.paths import path_text
from common.planning import Ask
from models.added import Added
from models.catalogue import catalogue
from models.collection import scan
from models.commands import shown
from models.verdict import verdicts


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("list", help="list the models on this computer, and whether each fits into memory")
    parser.add_argument("--catalogue", action="store_true", help="list recommended downloads instead (works offline)")
    parser.add_argument(
        "--no-plan", action="store_true", help="do not check whether they fit, which takes some seconds"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON list instead of a table")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    return _catalogue(options) if options.catalogue else _here(options)


def _here(options: argparse.Namespace) -> int:
    models = list(scan(Added().read()))
    asked = {model.path: Ask(path=path_text(model.path)) for model in models if model.usable and not options.no_plan}
    found = dict(verdicts(asked))
    if options.json:
        return shown.print_json([shown.local(model, found.get(model.path)) for model in models])
    rows = [shown.local_row(model, found.get(model.path)) for model in models]
    print(shown.table(rows, ("name", "size", "weights", "kind", "place", "memory")))
    return 0


def _catalogue(options: argparse.Namespace) -> int:
    entries = catalogue()
    asked = {} if options.no_plan else {entry.id: Ask(estimate=entry.estimate) for entry in entries}
    found = dict(verdicts(asked))
    if options.json:
        return shown.print_json([shown.entry(entry, found.get(entry.id)) for entry in entries])
    rows = []
    for entry in entries:
        verdict = found.get(entry.id)
        rows.append((entry.id, show_bytes(entry.size), entry.licence, verdict.line if verdict else "", entry.about))
    print(shown.table(rows, ("id", "size", "licence", "memory", "")))
    return 0
