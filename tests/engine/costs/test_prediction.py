"""Predicted speeds: from sizes alone, scaled to memory and threads, and in the planner's answers."""

from __future__ import annotations

import msgspec
import pytest

from common.planning import Ask, Computer, Estimate, Verdict
from engine.commands.plan import OtherPlanner, answer
from engine.costs.cost_prior import ModelTraits, this_computer
from engine.costs.prediction import MOST_CORRECTION, Speed, corrected, predict_speed, traits_of_estimate, weight_type
from models.default import default_model
from models.header import read_header

LAPTOP = Computer(("avx2",), 40e9, 4)
DENSE = Estimate(
    name="4B", size=2_500_000_000, layers=36, kv_width=2048, embedding=2560, feed_forward=9728, vocabulary=151936,
    quantisation="Q4_K_M",
)  # fmt: skip


def decode(model: Estimate, computer: Computer = LAPTOP) -> float:
    """Return the predicted tokens/s of decoding."""
    found = predict_speed(traits_of_estimate(model), "f16", computer)
    assert found
    return found.decode


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
    found = predict_speed(traits_of_estimate(DENSE), "f16", faster)
    assert found
    assert (found.decode, found.prompt) == pytest.approx((1.2 * predicted.decode, 1.5 * predicted.prompt))
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
    other = OtherPlanner()
    for ask in (Ask(path=str(default_model())), Ask(estimate=DENSE), Ask(estimate=DENSE, computer=LAPTOP)):
        verdict = answer(msgspec.json.encode(ask), other)
        assert isinstance(verdict, Verdict)
        assert verdict.predicted_speed > 0
        assert verdict.predicted_prompt_speed > 0
    model = ModelTraits.of(read_header(default_model()))
    assert model
    assert predict_speed(model, "f16", this_computer()) is not None
    other.close()
