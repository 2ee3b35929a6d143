"""`python -m models list`: lists the models on this computer, or those of the catalogue."""

from __future__ import annotations

import argparse

from common.paths import path_text
from common.planning import Ask
from models.added_paths import AddedPaths
from models.catalogue import catalogue
from models.collection import scan_models
from models.commands import output
from models.planner import verdicts


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("list", help="list the models on this computer, and whether each fits into memory")
    parser.add_argument("--catalogue", action="store_true", help="list recommended downloads instead (works offline)")
    parser.add_argument(
        "--no-plan", action="store_true", help="do not check whether they fit, which takes some seconds"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON list instead of a table")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    return _catalogue(options) if options.catalogue else _local_models(options)


def _local_models(options: argparse.Namespace) -> int:
    models = list(scan_models(AddedPaths().read()))
    questions = {
        model.path: Ask(path=path_text(model.path)) for model in models if model.usable and not options.no_plan
    }
    verdict_of = dict(verdicts(questions))
    if options.json:
        return output.print_json([output.local_json(model, verdict_of.get(model.path)) for model in models])
    rows = [output.local_row(model, verdict_of.get(model.path)) for model in models]
    print(output.table(rows, ("name", "size", "parameters", "kind", "place", "memory")))
    return 0


def _catalogue(options: argparse.Namespace) -> int:
    entries = catalogue()
    questions = {} if options.no_plan else {entry.id: Ask(estimate=entry.estimate) for entry in entries}
    verdict_of = dict(verdicts(questions))
    if options.json:
        return output.print_json([output.entry_json(entry, verdict_of.get(entry.id)) for entry in entries])
    rows = [output.entry_row(entry, verdict_of.get(entry.id)) for entry in entries]
    print(output.table(rows, ("id", "size", "quality", "good at", "languages", "licence", "memory", "")))
    return 0
