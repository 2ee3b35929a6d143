"""`python -m engine plans`: plans of files, plans of estimates, and senseless questions."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.planning import Ask, Estimate, Verdict
from engine.commands.plan import answer
from engine.costs.cost_model import Timings
from engine.costs.measurements import CalibrationKey, store_calibration
from engine.loading.sizes import EstimatedSizes, MemoryLayout, engine_parts
from engine.machine import fingerprint
from engine.runtime.llama.library import build
from engine.runtime.llama.runtime import DryModel
from models import planner
from models.catalogue import catalogue
from models.default import default_model
from models.estimate import guess_estimate
from models.header import read_header
from models.identity import file_identity
from models.planner import PlannerClient, verdicts
from models.shapes import shapes_of
from tests.engine.asking import needs_ik

GIB = 1 << 30


def ask(*, other: PlannerClient | None = None, **fields: Any) -> Verdict:
    return answer(msgspec.json.encode(Ask(**fields)), other or PlannerClient())


@needs_ik
def test_one_process_answers_all_that_the_other_library_is_asked():
    plans, processes = [], []
    with closing(PlannerClient()) as other:
        for n_ctx in (512, 1024, 2048):
            ask(path=str(default_model()), backend="llama", other=other)  # which this process holds then
            plans.append(ask(path=str(default_model()), backend="ik", n_ctx=n_ctx, other=other))
            assert other._process
            processes.append(other._process)
            if n_ctx == 1024:
                other._process.kill()
                other._process.wait()
    assert [(plan.backend, plan.n_ctx, plan.problem) for plan in plans] == [("ik", n, None) for n in (512, 1024, 2048)]
    assert processes[0] is processes[1] is not processes[2]
    assert processes[2].poll() is not None


@needs_ik
def test_a_planner_that_ends_at_a_question_is_a_problem(monkeypatch):
    monkeypatch.setattr(planner, "engine_command", lambda _: [sys.executable, "-c", "input()"])
    ask(path=str(default_model()), backend="llama")
    with closing(PlannerClient()) as other:
        assert "ended early" in str(ask(path=str(default_model()), backend="ik", other=other).problem)


def test_a_file_is_planned_exactly():
    plan = ask(id=7, path=str(default_model()), n_ctx=2048, kv_type="q8_0", backend="llama")
    assert (plan.id, plan.verdict, plan.exact, plan.problem) == (7, "fits", True, None)
    assert (plan.n_ctx, plan.max_n_ctx, plan.kv_type) == (2048, 8192, "q8_0")
    assert plan.total_bytes == sum(plan.parts.values())


def test_heads_that_keep_less_and_flash_attention_are_planned():
    path = str(default_model())
    fields: dict[str, Any] = {"n_ctx": 8192, "kv_type": "f16"}
    exact = ask(path=path, backend="graph", **fields)
    merged = ask(path=path, kv_mode="merged", kv_share=0.5, **fields)
    kept = sum(merged.parts[name] for name in ("kv", "kv_compressed"))
    assert merged.backend == "graph"
    assert kept < 0.8 * exact.parts["kv"]
    assert "Only the built-in engine supports" in str(ask(path=path, kv_mode="merged", backend="llama").problem)
    assert "There is no way “less” to keep" in str(ask(path=path, kv_mode="less").problem)
    assert "needs flash attention" in str(ask(path=path, flash_attention="off", kv_type="q8_0").problem)


def test_the_speed_is_told_where_it_was_timed(tmp_path, monkeypatch):
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))
    header = read_header(default_model())
    key = CalibrationKey(file_identity(header.path, header.data_offset), 2, "f16", build(), fingerprint())
    passes = {16: {1: 0.01, 8: 0.03}, 256: {1: 0.02, 8: 0.05}}
    store_calibration(key, Timings(passes, 0.001, large_tokens=512, large_seconds=1.0, disturbed=False))
    assert ask(path=str(default_model()), threads=2, kv_type="f16", backend="llama").speed == 100
    assert ask(path=str(default_model()), threads=2, kv_type="q8_0", backend="llama").speed == 0
    assert ask(path=str(default_model()), threads=1, kv_type="f16", backend="llama").speed == 0


def test_less_memory_is_another_verdict():
    path = str(default_model())
    assert ask(path=path, memory_bytes=64 << 20, backend="llama").verdict == "no"
    assert ask(path=path, memory_bytes=GIB, backend="llama").verdict == "fits"


def estimate_of_the_default_model() -> Estimate:
    header = read_header(default_model())
    shapes = shapes_of(header)
    return Estimate(
        name="SmolLM2", size=header.file_bytes, layers=len(shapes.layers), kv_width=shapes.layers[0].kv_elements,
        embedding=shapes.embedding, feed_forward=shapes.feed_forward, vocabulary=shapes.vocabulary,
        n_ctx_train=header.n_ctx_train, quantisation="Q4_1",
    )  # fmt: skip


@pytest.mark.parametrize("n_ctx", [512, 4096, 8192])
@pytest.mark.parametrize("n_batch", [128, 512])
def test_an_estimate_is_near_the_truth_and_hardly_below(n_ctx, n_batch):
    estimate = EstimatedSizes(estimate_of_the_default_model())
    layout = MemoryLayout("f16", n_batch, repack=True, mmap=True)
    guessed = engine_parts(estimate, None, layout, n_ctx)
    with DryModel(default_model()) as sizes:
        true = engine_parts(sizes, None, layout, n_ctx)
    assert guessed
    assert true
    assert guessed["kv"] == true["kv"]
    assert 0.99 <= sum(guessed.values()) / sum(true.values()) <= 1.05


@pytest.mark.parametrize(
    ("id", "weights", "repacked"), [("qwen2.5-coder-0.5b", 463.0, 28.1), ("qwen2.5-coder-1.5b", 1059.9, 596.5)]
)
def test_what_llama_cpp_repacks_is_estimated_as_it_plans_the_file_itself(id, weights, repacked):
    """The numbers are MiB from dry loads of these files on a processor with AVX2."""
    sizes = EstimatedSizes(next(entry.estimate for entry in catalogue() if entry.id == id)).weights
    assert sizes.file / (1 << 20) == pytest.approx(weights, rel=0.002)
    assert sizes.repacked / (1 << 20) == pytest.approx(repacked, rel=0.005)


def test_a_model_of_the_catalogue_that_is_too_large():
    largest = catalogue()[-1].estimate
    small = ask(estimate=largest, memory_bytes=4 * GIB)
    assert (small.verdict, small.exact) == ("no", False)
    assert "does not fit: needs about" in small.line
    fitting = {entry.id: ask(estimate=entry.estimate, memory_bytes=3 * GIB).verdict for entry in catalogue()}
    assert fitting["lfm2.5-350m"] == "fits"
    assert fitting["qwen3.5-9b"] == "no"


def test_what_only_the_hub_knows_is_guessed():
    shapes = guess_estimate("x", 5 * GIB, "Q4_K_M", parameters=8_000_000_000, n_ctx_train=8192)
    assert (shapes.layers, shapes.embedding, shapes.guessed) == (36, 4096, True)
    without = guess_estimate("x", 5 * GIB)
    assert (without.layers, without.embedding) == (36, 4096)
    assert ask(estimate=shapes, memory_bytes=64 * GIB, n_ctx=8192).total_bytes > 5 * GIB
    assert guess_estimate("x", 1 << 50).layers == 80


def test_what_cannot_be_planned_is_a_sentence(tmp_path):
    assert "There is no file" in str(ask(path=str(tmp_path / "none.gguf")).problem)
    assert "64 tokens or more" in str(ask(path=str(default_model()), n_ctx=3).problem)
    assert str(ask().problem) == "A request to the planner must name a model file or an estimate."
    assert ask(path=str(default_model()), draft=str(default_model()), backend="llama").problem


@given(st.binary(max_size=40))
def test_any_line_is_answered(line):
    verdict = answer(line, PlannerClient())
    assert verdict.problem
    assert verdict.line == str(verdict.problem)


def test_the_planner_as_a_process(tmp_path):
    asks = {"here": Ask(path=str(default_model())), "gone": Ask(path=str(tmp_path / "x.gguf"))}
    plans = dict(verdicts(asks))
    assert plans["here"].verdict == "fits"
    assert plans["gone"].verdict == "unknown"
    assert list(verdicts({})) == []
