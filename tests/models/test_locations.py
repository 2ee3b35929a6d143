"""The folder of downloads: the usual one, or the one that the settings name; the engine may read both."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.collection import scan_models
from models.locations import own_folder, usual_folder
from models.readable_files import model_folders
from tests.models.make_gguf import make_gguf


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the settings file of a data folder that this test alone uses."""
    monkeypatch.setenv("CHICKADEE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path / "cache"))
    usual_folder().mkdir(parents=True)
    return tmp_path / "data" / "settings.toml"


def test_a_chosen_folder_is_ours_and_the_usual_one_is_still_read(settings: Path, tmp_path: Path) -> None:
    chosen = tmp_path / "drive" / "models"
    chosen.mkdir(parents=True)
    old, new = make_gguf(usual_folder() / "old.gguf"), make_gguf(chosen / "new.gguf")
    settings.write_text(f"[models]\nfolder = '{chosen}'\n")
    assert own_folder() == own_folder(settings) == chosen
    found = {model.path: model.location.is_ours for model in scan_models()}
    assert (found[old], found[new]) == (True, True)
    assert {chosen, usual_folder()} <= set(model_folders())  # what the engine may read


@pytest.mark.parametrize("text", ["", "[models]\nfolder = 7\n", "models = 1\n", '[models]\nfolder = "here"\n', "= ="])
def test_what_is_no_folder_counts_as_none(settings: Path, text: str) -> None:
    settings.write_text(text)
    assert own_folder() == usual_folder()


def test_the_home_folder_is_not_opened_as_a_whole(
    settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    settings.write_text(f"[models]\nfolder = '{tmp_path}'\n")
    assert tmp_path not in model_folders()
