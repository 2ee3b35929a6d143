"""Loading model files, and refusing everything else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from common.failures import Failure
from engine.engine import Engine
from engine.protocol.requests import Generate, Load
from engine.stop import Stopped
from models.default import default_model
from models.header import read_header
from tests.engine.altered import STRING, U32, Value, write_altered
from tests.engine.asking import QUESTION
from tests.engine.conftest import write_gguf
from tests.engine.runtime.graph.tiny import write_tiny

TOP = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("architecture", "metadata", "words"),
    [
        ("dodo", {}, "architecture “dodo”"),
        ("bert", {"bert__attention__causal": False}, "embedding model"),
        ("qwen3", {"qwen3__pooling_type": 3}, "embedding model"),
        ("llada", {"llada__attention__causal": False}, "diffusion model"),
        ("eagle3", {}, "only drafts"),
        ("wavtokenizer-dec", {}, "speaks"),
        ("clip", {}, "reads pictures"),
        ("llama", {"general__type": "adapter"}, "adapter"),
        ("llama", {}, "its header lacks “llama.context_length”"),
    ],
)
def test_other_kinds_of_gguf_are_refused(tmp_path, architecture, metadata, words):
    path = write_gguf(tmp_path / "other.gguf", architecture, **metadata)
    with pytest.raises(Failure, match=words):
        Engine().load(Load(0, str(path)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tokenizer.ggml.pre": Value("birdsong", STRING)}, "needs the tokenizer “birdsong”"),
        ({"tokenizer.ggml.model": Value("birds", STRING)}, "needs the tokenizer “birds”"),
        ({"tokenizer.ggml.merges": None}, "its header lacks “tokenizer merges”"),
        ({"llama.block_count": None}, "its header lacks “llama.block_count”"),
        ({"tokenizer.ggml.add_bos_token": Value("yes", STRING)}, "“tokenizer.ggml.add_bos_token” makes no sense"),
        ({"llama.block_count": Value(9, U32)}, "its weights “blk.2.attn_norm.weight” are missing or have another size"),
        ({"llama.feed_forward_length": Value(100, U32)}, "its weights “blk.0.ffn_gate.weight” are missing or have"),
    ],
    ids=lambda value: "" if isinstance(value, str) else None,
)
def test_why_the_library_refuses_a_file_is_told(tmp_path, changes, words):
    with pytest.raises(Failure) as caught:
        Engine().load(Load(0, str(write_altered(tmp_path / "bird.gguf", changes)), backend="llama"))
    assert words in str(caught.value)
    assert "bird.gguf" in str(caught.value)


def test_a_truncated_model_is_refused(tmp_path):
    raw = default_model().read_bytes()
    (tmp_path / "cut.gguf").write_bytes(raw[: len(raw) - 4096])
    with pytest.raises(Failure, match="incomplete"):
        Engine().load(Load(0, str(tmp_path / "cut.gguf")))


def test_loading_can_be_stopped():
    engine = Engine()
    with pytest.raises(Stopped):
        engine.load(Load(0, str(default_model())), lambda fraction: engine.stop.set())
    assert engine.status(0).model is None


def test_the_quota_of_saved_chats_comes_with_the_model(tmp_path):
    engine = Engine()
    with pytest.raises(Failure):
        engine.load(Load(0, str(tmp_path / "none.gguf"), saved_chats_bytes=5))
    assert engine._saved.quota == 5
    with pytest.raises(ValueError, match="0 bytes or more"):
        Load(0, "m.gguf", saved_chats_bytes=-1)


def test_without_a_model():
    with pytest.raises(Failure, match="No model is loaded"):
        list(Engine().generate(Generate(1, (QUESTION,))))


def test_weights_closer_together_than_ggml_maps_them_are_read(tmp_path):
    """llama.cpp aborts the process if the first tensor of a mapping is not at a multiple of 32 bytes."""
    for filler in range(0, 32, 8):  # until the weights do begin between two multiples
        metadata = {"general.description": "a" * filler}
        path = write_tiny(tmp_path / "tiny.gguf", "llama", alignment=8, metadata=metadata)
        if read_header(path).data_offset % 32:
            break
    assert read_header(path).data_offset % 32
    script = "import sys, pathlib, engine.runtime.llama.runtime as l; l.Model(pathlib.Path(sys.argv[1])).close()"
    done = subprocess.run([sys.executable, "-c", script, str(path)], cwd=TOP, capture_output=True)
    assert done.returncode == 0, done.stderr
