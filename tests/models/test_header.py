"""Tests that headers of good files are read, and that those of bad ones are refused with a sentence."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.failures import Failure
from models.default import default_model
from models.header import read_header


@pytest.fixture(scope="session")
def small_gguf(tmp_path_factory) -> Path:
    path: Path = tmp_path_factory.mktemp("gguf") / "small.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("Small bird")
    writer.add_context_length(2048)
    writer.add_bool("llama.flies", True)
    writer.add_float32("llama.wingspan", 0.2)
    writer.add_array("tokenizer.ggml.tokens", ["a", "bc", "日本"])
    writer.add_array("tokenizer.ggml.scores", [0.5, 1.5, 2.5])
    writer.add_array("llama.feathers", [3, 1, 2])
    writer.add_tensor("token_embd.weight", np.zeros((3, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_small_file(small_gguf):
    header = read_header(small_gguf)
    assert header.architecture == "llama"
    assert header.name == "Small bird"
    assert header.n_ctx_train == 2048
    assert header.metadata["llama.flies"] is True
    assert header.metadata["llama.wingspan"] == pytest.approx(0.2)
    assert header.array_lengths == {"tokenizer.ggml.tokens": 3, "tokenizer.ggml.scores": 3, "llama.feathers": 3}
    assert header.arrays == {"tokenizer.ggml.scores": (0.5, 1.5, 2.5), "llama.feathers": (3, 1, 2)}
    assert header.parameters == 96
    assert header.file_bytes == small_gguf.stat().st_size
    assert header.data_offset + header.tensors[0].offset + 96 * 4 <= header.file_bytes


def test_default_model():
    header = read_header(default_model())
    assert header.architecture == "llama"
    assert header.parameters == 134_515_008
    assert header.n_ctx_train == 8192
    assert header.array_lengths["tokenizer.ggml.tokens"] == 49_152


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 600), st.binary(min_size=1, max_size=9))
def test_damaged_anywhere_is_a_failure_or_still_readable(small_gguf, tmp_path, at, noise):
    raw = bytearray(small_gguf.read_bytes())
    raw[at : at + len(noise)] = noise
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(raw)
    try:
        assert read_header(bad).file_bytes == len(raw)
    except Failure as failure:
        assert "bad.gguf" in str(failure)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 500))
def test_cut_anywhere_is_a_failure(small_gguf, tmp_path, length):
    header = read_header(small_gguf)
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(small_gguf.read_bytes()[: min(length, header.data_offset)])
    with pytest.raises(Failure):
        read_header(cut)


def test_other_things_than_models(tmp_path):
    with pytest.raises(Failure, match="no file"):
        read_header(tmp_path / "missing.gguf")
    with pytest.raises(Failure, match="folder"):
        read_header(tmp_path)
    (tmp_path / "text.gguf").write_text("hello")
    with pytest.raises(Failure, match="not a GGUF"):
        read_header(tmp_path / "text.gguf")
    (tmp_path / "empty.gguf").touch()
    with pytest.raises(Failure, match="not a GGUF"):
        read_header(tmp_path / "empty.gguf")


def test_huge_counts_are_refused_before_memory_is_taken(tmp_path):
    path = tmp_path / "huge.gguf"
    path.write_bytes(b"GGUF" + (3).to_bytes(4, "little") + (2**60).to_bytes(8, "little") * 2)
    with pytest.raises(Failure, match="damaged"):
        read_header(path)
