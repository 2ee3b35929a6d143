"""`python -m models catalogue`: says how old the catalogue is; --update fetches a newer one."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from models.catalogue import CatalogueEntry, current_catalogue
from models.catalogue_update import CatalogueUpdate, update_catalogue
from models.commands import output


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("catalogue", help="say how old the catalogue of recommended downloads is")
    parser.add_argument("--update", action="store_true", help="check for new models (connects to the Hugging Face hub)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    update = update_catalogue() if options.update else CatalogueUpdate(current_catalogue().date)
    now = current_catalogue()
    if options.json:
        added, changed = ([entry.id for entry in entries] for entries in (update.added, update.changed))
        shown = {"date": now.date, "models": len(now.entries), "problem": str(now.problem or "")}
        return output.print_json(shown | {"added": added, "changed": changed})
    print(f"{len(now.entries)} models, as of {now.date}")
    if now.problem:
        print(now.problem)
    if options.update and not (update.added or update.changed):
        print("No new models")
    _print_names("New", update.added)
    _print_names("Changed", update.changed)
    return 0


def _print_names(what: str, entries: Sequence[CatalogueEntry]) -> None:
    if entries:
        print(f"{what}: {', '.join(entry.title for entry in entries)}")
