"""Tests that weights rounded in training equal those that a quantised file holds."""

from __future__ import annotations

import gguf
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: training is optional")

from engine.runtime.llama.runtime import quantise  # noqa: E402
from models.header import read_header  # noqa: E402
from tests.engine.runtime.graph.tiny import write_tiny  # noqa: E402
from training.rounding import KINDS, round_as_stored  # noqa: E402
from training.weights import read_weights  # noqa: E402

FILE_TYPES = {  # llama.cpp's file type for each ggml type
    gguf.GGMLQuantizationType.Q4_0: gguf.LlamaFileType.MOSTLY_Q4_0,
    gguf.GGMLQuantizationType.Q4_1: gguf.LlamaFileType.MOSTLY_Q4_1,
    gguf.GGMLQuantizationType.Q5_0: gguf.LlamaFileType.MOSTLY_Q5_0,
    gguf.GGMLQuantizationType.Q5_1: gguf.LlamaFileType.MOSTLY_Q5_1,
    gguf.GGMLQuantizationType.Q8_0: gguf.LlamaFileType.MOSTLY_Q8_0,
}


@pytest.mark.parametrize("kind", KINDS)
def test_rounded_as_llama_cpp_rounds(tmp_path, kind):
    plain = write_tiny(tmp_path / "plain.gguf", "llama", layers=2, type=gguf.GGMLQuantizationType.F32)
    quantise(plain, tmp_path / "small.gguf", FILE_TYPES[kind], 1)
    before, after = read_weights(plain), read_weights(tmp_path / "small.gguf")
    names = [tensor.name for tensor in read_header(tmp_path / "small.gguf").tensors if tensor.type == kind]
    assert len(names) > 5
    for name in names:
        rounded = round_as_stored(torch.tensor(before[name]), kind).numpy()
        assert np.abs(rounded - after[name]).max() < 1e-6, name
        assert np.abs(before[name] - after[name]).max() > 1e-6


def test_what_is_rounded_stays(tmp_path):
    weights = torch.linspace(-1, 2, 640).view(10, 64)
    for kind in KINDS:
        once = round_as_stored(weights, kind)
        assert torch.allclose(round_as_stored(once, kind), once, atol=2e-3)
    assert round_as_stored(weights, gguf.GGMLQuantizationType.Q4_K) is weights


def test_nothing_but_zeros():
    for kind in KINDS:
        assert not round_as_stored(torch.zeros(1, 32), kind).any()
