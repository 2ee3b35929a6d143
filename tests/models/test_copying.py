"""Copying of models: a copy never takes the place of another file."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.failures import Failure
from models.copying import copy_model
from tests.models.make_gguf import make_gguf


def test_a_copy_is_made_once(tmp_path: Path) -> None:
    path = make_gguf(tmp_path / "stick" / "bird.gguf")
    copy = copy_model(path, tmp_path / "own")
    assert copy == tmp_path / "own" / "bird.gguf"
    made = copy.stat().st_mtime_ns
    assert copy_model(path, tmp_path / "own") == copy
    assert copy.stat().st_mtime_ns == made


def test_another_file_of_the_same_name_stays(tmp_path: Path) -> None:
    path = make_gguf(tmp_path / "stick" / "bird.gguf")
    other = tmp_path / "own" / "bird.gguf"
    other.parent.mkdir()
    for content in (b"mine", bytes(path.stat().st_size)):
        other.write_bytes(content)
        with pytest.raises(Failure, match=r"There is another file named bird\.gguf"):
            copy_model(path, other.parent)
        assert other.read_bytes() == content
