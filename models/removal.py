"""Removes a model that is ours: its files are put aside first, so that removal can be undone, and deleted later."""

from __future__ import annotations

import contextlib
import filecmp
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from common.failures import Failure
from common.sentences import Sentence
from models.added_paths import AddedPaths
from models.collection import LocalModel
from models.locations import LOCATION_NAMES, ModelLocation
from models.part_file import PartFile
from models.projector import own_projectors

ASIDE = ".removed-"  # prefix of what waits to be deleted; it hides files and folders, so that no scan finds them
WANTED = ".wanted"  # file in a folder of removed files: an undo has begun, so they are not deleted any more
OWNER_SENTENCES = {
    "lm-studio": Sentence.of("owner.lm_studio"),
    "hub": Sentence.of("owner.hub"),
    "llama.cpp": Sentence.of("owner.llama_cpp"),
    "built-in": Sentence.of("owner.chickadee"),
}


class Removal:
    """Removed model that can still be brought back: `undo`, which may be called again after a failure, or `finish`."""

    def __init__(self, aside: Path | None, listed: Path | None, added: AddedPaths) -> None:
        """Store the folder of the removed files, or the path that was taken off the list."""
        self._aside = aside
        self._listed = listed
        self._added = added
        self._is_wanted = False

    @property
    def deletes(self) -> bool:
        """Whether files will be deleted; False for an added path, which was only taken off the list."""
        return self._aside is not None

    def undo(self) -> None:
        """Bring the model back. Raises Failure; what is not back yet comes back by another call, or by `purge`."""
        self._is_wanted = True
        if self._listed:
            self._added.add(self._listed)
        if self._aside:
            _bring_back(self._aside)

    def finish(self) -> None:
        """Delete the files, unless an undo has begun; `purge` deletes what cannot be deleted now."""
        if self._aside and not self._is_wanted:
            shutil.rmtree(self._aside, ignore_errors=True)


def remove(model: LocalModel, added: AddedPaths | None = None) -> Removal:
    """Remove a model, with a projector that no other model or download has.

    Raises Failure for models that are not ours or are being downloaded, and if the files cannot be renamed.
    """
    added = added or AddedPaths()
    if model.location.kind == "added":
        return _remove_from_list(model, added)
    if not model.location.is_ours:
        raise Failure("not_ours.removal", name=model.name, reason=_reason(model))
    if any(PartFile(path).is_owned for path in model.files):
        raise Failure("busy.removal", name=model.name)
    projectors = [path for path in own_projectors(model.path) if not PartFile(path).is_owned]
    return _put_aside((*model.files, *projectors), added)


def _put_aside(files: tuple[Path, ...], added: AddedPaths) -> Removal:
    """Move the files of one folder into a hidden one in it. Raises Failure; then all are where they were."""
    with _failures("unwritable.removal", files[0]):
        aside = Path(tempfile.mkdtemp(prefix=ASIDE, dir=files[0].parent))
    removal = Removal(aside, None, added)
    try:
        for path in files:
            with _failures("unwritable.removal", path):
                path.rename(aside / path.name)
    except Failure:
        with contextlib.suppress(Failure):  # `purge` brings the rest back
            removal.undo()
        raise
    return removal


def _bring_back(aside: Path) -> None:
    """Move removed files to where they were. Raises Failure, also if another file has their place."""
    with _failures("unwritable.undo", aside):
        (aside / WANTED).touch()
        files = sorted(path for path in aside.iterdir() if path.name != WANTED)
    for path in files:
        original = aside.with_name(path.name)
        with _failures("unwritable.undo", original):
            if not original.exists():
                path.rename(original)
            elif not filecmp.cmp(path, original, shallow=False):  # downloaded meanwhile, in another version
                raise Failure("exists.other_file", name=original.name, folder=original.parent)
    shutil.rmtree(aside, ignore_errors=True)


def _reason(model: LocalModel) -> Sentence:
    if model.location.kind == "ollama":
        return Sentence.of("owner.ollama", name=model.name)
    return OWNER_SENTENCES[model.location.kind]


def _remove_from_list(model: LocalModel, added: AddedPaths) -> Removal:
    folder = model.location.path
    if folder != model.path and folder in added.read():
        raise Failure("not_ours.in_added", name=model.name, folder=folder)
    if added.drop(model.location.path):
        return Removal(None, model.location.path, added)
    raise Failure("not_ours.elsewhere", name=model.name, own=LOCATION_NAMES["own"])


def purge(location: ModelLocation) -> None:
    """Delete what an earlier run put aside and did not delete; bring back the files whose removal was being undone."""
    for path in list(location.path.rglob(f"{ASIDE}*")) if location.is_ours else ():
        with contextlib.suppress(OSError, Failure):
            if not path.is_dir():  # an unfinished copy
                path.unlink()
            elif (path / WANTED).exists():
                _bring_back(path)
            else:
                shutil.rmtree(path)


@contextlib.contextmanager
def _failures(sentence: str, path: Path) -> Iterator[None]:
    """Turn an OSError within the block into a Failure about the file at `path`."""
    try:
        yield
    except OSError as error:
        raise Failure(sentence, str(error), name=path.name, reason=error.strerror) from error
