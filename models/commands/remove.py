"""`python -m models remove`: deletes a downloaded model, or takes an added one off the list."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from common.byte_sizes import show_bytes
from common.failures import CommandFailure
from common.files import is_file
from common.paths import path_text, printable, typed_path
from models.added_paths import AddedPaths
from models.collection import LocalModel
from models.commands import output
from models.commands.find import find
from models.model_download import unfinished_downloads
from models.removal import remove
from models.split import part_names


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("remove", help="delete a downloaded model, or remove an added one from the list")
    parser.add_argument("model", metavar="MODEL", help="its name in the list, or the folder or file that was added")
    parser.add_argument("--yes", action="store_true", help="delete without asking")
    parser.add_argument("--json", action="store_true", help="print what was removed")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    path = typed_path(options.model)
    if AddedPaths().drop(path):
        return _print_result(options, path, deleted=False)
    model = find(options.model)
    question = f"Delete {printable(str(model.path))}, {show_bytes(model.size)}?"
    if model.location.is_ours and not options.yes and not _agreed(question):
        raise CommandFailure("kept", f"{model.name} was not deleted. Use --yes to delete without being asked.")
    left = _cancel_download(model) if model.location.is_ours else model
    if left.files:
        remove(left).finish()
    return _print_result(options, model.path, deleted=model.location.is_ours)


def _cancel_download(model: LocalModel) -> LocalModel:
    """Cancel an unfinished download of the model; return the model with the files that are left."""
    first = model.path.with_name(part_names(model.path.name)[0])
    for download in unfinished_downloads(model.path.parent):
        if download.path == first:
            download.release()
    return replace(model, files=tuple(filter(is_file, model.files)))


def _agreed(question: str) -> bool:
    """Return whether the user agrees; without a terminal nobody does."""
    if not sys.stdin.isatty():
        return False
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:  # Windows calls its null device a terminal
        return False


def _print_result(options: argparse.Namespace, path: Path, deleted: bool) -> int:
    if options.json:
        return output.print_json({"path": path_text(path), "deleted": deleted})
    name = printable(str(path))
    print(f"{name} was deleted." if deleted else f"{name} was removed from the list. Its files are still there.")
    return 0
