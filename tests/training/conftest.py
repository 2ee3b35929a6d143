"""Fixtures for the tests of training."""

from __future__ import annotations

import gguf
import pytest

from tests.engine.runtime.graph.tiny import write_tiny


@pytest.fixture
def path(tmp_path):
    """Return the path of a tiny model with four layers."""
    return write_tiny(tmp_path / "tiny.gguf", "llama", layers=4, type=gguf.GGMLQuantizationType.F32)
