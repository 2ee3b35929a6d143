"""Every supported architecture and shape gives llama.cpp's logits to the last bit; all others are refused."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any

import gguf
import pytest

from common.failures import Failure
from engine.runtime.contexts import ContextOptions
from engine.runtime.graph.dimensions import refusal
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.modes import DryGraph
from engine.runtime.graph.runtime import GraphRuntime
from engine.runtime.interface import prefill
from engine.runtime.llama.runtime import LlamaRuntime, Model
from engine.stop import StopFlag, Stopped
from models.default import default_model
from models.header import read_header
from tests.engine.runtime.graph.tiny import write_tiny
from tests.engine.shallow import shallow_model

QKV = ("attn_q", "attn_k", "attn_v")
ALL = (*QKV, "attn_output", "ffn_gate", "ffn_up", "ffn_down")
KINDS = gguf.GGMLQuantizationType
SHAPES: dict[str, dict[str, Any]] = {
    "llama": {"architecture": "llama"},
    "tied": {"architecture": "llama", "tied": True},
    "biases": {"architecture": "llama", "biases": ALL},
    "llama 3": {"architecture": "llama", "factors": True, "metadata": {"llama.rope.freq_base": 500_000.0}},
    "linear": {
        "architecture": "llama",
        "metadata": {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 4.0},
    },
    "large heads": {"architecture": "llama", "head": 64},
    "a key for each query": {"architecture": "llama", "kv_heads": 4},
    "one key for all": {"architecture": "llama", "kv_heads": 1},
    "qwen2": {"architecture": "qwen2", "biases": QKV, "tied": True, "metadata": {"qwen2.rope.freq_base": 1e6}},
    "qwen3": {"architecture": "qwen3", "head": 64, "norms": ("attn_q_norm", "attn_k_norm")},
    "f16": {"architecture": "llama", "type": KINDS.F16},
    "f32": {"architecture": "qwen2", "type": KINDS.F32, "biases": QKV},
    "q4_0": {"architecture": "llama", "type": KINDS.Q4_0},
}
REPACKED = "q4_0"  # the type that llama.cpp may keep in another order, with and without which a few layers are tried
OPTIONS = ContextOptions(n_ctx=512, threads=1)


@pytest.mark.parametrize(
    ("name", "repack", "mmap"),
    [
        pytest.param(name, repack, mmap, marks=[] if (repack and mmap) or name == REPACKED else pytest.mark.slow)
        for name in SHAPES
        for repack, mmap in ((True, True), (False, True), (True, False))
    ],
)
def test_logits_are_llama_cpps(tmp_path, name, repack, mmap):
    path = write_tiny(tmp_path / "tiny.gguf", **SHAPES[name])
    with closing(Model(path, repack=repack)) as theirs, closing(GraphModel(path, repack=repack, mmap=mmap)) as ours:
        oracle, target = LlamaRuntime(theirs, OPTIONS, StopFlag()), GraphRuntime(ours, OPTIONS, StopFlag())
        with closing(oracle), closing(target):
            for n in (300, 1, 8, 1):
                tokens = [i * 7 % 320 for i in range(n)]
                expected, found = (one.forward(tokens, min(n, 8)) for one in (oracle, target))
                for row in range(min(n, 8)):
                    assert (found.row(row) == expected.row(row)).all()


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ({"architecture": "gemma"}, "the architecture “gemma”"),
        ({"architecture": "llama", "norms": ("attn_sinks",)}, "no weights called “blk.0.attn_sinks.weight”"),
        ({"architecture": "llama", "metadata": {"llama.rope.scaling.type": "yarn"}}, "the scaling “yarn”"),
        ({"architecture": "llama", "metadata": {"llama.expert_count": 8.0}}, "no mixture of experts"),
    ],
)
def test_what_it_cannot_compute_is_refused_by_name(tmp_path, shape, words):
    assert words in str(refusal(read_header(write_tiny(tmp_path / "tiny.gguf", **shape))))


def test_quantisations_without_a_kernel_are_refused(tmp_path):
    header = read_header(write_tiny(tmp_path / "tiny.gguf", "llama", type=KINDS.Q8_0))
    other = (replace(one, type=KINDS.Q8_1) if one.name == "blk.0.attn_q.weight" else one for one in header.tensors)
    assert not refusal(header)
    assert "quantised" in str(refusal(replace(header, tensors=tuple(other))))


def test_a_model_that_is_refused_is_not_loaded(tmp_path):
    path = write_tiny(tmp_path / "tiny.gguf", "llama", metadata={"llama.rope.scaling.type": "yarn"})
    for load in (GraphModel, DryGraph):
        with pytest.raises(Failure, match="yarn"):
            load(path)


@pytest.mark.parametrize("part", [0.5, 0.999])
def test_a_truncated_file(tmp_path, part):
    path = write_tiny(tmp_path / "tiny.gguf", "llama")
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * part)])
    with pytest.raises(Failure, match=r"incomplete|cannot be loaded|damaged"):
        GraphModel(path)


@pytest.mark.parametrize("key", ["attention.value_length", "rope.dimension_count"])
def test_heads_that_do_not_go_together(tmp_path, key):
    path = write_tiny(tmp_path / "tiny.gguf", "llama", metadata={f"llama.{key}": 16.0})
    with pytest.raises(Failure):
        GraphModel(path)


def test_loading_can_be_stopped():
    with pytest.raises(Stopped):
        GraphModel(default_model(), lambda fraction: fraction < 0.3)


@pytest.mark.parametrize("n_ctx", [512, pytest.param(2048, marks=pytest.mark.slow)])
def test_planned_sizes_are_no_smaller_than_the_real_ones(model, n_ctx):
    with closing(DryGraph(shallow_model())) as dry:
        sizes = dry.context(n_ctx)
        assert dry.context(n_ctx, "q8_0") is None
    assert sizes
    with closing(GraphRuntime(model, ContextOptions(n_ctx, 2), StopFlag())) as target:
        list(prefill(target, [300] * n_ctx))
        assert target.state_bytes == sizes.kv
        assert target.pass_runner.reserved_bytes <= sizes.compute
