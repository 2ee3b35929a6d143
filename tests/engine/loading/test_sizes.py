"""Sizes of models that are not downloaded: estimates from headers, beside what llama.cpp says of the same files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.tiny_models import write_tiny_model
from benchmarks.tiny_shapes import SHAPES
from engine.loading.options import LoadOptions
from engine.loading.resolve import planned_estimate
from engine.loading.sizes import EstimatedSizes, rollbacks
from engine.runtime.contexts import ContextSizes
from engine.runtime.llama.runtime import DryModel
from models.catalogue import CatalogueEntry, find_entry
from models.estimate import estimate_of
from models.split import model_headers

MIB = 1 << 20
NAMES = ("qwen3", "qwen3moe", "olmoe", "gpt-oss", "qwen35", "qwen35moe", "lfm2moe", "granitehybrid", "gemma3", "gemma4")


@pytest.fixture(scope="module", params=NAMES)
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[EstimatedSizes, DryModel]]:
    """Yield the estimate of a tiny model and llama.cpp's own sizes."""
    path = tmp_path_factory.mktemp("tiny") / f"{request.param}.gguf"
    write_tiny_model(path, SHAPES[request.param])
    with DryModel(path) as dry:
        yield EstimatedSizes(estimate_of(model_headers(path), "F32")), dry


def sizes(both: tuple[EstimatedSizes, DryModel], *arguments: object) -> tuple[ContextSizes, ContextSizes]:
    contexts = [each.context(*arguments) for each in both]  # type: ignore[arg-type]
    assert contexts[0]
    assert contexts[1]
    return contexts[0], contexts[1]


@pytest.mark.parametrize("n_ctx", [512, 4096])
def test_caches_windows_and_states_are_those_of_llama_cpp(both: tuple[EstimatedSizes, DryModel], n_ctx: int) -> None:
    estimated, exact = sizes(both, n_ctx, "f16", 128)
    assert estimated.kv == pytest.approx(exact.kv, rel=0.02, abs=30_000)
    assert estimated.compute == pytest.approx(exact.compute, abs=8 * MIB)
    assert (estimated.checkpoint > 0) == (exact.checkpoint > 0)
    assert estimated.checkpoint == pytest.approx(exact.checkpoint, rel=0.05, abs=30_000)


def test_snapshots_are_counted_where_the_library_has_them(both: tuple[EstimatedSizes, DryModel]) -> None:
    assert rollbacks(both[0]) == rollbacks(both[1])
    estimated, exact = sizes(both, 512, "f16", 128, 64, 4)
    assert estimated.rollback == exact.rollback
    assert estimated.snapshots == pytest.approx(exact.snapshots, rel=0.05, abs=150_000)


def test_the_weights_and_whether_they_are_a_mixture(both: tuple[EstimatedSizes, DryModel]) -> None:
    estimated, exact = (each.weights for each in both)
    assert estimated.file == pytest.approx(exact.file, rel=0.05)
    assert estimated.mixture == exact.mixture


def entry(id: str) -> CatalogueEntry:
    catalogue_entry = find_entry(id)
    assert catalogue_entry
    return catalogue_entry


def test_a_window_makes_a_long_context_small(tmp_path: Path) -> None:
    gemma = EstimatedSizes(entry("gemma4-e4b").estimate).context(32768, "f16", 512)
    assert gemma.kv == pytest.approx(2 * (4 * 2048 * 32768 + 20 * 1024 * 1024))
    oss = EstimatedSizes(entry("gpt-oss-20b").estimate).context(32768, "f16", 512)
    assert oss.kv == pytest.approx(2 * 1024 * (12 * 32768 + 12 * 768))


def test_the_plan_of_a_hybrid_counts_its_states(tmp_path: Path) -> None:
    plan = planned_estimate(entry("qwen3.5-4b").estimate, LoadOptions(tmp_path, memory_bytes=20 << 30), 20 << 30)
    assert plan.parts["checkpoints"] >= 2 * 52 * 10**6  # a state of about 50 MB
    assert plan.parts["snapshots"] >= 2 * 52 * 10**6


@pytest.mark.parametrize("id", ["gpt-oss-20b", "qwen3-30b-a3b-instruct-2507", "lfm2.5-8b-a1b", "granite4.0-h-tiny"])
def test_a_mixture_is_estimated_once_in_memory(id: str, tmp_path: Path) -> None:
    model = entry(id)
    plan = planned_estimate(model.estimate, LoadOptions(tmp_path), 100 << 30)
    weights = sum(size for name, size in plan.parts.items() if name.startswith("weights"))
    assert plan.verdict == "fits"
    assert weights <= model.size
