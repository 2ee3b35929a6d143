"""`python -m models search`: searches the Hugging Face hub, to which it connects."""

from __future__ import annotations

import argparse

from common.byte_sizes import show_bytes
from models.commands import output
from models.hub import REPO, Hub
from models.licences import licence_name


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("search", help="search the Hugging Face hub (connects to it)")
    parser.add_argument("words", nargs="+", metavar="WORD", help="words, or OWNER/NAME to list that model's files")
    parser.add_argument("--json", action="store_true", help="print a JSON list instead of a table")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    hub, words = Hub(), " ".join(options.words)
    if REPO.fullmatch(words):
        models = hub.models(words)
        if options.json:
            return output.print_json([output.remote_json(model) for model in models])
        files = [(model.name, model.quantisation, show_bytes(model.size)) for model in models]
        print(output.table(files, ("file", "kind", "size")))
        return 0
    results = hub.search(words)
    if options.json:
        return output.print_json([output.result_json(result) for result in results])
    if not results:
        print("No results on huggingface.co.")
        return 0
    rows = [
        (
            one.repo,
            output.show_count(one.parameters),
            licence_name(one.licence),
            f"{one.downloads:,}",
            "needs an account" if one.gated else "",
        )
        for one in results
    ]
    print(output.table(rows, ("model", "parameters", "licence", "downloads", "")))
    return 0
