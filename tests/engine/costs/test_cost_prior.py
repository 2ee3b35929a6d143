"""Timings estimated from a similar model on another computer, corrected by the first real passes; speeds from them."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import msgspec
import pytest

from benchmarks.tiny_models import write_tiny_model
from benchmarks.tiny_shapes import SHAPES
from common.planning import Ask, Computer, Estimate, KVType, Verdict
from engine.commands.plan import answer
from engine.costs import cost_prior as module
from engine.costs.cost_model import CostModel, Timings
from engine.costs.cost_prior import (
    LAYER_SECONDS,
    MOST_CORRECTION,
    ModelTraits,
    PriorRow,
    Speed,
    WeightPart,
    corrected,
    main_weight_type,
    most_similar,
    predict_speed,
    prior_table,
    prior_timings,
    scale_rows,
    scale_to_all_layers,
    this_computer,
    traits_of_estimate,
    weight_type,
)
from engine.machine import KINDS
from models.default import default_model
from models.header import read_header
from models.planner import PlannerClient
from models.shapes import WeightReads, shapes_of
from models.tensors import tensor_bytes
from tests.engine.runtime.hybrid import ARCHITECTURES, write_hybrid

Q4_1, Q4_K, Q6_K, Q8_0 = 3, 12, 14, 8
KV_TYPES: tuple[KVType, ...] = ("f16", "q8_0")
SECONDS = {1: 0.02, 4: 0.03, 8: 0.05, 48: 0.3}
LAPTOP = Computer(("avx2",), 40e9, 4)
DENSE = Estimate(
    name="4B", size=2_500_000_000, layers=36, kv_width=2048, embedding=2560, feed_forward=9728, vocabulary=151936,
    quantisation="Q4_K_M",
)  # fmt: skip


def row(weights: int = Q4_1, pass_bytes: int = 100_000_000) -> PriorRow:
    deep = {k: 1.5 * seconds for k, seconds in SECONDS.items()}
    return PriorRow(
        "ik", "avx2", weights, pass_bytes, 20_000.0, Timings({16: SECONDS, 512: deep}, 0.001, 512, 2.0), "any", 2e10
    )


def scaled(model: ModelTraits, computer: Computer, kv_type: KVType = "f16") -> Timings:
    """Return the timings of `row`, scaled to each of the model's parts."""
    return scale_rows([(row(), part) for part in model.parts], model, kv_type, computer)


def of_layers(reads: WeightReads, type: int = Q4_1) -> ModelTraits:
    """Return the traits of a model that has layers alone."""
    return ModelTraits((WeightPart(type, reads),), 0)


def traits(header) -> ModelTraits:
    """Return the traits of a header that tells them."""
    traits = ModelTraits.of(header)
    assert traits
    return traits


@pytest.fixture
def header(monkeypatch, tmp_path):
    """Load the default model's header, with an empty cache folder: nothing is known of the computer."""
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))
    return read_header(default_model())


def test_seconds_grow_with_the_weights_and_ratios_stay(header):
    model = traits(header)
    timings = scaled(model, Computer((), bandwidth=1e10, threads=1))
    by = 2 * model.pass_bytes / 100_000_000
    assert timings.pass_seconds[16] == pytest.approx({k: by * seconds for k, seconds in SECONDS.items()}, rel=1e-4)
    head = shapes_of(header).output.pass_bytes
    weights, beside = 2.0 * (model.pass_bytes - head) / 100_000_000, 30 * LAYER_SECONDS * 512
    assert timings.large_seconds == pytest.approx(2 * (weights + beside), rel=1e-4)
    assert CostModel(timings).c(8) == pytest.approx(2.5)


def test_each_part_is_scaled_from_a_row_of_its_type_and_prompts_need_no_head():
    size, computer = row().pass_bytes, Computer(("avx2",), 2e10, 2)
    slow = msgspec.structs.replace(row(Q8_0), timings=row().timings.changed(lambda _tokens, seconds: 3 * seconds))
    layers = WeightPart(Q4_1, WeightReads(size)), WeightPart(Q8_0, WeightReads(size / 2))
    rows = [(row(), layers[0]), (slow, layers[1]), (slow, WeightPart(Q8_0, WeightReads(size), is_head=True))]
    timings = scale_rows(rows, ModelTraits((), 0), "f16", computer)
    assert timings.shallow == pytest.approx({k: (1 + 3 * 1.5) * seconds for k, seconds in SECONDS.items()})
    assert timings.large_seconds == pytest.approx((1 + 3 * 0.5) * 2.0)
    with_head = msgspec.structs.replace(row(), head_bytes=size // 4, layers=30)
    own = scale_rows([(with_head, part) for part in with_head.parts], ModelTraits((), 0, 30), "f16", computer)
    assert own.shallow == pytest.approx(SECONDS)
    assert own.large_seconds == pytest.approx(2.0)


def test_reading_scales_with_the_memory_and_the_rest_with_the_threads():
    model = of_layers(WeightReads(row().pass_bytes))  # the row's computer reads its weights in 5 of 20 ms
    slow_memory = scaled(model, Computer((), 1e10, 2)).pass_seconds[16]
    assert slow_memory == pytest.approx({k: seconds + 0.005 for k, seconds in SECONDS.items()})
    more_cores = scaled(model, Computer((), 2e10, 4)).pass_seconds[16]
    assert more_cores == pytest.approx({k: 0.005 + (seconds - 0.005) / 2 for k, seconds in SECONDS.items()})


def test_arithmetic_scales_with_a_product_that_was_timed_on_both_computers_with_the_same_kernels():
    model, timed = of_layers(WeightReads(row().pass_bytes)), msgspec.structs.replace(row(), product=200e9)
    parts = [(timed, part) for part in model.parts]
    slower = scale_rows(parts, model, "f16", Computer(("avx2",), 2e10, 2, product=100e9))
    assert slower.shallow == pytest.approx({k: 0.005 + 2 * (seconds - 0.005) for k, seconds in SECONDS.items()})
    for computer in (Computer(("avx512_vnni", "avx2"), 2e10, 2, product=100e9), Computer(("avx2",), 2e10, 2)):
        assert scale_rows(parts, model, "f16", computer).shallow == pytest.approx(SECONDS)


def test_some_layers_tell_of_all(header):
    whole = shapes_of(header)
    part = dataclasses.replace(whole, layers=whole.layers[::3])
    timings = row().timings
    scaled = scale_to_all_layers(timings, part, whole)
    by = whole.pass_bytes / part.pass_bytes
    assert 1.5 < by < 3  # the output head is not repeated
    assert scaled.pass_seconds[512] == pytest.approx({k: by * s for k, s in timings.pass_seconds[512].items()})
    assert scaled.large_seconds == pytest.approx(3 * timings.large_seconds)  # prompts need no logits
    assert scaled.row_seconds == timings.row_seconds


def test_what_depth_adds_grows_with_keys_and_values(header):
    shapes = shapes_of(header)
    f16, q8 = (scaled(traits(header), Computer(()), kv_type).pass_seconds for kv_type in KV_TYPES)
    assert f16[16] == q8[16]
    rise = [seconds[512][1] - seconds[16][1] for seconds in (f16, q8)]
    assert rise[0] == pytest.approx(shapes.kv_bytes_per_token() / 20_000 * 0.01)
    assert rise[1] == pytest.approx(rise[0] * 17 / 32)


def test_the_same_type_comes_before_the_same_size_and_before_a_better_kind_of_processor():
    size = row().pass_bytes
    part = WeightPart(Q4_1, WeightReads(size))
    newer = [msgspec.structs.replace(row(type, size), kind="avx512_vnni") for type in (Q8_0, Q6_K, Q4_K)]
    older = [row(Q4_1, 100 * size), row(Q4_1, 2 * size), row(Q4_K, size)]
    oldest = [msgspec.structs.replace(row(Q6_K, size), kind="sse42")]
    assert most_similar([newer, older], part, size) == older[1]
    assert most_similar([newer, older[2:]], part, size) == newer[2]  # about as many bits per weight
    assert most_similar([newer, oldest], WeightPart(Q6_K, part.reads), size) == newer[1]


def test_a_models_weights_are_told_by_type(header):
    model = traits(header)
    assert main_weight_type(header) == Q4_1
    head = next(part for part in model.parts if part.is_head)
    assert (head.type, head.reads.always) == (Q8_0, shapes_of(header).output.pass_bytes)
    assert model.pass_bytes == shapes_of(header).pass_bytes


def test_a_pass_of_more_tokens_reads_more_experts():
    size, computer = row().pass_bytes, Computer((), bandwidth=2e10, threads=2)
    dense = of_layers(WeightReads(size))
    mixture = of_layers(WeightReads(size / 2, size * 4, 1 / 8))  # reads as much for one token
    assert mixture.pass_bytes == dense.pass_bytes
    assert dense.is_dense
    assert not mixture.is_dense
    timings, expected = (scaled(model, computer) for model in (mixture, dense))
    assert timings.pass_seconds[16][1] == pytest.approx(expected.pass_seconds[16][1])
    for k in (4, 8, 48):
        more = size * 4 * (1 - (7 / 8) ** k) - size / 2
        assert timings.pass_seconds[16][k] - expected.pass_seconds[16][k] == pytest.approx(more / 2e10)
    assert timings.large_seconds - expected.large_seconds == pytest.approx(3.5 * size / 2e10)
    assert CostModel(timings).c(8) > CostModel(expected).c(8)


@pytest.mark.parametrize("name", ["qwen3moe", "olmoe", "gpt-oss"])
def test_mixtures_have_a_prior(tmp_path, header, monkeypatch, name):
    monkeypatch.setattr(module, "processor_kinds", lambda: ["avx2"])
    mixture = read_header(write_tiny_model(tmp_path / f"{name}.gguf", SHAPES[name]))
    reads = traits(mixture).reads
    assert reads.share == 2 / 4
    assert reads.bytes(1) == pytest.approx(shapes_of(mixture).pass_bytes, rel=1e-6)
    table = next(tensor for tensor in mixture.tensors if tensor.name == "token_embd.weight")
    tied = not any(tensor.name == "output.weight" for tensor in mixture.tensors)
    unread = 0 if tied else tensor_bytes(table)
    assert reads.bytes(500) == pytest.approx(shapes_of(mixture).weight_bytes - unread, rel=0.01)
    assert prior_timings(mixture, "llama")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nor_of_layers_that_keep_a_state(tmp_path, architecture):
    assert not traits(read_header(write_hybrid(tmp_path / "state.gguf", architecture))).is_dense


@pytest.mark.parametrize("kind", ["avx512_vnni", "avx2"])
def test_the_table_knows_both_libraries_for_usual_processors(header, monkeypatch, kind):
    monkeypatch.setattr(module, "processor_kinds", lambda: ["of the future", kind])
    for library in ("llama", "ik"):
        timings = prior_timings(header, library)
        assert timings
        assert 1 < CostModel(timings).c(8) < 9
        assert timings.large_seconds / timings.large_tokens < timings.pass_seconds[min(timings.pass_seconds)][1]
    monkeypatch.setattr(module, "processor_kinds", list)
    assert prior_timings(header, "llama") is None


def test_a_row_is_scaled_from_the_memory_that_it_was_timed_with(header, monkeypatch):
    """The table's rows may come from several computers."""
    monkeypatch.setattr(module, "processor_kinds", lambda: ["avx2"])
    profile = SimpleNamespace(provisional=False, read_bandwidth_bytes_per_s=4e10, product_flops_per_s=0.0)
    monkeypatch.setattr(module, "stored_profile", lambda: profile)
    monkeypatch.setattr(module, "default_threads", lambda: 2)
    monkeypatch.setattr(module, "prior_table", lambda: (row(), row(Q8_0)))
    of_usual = prior_timings(header, "ik")
    monkeypatch.setattr(module, "prior_table", lambda: (msgspec.structs.replace(row(), bandwidth=4e10), row(Q8_0)))
    of_faster = prior_timings(header, "ik")
    assert of_usual
    assert of_faster
    by = sum(part.reads.always for part in traits(header).parts if part.type == Q4_1) / row().pass_bytes
    assert of_usual.pass_seconds[16][1] == pytest.approx(of_faster.pass_seconds[16][1] - by * 0.0025)


def test_its_rows_are_of_kinds_that_exist_and_are_there_once():
    rows = prior_table()
    assert {row.kind for row in rows} <= set(KINDS)
    assert len({(row.kind, row.library, row.weights, row.pass_bytes) for row in rows}) == len(rows)
    assert not any(row.timings.disturbed for row in rows)


def test_three_passes_put_it_right():
    """Timings of this computer would take two dozen passes to change."""
    timings = Timings({0: SECONDS}, 0.0, 512, 2.0)
    known, guessed = CostModel(timings), CostModel(timings, provisional=True)
    for model in (known, guessed):
        for _ in range(3):
            model.observe(1, 0, 0.04)
            model.observe(8, 0, 0.3)
    assert known.c(8) == pytest.approx(2.5)
    assert guessed.pass_seconds(1, 0) == pytest.approx(0.04)
    assert guessed.c(8) > 5


# --- speeds ---


def decode(model: Estimate, computer: Computer = LAPTOP) -> float:
    """Return the predicted tokens/s of decoding."""
    speed = predict_speed(traits_of_estimate(model), "f16", computer)
    assert speed
    return speed.decode


def test_a_4b_on_a_laptop_reads_its_weights_for_every_token():
    assert 0.4 < decode(DENSE) / (LAPTOP.bandwidth / DENSE.size) < 1.0


def test_slower_memory_and_fewer_threads_are_slower():
    assert decode(DENSE, Computer(("avx2",), 15e9, 4)) < 0.6 * decode(DENSE)
    assert decode(DENSE, Computer(("avx2",), 40e9, 1)) < decode(DENSE)


def test_of_experts_only_the_active_ones_are_read():
    experts = msgspec.structs.replace(DENSE, size=5_000_000_000, active_share=0.2)
    assert decode(experts) == pytest.approx(2.5 * decode(msgspec.structs.replace(experts, active_share=0.5)), rel=0.3)
    assert decode(experts) > decode(DENSE)


def test_layers_without_keys_and_values_make_long_chats_cheaper():
    assert decode(msgspec.structs.replace(DENSE, kv_layers=9)) > decode(DENSE)


def test_the_built_in_models_error_corrects_the_others():
    predicted = predict_speed(traits_of_estimate(DENSE), "f16", LAPTOP)
    assert predicted
    faster = corrected(LAPTOP, Speed(100.0, 1000.0), Speed(120.0, 1500.0))
    speed = predict_speed(traits_of_estimate(DENSE), "f16", faster)
    assert speed
    assert (speed.decode, speed.prompt) == pytest.approx((1.2 * predicted.decode, 1.5 * predicted.prompt))
    disturbed = corrected(LAPTOP, Speed(100.0, 1000.0), Speed(1.0, 1.0))
    assert disturbed.decode_factor == disturbed.prompt_factor == 1 / MOST_CORRECTION


def test_a_processor_that_the_table_does_not_know_has_no_prediction():
    assert predict_speed(traits_of_estimate(DENSE), "f16", Computer(("of the future",))) is None


@pytest.mark.parametrize(
    ("name", "type"), [("Q4_K_M", 12), ("q8_0", 8), ("Q4_K_XL", 12), ("MXFP4_MOE", 39), ("odd", 12)]
)
def test_quantisations_by_name(name, type):
    assert weight_type(name) == type


def test_the_planner_predicts_files_and_estimates(monkeypatch, tmp_path):
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))
    other = PlannerClient()
    for ask in (Ask(path=str(default_model())), Ask(estimate=DENSE), Ask(estimate=DENSE, computer=LAPTOP)):
        verdict = answer(msgspec.json.encode(ask), other)
        assert isinstance(verdict, Verdict)
        assert verdict.predicted_speed > 0
        assert verdict.predicted_prompt_speed > 0
    model = ModelTraits.of(read_header(default_model()))
    assert model
    assert predict_speed(model, "f16", this_computer()) is not None
    other.close()
