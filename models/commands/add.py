"""`python -m models add`: adds a folder of models, or a single model file. Nothing is copied."""

from __future__ import annotations

import argparse
from pathlib import Path

from common.failures import Failure
from common.files import is_file
from common.paths import printable, typed_path
from models.added_paths import AddedPaths
from models.collection import LocalModel, describe_model, scan_models
from models.commands import output


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("add", help="add a folder of models, or a single model file")
    parser.add_argument("path", type=typed_path, metavar="PATH", help="a folder or a GGUF file; it stays where it is")
    parser.add_argument("--json", action="store_true", help="print the models that were found")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    path: Path = options.path
    if is_file(path):
        model = describe_model(path)
        if model.facts is None:  # say now that the file is unusable
            raise Failure("bad_model.added", problem=model.problem)
    AddedPaths().add(path)
    models = [model for model in scan_models(AddedPaths().read()) if _is_below(model, path)]
    if options.json:
        return output.print_json([output.local_json(model) for model in models])
    print(f"{printable(str(path))} was added: {len(models)} {'model' if len(models) == 1 else 'models'} in it.")
    return 0


def _is_below(model: LocalModel, path: Path) -> bool:
    return model.path == path or model.path.is_relative_to(path)
