"""Plans with a device: what is known of devices and timings decides, and the memory plan has the device's part."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from common.failures import Failure
from common.planning import KV, WEIGHTS
from engine.costs.cost_model import Timings
from engine.costs.measurements import CalibrationKey, store_calibration
from engine.devices import look
from engine.devices.device import ON_PROCESSOR, Device, Placement, Way
from engine.engine import Engine
from engine.loading import device_plan
from engine.loading.device_plan import decide, use_of, with_device, work_of
from engine.loading.device_trials import DeviceTrials
from engine.loading.library_choice import identity_of
from engine.loading.options import LoadOptions
from engine.loading.resolve import LoadPlan, resolve
from engine.machine import fingerprint, library_version
from engine.protocol.requests import Load
from models.default import default_model
from models.header import read_header
from models.shapes import shapes_of
from tests.engine.loading.laptops import GIB, IRIS_XE, RTX_A2000, device

XE, RTX = IRIS_XE.device, replace(RTX_A2000.device, memory_bytes=4 * GIB, free_bytes=4 * GIB)
LAYERS = 30


@pytest.fixture(scope="module")
def base() -> LoadPlan:
    return resolve(LoadOptions(default_model(), backend="llama", device="off"))


@pytest.fixture(autouse=True)
def knows_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, base: LoadPlan) -> None:
    """Forget all looks and timings, and what the battery says."""
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("CHICKADEE_BATTERY", "none")


def find(*devices: Device, problem: look.Problem | None = None) -> None:
    """Store a look that has found these devices."""
    look.LOOKS.put(look.Look(devices, problem), *look._key())


def know(decode: float, prompt: float, placement: Placement = ON_PROCESSOR) -> None:
    """Store timings of the default model with llama.cpp, in tokens/s."""
    build = f"llama-cpp-python {library_version('llama-cpp-python')}"
    timings = Timings({16: {1: 1 / decode, 8: 4 / decode}}, 0.0, 512, 512 / prompt)
    key = CalibrationKey(identity_of(read_header(default_model())), 0, "f16", build, fingerprint(), placement.suffix)
    store_calibration(key, timings)


def planned(base: LoadPlan, wish: str = "auto", layers: int | None = None) -> LoadPlan:
    options = replace(base.options, device=wish, placed_layers=layers)
    decision = decide(options, base.headers, base.memory.available_bytes, "llama")
    memory, decision = with_device(base.memory, decision, base.header)
    return replace(base, memory=memory, decision=decision)


def test_without_a_look_nothing_is_said(base: LoadPlan) -> None:
    plan = planned(base)
    assert plan.placement == ON_PROCESSOR
    assert "raphics" not in " ".join(map(str, plan.memory.reasons))
    assert use_of(plan.decision).found == ()


def test_a_device_that_was_timed_to_be_faster_computes_and_is_in_the_plan(base: LoadPlan) -> None:
    find(XE)
    alone = planned(base)
    assert alone.decision.reason.id == "device.not_timed"
    know(100, 400)
    know(95, 900, Placement(Way.PROMPTS, XE))
    know(60, 1200, Placement(Way.ALL_LAYERS, XE, LAYERS))
    plan = planned(base)
    assert plan.placement == Placement(Way.PROMPTS, XE)
    assert "Prompts: Intel Iris Xe Graphics, 900 tok/s against 400 tok/s; writing: processor." in map(
        str, plan.memory.reasons
    )
    assert plan.memory.parts["device_compute"] == plan.decision.parts["device_compute"] > 0
    assert plan.memory.total_bytes == sum(plan.memory.parts.values())
    assert (plan.memory.repack, plan.memory.parts["weights_repacked"]) == (False, 0)  # as they are in the file
    repacked = replace(base.memory, repack=True, parts=base.memory.parts | {"weights_repacked": 9**9})
    assert with_device(repacked, plan.decision, base.header)[0].parts["weights_repacked"] == 0
    assert planned(base, "off").placement == ON_PROCESSOR
    use = use_of(plan.decision)
    assert (use.found, use.used, use.way) == (("Intel Iris Xe Graphics",), "Intel Iris Xe Graphics", "prompts")


@pytest.mark.parametrize(("one", "is_shared"), [(XE, True), (RTX, False)])
def test_what_lies_on_a_device_is_counted_once(base: LoadPlan, one: Device, is_shared: bool) -> None:
    find(one)
    know(100, 400)
    know(95, 500, Placement(Way.PROMPTS, one))
    know(200, 2000, Placement(Way.ALL_LAYERS, one, LAYERS))
    plan = planned(base)
    assert plan.placement == Placement(Way.ALL_LAYERS, one, LAYERS)
    weights, kv = (sum(plan.memory.parts.get(name, 0) for name in names) for names in (WEIGHTS, KV))
    moved = plan.decision.parts
    assert plan.memory.parts["kv"] == 0
    assert kv == (moved["device_kv"] if is_shared else 0)
    assert (weights > moved["device_weights"]) == is_shared
    assert weights - is_shared * moved["device_weights"] < 0.35 * base.header.file_bytes


def test_a_device_with_a_problem_is_not_used_and_the_reason_says_so(base: LoadPlan) -> None:
    find(XE)
    look.refuse(XE, "wrong_numbers")
    plan = planned(base)
    assert (plan.placement, plan.decision.reason.id) == (ON_PROCESSOR, "device.wrong_numbers")
    assert plan.decision.reason in plan.memory.reasons


def test_only_llama_cpp_knows_devices() -> None:
    find(XE)
    options = LoadOptions(default_model(), backend="ik", device="xe")
    decision = decide(options, [read_header(default_model())], 8 * GIB, "ik")
    assert (
        str(decision.reason) == "The processor computes: only llama.cpp can use a graphics processor, not ik_llama.cpp."
    )


def test_a_number_of_layers_can_be_asked_for(base: LoadPlan) -> None:
    """As timings do, by the device's id."""
    find(device("card", free_bytes=4 * GIB, integrated=False), device("card 2", free_bytes=4 * GIB, integrated=False))
    for layers, placed in ((0, (Way.PROMPTS, 0)), (8, (Way.SOME_LAYERS, 6)), (LAYERS, (Way.ALL_LAYERS, LAYERS))):
        placement = planned(base, "card", layers).placement
        assert placement.device
        assert (placement.way, placement.layers, placement.device.id) == (*placed, "card")
    assert planned(base, "none", 0).decision.reason.id == "device.not_found"


def test_trials_time_what_would_matter() -> None:
    find(XE)
    trials = DeviceTrials(LoadOptions(default_model()), [read_header(default_model())], 8 * GIB, "llama")
    untimed = trials.decision().untimed
    assert [each.way for each in untimed] == [Way.ALL_LAYERS, Way.PROMPTS]
    assert trials._trial(untimed[0])._command[-4:] == ["--device", XE.id, "--device-layers", str(LAYERS)]
    know(50, 500, untimed[0])
    assert [each.way for each in trials.decision().untimed] == [Way.PROMPTS]


def test_the_sizes_of_a_model() -> None:
    header = read_header(default_model())
    work = work_of(header, LoadOptions(default_model(), n_ctx=1024))
    assert work.layers == LAYERS
    assert LAYERS * work.layer_bytes + work.output_bytes == pytest.approx(header.file_bytes, rel=0.1)
    assert work.kv_bytes == round(shapes_of(header).kv_bytes_per_token("f16") * 1024)


def test_what_does_not_fit_stays_on_the_processor(base: LoadPlan) -> None:
    find(XE)
    small = replace(base.memory, available_bytes=base.memory.total_bytes)
    decision = decide(replace(base.options, device="xe"), base.headers, 8 * GIB, "llama")
    memory, kept = with_device(small, decision, base.header)
    assert decision.placement.device == XE
    assert (kept.placement, kept.reason.id, memory.parts) == (ON_PROCESSOR, "device.no_room", small.parts)


def test_a_header_without_shapes_means_the_processor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fails(*_: object) -> None:
        raise Failure("bad_model.contradiction")

    find(XE)
    monkeypatch.setattr(device_plan, "work_of", fails)
    decision = decide(LoadOptions(default_model()), [read_header(default_model())], GIB, "llama")
    assert decision.reason.id == "device.no_shapes"


def test_with_a_device_that_is_gone_the_processor_computes() -> None:
    find(XE)
    with closing(Engine()) as engine:
        info = engine.load(Load(0, str(default_model()), n_ctx=256, backend="llama", device="xe")).model
    assert info.devices
    assert (info.devices.way, info.devices.used, info.backend) == ("processor", "", "llama")
    assert str(info.devices.reason) == (
        "The processor computes: Intel Iris Xe Graphics could not be compared with it: it is gone, or memory is short."
    )
