"""The numbers of a catalogue's entry, as a file's header tells them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from benchmarks.tiny_models import write_tiny_model
from benchmarks.tiny_shapes import SHAPES
from models.__main__ import main
from models.default import default_model
from models.estimate import estimate_of
from models.split import model_headers

HEADS, WIDTH = 4, 32


def test_a_mixture_with_windows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_tiny_model(tmp_path / "oss.gguf", SHAPES["gpt-oss"])
    assert main(["info", str(path), "--entry"]) == 0
    found = tomllib.loads(capsys.readouterr().out)
    assert (found["architecture"], found["layers"], found["experts"], found["used_experts"]) == ("gpt-oss", 4, 4, 2)
    assert (found["window"], found["window_layers"], found["kv_width"]) == (128, 2, 2 * 2 * WIDTH)
    assert found["feed_forward"] == 2 * 192
    assert found["active"] < found["parameters"]
    assert found["size"] == path.stat().st_size


def test_a_hybrid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_tiny_model(tmp_path / "hybrid.gguf", SHAPES["qwen35"])
    assert main(["info", str(path), "--entry"]) == 0
    found = tomllib.loads(capsys.readouterr().out)
    convolution, state = 3 * (128 + 2 * 2 * 32), 32 * 128
    assert found["state"] == 2 * (convolution + state) * 4
    assert (found["layers"], found["kv_layers"]) == (4, 2)
    assert "experts" not in found
    assert "active" not in found


def test_the_built_in_model() -> None:
    found = estimate_of(model_headers(default_model()))
    assert (found.layers, found.kv_width, found.attention, found.embedding) == (30, 384, 576, 576)
    assert (found.active_share, found.experts, found.window_layers, found.state_bytes) == (1.0, 0, 0, 0)
