"""`python -m models add`: add a folder of models, or a single model file. Nothing is copied."""

from __future__ import annotations

import argparse
from pathlib import Path

from common.failures import Failure
from common.files import is_file
from common.paths import printable, typed_path
from models.added import Added
from models.collection import LocalModel, describe, scan
from models.commands import shown


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("add", help="add a folder of models, or a single model file")
    parser.add_argument("path", type=typed_path, metavar="PATH", help="a folder or a GGUF file; it stays where it is")
    parser.add_argument("--json", action="store_true", help="print the models that were found")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    path: Path = options.path
    if is_file(path):
        model = describe(path)
        if model.facts is None:  # what cannot be used at all is better told now
            raise Failure("bad_model.added", problem=model.problem)
    Added().add(path)
    found = [model for model in scan(Added().read()) if _is_there(model, path)]
    if options.json:
        return shown.print_json([shown.local(model) for model in found])
    print(f"{printable(str(path))} was added: {len(found)} {'model' if len(found) == 1 else 'models'} in it.")
    return 0


def _is_there(model: LocalModel, path: Path) -> bool:
    return model.path == path or model.path.is_relative_to(path)
