"""Projectors: found beside their models by name, and checked by their headers."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.failures import Failure
from models.header import read_header
from models.projector import find_projector, own_projectors, projector_files, read_projector
from tests.engine.runtime.vision_models import write_projector
from tests.models.make_gguf import make_gguf


def model(path: Path, width: int = 576) -> Path:
    return make_gguf(path, llama__embedding_length=width)


def test_a_projector_beside_its_model_is_found(tmp_path: Path) -> None:
    header = read_header(model(tmp_path / "bird-4b-q4.gguf"))
    assert find_projector(header) is None
    write_projector(tmp_path / "mmproj-F16.gguf")
    found = find_projector(header)
    assert found
    assert (found.type, found.width, found.image_size, found.patch_size, found.layers) == ("mlp", 576, 64, 16, 3)
    assert found.tokens_of(1000, 20) == 16
    assert found.memory_bytes > found.file_bytes


def test_the_most_similar_name_comes_first(tmp_path: Path) -> None:
    for name in ("Bird-4B-Q4_K_M.gguf", "Fish-2B-Q4_K_M.gguf", "Stone-1B-Q4_K_M.gguf"):
        model(tmp_path / name)
    for name in ("mmproj-Bird-4B-F16.gguf", "mmproj-Fish-2B-F16.gguf", "mmproj-F16.gguf"):
        write_projector(tmp_path / name)
    names = [[path.name for path in projector_files(tmp_path / f"{m}-Q4_K_M.gguf")] for m in ("Bird-4B", "Stone-1B")]
    assert names == [["mmproj-Bird-4B-F16.gguf"], []]


def test_another_models_projector_is_refused(tmp_path: Path) -> None:
    header = read_header(model(tmp_path / "bird.gguf", width=640))
    projector = write_projector(tmp_path / "mmproj-bird.gguf")
    assert find_projector(header) is None
    with pytest.raises(Failure, match=r"mmproj-bird\.gguf belongs to another model than bird\.gguf"):
        read_projector(projector, header)
    with pytest.raises(Failure, match="no projector"):
        read_projector(tmp_path / "bird.gguf", header)


def test_a_picture_of_a_dynamic_projector_has_tokens_by_its_size(tmp_path: Path) -> None:
    header = read_header(model(tmp_path / "bird.gguf", width=128))
    found = read_projector(write_projector(tmp_path / "mmproj.gguf", "qwen2vl_merger", width=128), header)
    assert found.is_dynamic
    assert found.tokens_of(640, 320) == 200


def test_senseless_numbers_are_refused(tmp_path: Path) -> None:
    header = read_header(model(tmp_path / "bird.gguf"))
    projector = write_projector(tmp_path / "mmproj.gguf")
    raw = bytearray(projector.read_bytes())
    at = raw.index(b"clip.vision.patch_size") + len(b"clip.vision.patch_size") + 4
    raw[at : at + 4] = b"\0\0\0\0"
    projector.write_bytes(raw)
    with pytest.raises(Failure, match="makes no sense"):
        read_projector(projector, header)


def test_precisions_of_one_model_share_a_projector(tmp_path: Path) -> None:
    small, large = (model(tmp_path / f"Bird-4B-it-{kind}.gguf") for kind in ("Q4_K_M", "Q8_0"))
    projector = write_projector(tmp_path / "mmproj-F16.gguf")
    assert projector_files(small) == projector_files(large) == [projector]
    assert own_projectors(small) == []
    large.unlink()
    assert own_projectors(small) == [projector]
    model(tmp_path / "Fish-2B-Q4_K_M.gguf")
    assert projector_files(small) == []  # whose is it?


def test_tiles_of_a_larger_picture_have_tokens_each(tmp_path: Path) -> None:
    header = read_header(model(tmp_path / "bird.gguf"))
    found = read_projector(write_projector(tmp_path / "mmproj.gguf", "idefics3"), header)
    assert (found.is_tiled, found.tokens_of(64, 64)) == (True, 16)
    assert found.tokens_of(128, 100) == 16 * (2 * 2 + 1)
