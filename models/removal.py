"""Removing a model that is ours: put aside first, so that it can be undone, deleted when that is over."""

from __future__ import annotations

import contextlib
from pathlib import Path

from common.failures import Failure
from common.sentences import Sentence
from models.added import Added
from models.collection import LocalModel
from models.places import NAMES, Place

ASIDE = ".removed-"  # begins the name of a file that waits to be deleted; hidden, so no scan finds it
OTHERS = {
    "lm-studio": Sentence.of("owner.lm_studio"),
    "hub": Sentence.of("owner.hub"),
    "llama.cpp": Sentence.of("owner.llama_cpp"),
    "built-in": Sentence.of("owner.chickadee"),
}


class Removal:
    """A model that was removed and can still be brought back; exactly one of `undo` and `finish` ends it."""

    def __init__(self, aside: dict[Path, Path], listed: Path | None, added: Added) -> None:
        self._aside = aside
        self._listed = listed
        self._added = added

    @property
    def deletes(self) -> bool:
        """Will files be deleted? Else the model was only taken off the list."""
        return bool(self._aside)

    def undo(self) -> None:
        """Raises Failure when a file cannot be brought back."""
        if self._listed:
            self._added.add(self._listed)
        for original, aside in self._aside.items():
            _rename(aside, original)

    def finish(self) -> None:
        for aside in self._aside.values():
            with contextlib.suppress(OSError):  # it is purged at the next start
                aside.unlink()


def remove(model: LocalModel, added: Added | None = None) -> Removal:
    """Raises Failure for models that are not ours to remove, and when the files cannot be moved."""
    added = added or Added()
    if model.place.kind == "added":
        return _take_off(model, added)
    if not model.place.is_ours:
        raise Failure("not_ours.removal", name=model.name, reason=_reason(model))
    aside: dict[Path, Path] = {}
    try:
        for path in model.files:
            _rename(path, path.with_name(f"{ASIDE}{path.name}"))
            aside[path] = path.with_name(f"{ASIDE}{path.name}")
    except Failure:
        for original, moved in aside.items():
            _rename(moved, original)
        raise
    return Removal(aside, None, added)


def _reason(model: LocalModel) -> Sentence:
    if model.place.kind == "ollama":
        return Sentence.of("owner.ollama", name=model.name)
    return OTHERS[model.place.kind]


def _take_off(model: LocalModel, added: Added) -> Removal:
    folder = model.place.path
    if folder != model.path and folder in added.read():
        raise Failure("not_ours.in_added", name=model.name, folder=folder)
    if added.drop(model.place.path):
        return Removal({}, model.place.path, added)
    raise Failure("not_ours.elsewhere", name=model.name, own=NAMES["own"])


def purge(place: Place) -> None:
    """Delete what an earlier run put aside and did not get to delete."""
    if place.is_ours:
        for path in place.path.rglob(f"{ASIDE}*"):
            with contextlib.suppress(OSError):
                path.unlink()


def _rename(source: Path, target: Path) -> None:
    try:
        source.replace(target)
    except OSError as error:
        raise Failure("unwritable.removal", str(error), name=source.name, reason=error.strerror) from error
