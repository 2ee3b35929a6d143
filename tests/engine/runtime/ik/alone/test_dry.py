"""Sizes that ik_llama.cpp's dry model computes without the weights, compared with what the library then allocates."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from engine.machine import default_threads
from engine.runtime.capi.model import MIB
from engine.runtime.contexts import ContextOptions
from engine.runtime.ik.dry import COMPUTE, GRAPH, KV, IkDryModel, parse_weights
from engine.runtime.ik.library import log, native
from engine.runtime.ik.runtime import (
    MAX_EXACT_PASS,
    IkContext,
    IkModel,
    kept_weight_bytes,
    output_head_bytes,
)
from engine.stop import StopFlag
from models.default import default_model
from models.header import read_header
from models.tensors import TensorInfo
from tests.engine.shallow import shallow_model

ROUNDED = 0.006 * MIB  # the log has two digits


@pytest.fixture(scope="module")
def dry():
    with IkDryModel(shallow_model()) as model:
        yield model


def logged(pattern: re.Pattern[str], lines: list[str]) -> float:
    return sum(float(size) for size in pattern.findall("\n".join(lines))) * MIB


def unlogged(dry: IkDryModel, compute: int) -> int:
    """Return the bytes of `compute` without those that the library does not log: its nodes, and our own code's."""
    return compute - GRAPH - output_head_bytes(dry.header) - default_threads() * kept_weight_bytes(dry.header)


def test_threads_keep_rows_of_the_longest_matrices():
    """Unpacked, four weights take four bytes, and their scales and minimums a little more."""
    header, own_code = read_header(default_model()), native()
    assert kept_weight_bytes(header) == 0  # no weights of a type that is unpacked
    up, down = (
        TensorInfo("blk.0.ffn_up.weight", 12, (512, 2048), 0),
        TensorInfo("blk.0.ffn_down.weight", 14, (2048, 512), 0),
    )
    plain, both = 64 * 2048, kept_weight_bytes(replace(header, tensors=(up, down)))
    if own_code is None or own_code.products is None:
        assert both == 0
    else:
        assert 1.25 * plain < both < 1.25 * 1.5 * plain


def test_weights(dry):
    with log.lines() as lines:
        IkModel(shallow_model()).close()
    assert dry.weights == parse_weights(lines)
    assert dry.weights.ways == ((True, False),)
    assert dry.weights.file > shallow_model().stat().st_size  # the shared head is held twice


@pytest.mark.parametrize(("n_ctx", "kv_type"), [(512, "f16"), (700, "q8_0")])
def test_contexts(dry, model, n_ctx, kv_type):
    options = ContextOptions(n_ctx, 2, n_batch=MAX_EXACT_PASS, max_logits=MAX_EXACT_PASS, kv_type=kv_type)
    with log.lines() as lines:
        IkContext(model, options, StopFlag()).close()
    sizes = dry.context(n_ctx, kv_type)
    assert sizes.kv == pytest.approx(logged(KV, lines), abs=0.1 * MIB)
    assert -ROUNDED < unlogged(dry, sizes.compute) - logged(COMPUTE, lines) < 5 * MIB
    assert sizes.output == 4 * dry.n_vocab


def test_a_context_with_few_rows_of_logits_takes_less(dry, model):
    with log.lines() as lines:
        IkContext(model, ContextOptions(1024, 2, n_batch=MAX_EXACT_PASS, max_logits=1), StopFlag()).close()
    few, many = dry.context(1024, max_logits=1), dry.context(1024)
    assert -ROUNDED < unlogged(dry, few.compute) - logged(COMPUTE, lines) < 5 * MIB
    assert few.compute < many.compute
    assert few.kv == many.kv


@pytest.mark.parametrize("n_ctx", [512, 2048, 8192])
def test_scores_without_flash_attention(model, n_ctx):
    options = ContextOptions(n_ctx, 2, n_batch=MAX_EXACT_PASS, max_logits=MAX_EXACT_PASS, flash_attention="off")
    with log.lines() as lines:
        IkContext(model, options, StopFlag()).close()
    with IkDryModel(shallow_model(), "off") as dry:
        sizes = dry.context(n_ctx)
        assert dry.context(n_ctx, "q8_0") is None
    assert sizes
    assert -ROUNDED < unlogged(dry, sizes.compute) - logged(COMPUTE, lines) < 5 * MIB


def test_a_log_without_sizes_is_a_bug():
    with pytest.raises(RuntimeError, match="no longer logs"):
        parse_weights(["llm_load_tensors: something else"])
