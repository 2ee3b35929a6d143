"""Sizes that ik_llama.cpp's dry model computes without the weights, compared with what the library then allocates."""

from __future__ import annotations

import re

import pytest

from engine.runtime.capi.model import MIB
from engine.runtime.contexts import ContextOptions
from engine.runtime.ik.dry import COMPUTE, GRAPH, KV, IkDryModel, parse_weights
from engine.runtime.ik.library import log
from engine.runtime.ik.runtime import MAX_EXACT_PASS, IkContext, IkModel
from engine.stop import StopFlag
from tests.engine.shallow import shallow_model

ROUNDED = 0.006 * MIB  # the log has two digits


@pytest.fixture(scope="module")
def dry():
    with IkDryModel(shallow_model()) as model:
        yield model


def logged(pattern: re.Pattern[str], lines: list[str]) -> float:
    return sum(float(size) for size in pattern.findall("\n".join(lines))) * MIB


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
    assert -ROUNDED < sizes.compute - GRAPH - logged(COMPUTE, lines) < 5 * MIB
    assert sizes.output == 4 * dry.n_vocab


def test_a_context_with_few_rows_of_logits_takes_less(dry, model):
    with log.lines() as lines:
        IkContext(model, ContextOptions(1024, 2, n_batch=MAX_EXACT_PASS, max_logits=1), StopFlag()).close()
    few, many = dry.context(1024, max_logits=1), dry.context(1024)
    assert -ROUNDED < few.compute - GRAPH - logged(COMPUTE, lines) < 5 * MIB
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
    assert -ROUNDED < sizes.compute - GRAPH - logged(COMPUTE, lines) < 5 * MIB


def test_a_log_without_sizes_is_a_bug():
    with pytest.raises(RuntimeError, match="no longer logs"):
        parse_weights(["llm_load_tensors: something else"])
