"""The choice of a device: right on four real laptops, and never slower than the processor or larger than the memory."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.costs.cost_prior import Speed
from engine.devices.device import ON_PROCESSOR, Device, Measured, Placement, Way
from engine.devices.refusal import DeviceRefusal
from engine.loading.device_choice import (
    AUTOMATIC,
    DISPLAY_BYTES,
    OFF,
    WRITES_NO_SLOWER,
    Decision,
    Situation,
    Work,
    choose,
    fitting,
    missing_bytes,
    shares_ram,
    short_name,
    speed_of,
)
from engine.loading.library_choice import NO_SLOWER
from tests.engine.loading.laptops import (
    ALL,
    ARC_140V,
    GIB,
    IRIS_XE,
    MIB,
    RADEON_890M,
    RADEON_890M_SMALL,
    RTX_A2000,
    WORK_7B,
    Laptop,
    device,
    measured,
)

PLENTY = Situation(ram_bytes=8 * GIB)
LLVMPIPE = device("llvmpipe (LLVM 15.0.6, 256 bits)", integrated=False, software=True)


def decide(laptop: Laptop, now: Situation = PLENTY, offload: float | None = None) -> Decision:
    return choose([laptop.device], laptop.measured(offload=offload), laptop.processor, laptop.work, now)


# --- four real laptops ---


@pytest.mark.parametrize("laptop", [IRIS_XE, ARC_140V], ids=["Iris Xe", "Arc 140V"])
def test_a_device_that_writes_slower_reads_prompts_alone(laptop: Laptop) -> None:
    """Its speed with weights in RAM is in no table: with half of the gain of all layers it is chosen."""
    half = (laptop.processor.prompt + laptop.all_layers.prompt) / 2
    decision = decide(laptop, offload=half)
    assert decision.placement == Placement(Way.PROMPTS, laptop.device)
    assert decide(laptop).reason.id == "device.not_timed"  # all layers are not the only way


def test_what_is_slower_is_not_used() -> None:
    """The 140V writes at half of the processor's speed; weights in RAM could not feed it."""
    assert decide(ARC_140V, offload=20).reason.id == "device.slower"


@pytest.mark.parametrize("laptop", [RADEON_890M, RADEON_890M_SMALL, RTX_A2000], ids=["890M", "890M 1.5B", "RTX A2000"])
def test_a_device_that_is_faster_at_both_computes_all(laptop: Laptop) -> None:
    decision = decide(laptop, offload=laptop.processor.prompt * 2)
    assert decision.placement == Placement(Way.ALL_LAYERS, laptop.device, laptop.work.layers)


@pytest.mark.parametrize("prompt", [22.0, 200.0, 1060.0])
def test_the_unknown_speed_of_a_processor_changes_no_choice(prompt: float) -> None:
    laptop = replace(RTX_A2000, processor=Speed(21.96, prompt))
    assert decide(laptop).placement.way is Way.ALL_LAYERS


def test_the_reason_is_one_line() -> None:
    assert str(decide(IRIS_XE, offload=30).reason) == (
        "Prompts: Intel Iris Xe Graphics, 30 tok/s against 11 tok/s; writing: processor."
    )
    assert str(decide(RTX_A2000).reason) == (
        "Prompts: NVIDIA RTX A2000 Laptop GPU, 1,387 tok/s against 106 tok/s; writing: the same, 63 tok/s against"
        " 22 tok/s."
    )
    assert str(decide(ARC_140V, offload=20).reason) == (
        "The processor computes: Intel Arc Graphics 140V is not faster (prompts 20 tok/s against 25 tok/s, writing"
        " 12 tok/s against 12 tok/s)."
    )


def test_on_battery_only_what_saves_energy_is_used() -> None:
    """The 890M writes a tenth faster and draws far more; the RTX computes three times as fast."""
    battery = replace(PLENTY, on_battery=True)
    decision = decide(RADEON_890M, battery, offload=100)
    assert decision.placement == ON_PROCESSOR
    assert str(decision.reason).startswith("The processor computes on battery: AMD Radeon 890M Graphics is faster,")
    assert decide(RTX_A2000, battery).placement.way is Way.ALL_LAYERS
    assert decide(ARC_140V, battery, offload=20).reason.id == "device.slower"


def test_some_layers_lie_on_a_device_that_is_too_small_for_all() -> None:
    """A 7B model has 3.4 GiB of weights and a cache of 2 GiB; the RTX A2000 has 3.7 GiB."""
    laptop = replace(RTX_A2000, work=WORK_7B)
    most, prompts = fitting(laptop.device, WORK_7B, PLENTY.ram_bytes)
    assert (most.way, most.layers) == (Way.SOME_LAYERS, 16)
    assert prompts.way is Way.PROMPTS
    decision = decide(laptop)  # between prompts alone and all layers: what 16 layers save
    assert decision.placement == most
    assert decision.speed
    assert 21.96 < decision.speed.decode < 63.22
    assert sum(decision.parts.values()) <= laptop.device.free_bytes - DISPLAY_BYTES


# --- wishes, and devices that are not used ---


def test_off_means_the_processor() -> None:
    decision = decide(RTX_A2000, replace(PLENTY, wish=OFF))
    assert (decision.placement, str(decision.reason)) == (ON_PROCESSOR, "The processor computes, as chosen.")
    assert not decision.untimed


def test_a_software_device_is_used_only_by_name() -> None:
    fast = [measured(LLVMPIPE, Way.PROMPTS, Speed(100, 1000), WORK_7B)]
    automatic = choose([LLVMPIPE], fast, Speed(10, 10), WORK_7B, PLENTY)
    assert (automatic.placement, automatic.reason.id) == (ON_PROCESSOR, "device.software")
    assert not automatic.untimed  # nobody times it either
    named = choose([LLVMPIPE], fast, Speed(10, 10), WORK_7B, replace(PLENTY, wish="LLVMpipe"))
    assert named.placement == Placement(Way.PROMPTS, LLVMPIPE)


def test_a_device_by_name_is_used_although_it_is_slower() -> None:
    decision = decide(ARC_140V, replace(PLENTY, wish="arc 140"))
    assert decision.reason.id == "device.not_found"
    decision = decide(ARC_140V, replace(PLENTY, wish="graphics 140v"))
    assert decision.placement.device == ARC_140V.device


def test_before_a_device_was_timed_the_processor_computes_and_the_device_is_to_be_timed() -> None:
    decision = choose([RTX_A2000.device], [], RTX_A2000.processor, RTX_A2000.work, PLENTY)
    assert (decision.placement, decision.reason.id) == (ON_PROCESSOR, "device.not_timed")
    assert [each.way for each in decision.untimed] == [Way.ALL_LAYERS, Way.PROMPTS]


def test_an_untimed_device_by_name_is_used_in_the_likely_way() -> None:
    """Own memory is faster than RAM; an integrated device reads prompts faster and writes no faster."""
    ways = [
        choose([each.device], [], None, each.work, replace(PLENTY, wish=each.device.name)).placement.way
        for each in (RTX_A2000, IRIS_XE)
    ]
    assert ways == [Way.ALL_LAYERS, Way.PROMPTS]


def test_what_another_driver_measured_does_not_count() -> None:
    updated = replace(RTX_A2000.device, driver="driver 2")
    decision = choose([updated], RTX_A2000.measured(), RTX_A2000.processor, RTX_A2000.work, PLENTY)
    assert (decision.placement, len(decision.untimed)) == (ON_PROCESSOR, 2)


def test_a_refused_device_is_the_reason() -> None:
    hung = DeviceRefusal("hung", "Intel Iris Xe Graphics")
    reason = choose([], [], None, WORK_7B, PLENTY, [hung]).reason
    assert str(reason).startswith("Intel Iris Xe Graphics is not used, because its driver did not answer.")
    assert choose([], [], None, WORK_7B, replace(PLENTY, wish="iris"), [hung]).reason == reason
    assert choose([], [], None, WORK_7B, replace(PLENTY, wish="radeon"), [hung]).reason.id == "device.not_found"
    assert str(choose([], [], None, WORK_7B, PLENTY, [DeviceRefusal("crashed")]).reason).startswith(
        "A graphics processor is not used, because its driver crashed."
    )


def test_without_room_the_reason_says_how_much_is_missing() -> None:
    decision = decide(IRIS_XE, replace(PLENTY, ram_bytes=72 * MIB), offload=30)
    assert (decision.placement, decision.reason.id) == (ON_PROCESSOR, "device.no_room")
    assert decision.reason.values["size"] == (164 + 108 - 72) * MIB


# --- properties ---

speeds = st.builds(Speed, st.floats(0.1, 1e4), st.floats(0.1, 1e5))
sizes = st.integers(0, 4 * GIB)
works = st.builds(
    Work, st.integers(1, 64), sizes.map(lambda n: n // 32), sizes, sizes, sizes, sizes.map(lambda n: n // 32)
)
situations = st.builds(
    Situation, st.integers(0, 32 * GIB), st.sampled_from((AUTOMATIC, OFF, "card", "llvmpipe")), st.booleans(),
    st.integers(1, 10_000), st.integers(1, 10_000),
)  # fmt: skip


@st.composite
def computers(draw: st.DrawFn) -> tuple[list[Device], list[Measured], Speed | None, Work, Situation]:
    work, found, known = draw(works), [], []
    for name in draw(st.lists(st.sampled_from(("card a", "card b", "graphics", "llvmpipe")), unique=True)):
        own = draw(st.one_of(st.just(0), sizes))
        one = device(name, free_bytes=own, integrated=name == "graphics", software=name == "llvmpipe")
        found.append(one)
        counts = {0, work.layers, draw(st.integers(0, work.layers))}
        known += [measured(one, Way.PROMPTS, draw(speeds), work, layers) for layers in counts if draw(st.booleans())]
    return found, known, draw(st.one_of(st.none(), speeds)), work, draw(situations)


@given(computers())
def test_automatic_is_never_slower_than_the_processor_and_never_a_software_device(
    computer: tuple[list[Device], list[Measured], Speed | None, Work, Situation],
) -> None:
    found, known, processor, work, now = computer
    now = replace(now, wish=AUTOMATIC)
    decision = choose(found, known, processor, work, now)
    if decision.placement.device:
        assert not decision.placement.device.software
        assert processor
        assert decision.speed
        assert decision.speed == speed_of(decision.placement, known)
        assert now.seconds(decision.speed) < now.seconds(processor)
        assert decision.speed.prompt >= NO_SLOWER * processor.prompt
        prompts = decision.placement.way is Way.PROMPTS
        assert decision.speed.decode >= (WRITES_NO_SLOWER if prompts else NO_SLOWER) * processor.decode


@given(computers())
def test_no_decision_takes_more_memory_than_there_is(
    computer: tuple[list[Device], list[Measured], Speed | None, Work, Situation],
) -> None:
    decision = choose(*computer)
    _, _, _, work, now = computer
    needed = sum(decision.parts.values())
    for placement in (decision.placement, *decision.untimed):
        if placement.device:
            assert missing_bytes(placement, work, now.ram_bytes) <= 0
    one = decision.placement.device
    if one and shares_ram(one):
        assert needed - decision.placement.layers * work.ram_layer_bytes <= now.ram_bytes
    elif one:
        assert needed <= one.free_bytes - DISPLAY_BYTES
    assert str(decision.reason)


@given(computers(), st.floats(1, 10), st.floats(1, 10))
def test_a_faster_device_is_never_chosen_less(
    computer: tuple[list[Device], list[Measured], Speed | None, Work, Situation], reads: float, writes: float
) -> None:
    found, known, processor, work, now = computer
    before = choose(found, known, processor, work, now).placement.device
    if before:
        faster = [
            replace(
                each,
                seconds_per_prompt_token=each.seconds_per_prompt_token / reads,
                seconds_per_token=each.seconds_per_token / writes,
            )
            if each.device_id == before.id
            else each
            for each in known
        ]
        assert choose(found, faster, processor, work, now).placement.device == before


@given(works, sizes, sizes)
def test_more_memory_never_means_fewer_layers(work: Work, small: int, more: int) -> None:
    counts = [
        next((each.layers for each in fitting(device("card", free_bytes=own, integrated=False), work, 0)), 0)
        for own in (small, small + more)
    ]
    assert counts[0] <= counts[1]


def test_names_lose_trade_marks_and_brackets() -> None:
    assert [short_name(each.device) for each in ALL[:3]] == [
        "Intel Iris Xe Graphics", "Intel Arc Graphics 140V", "AMD Radeon 890M Graphics",
    ]  # fmt: skip
