"""Removal of models: whatever fails, nothing is lost that the user wants back, and nothing that others need."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.failures import Failure
from models.collection import LocalModel, scan_models
from models.header import read_header
from models.locations import ModelLocation, own_folder
from models.part_file import PartFile, Source
from models.projector import find_projector, own_projectors
from models.removal import purge, remove
from tests.engine.runtime.vision_models import write_projector
from tests.models.make_gguf import make_gguf

SOURCE = Source("https://hub.test/mmproj.gguf", 1000, "0" * 64)


@pytest.fixture
def folder(own_data: Path) -> Path:
    """Return a folder of our own models with one model that sees."""
    folder = own_folder() / "a" / "b"
    make_gguf(folder / "bird-4b-Q4_0.gguf", llama__embedding_length=576)
    write_projector(folder / "mmproj-F16.gguf")
    return folder


def model_in(folder: Path, name: str = "bird-4b-Q4_0.gguf") -> LocalModel:
    return next(model for model in scan_models() if model.path == folder / name)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def start_again() -> None:
    """Do what the window does when it starts."""
    purge(ModelLocation("own", own_folder()))


def test_an_undo_that_fails_at_the_second_file_can_be_tried_again(folder: Path) -> None:
    removal = remove(model_in(folder))
    in_its_place = folder / "mmproj-F16.gguf"
    in_its_place.mkdir()
    with pytest.raises(Failure, match=r"There is another file named mmproj-F16\.gguf"):
        removal.undo()
    in_its_place.rmdir()
    removal.undo()
    assert names_in(folder) == ["bird-4b-Q4_0.gguf", "mmproj-F16.gguf"]


def test_what_an_undo_could_not_bring_back_is_not_deleted_but_comes_back_at_the_next_start(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    removal = remove(model_in(folder))
    in_its_place = folder / "bird-4b-Q4_0.gguf"
    in_its_place.mkdir()
    with pytest.raises(Failure, match="There is another file"):
        removal.undo()
    removal.finish()
    start_again()
    in_its_place.rmdir()
    start_again()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_undoing_does_not_replace_what_has_arrived_meanwhile(folder: Path) -> None:
    path = folder / "bird-4b-Q4_0.gguf"
    raw = path.read_bytes()
    removal = remove(model_in(folder))
    make_gguf(path, name="Another bird")
    newer = path.read_bytes()
    with pytest.raises(Failure, match=r"There is another file named bird-4b-Q4_0\.gguf"):
        removal.undo()
    assert path.read_bytes() == newer
    path.write_bytes(raw)  # the same file, downloaded again
    removal.undo()
    assert path.read_bytes() == raw
    assert names_in(folder) == ["bird-4b-Q4_0.gguf", "mmproj-F16.gguf"]


def test_a_model_that_cannot_be_removed_whole_stays_whole(folder: Path) -> None:
    model = model_in(folder)
    gone = LocalModel(model.name, (*model.files, folder / "bird-4b-Q4_1.gguf"), 0, model.location, model.facts)
    with pytest.raises(Failure, match=r"bird-4b-Q4_1\.gguf cannot be removed"):
        remove(gone)
    assert names_in(folder) == ["bird-4b-Q4_0.gguf", "mmproj-F16.gguf"]


def test_a_projector_that_a_download_needs_stays(folder: Path) -> None:
    projector = PartFile(folder / "mmproj-F16.gguf")
    projector.claim(SOURCE, "bird-4b-Q8_0.gguf")  # whose own file has not arrived yet
    remove(model_in(folder)).finish()
    assert names_in(folder) == ["mmproj-F16.gguf", "mmproj-F16.gguf.part.json"]
    projector.release("bird-4b-Q8_0.gguf", is_whole=False)
    assert names_in(folder) == ["mmproj-F16.gguf"]


def test_a_model_that_is_being_downloaded_is_not_removed(folder: Path) -> None:
    part = PartFile(folder / "bird-4b-Q4_0.gguf")
    part.claim(SOURCE, "bird-4b-Q4_0.gguf")
    with pytest.raises(Failure, match="is still being downloaded"):
        remove(model_in(folder))
    part.release("bird-4b-Q4_0.gguf", is_whole=False)
    remove(model_in(folder)).finish()
    assert names_in(folder) == []


def test_removed_projectors_are_no_longer_found(folder: Path) -> None:
    remove(model_in(folder))
    other = make_gguf(folder / "wren.gguf", llama__embedding_length=576)
    assert find_projector(read_header(other)) is None
    assert own_projectors(other) == []


def test_a_part_that_two_downloads_need_stays_for_the_other(folder: Path) -> None:
    part = PartFile(folder / "mmproj-Q8_0.gguf")
    part.path.write_bytes(b"GGUF")
    for owner in ("bird-4b-Q8_0.gguf", "bird-4b-F16.gguf"):
        part.claim(SOURCE, owner)
    part.release("bird-4b-Q8_0.gguf", is_whole=False)
    assert part.is_owned
    assert part.path.exists()
    part.release("bird-4b-F16.gguf", is_whole=False)
    assert not part.path.exists()
    assert not part.note_path.exists()
