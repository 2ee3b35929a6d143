"""Removes a model that is ours: its files are renamed first, so that removal can be undone, and deleted later."""

from __future__ import annotations

import contextlib
from pathlib import Path

from common.failures import Failure
from common.sentences import Sentence
from models.added_paths import AddedPaths
from models.collection import LocalModel
from models.locations import LOCATION_NAMES, ModelLocation
from models.projector import own_projectors

ASIDE = ".removed-"  # prefix of files that wait to be deleted; it hides them, so that no scan finds them
OWNER_SENTENCES = {
    "lm-studio": Sentence.of("owner.lm_studio"),
    "hub": Sentence.of("owner.hub"),
    "llama.cpp": Sentence.of("owner.llama_cpp"),
    "built-in": Sentence.of("owner.chickadee"),
}


class Removal:
    """Removed model that can still be brought back; exactly one of `undo` and `finish` must be called."""

    def __init__(self, aside: dict[Path, Path], listed: Path | None, added: AddedPaths) -> None:
        self._aside = aside
        self._listed = listed
        self._added = added

    @property
    def deletes(self) -> bool:
        """Whether files will be deleted; False for an added path, which was only taken off the list."""
        return bool(self._aside)

    def undo(self) -> None:
        """Bring the model back. Raises Failure if a file cannot be renamed."""
        if self._listed:
            self._added.add(self._listed)
        for original, aside in self._aside.items():
            _rename(aside, original)

    def finish(self) -> None:
        for aside in self._aside.values():
            with contextlib.suppress(OSError):  # `purge` deletes it at the next start
                aside.unlink()


def remove(model: LocalModel, added: AddedPaths | None = None) -> Removal:
    """Remove a model, with a projector that no other one has.

    Raises Failure for models that are not ours, and if the files cannot be renamed.
    """
    added = added or AddedPaths()
    if model.location.kind == "added":
        return _remove_from_list(model, added)
    if not model.location.is_ours:
        raise Failure("not_ours.removal", name=model.name, reason=_reason(model))
    aside: dict[Path, Path] = {}
    try:
        for path in (*model.files, *own_projectors(model.path)):
            _rename(path, path.with_name(f"{ASIDE}{path.name}"))
            aside[path] = path.with_name(f"{ASIDE}{path.name}")
    except Failure:
        for original, moved in aside.items():
            _rename(moved, original)
        raise
    return Removal(aside, None, added)


def _reason(model: LocalModel) -> Sentence:
    if model.location.kind == "ollama":
        return Sentence.of("owner.ollama", name=model.name)
    return OWNER_SENTENCES[model.location.kind]


def _remove_from_list(model: LocalModel, added: AddedPaths) -> Removal:
    folder = model.location.path
    if folder != model.path and folder in added.read():
        raise Failure("not_ours.in_added", name=model.name, folder=folder)
    if added.drop(model.location.path):
        return Removal({}, model.location.path, added)
    raise Failure("not_ours.elsewhere", name=model.name, own=LOCATION_NAMES["own"])


def purge(location: ModelLocation) -> None:
    """Delete files that an earlier run put aside and did not delete."""
    if location.is_ours:
        for path in location.path.rglob(f"{ASIDE}*"):
            with contextlib.suppress(OSError):
                path.unlink()


def _rename(source: Path, target: Path) -> None:
    try:
        source.replace(target)
    except OSError as error:
        raise Failure("unwritable.removal", str(error), name=source.name, reason=error.strerror) from error
